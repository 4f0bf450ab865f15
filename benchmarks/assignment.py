"""How fast and how right is the assignment of features to words?

    python benchmarks/assignment.py

Cells (what `index` and `search` use) against faiss's exact search and HNSW, and against comparing all words of the same
cells (faiss's inverted lists); one thread, processor seconds, real descriptors of Holidays and Oxford with each
detector's ready vocabulary, in batches of one picture; the nearest word, as for pictures, and the ten nearest, as for
queries. Milliseconds are those of 2,350 descriptors.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

from resight._faiss import load
from resight.features import DETECTORS
from resight.folders import find_pictures
from resight.ingest import Reader
from resight.options import FeatureOptions
from resight.types import Float32, Int64
from resight.vocabulary import Vocabulary
from resight.vocabulary.nearest import CellSearch, flat_index

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = ("holidays", "oxford_dev")
PICTURES = 15  # of each set
FEATURES = 2350
ROUNDS = 3

Search = Callable[[Float32, int], tuple[Float32, Int64]]


def main() -> None:
    load().omp_set_num_threads(1)
    for detector in DETECTORS:
        vocabulary = Vocabulary.ready(detector)
        searches = searches_of(vocabulary)
        for name in SETS:
            paths = list(find_pictures([DATA / name]))
            reader = Reader(FeatureOptions(detector=detector))
            opened = (reader.open(path, name=str(path)) for path in paths[:: len(paths) // PICTURES][:PICTURES])
            batches = [batch.features().descriptors.astype(np.float32) for batch in opened]
            for neighbours in (1, 10):
                print(f"{detector}, {name}, nearest {neighbours}:")
                compare(searches, batches, neighbours)


def searches_of(vocabulary: Vocabulary) -> dict[str, Search]:
    faiss = load()
    words, cells = vocabulary.centroids.astype(np.float32), vocabulary.cells
    assert cells
    graph = faiss.IndexHNSWFlat(vocabulary.dimension, 16)
    graph.add(words)
    graph.hnsw.efSearch = 32
    search = CellSearch(vocabulary.centroids, cells)

    def all_words(values: Float32, neighbours: int) -> tuple[Float32, Int64]:
        lists.nprobe = search._probes(neighbours)
        found: tuple[Float32, Int64] = lists.search(values, neighbours)
        return found

    centres = flat_index(cells.centres)
    lists: Any = faiss.IndexIVFFlat(centres, vocabulary.dimension, len(cells.centres))
    lists.train(words)
    lists.add(words)
    return {
        "exact (faiss flat)": flat_index(vocabulary.centroids).search,
        "HNSW16 ef32 (faiss)": graph.search,
        "all words of the cells (faiss IVF)": all_words,
        "cells": search.search,
    }


def compare(searches: dict[str, Search], batches: list[Float32], neighbours: int) -> None:
    """The searches take turns, picture by picture; the first is exact."""
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    found: dict[str, list[Int64]] = {name: [] for name in searches}
    for round_ in range(ROUNDS):
        for batch in batches:
            for name, search in searches.items():
                began = time.process_time()
                words = search(batch, neighbours)[1]
                seconds[name].append((time.process_time() - began) / len(batch))
                if not round_:
                    found[name].append(words)
    truth = np.concatenate(found[next(iter(found))])
    for name in searches:
        each = statistics.median(seconds[name])
        recall = (np.concatenate(found[name])[:, :, None] == truth[:, None, :]).any(axis=1).mean()
        print(
            f"  {name}: {1e3 * FEATURES * each:.1f} ms, {1e-3 / each:.1f} k descriptors/s, "
            f"recall@{neighbours} {recall:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
