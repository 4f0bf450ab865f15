"""``python -m resight.demo [FOLDER]``: make a small collection, index it, search it, and draw what was found."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import typer

from ..engine import LocalEngine
from ..errors import ResightError
from ..index import Index
from ..machine import processors
from ..options import FeatureOptions
from ..recipes import DEFAULT, RECIPES
from ..types import Hit
from ..warm import warm
from .collection import Collection, Query, build
from .sheet import SheetCell, SheetRow, contact_sheet

SHOWN = 5  # each query has five relevant pictures
DRAWN = 12  # queries on the contact sheet


def main(folder: Path) -> None:
    shutil.rmtree(folder / "demo.resight", ignore_errors=True)
    features, scoring = FeatureOptions(), RECIPES[DEFAULT].scoring
    begun = time.monotonic()
    warm(scoring=[scoring], detectors=[features.detector])
    started = time.monotonic()
    typer.echo(f"compiled the kernels in {started - begun:.1f} s; later runs load them")
    collection = build(folder)
    made = time.monotonic()
    typer.echo(
        f"made {len(collection.pictures)} pictures and {len(collection.queries)} queries in {made - started:.1f} s"
    )
    with Index.create(folder / "demo.resight") as index:
        for outcome in index.add_files(
            collection.pictures, relative_to=folder / "pictures", engine=LocalEngine(min(2, processors()))
        ):
            if outcome.skipped:
                typer.echo(f"skipped {outcome.skipped}")
        index.commit()
        indexed = time.monotonic()
        typer.echo(f"indexed {len(index)} of them in {indexed - made:.1f} s\n")
        found = {query.path.name: index.search(query.path, top=SHOWN).hits for query in collection.queries}
    _print_table(collection, found)
    seconds = time.monotonic() - indexed
    right = sum(_right(query, hit) for query in collection.queries for hit in found[query.path.name])
    wanted = sum(len(query.relevant) for query in collection.queries)
    typer.echo(
        f"\n{right} of {wanted} relevant pictures found among the first {SHOWN}, in {seconds:.1f} s of searching"
    )
    contact_sheet([_row(folder, query, found[query.path.name]) for query in _spread(collection)], folder / "found.png")
    typer.echo(f"look at {folder / 'found.png'}")


def _print_table(collection: Collection, found: dict[str, tuple[Hit, ...]]) -> None:
    typer.echo(f"{'query':<24} {'right':>5}   best match, where in it (x,y,w,h), matches that agree")
    for query in collection.queries:
        hits = found[query.path.name]
        right = sum(_right(query, hit) for hit in hits)
        typer.echo(
            f"{query.path.name:<24} {right}/{len(query.relevant):<3}   {_describe(hits[0]) if hits else 'nothing'}"
        )


def _describe(hit: Hit) -> str:
    if hit.region is None:
        return f"{hit.key} (place unknown)"
    r = hit.region
    return f"{hit.key}  {r.x:.0f},{r.y:.0f},{r.width:.0f},{r.height:.0f}  {hit.inliers}"


def _right(query: Query, hit: Hit) -> bool:
    return hit.key in query.relevant


def _spread(collection: Collection) -> list[Query]:
    """One query for each subject, the two kinds in turn."""
    by_subject: dict[str, list[Query]] = {}
    for query in collection.queries:
        by_subject.setdefault(query.subject, []).append(query)
    return [queries[number % len(queries)] for number, queries in enumerate(by_subject.values())][:DRAWN]


def _row(folder: Path, query: Query, hits: tuple[Hit, ...]) -> SheetRow:
    cells = [
        SheetCell(
            path=folder / "pictures" / hit.key,
            caption=f"score {hit.score:.2f}" + (f" · {hit.inliers} agree" if hit.inliers else ""),
            right=_right(query, hit),
            region=hit.region,
        )
        for hit in hits
    ]
    return SheetRow(query=query.path, title=query.subject, results=cells)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo"))
    except ResightError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
