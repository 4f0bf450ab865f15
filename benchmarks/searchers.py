"""What does it cost to search through Ray's actors instead of in this process, on one machine?

    python benchmarks/searchers.py [--cache CACHE] [--pictures 400]

Pictures of Holidays in segments of 50; queries are the first 40 of its own, assigned beforehand. The same index is
searched here, and by one, two and four actors on this machine; answers are compared. Time is that of ``search`` alone.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from resight.cli.evaluating import default_cache
from resight.engine.ray_searchers import RaySearchers
from resight.evaluation.cache import FeatureCache, Wanted, read
from resight.evaluation.datasets import load
from resight.index import Index
from resight.ingest import Ingester, Reader
from resight.machine import processors
from resight.options import FeatureOptions, ImageOptions, IndexingOptions, StoreOptions
from resight.recipes import RECIPES
from resight.scoring import Query
from resight.search import SegmentGroup, quantise, search
from resight.store import Writer
from resight.types import Features, SearchResult
from resight.vocabulary import Assigner, Vocabulary
from resight.warm import warm

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SEGMENT, QUERIES, TOP = 50, 40, 20
ASKED = ("burst", "verified", "expanded")


def main(cache: Path, pictures: int) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors when this started")
    warm()
    assigner = Assigner(Vocabulary.ready())
    found = features_of(cache, pictures)
    with tempfile.TemporaryDirectory() as folder:
        place = build(Path(folder) / "i.resight", found, assigner)
        with Index.open(place) as index:
            facts = index.info()
            print(f"{facts.pictures} pictures, {facts.features} features, {facts.segments} segments, {QUERIES} queries")
            asked = {
                name: [quantise(assigner, features, RECIPES[name].assign) for features in found[:QUERIES]]
                for name in ASKED
            }
            wanted = {name: timed(index._group, asked[name], name, "in this process") for name in ASKED}
        for count in (1, 2, 4):
            with RaySearchers(count=count) as searchers, Index.open(place) as index:
                index.spread(searchers)
                for name in ASKED:
                    found_there = timed(index._group, asked[name], name, f"Ray, {count} actors")
                    assert found_there == wanted[name], "answers differ"


def timed(group: SegmentGroup, asked: list[Query], name: str, where: str) -> list[SearchResult]:
    recipe = RECIPES[name]
    search(group, asked[:1], top=TOP, recipe=recipe)  # opens and warms up
    answers, seconds = [], []
    for query in asked:
        start = time.perf_counter()
        answers.append(search(group, [query], top=TOP, recipe=recipe))
        seconds.append(time.perf_counter() - start)
    median, slow = 1e3 * np.percentile(seconds, [50, 95])
    print(f"{where:16} {name:10} median {median:7.1f} ms, 95 % {slow:7.1f} ms", flush=True)
    return answers


def features_of(cache: Path, pictures: int) -> list[Features]:
    dataset = load("holidays", DATA / "holidays")
    wanted = [Wanted(path) for _, path in dataset.images[:pictures]]
    kept = FeatureCache(cache / "features", FeatureOptions(), ImageOptions())
    return [read(e.file) for e in kept.extract(wanted, processes=processors()) if e.file]


def build(place: Path, found: list[Features], assigner: Assigner) -> Path:
    Index.create(place).close()
    ingester = Ingester(Reader(FeatureOptions()), assigner, IndexingOptions())
    with Writer(place, options=StoreOptions(merge_factor=1000)) as writer:
        for number, features in enumerate(found):
            writer.add(ingester.entry(features, key=str(number), content=b""))
            if writer.pending >= SEGMENT:
                writer.commit()
        writer.commit()
    return place


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--pictures", type=int, default=400)
    main(**vars(parser.parse_args()))
