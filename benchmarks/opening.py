"""How long until a 10,000-picture index is open, until `resight --help` answers, and until `resight search` has?

    python benchmarks/opening.py [--data FOLDER] [--cache FOLDER] [--before FOLDER]

Opening is timed in this process, after its imports; that the lists are not read is shown by the pages of them that are
in memory afterwards (their cache is dropped first).

`resight search` is timed as a command, with cached kernels, on 5,000 pictures of 2,000 features: those of the shared
sets, and made ones (see links.py). Once without links, and once with 20 for each picture. Each time is followed by
where it goes: what the last run says with --timings, and milliseconds of processor of the steps before. --before:
another checkout, whose commands take turns with these.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
from links import DATA, SETS, made, real

from resight.evaluation.datasets import load
from resight.evaluation.runner import Runner
from resight.machine import cache_folder, processors
from resight.postings import GEOMETRY
from resight.recipes import DEFAULT, RECIPES
from resight.store import LINK, Entry, SegmentLinks, Writer, create, open_snapshot
from resight.types import Words
from resight.vocabulary import Vocabulary

PICTURES, FEATURES = 10_000, 1_000
SEARCHED, MANY, LINKS, RUNS = 5_000, 1_500, 20, 7
HERE = Path(__file__).parents[1]

# What `resight search` does before it searches: milliseconds of processor for each step.
STEPS = """
import sys, time
spent = [("", 0.0)]
def step(name):
    spent.append((name, time.process_time()))
step("start of Python")
import resight.cli
step("commands")
import numba
step("numba, numpy")
from resight.index import Index
from resight.engine import engine_named
from resight.interop import require_same_kind
step("the rest of resight")
Index.open(sys.argv[1])
step("opening")
shown = [f"{name} {1000 * (after - before):.0f}" for (_, before), (name, after) in zip(spent, spent[1:])]
print(*shown, sep=", ", file=sys.stderr)
"""


def fill(folder: Path) -> None:
    vocabulary, rng = Vocabulary.ready(), np.random.default_rng(1)
    create(folder, vocabulary)
    with Writer(folder) as writer:
        for number in range(PICTURES):
            words = Words(
                feature=np.arange(FEATURES, dtype=np.int32),
                word=rng.integers(0, vocabulary.words, FEATURES, dtype=np.int32),
                signature=rng.integers(0, 2**64, FEATURES, dtype=np.uint64),
            )
            geometry = np.zeros(FEATURES, GEOMETRY)
            writer.add(Entry(f"pictures/{number:06d}.jpg", words, geometry, 1024, 768, number.to_bytes(16)))
            if writer.pending == 1000:
                writer.commit()
        writer.commit()


def cached_bytes(path: Path) -> int:
    """How much of a file the page cache holds (util-linux's fincore)."""
    shown = subprocess.run(
        ["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)], capture_output=True, check=True
    )
    return int(shown.stdout)


def opening() -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as parent:
        folder = Path(parent) / "i.resight"
        fill(folder)
        lists = [p for p in folder.rglob("*.npy") if p.stem in ("image", "signature", "geometry")]
        total = sum(p.stat().st_size for p in lists)
        open_snapshot(folder).close()
        times = []
        for _ in range(7):
            for path in lists:
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            start = time.perf_counter()
            snapshot = open_snapshot(folder)
            assert snapshot.pictures == PICTURES
            times.append(time.perf_counter() - start)
            read = sum(cached_bytes(p) for p in lists)
            snapshot.close()
        segments = len(list((folder / "segments").iterdir()))
        print(
            f"opening {PICTURES} pictures, {PICTURES * FEATURES} features in {segments} segments: "
            f"{statistics.median(times) * 1e3:.1f} ms; {read / 1e6:.1f} of {total / 1e6:.0f} MB of lists read"
        )


def helping() -> None:
    program = Path(sys.executable).parent / "resight"
    times = []
    for _ in range(9):
        start = time.perf_counter()
        subprocess.run([program, "--help"], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    print(f"resight --help: {statistics.median(times) * 1e3:.0f} ms")


def collection(folder: Path, indexes: list[Path], *, linked: bool) -> None:
    features = RECIPES[DEFAULT].features
    vocabulary, rng = Vocabulary.ready(features.detector), np.random.default_rng(1)
    create(folder, vocabulary, features=features)
    entries = list(real(indexes))
    large = [entry for entry in entries if len(entry.words) > MANY]
    with Writer(folder) as writer:
        for entry in islice(chain(entries, made(large, vocabulary.words)), SEARCHED):
            writer.add(entry)
            if writer.pending == 1000:
                writer.commit()
        writer.commit()
        snapshot = writer.snapshot
        print(f"{snapshot.pictures} pictures, {sum(s.record.features for s in snapshot.segments)} features", flush=True)
        if linked:
            none = [SegmentLinks.none(segment.table.all()) for segment in snapshot.segments]
            ids = np.concatenate([one.ids for one in none])
            writer.keep_links({n: with_links(one, ids, rng) for n, one in enumerate(none)})


def with_links(none: SegmentLinks, ids: np.ndarray, rng: np.random.Generator) -> SegmentLinks:
    """As if every picture had found some others that geometry does not confirm."""
    count = len(none.ids)
    links = np.zeros(LINKS * count, LINK)
    links["other"], links["likeness"] = rng.choice(ids, len(links)), 0.05
    return replace(none, asked=np.ones(count, np.bool_), counts=np.full(count, LINKS), links=links)


def run(checkout: Path, *arguments: str) -> tuple[float, float, str]:
    """Seconds, seconds of processor, and what a command of this checkout says on stderr."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, said
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, said


def searching(data: Path, cache: Path, checkouts: dict[str, Path]) -> None:
    runner, features = Runner(cache=cache, processes=processors()), RECIPES[DEFAULT].features
    sets = [load(name, data / folder, limit=None, distractors=()) for name, folder in SETS.items()]
    indexes = [runner.prepare(each, features).index for each in sets]
    picture = str(sets[1].queries[0].path)
    with tempfile.TemporaryDirectory() as parent:
        for linked in (False, True):
            index = Path(parent) / f"{'linked' if linked else 'plain'}.resight"
            collection(index, indexes, linked=linked)
            command = ("-m", "resight", "search", str(index), picture, "--timings")
            times: dict[str, list[tuple[float, float, str]]] = {name: [] for name in checkouts}
            for _ in range(1 + RUNS):  # the first compiles
                for name, checkout in checkouts.items():
                    times[name].append(run(checkout, *command))
            kind = "with" if linked else "without"
            for name, checkout in checkouts.items():
                wall, processor, said = zip(*times[name][1:], strict=True)
                print(
                    f"resight search, {kind} links, {name}: {statistics.median(wall):.2f} s (least {min(wall):.2f}), "
                    f"{statistics.median(processor):.2f} s of processors (least {min(processor):.2f}); "
                    f"load average {os.getloadavg()[0]:.1f}"
                )
                print(
                    f"  {said[-1].strip()}\n  before it searches: {run(checkout, '-c', STEPS, str(index))[2].strip()}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, default=cache_folder())
    parser.add_argument("--before", type=Path)
    chosen = parser.parse_args()
    opening()
    helping()
    before = {"before": chosen.before} if chosen.before else {}
    searching(chosen.data, chosen.cache, {**before, "now": HERE})


if __name__ == "__main__":
    main()
