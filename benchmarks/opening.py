"""How long until a 10,000-picture index is open, and until `resight --help` answers?

    python benchmarks/opening.py

Opening is timed in this process, after its imports; that the lists are not read is shown by the pages of them that are
in memory afterwards (their cache is dropped first).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from resight.postings import GEOMETRY
from resight.store import Entry, Writer, create, open_snapshot
from resight.types import Words
from resight.vocabulary import Vocabulary

PICTURES, FEATURES = 10_000, 1_000


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


if __name__ == "__main__":
    opening()
    helping()
