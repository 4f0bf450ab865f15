"""Nearest words of many descriptors at once.

Exact search compares with every word. For indexing that costs more than half of what the SIFT itself does, and a query
would spend most of its time on it, so words are grouped into cells, and each descriptor looks into the cells nearest to
it. There, products of principal components tell which words are worth an exact comparison; all descriptors that look
into a cell are multiplied with its words at once. With byte descriptors all of it is exact in whole numbers, so it does
not depend on threads or batches. Cells are trained with the vocabulary and stored with it, so every process looks into
the same ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._faiss import load
from .._numba import kernel, summing_kernel
from ..types import Bytes, Float32, Int32, Int64
from .principal import SHARE, Principal

# Below this many words exact search is as fast, and a vocabulary has no cells.
SMALL = 2048
# Words per cell and share of cells looked into for the nearest word and for several nearest ones; recall and rate are
# measured by benchmarks/assignment.py.
CELL_SIZE = 128
PROBED = 1 / 10
PROBED_FOR_SEVERAL = 1 / 6.5
# With few cells that is two or three, and recall@1 on SIFT falls to 0.82; eight give 0.99.
LEAST_PROBED = 8
# The same for vocabularies of more words than LARGE; measured by benchmarks/vocabulary.py. The number looked into is
# LEAST_PROBED and these times the root of how many cells there are: a fixed share would be too many of thousands.
LARGE = 32_768
LARGE_CELL = 256
PROBED_OF_LARGE = 0.45
PROBED_OF_LARGE_FOR_SEVERAL = 1.2
# Words in a block. Blocks that are compared exactly: half as many again as neighbours are wanted, and SPARE more. So
# recall stays within a hundredth of what it is if all words of the cells are compared.
BLOCK = 8
SPARE = 5
# What caches of assigned words must agree on, besides the vocabulary.
ASSIGNMENT = f"{PROBED:.4f} {LEAST_PROBED} {PROBED_OF_LARGE} {LARGE} {BLOCK} {SPARE} {SHARE}"


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
    """The nearest words, looking into the nearest cells only.

    Principal components choose the cells, and the words in them that are compared exactly: the blocks of BLOCK words
    whose best one is among the nearest. That is cheaper to find than the nearest words themselves.
    """

    def __init__(self, centroids: Bytes | Float32, cells: Cells) -> None:
        self._principal = Principal.of(centroids)
        self._centres = self._principal.of_words(cells.centres)
        self._order, self._bounds = _in_blocks(cells)
        self._words = centroids[self._order]
        short = self._principal.of_words(self._words)
        short[self._order < 0, -1] = -np.inf
        # Of each cell the first words of all blocks, then the second ones, and so on.
        self._short = [
            np.concatenate([short[first + word : last : BLOCK] for word in range(BLOCK)])
            for first, last in pairwise(self._bounds.tolist())
        ]
        self._blocks = np.sort(np.diff(self._bounds) // BLOCK)[::-1]  # of cells, most first

    def search(self, values: Float32, neighbours: int) -> tuple[Float32, Int64]:
        """Squared distances and numbers of the nearest words of each row, nearest first.

        A row whose cells hold too few words has an infinite distance for the rest.
        """
        probes, rows = self._probes(neighbours), self._principal.of_descriptors(values)
        near: Float32 = rows @ self._centres.T
        looks, visitors, starts = _visitors(near, _nth(near, probes), probes)
        best = np.full((len(rows), self._blocks[:probes].sum()), -np.inf, np.float32)
        held = np.zeros(len(rows), np.int64)
        for cell in np.flatnonzero(np.diff(starts)):
            visitor = visitors[starts[cell] : starts[cell + 1]]
            _note_blocks(visitor, rows.take(visitor, axis=0) @ self._short[cell].T, best, held)
        least = np.full((len(values), neighbours), np.inf, np.float32)
        found = np.zeros((len(values), neighbours), np.int64)
        used = best[:, : held.max(initial=1)]
        wanted = _nth(used, min(SPARE + 3 * neighbours // 2, used.shape[1]))
        exact: Any = values.astype(self._words.dtype, copy=False)
        kind = np.int32 if self._words.dtype == np.uint8 else np.float32
        _compare(exact, self._words, self._order, self._bounds // BLOCK, looks, best, wanted, least, found, kind)
        return least, found

    def _probes(self, neighbours: int) -> int:
        """How many cells are looked into."""
        cells = len(self._centres)
        if len(self._words) > LARGE:
            roots = PROBED_OF_LARGE if neighbours == 1 else PROBED_OF_LARGE_FOR_SEVERAL
            return min(cells, LEAST_PROBED + round(roots * math.sqrt(cells)))
        share = PROBED if neighbours == 1 else PROBED_FOR_SEVERAL
        return min(cells, max(LEAST_PROBED, round(cells * share)))


def _in_blocks(cells: Cells) -> tuple[Int64, Int64]:
    """The words in order of their cells, each cell filled up to whole blocks with −1; and where cells begin."""
    order = np.argsort(cells.cell, kind="stable")
    held = np.bincount(cells.cell, minlength=len(cells.centres))
    bounds = np.concatenate([[0], np.cumsum(-(-held // BLOCK) * BLOCK)])
    before = np.cumsum(held) - held
    lined_up = np.full(bounds[-1], -1)
    lined_up[np.arange(len(order)) + np.repeat(bounds[:-1] - before, held)] = order
    return lined_up, bounds


def _nth(values: Float32, n: int) -> Float32:
    """The n-th greatest value of each row."""
    at = values.shape[1] - n
    greatest: Float32 = np.partition(values, at, axis=1)[:, at].copy()
    return greatest


@kernel
def _visitors(near: Float32, least: Float32, probes: int) -> tuple[Int64, Int64, Int64]:
    """The cells that each row looks into; the rows that look into each cell, and where those of each cell begin.

    Of equally near cells a row takes the first.
    """
    rows, cells = near.shape
    chosen, starts = np.empty((rows, probes + 1), np.int64), np.zeros(cells + 2, np.int64)
    for row in range(rows):
        count = 0
        for cell in range(cells):
            chosen[row, count] = cell
            count += (near[row, cell] >= least[row]) & (count < probes)
        for i in range(probes):
            starts[chosen[row, i] + 2] += 1
    for cell in range(cells):
        starts[cell + 2] += starts[cell + 1]
    visitors = np.empty(rows * probes, np.int64)
    for row in range(rows):
        for i in range(probes):
            cell = chosen[row, i]
            visitors[starts[cell + 1]] = row
            starts[cell + 1] += 1
    return chosen[:, :probes].copy(), visitors, starts[:-1]


@kernel
def _note_blocks(visitor: Int64, products: Float32, best: Float32, held: Int64) -> None:
    """Append the best product of each of the cell's blocks to what is held of the rows that look at it."""
    blocks = products.shape[1] // BLOCK
    for i in range(len(visitor)):
        row = visitor[i]
        begin = held[row]
        mine, product = best[row, begin : begin + blocks], products[i]
        for b in range(blocks):
            greatest = product[b]
            for word in range(1, BLOCK):
                other = product[word * blocks + b]
                greatest = other if other > greatest else greatest
            mine[b] = greatest
        held[row] = begin + blocks


@summing_kernel
def _compare(
    values: Bytes | Float32,
    words: Bytes | Float32,
    order: Int64,
    starts: Int64,
    looks: Int64,
    best: Float32,
    wanted: Float32,
    least: Float32,
    found: Int64,
    kind: type[np.int32] | type[np.float32],
) -> None:
    """Fill sorted lists with the words of the blocks whose best product is at least ``wanted``."""
    last = np.uint64(least.shape[1] - 1)
    one, none = np.uint64(1), np.uint64(0)
    chosen = np.empty(best.shape[1] + 1, np.int64)
    for row in range(len(values)):
        count = begin = 0
        for cell in looks[row]:
            mine = best[row, begin : begin + starts[cell + 1] - starts[cell]]
            for b in range(len(mine)):
                chosen[count] = starts[cell] + b
                count += mine[b] >= wanted[row]
            begin += len(mine)
        value, near, number = values[row], least[row], found[row]
        bound = near[last]
        for i in range(count):
            for n in range(chosen[i] * BLOCK, (chosen[i] + 1) * BLOCK):
                word = words[n]
                total = kind(0)
                for d in range(len(value)):
                    gap = kind(kind(value[d]) - kind(word[d]))
                    total = kind(total + gap * gap)
                distance = np.float32(total)
                if distance < bound and order[n] >= 0:
                    at = last
                    while at > none and distance < near[at - one]:
                        near[at], number[at] = near[at - one], number[at - one]
                        at -= one
                    near[at], number[at] = distance, order[n]
                    bound = near[last]
