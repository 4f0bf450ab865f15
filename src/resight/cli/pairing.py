"""`resight pairs`: which pictures another program should match."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..machine import whole_file
from ..recipes import DEFAULT, RECIPES
from ..wording import count
from .app import AnIndex, AsJson, Set, command, default_index
from .arguments import chosen_recipe, require_writable_file
from .output import counting, printable, say_compiling, say_json

if TYPE_CHECKING:
    from ..index import Index

Pair = tuple[str, str] | tuple[str, str, int]  # two names; of links also how many matches agree
COLUMNS = ("name1", "name2", "inliers")


@command
def pairs(
    place: AnIndex = None,
    top: Annotated[int, typer.Option(min=1, help="Pictures to list for each picture, the best ones.")] = 20,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the pairs to this file.")] = None,
    relative_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Name pictures by their paths from this folder. Default: their common one.",
        ),
    ] = None,
    links: Annotated[
        bool, typer.Option("--links", help="List what `resight link` has confirmed; nothing is searched.")
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="With --links: comma-separated lines, with how many matches agree.")
    ] = False,
    recipe: Annotated[
        str | None, typer.Option(help=f"How to search: {', '.join(RECIPES)}. Default: {DEFAULT}.")
    ] = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """List each picture with those most like it, as `name1 name2` lines that hloc and COLMAP read.

    With --links only pairs that geometry has confirmed are listed. How many matches agree stands in --csv and --json.
    """
    from ..index import Index
    from ..interop import linked_pairs, names_for_pairs

    _require_fit(links=links, searched=bool(recipe or settings), as_csv=as_csv, as_json=as_json)
    if out:
        require_writable_file(out)
    with Index.open(place or default_index()) as target:
        names = names_for_pairs(target, relative_to)
        found: Iterable[Pair]
        if links:
            found, unlinked = linked_pairs(target, names, top=top), target.snapshot.unlinked
            if unlinked:
                typer.echo(f"{count(unlinked)} not linked yet; `resight link` finds what they show", err=True)
        else:
            found = _searched(target, names, top, recipe, settings)
    if out:
        written = _write(out, found, as_csv=as_csv)
        if as_json:
            say_json({"index": target.place, "pictures": len(names), "pairs": written, "file": str(out)})
        else:
            typer.echo(f"{count(written, 'pair')} of {count(len(names))}: {printable(str(out))}")
    elif as_json:
        say_json({"index": target.place, "pictures": len(names), "pairs": list(found)})
    else:
        for line in _lines(found, as_csv=as_csv):
            typer.echo(line, nl=False)
    return 0


def _require_fit(*, links: bool, searched: bool, as_csv: bool, as_json: bool) -> None:
    """searched: whether options say how to search."""
    if as_csv and as_json:
        raise UsageError("give one of --csv and --json")
    if as_csv and not links:
        raise UsageError("--csv is for --links: searches count no matches of pairs; leave it out, or give --links")
    if links and searched:
        raise UsageError("--links searches nothing; leave --recipe and --set out")


def _searched(
    target: Index, names: dict[str, str], top: int, recipe: str | None, settings: list[str] | None
) -> Iterable[Pair]:
    from ..interop import best_pairs
    from ..warm import warm

    chosen = chosen_recipe(recipe or DEFAULT, settings)
    warm(scoring=[chosen.scoring], detectors=[], compiling=say_compiling)
    with counting(len(names), text="searching") as done:
        return best_pairs(target, names, top=top, recipe=chosen, done=done)


def _write(out: Path, pairs: Iterable[Pair], *, as_csv: bool) -> int:
    """Write the file, or leave what was there: never half of it. How many pairs it has."""
    written = -1 if as_csv else 0  # the first line is none
    with whole_file(out) as new, new.open("wb") as file:
        for line in _lines(pairs, as_csv=as_csv):
            file.write(line)
            written += 1
    return written


def _lines(pairs: Iterable[Pair], *, as_csv: bool) -> Iterable[bytes]:
    return map(_csv_line, [COLUMNS, *pairs]) if as_csv else map(_line, pairs)


def _line(pair: Pair) -> bytes:
    """As bytes: names may be no text, see ``encode_text``."""
    return f"{pair[0]} {pair[1]}\n".encode("utf-8", "surrogateescape")


def _csv_line(values: Iterable[str | int]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue().encode("utf-8", "surrogateescape")
