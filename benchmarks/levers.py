"""What does each default of the recipe `expanded` earn, alone and together?

    python benchmarks/levers.py [CACHE]

The recipe as it was before (2,000 features of contrast 0.01, σ = 16, five sources of expansion, no colours) is measured
on the four shared datasets, then with each default of today alone, then with all. Prints a table for
docs/DEFAULTS.md. Bytes are those of a full-size picture (Holidays). Milliseconds are those of a query on Holidays,
where things have few pictures, and on Oxford, where they have many.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from resight.cli.evaluating import default_cache
from resight.evaluation.datasets import load
from resight.evaluation.results import Row
from resight.evaluation.runner import Runner
from resight.machine import processors
from resight.recipes import RECIPES, Recipe, change

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = {  # folder and measure
    "ukbench": ("ukbench", "ns"),
    "holidays": ("holidays", "map"),
    "oxford": ("oxford_dev", "map"),
    "smvs": ("smvs_dvd", "recall@1"),
}
TODAY = RECIPES["expanded"]
LEVERS: dict[str, dict[str, dict[str, object]]] = {  # what each was before
    "features": {"features": {"max_features": 2000, "contrast": 0.01}},
    "σ": {"scoring": {"sigma": 16.0}},
    "sources": {"expand": {"results": 5}},
    "colours": {"colours": {"weight": 0.0}},
}


def recipes() -> dict[str, Recipe]:
    def before(*levers: str) -> Recipe:
        return change(TODAY, {stage: values for lever in levers for stage, values in LEVERS[lever].items()})

    alone = {f"{lever} alone": before(*(other for other in LEVERS if other != lever)) for lever in LEVERS}
    return {"before": before(*LEVERS), **alone, "all": TODAY}


def main() -> None:
    cache = Path(sys.argv[1]) if len(sys.argv) > 1 else default_cache()
    runner, rows = Runner(cache=cache, processes=processors()), dict[str, dict[str, Row]]()
    for name, (folder, _) in SETS.items():
        found = runner.evaluate(load(name, DATA / folder, limit=None, distractors=()), recipes())
        rows[name] = {row.recipe: row for row in found.rows}
    print("| | UKbench N-S | Holidays mAP | Oxford mAP | covers recall@1 | bytes | ms, Holidays | ms, Oxford |")
    print("|---|---|---|---|---|---|---|---|")
    for recipe in recipes():
        figures = (f"{rows[name][recipe].means[measure]:.3f}" for name, (_, measure) in SETS.items())
        few, many = rows["holidays"][recipe], rows["oxford"][recipe]
        times = f"{few.query_ms:.0f} | {many.query_ms:.0f}"
        print(f"| {recipe} | {' | '.join(figures)} | {few.bytes_per_image:.0f} | {times} |")


if __name__ == "__main__":
    main()
