"""How much slower is `index` than reading the pictures and running OpenCV's SIFT, and nothing else?

    python benchmarks/indexing.py [FOLDER] [--rounds N]

All sides use the same pictures, size limit, contrast, cap and number of processes; start-up of the processes is
included on all of them. `index` is measured with each detector; with `sift` it finds what the bare loop finds. Rounds
alternate and the median ratio counts, because other work on the machine disturbs all alike.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2

from resight.engine import LocalEngine
from resight.features import DETECTORS
from resight.folders import find_pictures
from resight.index import Index
from resight.machine import processors
from resight.options import FeatureOptions

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
OPTIONS = FeatureOptions()
PROCESSES = processors()


def bare(path: str) -> int:
    pixels = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    assert pixels is not None
    scale = OPTIONS.max_side / max(pixels.shape)
    if scale < 1:
        pixels = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    sift = cv2.SIFT.create(
        nfeatures=OPTIONS.max_features, contrastThreshold=OPTIONS.contrast, enable_precise_upscale=True
    )
    keypoints, _ = sift.detectAndCompute(pixels, None)
    return len(keypoints)


def one_thread() -> None:
    cv2.setNumThreads(1)


def bare_loop(paths: list[Path]) -> int:
    with multiprocessing.get_context("spawn").Pool(PROCESSES, initializer=one_thread) as pool:
        return sum(pool.imap(bare, map(str, paths), chunksize=1))


def index_loop(paths: list[Path], detector: str) -> int:
    features = replace(OPTIONS, detector=detector)
    with tempfile.TemporaryDirectory() as folder, Index.create(Path(folder) / "i", features=features) as index:
        for outcome in index.add_files(paths, engine=LocalEngine(PROCESSES)):
            assert outcome.entry, outcome
        index.commit()
        return index.info().features


def seconds(function: Callable[[], int]) -> tuple[float, int]:
    start = time.perf_counter()
    features = function()
    return time.perf_counter() - start, features


def main(folders: list[Path], rounds: int) -> None:
    for folder in folders:
        paths = list(find_pictures([folder]))
        plain: list[float] = []
        ours: dict[str, list[float]] = {detector: [] for detector in DETECTORS}
        for _ in range(rounds):
            taken, found = seconds(partial(bare_loop, paths))
            plain.append(taken)
            stored = {}
            for detector, times in ours.items():
                taken, stored[detector] = seconds(partial(index_loop, paths, detector))
                times.append(taken)
            assert abs(found - stored["sift"]) <= 0.01 * found, (found, stored)  # ties at the cap; another decoder
        count = len(paths)
        print(f"{folder.name}: {PROCESSES} processes, bare {count / statistics.median(plain):.1f} pictures/s")
        for detector, times in ours.items():
            ratios = [bare / taken for bare, taken in zip(plain, times, strict=True)]
            print(
                f"  index, {detector}: {count / statistics.median(times):.1f} pictures/s, "
                f"ratio {statistics.median(ratios):.3f} (rounds: {', '.join(f'{r:.3f}' for r in ratios)}), "
                f"{stored[detector] / count:.0f} features per picture",
                flush=True,
            )


if __name__ == "__main__":
    words = sys.argv[1:]
    count = int(words.pop(words.index("--rounds") + 1)) if "--rounds" in words else 3
    main([Path(w) for w in words if w != "--rounds"] or [DATA / "holidays", DATA / "ukbench"], count)
