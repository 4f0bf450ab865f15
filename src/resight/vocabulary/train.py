"""Descriptors → a trained vocabulary: words by k-means, a random projection, and per-word medians."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..errors import VocabularyError
from ..options import FeatureOptions, VocabularyOptions, to_dict
from ..types import Bytes, Float32, Int64
from .approximate import BLOCK, Across, approximate_k_means, in_threads, nearest_words
from .codes import MOST_LEARNT_FROM, learn_codebooks, require_codes
from .k_means import Done, k_means, silent
from .nearest import LARGE, SMALL, Cells, flat_index
from .tree import Tree, TreeSearch, grow
from .vocabulary import SIGNATURE_BITS, Vocabulary

# A word needs this many training descriptors for its own medians; rarer words use the medians of all descriptors.
LEAST_FOR_MEDIANS = 8
# Length of an integer projection row. Byte descriptors have norm ≈ 512, so projections fit 16 bits: 512 · 60 < 2^15.
ROW_NORM = 60.0


def sample(sets: Iterable[Bytes | Float32], *, size: int, seed: int) -> Bytes | Float32:
    """A uniform sample of at most ``size`` rows of all sets together; memory grows with ``size`` alone.

    Every row draws a random priority from a stream of its own set, so the result depends on the seed and on
    how the rows come in sets, not on who extracts them; the lowest priorities win.
    """
    rows: list[Bytes | Float32] = []
    priorities: list[npt.NDArray[np.float64]] = []
    held = 0
    for number, descriptors in enumerate(sets):
        rows.append(descriptors)
        priorities.append(np.random.default_rng((seed, number)).random(len(descriptors)))
        held += len(descriptors)
        if held > 2 * size:
            _keep_lowest(rows, priorities, size)
            held = size
    if held == 0:
        raise VocabularyError("no descriptors to train on; give pictures with visible detail")
    _keep_lowest(rows, priorities, min(size, held))
    return rows[0]


def _keep_lowest(rows: list[Any], priorities: list[Any], size: int) -> None:
    all_rows, all_priorities = np.concatenate(rows), np.concatenate(priorities)
    kept = np.argsort(all_priorities, kind="stable")[:size]
    rows[:], priorities[:] = [all_rows[kept]], [all_priorities[kept]]


def train(
    descriptors: Bytes | Float32,
    *,
    options: VocabularyOptions,
    source: str,
    features: FeatureOptions | None = None,
    exact_up_to: int = LARGE,
    done: Done = silent,
    across: Across = in_threads,
) -> Vocabulary:
    """Words by k-means, then the Hamming embedding of BURST-09 §2.2 on the same descriptors.

    They come in random order, as ``sample`` gives them, and for several vocabularies that many times as many: each is
    learnt from ``options.sample`` of its own. Where there are fewer, some are shared. With more than ``exact_up_to``
    words k-means is approximate, since an exact round compares each descriptor with every word; descriptors then become
    floats a block at a time.
    ``done`` hears of each round of k-means: ``rounds(options)`` in all. ``across`` shares out the work of approximate
    rounds; the words do not depend on it.
    """
    count, total = options.vocabularies, len(descriptors)
    size = min(total, max(options.sample, total // count))
    if size < options.words:
        raise VocabularyError(
            f"{size} descriptors cannot make {options.words} words; give more pictures or fewer words"
        )
    if options.codes:
        require_codes(descriptors, options.codes)  # before the words, which take long
    whole = descriptors.dtype == np.uint8
    projection = _as_stored_projection(_orthogonal_rows(descriptors.shape[1], options.seed), descriptors.dtype)
    reduction = _principal_axes(descriptors, options.pca) if options.pca else None
    compared = descriptors if reduction is None else _product(descriptors, reduction.T)
    found: list[Found] = []
    medians: list[Float32] = []
    for number in range(count):
        begin = number * (total - size) // max(count - 1, 1)
        mine = slice(begin, begin + size)
        seeded = replace(options, seed=options.seed + number)
        found.append(_find_words(compared[mine], seeded, exact_up_to=exact_up_to, done=done, across=across))
        projected = _product(descriptors[mine], projection.astype(np.float32).T)
        medians.append(_medians(projected, found[-1].nearest, len(found[-1].words)))
    all_words: Any = np.concatenate([f.words for f in found])
    all_medians = np.concatenate(medians)
    codebooks = None
    if options.codes:  # then there is one vocabulary
        learnt_from = descriptors[:MOST_LEARNT_FROM]
        nearest = all_words[found[0].nearest[:MOST_LEARNT_FROM]]
        codebooks = learn_codebooks(learnt_from, nearest, options=options, whole=whole)
    cells = [f.cells for f in found if f.cells]
    return Vocabulary(
        centroids=all_words,
        projection=projection,
        # Integers throughout: x > median is x > floor(median).
        medians=np.floor(all_medians).astype(np.int16) if whole else all_medians.astype(np.float32),
        description={
            "options": to_dict(options),
            "features": to_dict(features) if features else None,
            "descriptors": total,
            "words": len(all_words),  # of a tree there may be fewer than asked for
            "source": source,
        },
        tree=found[0].tree,
        reduction=reduction,
        vocabularies=count,
        codebooks=codebooks,
        cells=Cells.joined(cells) if cells else None,
    )


def rounds(options: VocabularyOptions) -> int:
    """Of k-means, in all vocabularies. A tree counts as one."""
    return 1 if options.branching else options.vocabularies * options.iterations


class Found(NamedTuple):
    """The words of one vocabulary, the word of each descriptor, and what helps to find words."""

    words: Bytes | Float32
    nearest: Int64
    tree: Tree | None = None
    cells: Cells | None = None


def _find_words(
    compared: Bytes | Float32, options: VocabularyOptions, *, exact_up_to: int, done: Done, across: Across
) -> Found:
    if not options.branching and options.words > exact_up_to:
        words, cells = approximate_k_means(compared, options.words, options=options, done=done, across=across)
        return Found(words, nearest_words(compared, words, cells, across=across)[1], cells=cells)
    whole = compared.dtype == np.uint8
    values = compared.astype(np.float32, copy=False)
    if options.branching:
        words, tree = grow(values, options=options, whole=whole)
        done(1)
        return Found(words, TreeSearch(words, tree).search(values, 1)[1][:, 0], tree=tree)
    words = k_means(values, options.words, options=options, whole=whole, done=done)
    nearest = flat_index(words).search(values, 1)[1][:, 0]
    return Found(words, nearest, cells=Cells.of(words) if len(words) > SMALL else None)


def _principal_axes(descriptors: Bytes | Float32, count: int) -> Float32:
    """The directions (count, d) in which descriptors vary most, each of length 1."""
    if count > descriptors.shape[1]:
        raise VocabularyError(
            f"descriptors of {descriptors.shape[1]} dimensions cannot be reduced to {count}; set vocabulary.pca lower"
        )
    centred = descriptors.astype(np.float32)
    centred -= centred.mean(axis=0)
    with threadpool_limits(1):  # floats are added in the same order with any number of threads
        _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))  # the largest come last
    return np.ascontiguousarray(axes[:, ::-1][:, :count].T, dtype=np.float32)


def _product(descriptors: Bytes | Float32, matrix: Float32) -> Float32:
    """descriptors · matrix; they become floats a block at a time."""
    product = np.empty((len(descriptors), matrix.shape[1]), np.float32)
    with threadpool_limits(1):
        for begin in range(0, len(descriptors), BLOCK):
            block = slice(begin, begin + BLOCK)
            product[block] = descriptors[block].astype(np.float32) @ matrix
    return product


def _orthogonal_rows(dimension: int, seed: int) -> Float32:
    """The first 64 rows of a random orthogonal matrix; with fewer dimensions, rows are drawn from several matrices."""
    rng = np.random.default_rng(seed)
    blocks = [
        np.linalg.qr(rng.standard_normal((dimension, dimension)))[0].T for _ in range(-(-SIGNATURE_BITS // dimension))
    ]
    return np.concatenate(blocks)[:SIGNATURE_BITS].astype(np.float32)


def _as_stored_projection(rows: Float32, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.rint(rows * ROW_NORM).astype(np.int8) if kind == np.uint8 else rows


def _medians(projected: Float32, words: npt.NDArray[np.int64], count: int) -> Float32:
    medians = np.tile([np.median(bit) for bit in projected.T], (count, 1))  # a copy of one column at a time
    order = np.argsort(words, kind="stable")
    bounds = np.searchsorted(words[order], np.arange(count + 1))
    for word in np.flatnonzero(np.diff(bounds) >= LEAST_FOR_MEDIANS):
        members = order[bounds[word] : bounds[word + 1]]
        medians[word] = np.median(projected[members], axis=0)
    return medians
