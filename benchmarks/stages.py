"""Where does the time of a query go, stage by stage, and where did it go before a change?

    python benchmarks/stages.py [--before CHECKOUT] [--data FOLDER] [--cache FOLDER]

The pictures of Holidays, Oxford and UKbench are in one index, with links. Queries of Holidays and Oxford are files, and
milliseconds medians over all of them. With --before the same is done with that checkout's code and an index of its own,
in turns, each time in a new process; the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from resight import Index
from resight.evaluation.datasets import load
from resight.machine import cache_folder

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = {"holidays": "holidays", "oxford": "oxford_dev", "ukbench": "ukbench"}
ASKED = {"holidays": 30, "oxford": 30}  # queries of each
RECIPES = ("burst", "verified", "expanded", "linked")
ROUNDS = 3


def measure(data: Path, place: Path) -> dict[str, dict[str, float]]:
    """Milliseconds of each stage, by recipe."""
    datasets = {name: load(name, data / folder, limit=None, distractors=()) for name, folder in SETS.items()}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in RECIPES}
    with Index.open(place) if (place / "manifest").exists() else Index.create(place) as index:
        for _ in index.add_files([path for dataset in datasets.values() for _, path in dataset.images]):
            pass
        index.learn.links()
        queries = [query for name, count in ASKED.items() for query in datasets[name].queries[:count]]
        for query in [queries[0], *queries]:  # the first loads kernels
            region = query.region and (query.region.x, query.region.y, query.region.width, query.region.height)
            for name in RECIPES:
                found[name].append(dict(index.search(query.path, region=region, recipe=name).timings))
    return {
        name: {stage: 1000 * float(np.median([each[stage] for each in times[1:]])) for stage in times[-1]}
        for name, times in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="Another checkout.")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, default=cache_folder() / "stages")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(chosen.data, chosen.measure)))
        return
    sides = {"now": Path(__file__).parents[1]} | ({"before": chosen.before} if chosen.before else {})
    rounds: dict[str, list[dict[str, dict[str, float]]]] = {side: [] for side in sides}
    for _ in range(ROUNDS):
        for side, checkout in sides.items():
            place = chosen.cache / f"{side}.resight"
            place.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, __file__, "--data", str(chosen.data), "--measure", str(place)]
            environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
            output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            rounds[side].append(json.loads(output.splitlines()[-1]))
    for recipe in RECIPES:
        for side, measured in rounds.items():
            stages = {
                stage: float(np.median([each[recipe][stage] for each in measured])) for stage in measured[0][recipe]
            }
            shown = ", ".join(f"{stage} {milliseconds:.1f}" for stage, milliseconds in stages.items())
            print(f"{recipe}, {side}: {shown}; in all {sum(stages.values()):.1f} ms", flush=True)


if __name__ == "__main__":
    main()
