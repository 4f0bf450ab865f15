"""How long does a Hessian-Affine feature take against OpenCV's SIFT, and how much memory does a large picture need?

    python benchmarks/features.py [--data DATA]

1. Time: pictures of Holidays, Oxford and UKbench at their size, one thread, processor seconds; both detectors take
   turns, medians. Both make RootSIFT descriptors of at most 2000 features. Time per feature, ours over SIFT's.
2. Stages of the Hessian-Affine detector, medians over the same pictures. Shapes are timed apart, too, called one by one
   from Python, for the points that the features came from.
3. Memory: a process of its own analyses a picture of 50 megapixels, made of tiles of a real one. By how much does its
   peak grow?
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from resight.features import extract
from resight.features.hessian_affine.detect import detect
from resight.features.hessian_affine.patch import COLUMNS, SIZE
from resight.features.hessian_affine.pyramid import build, level_of
from resight.features.hessian_affine.regions import regions
from resight.features.hessian_affine.shape import BLUR, STEP, adapt
from resight.features.root_sift import root_sift
from resight.images import decode, read_bytes
from resight.options import FeatureOptions
from resight.types import Picture

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
DETECTORS = ("hessian-affine", "sift")
SETS = ("holidays", "oxford_dev", "ukbench")
PICTURES = 5  # of each set
REPEATS = 3
TARGET = 2.5  # times SIFT's time per feature
LARGE = (6144, 8192)


def main(data: Path) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors when this started")
    cv2.setNumThreads(1)
    ratios, stages = [], []
    for name in SETS:
        files = sorted(path for path in (data / name).rglob("*.jpg"))
        if not files:
            raise SystemExit(f"no pictures in {data / name}; set RESIGHT_DATA or give --data")
        for path in files[:: len(files) // PICTURES][:PICTURES]:
            picture = load(path)
            ratios.append(compare(f"{name}/{path.name}", picture))
            stages.append(time_stages(picture))
    print(
        f"time per feature, ours over SIFT's: median {statistics.median(ratios):.2f}, "
        f"worst {max(ratios):.2f} (≤ {TARGET})"
    )
    for stage in stages[0]:
        print(f"{stage}: {1000 * statistics.median(times[stage] for times in stages):.1f} ms")
    subprocess.run([sys.executable, __file__, "--data", str(data), "--large"], check=True)


def load(path: Path) -> Picture:
    return decode(read_bytes(path), name=path.name, max_side=65535)


def compare(name: str, picture: Picture) -> float:
    """Prints one line; returns the ratio of times per feature."""
    times: dict[str, list[float]] = {detector: [] for detector in DETECTORS}
    found = {}
    for _ in range(REPEATS + 1):
        for detector in DETECTORS:
            began = time.process_time()
            found[detector] = len(extract(picture, options=FeatureOptions(detector=detector)))
            times[detector].append(time.process_time() - began)
    seconds = {detector: statistics.median(times[detector][1:]) for detector in DETECTORS}  # the first may compile
    each = {detector: 1e6 * seconds[detector] / max(found[detector], 1) for detector in DETECTORS}
    ratio = each[DETECTORS[0]] / each[DETECTORS[1]]
    columns = (f"{seconds[d] * 1000:6.1f} ms {found[d]:5} features {each[d]:6.1f} µs each" for d in DETECTORS)
    print(f"{name:32} {picture.width:4} × {picture.height:4}  {' | '.join(columns)}  {ratio:.2f}", flush=True)
    return ratio


def time_stages(picture: Picture) -> dict[str, float]:
    """Processor seconds, least of REPEATS; what is compiled first is not counted."""
    options = FeatureOptions(detector=DETECTORS[0])
    pyramid = build(picture.pixels)
    points = detect(pyramid, options.contrast)
    found = np.empty((options.max_features, 7))
    bins = np.empty((options.max_features, 128), np.float32)
    count = regions(pyramid.values, pyramid.octaves, points, False, found, bins)
    last = np.flatnonzero((points[:, :3] == found[count - 1, :3]).all(axis=1))[0] if count else -1

    def adapt_all() -> None:
        window = np.zeros((SIZE, COLUMNS), np.float32)
        for x, y, scale in points[: last + 1, :3].tolist():
            level, side = level_of(pyramid.values, pyramid.octaves, BLUR * scale)
            adapt(level, x / side, y / side, STEP * scale / side, window)

    return {
        "pyramid": least(lambda: build(picture.pixels)),
        "extrema": least(lambda: detect(pyramid, options.contrast)),
        "shapes": least(adapt_all),
        "shapes, directions and descriptors": least(
            lambda: regions(pyramid.values, pyramid.octaves, points, False, found, bins)
        ),
        "RootSIFT": least(lambda: root_sift(bins[:count])),
        "all": least(lambda: extract(picture, options=options)),
    }


def least(work: Callable[[], object]) -> float:
    work()
    seconds = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def large(data: Path) -> None:
    """Peak memory of one large picture, beyond what the process had before."""
    options = FeatureOptions(detector=DETECTORS[0])
    picture = load(data / "vgg_affine" / "graf" / "img1.jpg")
    extract(picture, options=options)  # compiles
    tile = picture.pixels
    rows, columns = LARGE
    pixels = np.tile(tile, (rows // tile.shape[0] + 1, columns // tile.shape[1] + 1))[:rows, :columns].copy()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    count = len(extract(Picture(pixels, columns, rows), options=options))
    seconds = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(
        f"{columns} × {rows} pixels, {count} features, {seconds:.1f} s, "
        f"{grown / 2**20:.0f} MiB more at most, {grown / pixels.size:.0f} bytes per pixel"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--large", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.large:
        large(arguments.data)
    else:
        main(arguments.data)
