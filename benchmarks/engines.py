"""How much slower than the local engine does Ray build an index, with the same number of workers?

    python benchmarks/engines.py [FOLDER] [--rounds N] [--pictures N] [--shard N]

Both write the same shards, with one worker for each processor; `add_files`, which commits now and then and whose
segments are written by one process, stands beside them. Ray is started before, as a cluster is there already; workers
are started, and load the vocabulary, in the time that counts, on all sides. Rounds alternate and the median ratio
counts, because other work on the machine disturbs all alike.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from resight.engine import Engine, LocalEngine, engine_named
from resight.engine._ray import connect
from resight.folders import find_pictures
from resight.index import Index
from resight.machine import processors
from resight.options import StoreOptions

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def built(engine: Engine, shard: int) -> Callable[[list[Path]], float]:
    def measure(paths: list[Path]) -> float:
        with tempfile.TemporaryDirectory() as folder, Index.create(Path(folder) / "i.resight") as index:
            index.store = StoreOptions(shard=shard)
            start = time.perf_counter()
            for outcome in index.add_files(paths, engine=engine, one_commit=True):
                assert not outcome.skipped, outcome
            assert len(index) == len(paths)
            return time.perf_counter() - start

    return measure


def added(paths: list[Path]) -> float:
    with tempfile.TemporaryDirectory() as folder, Index.create(Path(folder) / "i.resight") as index:
        start = time.perf_counter()
        for outcome in index.add_files(paths, engine=LocalEngine(processors())):
            assert outcome.entry, outcome
        index.commit()
        return time.perf_counter() - start


def main(folder: Path, *, rounds: int, pictures: int, shard: int) -> None:
    paths = list(find_pictures([folder]))[:pictures]
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's usual 15 would let other work disturb its side more
    connect()
    ways = {
        "ray": built(engine_named("ray"), shard),
        "local": built(LocalEngine(processors()), shard),
        "add_files": added,
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    print(f"{len(paths)} pictures of {folder.name}, shards of at most {shard}, {processors()} workers", flush=True)
    for _ in range(rounds):
        for name, way in ways.items():
            rates[name].append(len(paths) / way(paths))
            print(f"  {name}: {rates[name][-1]:.2f} pictures/s", flush=True)
    for name, each in rates.items():
        print(f"{name}: {statistics.median(each):.2f} pictures/s")
    ratios = [ray / local for ray, local in zip(rates["ray"], rates["local"], strict=True)]
    print(f"ray / local: {statistics.median(ratios):.3f} (rounds: {', '.join(f'{r:.3f}' for r in ratios)})")


if __name__ == "__main__":
    words = sys.argv[1:]
    numbers = {"rounds": 3, "pictures": 400, "shard": 40}
    for option in numbers:
        if f"--{option}" in words:
            at = words.index(f"--{option}")
            numbers[option] = int(words[at + 1])
            del words[at : at + 2]
    main(Path(words[0]) if words else DATA / "holidays", **numbers)
