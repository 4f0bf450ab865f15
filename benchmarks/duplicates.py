"""Are groups of the same scene right, and what do they cost?

    python benchmarks/duplicates.py [--data FOLDER]

Groups are judged by the pairs of pictures in them, against pictures that are known to show the same thing: those of the
demo and of UKbench. Beside them stands what would be found if every link counted
(connected components). Then 100,000 pictures are linked to ten others each, at random within groups of 20, and one link
in ten leads anywhere.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path

import numpy as np

from resight import Index
from resight.connected import Connected
from resight.demo.collection import build
from resight.duplicates import SURE, confirmed_pairs, duplicates, grown
from resight.engine import LocalEngine
from resight.folders import find_pictures
from resight.machine import processors
from resight.store import open_snapshot

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
MANY, LINKS, GROUP = 100_000, 10, 20


def ukbench_subject(name: str) -> str:
    """Four pictures in a row show the same thing."""
    return str(int(name.removeprefix("ukbench")) // 4)


def demo_subject(name: str) -> str:
    """Pages of notes are all different; of other photographs there are several views."""
    return name if name.startswith("other-notes") else re.sub("-[^-]*$", "", name)


def judge(groups: Iterable[Iterable[str]], keys: list[str], subject: Callable[[str], str]) -> str:
    """Precision and recall of pairs."""
    listed = [list(group) for group in groups]
    found = [subject(a) == subject(b) for group in listed for a, b in combinations(group, 2)]
    wanted = sum(subject(a) == subject(b) for a, b in combinations(keys, 2))
    largest = max(map(len, listed), default=0)
    return f"precision {np.mean(found):.3f}, recall {sum(found) / wanted:.3f}, largest {largest}"


def measure(name: str, folder: Path, subject: Callable[[str], str], place: Path) -> None:
    with Index.create(place) as index:
        for _ in index.add_files(find_pictures([folder]), relative_to=folder, engine=LocalEngine(processors())):
            pass
    with open_snapshot(place) as snapshot:
        keys = [row.key for row in snapshot.rows()]
        chained = Connected()
        for pair in confirmed_pairs(snapshot, sorted(keys)):
            if pair.confidence >= SURE:
                chained.connect(pair.one, pair.other)

        def known(key: str) -> str:
            return subject(Path(key).stem)

        print(f"{name}, {len(keys)} pictures, every link counts: {judge(chained.groups().values(), keys, known)}")
        groups = [[picture.key for picture in group.pictures] for group in duplicates(snapshot, kind="scene")]
        print(f"{name}, {len(keys)} pictures, as they are grown: {judge(groups, keys, known)}")


def cost() -> None:
    rng = np.random.default_rng(0)
    one = np.repeat(np.arange(MANY, dtype=np.int32), LINKS)
    near = one // GROUP * GROUP + rng.integers(0, GROUP, len(one), dtype=np.int32)
    other = np.where(rng.random(len(one)) < 0.1, rng.integers(0, MANY, len(one), dtype=np.int32), near)
    links = np.stack([one, other], axis=1)
    started = time.perf_counter()
    group = grown(links, MANY)
    seconds = time.perf_counter() - started
    tracemalloc.start()
    grown(links, MANY)
    _, peak = tracemalloc.get_traced_memory()
    right = np.mean(np.bincount(group)[group] >= GROUP)
    print(
        f"{MANY} pictures with {LINKS} links each, {links.nbytes / 1e6:.0f} MB: grouped in {seconds:.1f} s, "
        f"{peak / 1e6:.0f} MB at most; {right:.0%} in groups of {GROUP} or more"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        measure("demo", Path(folder) / "pictures", demo_subject, Path(folder) / "demo.resight")
        measure("UKbench", given.data / "ukbench", ukbench_subject, Path(folder) / "ukbench.resight")
    cost()


if __name__ == "__main__":
    main()
