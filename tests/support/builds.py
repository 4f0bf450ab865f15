"""Builds in shards: their pictures and options, what they leave behind, and how a driver is killed."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import numpy as np
from PIL import Image

from resight.index import Index
from resight.ingest import IngesterPlan
from resight.options import FeatureOptions, StoreOptions
from resight.store import manifest as manifests
from resight.store import shards
from resight.store.segment import FOLDER
from resight.store.snapshot import VOCABULARY

SMALL = StoreOptions(shard=4, merge_factor=1000)
FEATURES = FeatureOptions(max_features=150)


def make_pictures(folder: Path, count: int) -> list[Path]:
    """Noise of several sizes; some share halves, so that they are found by each other."""
    folder.mkdir(parents=True)
    paths = []
    for number in range(count):
        own = np.random.default_rng(number).integers(0, 256, (20, 24), np.uint8)
        shared = np.random.default_rng(1000 + number // 3).integers(0, 256, (20, 12), np.uint8)
        pixels = np.concatenate([own, shared], axis=1).repeat(6, 0).repeat(6, 1)
        paths.append(folder / f"{number:03d}.png")
        Image.fromarray(pixels).save(paths[-1])
    return paths


def segments(folder: Path) -> list[dict[str, bytes]]:
    """The bytes of each segment's files, in the order of the manifest."""
    records = manifests.read(folder).segments
    return [{p.name: p.read_bytes() for p in (folder / FOLDER / record.name).iterdir()} for record in records]


def answers(index: Index, queries: list[Path]) -> list[list[tuple[str, float]]]:
    return [[(hit.key, hit.score) for hit in index.search(query).hits] for query in queries]


def ingester(index: Path) -> IngesterPlan:
    with Index.open(index) as opened:
        return IngesterPlan(index / VOCABULARY, opened.settings.features, opened.settings.indexing)


def records_of(place: Path) -> set[str]:
    """The segments of recorded shards."""
    return {built.segment.name for built in shards.unfinished(place, 0) if built.segment}


def kill_when_recorded(command: list[str], place: Path) -> list[int]:
    """Start a driver, and kill it when a shard is recorded; the processes that it had started."""
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not records_of(place):
            assert driver.poll() is None, "the build has ended"
            time.sleep(0.005)
        children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    finally:
        driver.kill()
        driver.wait()
    return [int(pid) for pid in children]
