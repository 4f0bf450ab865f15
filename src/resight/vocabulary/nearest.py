"""Nearest words of many descriptors at once.

Exact search compares with every word. For indexing that costs more than half of what the SIFT itself does, so words are
grouped into cells: each descriptor looks into the cells nearest to it, and all descriptors that look into a cell are
compared with its words in one matrix product. With byte descriptors the comparisons are between exact integers, so they
do not depend on threads or batches. The cells come from a seeded k-means on floats, and are as reproducible as that is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._faiss import load
from ..types import Bytes, Float32, Int64

# Words per cell and share of cells looked into; recall@1 and rate are measured by benchmarks/assignment.py.
CELL_SIZE = 128
PROBED = 1 / 13
# With few cells that is two or three, and recall@1 on SIFT falls to 0.82; eight give 0.99.
LEAST_PROBED = 8
# Below this many words exact search is as fast.
SMALL = 2048
ASSIGNMENT = f"{CELL_SIZE} {PROBED:.4f} {LEAST_PROBED} {SMALL}"  # what caches of assigned words must agree on


def flat_index(centroids: Bytes | Float32) -> Any:
    """faiss's exact search."""
    index = load().IndexFlatL2(centroids.shape[1])
    index.add(centroids.astype(np.float32))
    return index


class CellSearch:
    """The nearest word, looking into the nearest cells only."""

    def __init__(self, centroids: Bytes | Float32) -> None:
        values = centroids.astype(np.float32)
        count = max(1, len(values) // CELL_SIZE)
        clustering = load().Kmeans(values.shape[1], count, niter=10, seed=1, min_points_per_centroid=1)
        clustering.cp.max_points_per_centroid = len(values)
        clustering.train(values)
        self._probes = min(count, max(LEAST_PROBED, round(count * PROBED)))
        self._cells = np.rint(clustering.centroids) if centroids.dtype == np.uint8 else clustering.centroids
        _, cell = clustering.index.search(values, 1)
        self._order: Int64 = np.argsort(cell[:, 0], kind="stable")
        self._bounds = np.searchsorted(cell[self._order, 0], np.arange(count + 1))
        self._words = values[self._order]
        self._cell_halves, self._word_halves = _half_norms(self._cells), _half_norms(self._words)

    def search(self, values: Float32) -> Int64:
        """The nearest word of each row: argmin ‖w‖²/2 − x·w over the words of the nearest cells."""
        rows = len(values)
        near = np.argpartition(self._cell_halves - values @ self._cells.T, self._probes - 1, axis=1)[:, : self._probes]
        looked_into = near.ravel().astype(np.int16 if len(self._cells) < 2**15 else np.int64)  # short ones sort faster
        order = np.argsort(looked_into, kind="stable")
        visitors, starts = order // self._probes, np.searchsorted(looked_into[order], np.arange(len(self._cells) + 1))
        least, best = np.full(rows, np.inf, np.float32), np.zeros(rows, np.int64)
        for cell in range(len(self._cells)):
            visitor = visitors[starts[cell] : starts[cell + 1]]
            first, last = self._bounds[cell], self._bounds[cell + 1]
            if len(visitor) == 0 or first == last:
                continue
            distance = self._word_halves[first:last] - values[visitor] @ self._words[first:last].T
            word = distance.argmin(axis=1)
            smallest = distance[np.arange(len(visitor)), word]
            closer = smallest < least[visitor]
            least[visitor[closer]], best[visitor[closer]] = smallest[closer], first + word[closer]
        return self._order[best]


def _half_norms(vectors: Float32) -> Float32:
    """‖v‖² / 2: at most 2^17 for byte descriptors, so halves are exact in float32."""
    norms: Float32 = np.einsum("ij,ij->i", vectors, vectors)
    return norms / np.float32(2)
