"""Nearest words of many descriptors at once.

Exact search compares with every word. For indexing that costs more than half of what the SIFT itself does, and a query
would spend most of its time on it, so words are grouped into cells: each descriptor looks into the cells nearest to it,
and all descriptors that look into a cell are compared with its words in one matrix product. With byte descriptors the
comparisons are between exact integers, so they do not depend on threads or batches. The cells come from a seeded
k-means on floats, and are as reproducible as that is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._faiss import load
from .._numba import kernel
from ..types import Bytes, Float32, Int64

# Words per cell and share of cells looked into for the nearest word and for several nearest ones; recall and rate are
# measured by benchmarks/assignment.py.
CELL_SIZE = 128
PROBED = 1 / 13
PROBED_FOR_SEVERAL = 1 / 5
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
    """The nearest words, looking into the nearest cells only."""

    def __init__(self, centroids: Bytes | Float32) -> None:
        values = centroids.astype(np.float32)
        count = max(1, len(values) // CELL_SIZE)
        clustering = load().Kmeans(values.shape[1], count, niter=10, seed=1, min_points_per_centroid=1)
        clustering.cp.max_points_per_centroid = len(values)
        clustering.train(values)
        self._cells = np.rint(clustering.centroids) if centroids.dtype == np.uint8 else clustering.centroids
        _, cell = clustering.index.search(values, 1)
        self._order: Int64 = np.argsort(cell[:, 0], kind="stable")
        self._bounds = np.searchsorted(cell[self._order, 0], np.arange(count + 1))
        self._words = values[self._order]
        self._cell_halves, self._word_halves = _half_norms(self._cells), _half_norms(self._words)

    def search(self, values: Float32, neighbours: int) -> tuple[Float32, Int64]:
        """Squared distances and numbers of the nearest words of each row, nearest first.

        Words are compared by ‖w‖²/2 − x·w. A row whose cells hold too few words has an infinite distance for the rest.
        """
        cells = len(self._cells)
        share = PROBED if neighbours == 1 else PROBED_FOR_SEVERAL
        probes = min(cells, max(LEAST_PROBED, round(cells * share)))
        near = np.argpartition(self._cell_halves - values @ self._cells.T, probes - 1, axis=1)[:, :probes]
        looked_into = near.ravel().astype(np.int16 if cells < 2**15 else np.int64)  # short ones sort faster
        order = np.argsort(looked_into, kind="stable")
        visitors, starts = order // probes, np.searchsorted(looked_into[order], np.arange(cells + 1))
        least = np.full((len(values), neighbours), np.inf, np.float32)
        best = np.zeros((len(values), neighbours), np.int64)
        for cell in range(cells):
            visitor = visitors[starts[cell] : starts[cell + 1]]
            first, last = self._bounds[cell], self._bounds[cell + 1]
            if len(visitor) and first < last:
                products = values[visitor] @ self._words[first:last].T
                _keep_nearest(visitor, products, self._word_halves[first:last], first, least, best)
        return 2 * (least + _half_norms(values)[:, None]), self._order[best]


@kernel
def _keep_nearest(visitor: Int64, products: Float32, halves: Float32, first: int, least: Float32, best: Int64) -> None:
    """Insert the words first, first + 1, … into the sorted lists of the rows that look at them."""
    last = least.shape[1] - 1
    for i in range(len(visitor)):
        row = visitor[i]
        for w in range(len(halves)):
            distance = halves[w] - products[i, w]
            if distance < least[row, last]:
                at = last
                while at > 0 and distance < least[row, at - 1]:
                    least[row, at], best[row, at] = least[row, at - 1], best[row, at - 1]
                    at -= 1
                least[row, at], best[row, at] = distance, first + w


def _half_norms(vectors: Float32) -> Float32:
    """‖v‖² / 2: at most 2^17 for byte descriptors, so halves are exact in float32."""
    norms: Float32 = np.einsum("ij,ij->i", vectors, vectors)
    return norms / np.float32(2)
