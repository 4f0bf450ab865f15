"""`resight duplicates`: groups of pictures that belong together."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from .app import AnIndex, AsJson, command, default_index
from .output import counting, patience, printable, say_json, short

if TYPE_CHECKING:
    from ..duplicates import Group

COLUMNS = ("group", "kind", "key", "path", "width", "height", "confidence")


@command
def duplicates(
    place: AnIndex = None,
    kind: Annotated[
        str,
        typer.Option(
            help="copy: the same picture, perhaps resized or compressed; scene: pictures that show the same thing."
        ),
    ] = "copy",
    min_confidence: Annotated[
        float,
        typer.Option(min=0, max=1, help="Group only pictures that geometry is this sure of."),
    ] = 0.95,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated lines instead of text.")] = False,
    as_json: AsJson = False,
) -> int:
    """Find groups of pictures that are copies of one another, or that show the same thing.

    Searches for every picture and links those that geometry confirms. A picture joins a group if it is linked to at
    least a third of it. The picture with the most pixels comes first. Nothing is changed.
    """
    from ..index import Index
    from ..recipes import RECIPES
    from ..warm import warm

    if as_csv and as_json:
        raise UsageError("give one of --csv and --json")
    with Index.open(place or default_index()) as target:
        with patience("compiling the search kernels for this machine, this once …"):
            warm(scoring=[RECIPES["verified"].scoring], detectors=[])
        with counting(len(target), text="comparing") as done:
            groups = target.duplicates(kind=kind, min_confidence=min_confidence, done=done)
        if as_json:
            say_json({"index": target.place, "groups": [group.as_dict() for group in groups]})
        elif as_csv:
            typer.echo(_csv(groups), nl=False)
        else:
            _show(groups)
    return 0


def _csv(groups: list[Group]) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for number, group in enumerate(groups, 1):
        for p in group.pictures:
            lines.writerow((number, group.kind, p.key, p.path or "", p.width, p.height, f"{p.confidence:.4f}"))
    return text.getvalue()


def _show(groups: list[Group]) -> None:
    for number, group in enumerate(groups, 1):
        typer.echo(f"group {number}, {len(group.pictures)} pictures")
        for p in group.pictures:
            typer.echo(f"  {p.confidence:4.0%}  {p.width} × {p.height}  {printable(short(p.key))}")
    pictures = sum(len(group.pictures) for group in groups)
    typer.echo(f"{len(groups)} groups of {pictures} pictures" if groups else "no two pictures belong together")
