"""Nearest words of many descriptors at once.

Exact search compares with every word. For indexing that costs more than half of what the SIFT itself does, and a query
would spend most of its time on it, so words are grouped into cells: each descriptor looks into the cells nearest to it,
and all descriptors that look into a cell are compared with its words in one matrix product. With byte descriptors the
comparisons are between exact integers, so they do not depend on threads or batches. Cells are trained with the
vocabulary and stored with it, so every process looks into the same ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._faiss import load
from .._numba import kernel
from ..types import Bytes, Float32, Int32, Int64

# Below this many words exact search is as fast, and a vocabulary has no cells.
SMALL = 2048
# Words per cell and share of cells looked into for the nearest word and for several nearest ones; recall and rate are
# measured by benchmarks/assignment.py.
CELL_SIZE = 128
PROBED = 1 / 13
PROBED_FOR_SEVERAL = 1 / 5
# With few cells that is two or three, and recall@1 on SIFT falls to 0.82; eight give 0.99.
LEAST_PROBED = 8
# The same for vocabularies of more words than LARGE; measured by benchmarks/vocabulary.py. The number looked into is
# LEAST_PROBED and these times the root of how many cells there are: a fixed share would be too many of thousands.
LARGE = 32_768
LARGE_CELL = 256
PROBED_OF_LARGE = 0.45
PROBED_OF_LARGE_FOR_SEVERAL = 1.2
# What caches of assigned words must agree on, besides the vocabulary.
ASSIGNMENT = f"{PROBED:.4f} {LEAST_PROBED} {PROBED_OF_LARGE} {LARGE}"


def flat_index(centroids: Bytes | Float32) -> Any:
    """faiss's exact search."""
    index = load().IndexFlatL2(centroids.shape[1])
    index.add(centroids.astype(np.float32))
    return index


@dataclass(frozen=True)
class Cells:
    """Which words lie near each other. Several vocabularies have equally many cells each, one after the other."""

    centres: Bytes | Float32  # (C, p), of the words' type
    cell: Int32  # (K) of each word, counted within its vocabulary

    @classmethod
    def around(cls, centres: Bytes | Float32, words: Bytes | Float32) -> Cells:
        """Each word in the cell whose centre is nearest."""
        _, cell = flat_index(centres).search(words.astype(np.float32), 1)
        return cls(centres, cell[:, 0].astype(np.int32))

    @classmethod
    def of(cls, words: Bytes | Float32) -> Cells:
        """Found by a seeded k-means over the words."""
        values = words.astype(np.float32)
        clustering = load().Kmeans(words.shape[1], max(1, len(words) // CELL_SIZE), niter=10, seed=1)
        clustering.cp.min_points_per_centroid, clustering.cp.max_points_per_centroid = 1, len(words)
        clustering.train(values)
        _, cell = clustering.index.search(values, 1)
        centres: Any = np.rint(clustering.centroids) if words.dtype == np.uint8 else clustering.centroids
        return cls(centres.astype(words.dtype), cell[:, 0].astype(np.int32))

    @classmethod
    def joined(cls, each: list[Cells]) -> Cells:
        """Those of several vocabularies."""
        centres: Any = np.concatenate([cells.centres for cells in each])
        return cls(centres, np.concatenate([cells.cell for cells in each]))

    def split(self, vocabularies: int) -> list[Cells]:
        """Those of each vocabulary."""
        centres: list[Any] = np.split(self.centres, vocabularies)
        return [Cells(*mine) for mine in zip(centres, np.split(self.cell, vocabularies), strict=True)]

    def fits(self, words: Bytes | Float32, vocabularies: int) -> bool:
        """Every word is in a cell of its vocabulary."""
        centres, cell = self.centres, self.cell
        if centres.dtype != words.dtype or centres.ndim != 2 or centres.shape[1] != words.shape[1]:
            return False
        if cell.dtype != np.int32 or cell.shape != (len(words),) or len(centres) % vocabularies:
            return False
        return bool(cell.min() >= 0 and cell.max() < len(centres) // vocabularies)


class CellSearch:
    """The nearest words, looking into the nearest cells only."""

    def __init__(self, centroids: Bytes | Float32, cells: Cells) -> None:
        values = centroids.astype(np.float32)
        self._cells, cell = cells.centres.astype(np.float32), cells.cell
        self._order: Int64 = np.argsort(cell, kind="stable")
        self._bounds = np.searchsorted(cell[self._order], np.arange(len(self._cells) + 1))
        self._words = values[self._order]
        self._cell_halves, self._word_halves = _half_norms(self._cells), _half_norms(self._words)

    def search(self, values: Float32, neighbours: int) -> tuple[Float32, Int64]:
        """Squared distances and numbers of the nearest words of each row, nearest first.

        Words are compared by ‖w‖²/2 − x·w. A row whose cells hold too few words has an infinite distance for the rest.
        """
        cells, probes = len(self._cells), self._probes(neighbours)
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

    def _probes(self, neighbours: int) -> int:
        """How many cells are looked into."""
        cells = len(self._cells)
        if len(self._words) > LARGE:
            roots = PROBED_OF_LARGE if neighbours == 1 else PROBED_OF_LARGE_FOR_SEVERAL
            return min(cells, LEAST_PROBED + round(roots * math.sqrt(cells)))
        share = PROBED if neighbours == 1 else PROBED_FOR_SEVERAL
        return min(cells, max(LEAST_PROBED, round(cells * share)))


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
