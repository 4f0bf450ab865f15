"""k-means for large vocabularies: each round looks for the nearest words in cells (Philbin et al. 2007 use k-d trees).

Descriptors are converted to floats and compared a block at a time, in several threads. A block is the same whatever
the number of threads, so that the words are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from .._numba import kernel
from ..machine import processors
from ..options import VocabularyOptions
from ..types import Bytes, Float32, Int64
from .k_means import Done, k_means, silent
from .nearest import LARGE_CELL, Cells, CellSearch

BLOCK = 4096  # descriptors
ROUNDS_FOR_CELLS = 10


def approximate_k_means(
    descriptors: Bytes | Float32,
    count: int,
    *,
    options: VocabularyOptions,
    done: Done = silent,
    threads: int | None = None,
) -> tuple[Bytes | Float32, Cells]:
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
        squared, word = nearest_words(descriptors, words, Cells.around(centres, words), threads=threads)
        words = _means(descriptors, words, word, squared)
        done(1)
    return words, Cells.around(centres, words)


def nearest_words(
    descriptors: Bytes | Float32, words: Bytes | Float32, cells: Cells, *, threads: int | None = None
) -> tuple[Float32, Int64]:
    """How far (squared) each descriptor is from its word, and which that is."""
    search = CellSearch(words, cells).search
    squared, word = np.empty(len(descriptors), np.float32), np.empty(len(descriptors), np.int64)

    def look(begin: int) -> None:
        block = slice(begin, begin + BLOCK)
        near, found = search(descriptors[block].astype(np.float32), 1)
        squared[block], word[block] = near[:, 0], found[:, 0]

    # Many products of small matrices: threads of our own use the processors better than those of BLAS.
    with threadpool_limits(1), ThreadPoolExecutor(threads or processors()) as pool:
        for _ in pool.map(look, range(0, len(descriptors), BLOCK)):
            pass
    return squared, word


def _means(descriptors: Bytes | Float32, words: Bytes | Float32, word: Int64, squared: Float32) -> Bytes | Float32:
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
def _average(descriptors: Bytes | Float32, order: Int64, bounds: Int64, means: Float32) -> None:
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
