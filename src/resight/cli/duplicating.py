"""`resight duplicates` and `resight dismiss`: groups of pictures that belong together."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ResightError, UsageError
from ..wording import count
from .app import NAMES_SHOWN, AnIndex, AsJson, command, default_index
from .arguments import split_index, stored_key
from .output import counting, printable, say_compiling, say_json, short

if TYPE_CHECKING:
    from ..duplicates import Duplicates, Member, Move
    from ..index import Index

COLUMNS = ("group", "kind", "keep", "key", "path", "width", "height", "confidence", "correlation")
KIND = Annotated[
    str,
    typer.Option(
        help="identical: the same file or pixels; copy: the same photograph, perhaps resized, compressed, recoloured, "
        "cropped, framed, mirrored or turned; scene: different photographs of the same thing."
    ),
]


@command
def duplicates(
    place: AnIndex = None,
    kind: KIND = "copy",
    min_confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Of scenes: group only pictures that geometry is this sure of. Default: 0.92."),
    ] = None,
    move_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Move all pictures but the one to keep of each group to this folder, and take them out of the index. "
            "Shows what it would do and asks first.",
        ),
    ] = None,
    move_back: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Undo --move-to: move all files in this folder back.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --move-to: do not ask.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated lines instead of text.")] = False,
    as_json: AsJson = False,
) -> int:
    """Find pictures that are identical, copies of one photograph, or photographs of the same scene.

    Copies are found by their features and by how they look as a whole, and decided by their pixels, which are read from
    their files. Of each group of copies one is suggested to be kept: that with the most pixels, not counting borders,
    else the least compressed, else the oldest. Without --move-to nothing is changed.
    """
    from ..duplicates import move_back as undo
    from ..duplicates import steps
    from ..index import Index
    from ..recipes import RECIPES
    from ..warm import warm

    if as_csv and as_json:
        raise UsageError("give one of --csv and --json")
    if move_back:
        back, taken = undo(move_back)
        typer.echo(f"{count(back, 'file')} moved back; index their folders again to have them in an index")
        for path in taken:
            typer.echo(f"not moved: there is another file at {printable(str(path))}", err=True)
        return 1 if taken else 0
    if move_to and kind == "scene":
        raise UsageError("--move-to is for copies: pictures of a scene are different photographs; leave it out")
    if move_to and not yes and not sys.stdin.isatty():
        raise UsageError("--move-to asks before it moves; where nobody can answer, give --yes")
    with Index.open(place or default_index()) as target:
        warm(scoring=[RECIPES["verified"].scoring], detectors=[], compiling=say_compiling)
        with counting(steps(kind, len(target)), text="comparing") as tally:
            found = target.duplicates(kind=kind, min_confidence=min_confidence, done=tally)
        if as_json:
            say_json(
                {
                    "index": target.place,
                    "groups": [group.as_dict() for group in found],
                    "dismissed": found.dismissed,
                    "unread": found.unread,
                }
            )
        elif as_csv:
            typer.echo(_csv(found), nl=False)
        else:
            _show(found)
        if move_to:
            return _move(target, found, move_to.absolute(), ask=not yes)
    return 0


def _csv(found: Duplicates) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for number, group in enumerate(found, 1):
        kept = group.keep and group.keep.key
        for p in group.pictures:
            shares = ["" if share is None else f"{share:.4f}" for share in (p.confidence, p.correlation)]
            keep = "" if kept is None else "yes" if p.key == kept else "no"
            lines.writerow((number, group.kind, keep, p.key, p.path or "", p.width, p.height, *shares))
    return text.getvalue()


def _show(found: Duplicates) -> None:
    for number, group in enumerate(found, 1):
        typer.echo(f"group {number}, {count(len(group.pictures))}: {group.kind}")
        for p in group.pictures:
            why = f"  ← keep: {group.keep.reason}" if group.keep and group.keep.key == p.key else ""
            typer.echo(f"  {_share(p):>4}  {p.width} × {p.height}  {printable(short(p.key))}{why}")
    pictures = sum(len(group.pictures) for group in found)
    groups = count(len(found), "group")
    typer.echo(f"{groups} of {count(pictures)}" if len(found) else "no two pictures belong together")
    if found.dismissed:
        typer.echo(
            f"{count(found.dismissed, 'group')} left out, dismissed before; `resight dismiss --forget` shows them"
        )
    if found.unread:
        typer.echo(
            f"{count(found.unread)} could not be compared by pixels: files are gone or have changed; index them again",
            err=True,
        )


def _share(picture: Member) -> str:
    share = picture.correlation if picture.confidence is None else picture.confidence
    return "" if share is None else f"{share:.0%}"


def _move(target: Index, found: Duplicates, folder: Path, *, ask: bool) -> int:
    from ..duplicates import carry_out, planned

    target.writer()  # whoever cannot take files out of the index must not move them
    moves = planned(found, folder)
    if not moves:
        typer.echo("there is nothing to move")
        return 0
    _preview(moves, folder)
    if ask and not typer.confirm(f"Move {count(len(moves), 'file')} to {printable(str(folder))}?"):
        typer.echo("nothing was moved")
        return 1
    moved = 0
    try:
        for move in carry_out(moves, folder):
            for key in move.keys:
                target.remove(key)
            moved += 1
    except (OSError, ResightError) as error:
        raise UsageError(
            f"stopped after {count(moved, 'file')}: {error}; `resight duplicates --move-back` undoes what was done"
        ) from None
    finally:
        target.commit()
    typer.echo(
        f"{count(moved, 'file')} moved to {printable(str(folder))} and taken out of the index; "
        f"undo: resight duplicates --move-back {printable(str(folder))}"
    )
    return 0


def _preview(moves: list[Move], folder: Path) -> None:
    for move in moves[:NAMES_SHOWN]:
        typer.echo(
            f"would move {printable(str(move.source))} → {printable(str(move.target.relative_to(folder)))}", err=True
        )
    if len(moves) > NAMES_SHOWN:
        typer.echo(f"… and {count(len(moves) - NAMES_SHOWN, 'more file', 'more files')}", err=True)


@command
def dismiss(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[INDEX] KEY...", help="Keys or paths of the pictures of a group.")
    ] = None,
    kind: KIND = "copy",
    forget: Annotated[
        bool, typer.Option("--forget", help="Show this group again; without keys, all groups that were dismissed.")
    ] = False,
) -> int:
    """Remember that pictures are no duplicates: their group is left out until it gains another one."""
    from ..index import Index
    from ..search import missing

    place, wanted = split_index(keys or [])
    if not wanted and not forget:
        raise UsageError("give the keys of a group: resight dismiss [INDEX] KEY KEY…")
    with Index.open(place) as target:
        found = []
        for given in wanted:
            key = stored_key(target, given)
            if key is None:
                raise missing(given)
            found.append(key)
        if not forget:
            target.dismiss(found, kind=kind)
            typer.echo(f"{count(len(found))} dismissed; `resight dismiss --forget` undoes it")
        elif target.undismiss(found or None, kind=kind):
            typer.echo("forgotten")
        else:
            typer.echo("there was nothing to forget")
    return 0
