"""Searching an index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ImageError, UsageError
from ..recipes import DEFAULT, RECIPES
from .app import AsJson, Set, command
from .arguments import chosen_recipe, parse_region, split_index
from .output import found, patience, printable, say_json, show_result


@command
def search(
    queries: Annotated[
        list[Path], typer.Argument(metavar="[INDEX] QUERY...", help="Query pictures; first, optionally, the index.")
    ],
    top: Annotated[int, typer.Option(min=1, help="Results for each query.")] = 20,
    region: Annotated[
        str | None, typer.Option(metavar="X,Y,W,H", help="Search with this part of the query, in pixels.")
    ] = None,
    recipe: Annotated[str, typer.Option(help=f"How to search: {', '.join(RECIPES)}.")] = DEFAULT,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Find pictures that show the same thing as a query picture."""
    from ..index import Index
    from ..warm import warm

    place, pictures = split_index([str(q) for q in queries])
    if not pictures:
        raise UsageError("give at least one query picture: resight search [INDEX] QUERY…")
    box, chosen = parse_region(region), chosen_recipe(recipe, settings)
    results: list[dict[str, Any]] = []
    complete = True
    with Index.open(place) as target:
        with patience("compiling the search kernels for this machine, this once …"):
            warm()
        for query in pictures:
            try:
                result = target.search(Path(query), top=top, region=box, recipe=chosen)
            except (ImageError, UsageError) as error:
                if len(pictures) == 1:
                    raise
                results.append({"query": query, "error": str(error)})
                typer.echo(f"error: {printable(str(error))}", err=True)
                complete = False
                continue
            complete &= found(result, chosen) > 0
            results.append({"query": query, **asdict(result)})
            if not as_json:
                show_result(query, result, chosen)
    if as_json:
        say_json({"index": str(place), "results": results})
    return 0 if complete else 1
