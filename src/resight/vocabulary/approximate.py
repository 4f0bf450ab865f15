"""k-means for large vocabularies: each round looks for the nearest words in cells (Philbin et al. 2007 use k-d trees).

Descriptors are converted to floats and compared a block at a time, in several threads or by the workers of an engine. A
block is the same whatever their number, so that the words are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from .._numba import kernel
from ..machine import processors
from ..options import VocabularyOptions
from ..types import Bytes, Float32, Int64
from .k_means import Done, k_means, silent
from .nearest import LARGE_CELL, Cells, CellSearch

BLOCK = 4096  # descriptors
BLOCKS = 4  # that a worker gets at a time
ROUNDS_FOR_CELLS = 10

Values = Bytes | Float32
Near = tuple[Float32, Int64]  # of each descriptor: how far (squared) it is from its word, and which that is
# How an engine runs a plan, which makes a worker, on the jobs: results in their order.
Across = Callable[[Callable[[], Callable[[Values], Near]], Iterable[Values]], Iterator[Near]]


@dataclass(frozen=True)
class Looker:
    """Finds the words of descriptors; calling it makes what a worker does."""

    words: Values
    cells: Cells

    def __call__(self) -> Callable[[Values], Near]:
        search = CellSearch(self.words, self.cells).search

        def look(descriptors: Values) -> Near:
            """Block by block, as everywhere: so sums of floats are the same."""
            found = [search(block.astype(np.float32), 1) for block in _blocks(descriptors, BLOCK)]
            squared, word = (np.concatenate(values)[:, 0] for values in zip(*found, strict=True))
            return squared, word

        return look


def _blocks(descriptors: Values, size: int) -> Iterator[Values]:
    return (descriptors[begin : begin + size] for begin in range(0, len(descriptors), size))


def in_threads(
    plan: Callable[[], Callable[[Values], Near]], jobs: Iterable[Values], *, threads: int | None = None
) -> Iterator[Near]:
    """Here. Many products of small matrices: threads of our own use the processors better than those of BLAS."""
    with threadpool_limits(1), ThreadPoolExecutor(threads or processors()) as pool:
        yield from pool.map(plan(), jobs)


def approximate_k_means(
    descriptors: Values,
    count: int,
    *,
    options: VocabularyOptions,
    done: Done = silent,
    across: Across = in_threads,
) -> tuple[Values, Cells]:
    """The centroids (count, d), of the descriptors' type, and the cells that they are found in.

    The first centroids are descriptors. Cells are learnt from those once: afterwards centroids move, and may change
    their cell, but lie as the descriptors do.
    """
    drawn = np.random.default_rng(options.seed).choice(len(descriptors), count, replace=False)
    words = descriptors[drawn]
    whole = words.dtype == np.uint8
    brief = replace(options, iterations=ROUNDS_FOR_CELLS)
    centres = k_means(words.astype(np.float32), max(1, count // LARGE_CELL), options=brief, whole=whole)
    for _ in range(options.iterations):
        squared, word = nearest_words(descriptors, words, Cells.around(centres, words), across=across)
        words = _means(descriptors, words, word, squared)
        done(1)
    return words, Cells.around(centres, words)


def nearest_words(descriptors: Values, words: Values, cells: Cells, *, across: Across = in_threads) -> Near:
    """The word of each descriptor, looked for by many at once."""
    squared, word = np.empty(len(descriptors), np.float32), np.empty(len(descriptors), np.int64)
    begin = 0
    for near, found in across(Looker(words, cells), _blocks(descriptors, BLOCKS * BLOCK)):
        squared[begin : begin + len(near)], word[begin : begin + len(found)] = near, found
        begin += len(near)
    return squared, word


def _means(descriptors: Values, words: Values, word: Int64, squared: Float32) -> Values:
    """Each word becomes the mean of its descriptors, rounded where they are bytes.

    One without any becomes a descriptor: the farthest one of a word whose squared distances add up to most.
    """
    order = np.argsort(word, kind="stable")
    bounds = np.searchsorted(word[order], np.arange(len(words) + 1))
    means = words.astype(np.float32)
    _average(descriptors, order, bounds, means)
    new = np.rint(means).astype(np.uint8) if words.dtype == np.uint8 else means
    held = np.diff(bounds)
    empty = np.flatnonzero(held == 0)
    spread = np.where(held > 1, np.bincount(word, weights=squared, minlength=len(words)), 0)
    widest = np.argsort(-spread, kind="stable")[: len(empty)]
    for mine, theirs in zip(empty, widest[spread[widest] > 0], strict=False):
        members = order[bounds[theirs] : bounds[theirs + 1]]
        new[mine] = descriptors[members[squared[members].argmax()]]
    return new


@kernel
def _average(descriptors: Values, order: Int64, bounds: Int64, means: Float32) -> None:
    """Means of rows order[bounds[w]] … order[bounds[w + 1] − 1]; where there are none, means[w] stays as it is."""
    total = np.zeros(descriptors.shape[1], np.float64)
    for w in range(len(means)):
        begin, end = bounds[w], bounds[w + 1]
        if begin == end:
            continue
        total[:] = 0
        for i in range(begin, end):
            row = descriptors[order[i]]
            for d in range(len(total)):
                total[d] += row[d]
        for d in range(len(total)):
            means[w, d] = total[d] / (end - begin)
