"""Searching an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ImageError, UsageError
from ..options import parse_region
from ..recipes import DEFAULT, RECIPES
from .app import AsJson, GivenFeatures, Set, command, loading
from .arguments import (
    ENGINE,
    RAY_ADDRESS,
    chosen_recipe,
    given_features,
    require_writable_file,
    split_index,
    stored_key,
)
from .output import found, printable, say_compiling, say_json, show_result, show_timings

if TYPE_CHECKING:
    from ..index import Index
    from ..types import SearchResult

DRAWN = 5  # results that --draw shows


@command
def search(
    queries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INDEX] QUERY...",
            help="The index, if not the default one; then query pictures, their URLs, or their names in --features.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Results for each query.")] = 20,
    region: Annotated[
        str | None, typer.Option(metavar="X,Y,W,H", help="Search with this part of the query, in pixels.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Search with the indexed picture that has this key or path.")] = None,
    together: Annotated[
        bool, typer.Option("--together", help="All query pictures show one thing: search for it once.")
    ] = False,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out results that are less likely to show the same thing.")
    ] = 0.0,
    everything: Annotated[bool, typer.Option("--all", help="Also list results whose confidence is 0%.")] = False,
    draw: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw query, best results and their matches: a .png or .jpg.")
    ] = None,
    probe: Annotated[
        int | None, typer.Option(min=0, help="Search this many clusters only; see `resight index --clusters`.")
    ] = None,
    features: GivenFeatures = None,
    timings: Annotated[bool, typer.Option("--timings", help="Also say how long each stage took.")] = False,
    recipe: Annotated[str, typer.Option(help=f"How to search: {', '.join(RECIPES)}.")] = DEFAULT,
    settings: Set = None,
    engine: ENGINE = "local",
    ray_address: RAY_ADDRESS = None,
    as_json: AsJson = False,
) -> int:
    """Find pictures that show the same thing as a query picture.

    The exit code is 0 if geometry confirms a result for each query, else 1. A recipe that checks nothing by geometry
    gives candidates, and 0 if there are any. With --engine ray each machine of a cluster searches a part of the index.
    All must see it at the same path. Hits and scores are the same.
    """
    with loading():
        from threadpoolctl import threadpool_limits

        from .._numba import telling
        from ..engine import engine_named
        from ..index import Index
        from ..interop import require_same_kind

    place, pictures = split_index(queries or [])
    groups = _groups(pictures, key, together)
    if draw and (len(groups) > 1 or len(groups[0]) > 1):
        raise UsageError("--draw shows one query picture and its results; search with one")
    if draw and features and pictures:
        raise UsageError("--draw needs the query's picture, not features alone; search with --key, or leave --draw out")
    if draw:
        require_writable_file(draw)
    box = None if region is None else parse_region(region)
    chosen = chosen_recipe(recipe, settings, probe=probe)
    results: list[dict[str, Any]] = []
    complete = True
    with (
        Index.open(place) as target,
        given_features(features) as file,
        engine_named(engine, address=ray_address).searchers() as searchers,
        telling(say_compiling),
        threadpool_limits(1),  # products are small: threads that wait for one another take longer
    ):
        if file:
            require_same_kind(target, file)
        if searchers:
            target.spread(searchers)
        target.require_searchable(chosen)  # once, not for each query
        indexed = _indexed(target, key)
        drawn = _drawn(target, groups[0], indexed, draw) if draw else None
        for group in groups:
            name = ", ".join(group) or str(key)
            try:
                sources = [file.read(name) if file else name for name in group]
                result = target.search(
                    *sources, key=indexed, top=top, region=box, recipe=chosen, min_confidence=min_confidence
                )
            except (ImageError, UsageError) as error:
                if len(groups) == 1:
                    raise
                results.append({"query": name, "error": str(error)})
                typer.echo(f"error: {printable(str(error))}", err=True)
                complete = False
                continue
            complete &= found(result, chosen) > 0
            results.append({"query": name, **result.as_dict(), **({"timings": result.timings} if timings else {})})
            if not as_json:
                show_result(name, result, chosen, everything=everything)
                if timings:
                    show_timings(result)
            if draw and drawn:
                _draw(drawn, result, draw)
    if as_json:
        say_json({"index": str(place), "results": results})
    return 0 if complete else 1


def _groups(pictures: list[str], key: str | None, together: bool) -> list[list[str]]:
    """The pictures of each search."""
    if not pictures and key is None:
        raise UsageError("give at least one query picture: resight search [INDEX] QUERY…, or --key KEY")
    return [pictures] if together or key is not None else [[picture] for picture in pictures]


def _indexed(target: Index, key: str | None) -> str | None:
    """The key as the index has it."""
    from ..search import missing

    if key is None:
        return None
    if (known := stored_key(target, key)) is None:
        raise missing(key)
    return known


def _drawn(target: Index, group: list[str], key: str | None, out: Path) -> str:
    """The query's picture, if it can be drawn: that is found out before the search."""
    from ..draw import require_drawable

    row = target.get(key) if key is not None else None
    query = group[0] if group else row.path if row else None
    if query is None:
        raise UsageError(f"the picture {key!r} was not indexed from a file, so it cannot be drawn; leave --draw out")
    require_drawable(query, out)
    return query


def _draw(query: str, result: SearchResult, out: Path) -> None:
    from ..draw import draw_matches

    shown = [hit for hit in result.hits if hit.inliers] or result.hits
    draw_matches(query, [(hit, hit.path or hit.key) for hit in shown[:DRAWN]], out)
    typer.echo(f"drawn: {printable(str(out))}", err=True)
