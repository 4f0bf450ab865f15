"""`resight groups`: the collection by thing shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..wording import count
from .app import AnIndex, AsJson, command, default_index
from .output import printable, say_json, short

if TYPE_CHECKING:
    from ..duplicates import LinkedGroup

COLUMNS = ("group", "rank", "key", "path", "representative", "inliers")


@command
def groups(
    place: AnIndex = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Show only this many groups, the largest.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated lines instead of text.")] = False,
    as_json: AsJson = False,
) -> int:
    """List the pictures by the thing they show, the largest groups first, as `resight link` has found out.

    Of each group the picture with the most links stands first, then the others, those with the strongest links first.
    A number says how many matches with another picture of the group agree. Nothing is searched.
    """
    from ..index import Index

    if as_csv and as_json:
        raise UsageError("give one of --csv and --json")
    with Index.open(place or default_index()) as target:
        found = target.groups()
    shown = found.groups[:limit]
    if as_json:
        listed = [group.as_dict() for group in shown]
        say_json({"index": target.place, "total": len(found), "groups": listed, "unlinked": found.unlinked})
    elif as_csv:
        typer.echo(_csv(shown), nl=False)
    else:
        _show(shown, left=len(found) - len(shown))
    if found.unlinked:
        typer.echo(f"{count(found.unlinked)} not linked yet; `resight link` finds what they show", err=True)
    return 0


def _csv(shown: Sequence[LinkedGroup]) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for number, group in enumerate(shown, 1):
        for rank, p in enumerate(group.pictures, 1):
            lines.writerow((number, rank, p.key, p.path or "", "yes" if rank == 1 else "no", p.inliers))
    return text.getvalue()


def _show(shown: Sequence[LinkedGroup], *, left: int) -> None:
    for number, group in enumerate(shown, 1):
        typer.echo(f"group {number}, {count(len(group.pictures))}")
        for p in group.pictures:
            mark = "  ← most links" if p == group.representative else ""
            typer.echo(f"  {p.inliers:>4}  {p.width} × {p.height}  {printable(short(p.key))}{mark}")
    pictures = sum(len(group.pictures) for group in shown)
    typer.echo(f"{count(len(shown), 'group')} of {count(pictures)}" if shown else "no two pictures show the same thing")
    if left:
        typer.echo(f"{count(left, 'smaller group')} not shown")
