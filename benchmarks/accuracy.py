"""How well does resight find the pictures of the shared sets with the vocabulary that ships with it?

    python benchmarks/accuracy.py [--recipe NAME …]

UKbench: N-S, the mean number of the query's own four pictures among the first four. Holidays: mean average precision,
the query left out of its own ranking. The vocabulary was trained on other pictures.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from resight.engine import processors
from resight.images import find_pictures
from resight.index import Index
from resight.recipes import RECIPES

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def number(name: str) -> int:
    return int("".join(c for c in Path(name).stem if c.isdigit()))


def average_precision(ranked: list[str], relevant: set[str]) -> float:
    """Mean of the trapezoidal precision at each relevant rank (Oxford's protocol)."""
    found, total = 0, 0.0
    for rank, name in enumerate(ranked):
        if name in relevant:
            before = found / rank if rank else 1.0
            found += 1
            total += (before + found / (rank + 1)) / 2
    return total / len(relevant)


def ukbench(index: Index, names: list[str], recipe: str) -> list[float]:
    found = (index.search(DATA / "ukbench" / n, top=4, recipe=recipe).hits for n in names)
    return [sum(number(h.key) // 4 == number(n) // 4 for h in hits) for n, hits in zip(names, found, strict=True)]


def holidays(index: Index, names: list[str], recipe: str) -> list[float]:
    scores = []
    for query in (n for n in names if number(n) % 100 == 0):
        relevant = {n for n in names if number(n) // 100 == number(query) // 100} - {query}
        ranked = [h.key for h in index.search(DATA / "holidays" / query, top=len(names), recipe=recipe).hits]
        scores.append(average_precision([n for n in ranked if n != query], relevant))
    return scores


def main(recipes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, measure, run in (("ukbench", "N-S", ukbench), ("holidays", "mAP", holidays)):
            paths = list(find_pictures([DATA / name]))
            with Index.create(Path(folder) / f"{name}.resight") as index:
                for _ in index.add_files(paths, relative_to=DATA / name, processes=processors()):
                    pass
                index.merge()
                for recipe in recipes:
                    start = time.perf_counter()
                    scores = run(index, [p.name for p in paths], recipe)
                    per_query = (time.perf_counter() - start) / len(scores)
                    print(
                        f"{name} {recipe}: {measure} {statistics.fmean(scores):.3f}, {per_query * 1e3:.0f} ms per query"
                    )


if __name__ == "__main__":
    chosen = [w for w in sys.argv[1:] if w != "--recipe"]
    main(chosen or list(RECIPES))
