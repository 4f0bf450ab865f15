"""`resight pairs`: which pictures another program should match."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from ..machine import whole_file
from ..recipes import DEFAULT, RECIPES
from ..wording import count
from .app import AnIndex, AsJson, Set, command, default_index
from .arguments import chosen_recipe, require_writable_file
from .output import counting, printable, say_compiling, say_json


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
    recipe: Annotated[str, typer.Option(help=f"How to search: {', '.join(RECIPES)}.")] = DEFAULT,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """List each picture with those most like it, as `name1 name2` lines that hloc and COLMAP read."""
    from ..index import Index
    from ..interop import best_pairs, names_for_pairs
    from ..warm import warm

    chosen = chosen_recipe(recipe, settings)
    if out:
        require_writable_file(out)
    with Index.open(place or default_index()) as target:
        names = names_for_pairs(target, relative_to)
        warm(scoring=[chosen.scoring], detectors=[], compiling=say_compiling)
        with counting(len(names), text="searching") as done:
            found = best_pairs(target, names, top=top, recipe=chosen, done=done)
    if out:
        written = _write(out, found)
        if as_json:
            say_json({"index": target.place, "pictures": len(names), "pairs": written, "file": str(out)})
        else:
            typer.echo(f"{count(written, 'pair')} of {count(len(names))}: {printable(str(out))}")
    elif as_json:
        say_json({"index": target.place, "pictures": len(names), "pairs": list(found)})
    else:
        for pair in found:
            typer.echo(_line(pair), nl=False)
    return 0


def _write(out: Path, pairs: Iterable[tuple[str, str]]) -> int:
    """Write the file, or leave what was there: never half of it. How many lines it has."""
    count = 0
    with whole_file(out) as new, new.open("wb") as file:
        for count, pair in enumerate(pairs, 1):  # noqa: B007
            file.write(_line(pair))
    return count


def _line(pair: tuple[str, str]) -> bytes:
    """As bytes: names may be no text, see ``encode_text``."""
    return f"{' '.join(pair)}\n".encode("utf-8", "surrogateescape")
