"""How fast and how right is the assignment of features to words?

    python benchmarks/assignment.py

Cells (what `index` and `search` use) against faiss's exact search and HNSW, one thread, real descriptors of the
holidays pictures, in batches of one picture; the nearest word, as for pictures, and the five nearest, as for queries.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

from resight._faiss import load
from resight.evaluation.experiments.experiment import DOG
from resight.folders import find_pictures
from resight.ingest import Reader
from resight.types import Float32, Int64
from resight.vocabulary import Vocabulary
from resight.vocabulary.nearest import CellSearch, flat_index

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def main() -> None:
    faiss, vocabulary = load(), Vocabulary.ready(DOG.detector)
    paths = list(find_pictures([DATA / "holidays"]))[::10]
    batches: list[Float32] = [
        Reader(DOG).open(path, name=str(path)).features().descriptors.astype(np.float32) for path in paths
    ]
    assert vocabulary.cells
    exact, cells = flat_index(vocabulary.centroids), CellSearch(vocabulary.centroids, vocabulary.cells)
    graph = faiss.IndexHNSWFlat(vocabulary.dimension, 16)
    graph.add(vocabulary.centroids.astype(np.float32))
    graph.hnsw.efSearch = 32
    searches = {"exact (faiss flat)": exact.search, "HNSW16 ef32 (faiss)": graph.search, "cells": cells.search}
    for neighbours in (1, 5):
        truth: Int64 = np.concatenate([exact.search(b, neighbours)[1] for b in batches])
        for name, search in searches.items():
            rates: list[float] = []
            for _ in range(3):
                start = time.perf_counter()
                found: Int64 = np.concatenate([search(b, neighbours)[1] for b in batches])
                rates.append(len(truth) / (time.perf_counter() - start))
            recall = (found[:, :, None] == truth[:, None, :]).any(axis=1).mean()
            print(
                f"{name}: {max(rates) / 1e3:.1f} k descriptors/s, {recall:.4f} of the {neighbours} nearest words found"
            )


if __name__ == "__main__":
    main()
