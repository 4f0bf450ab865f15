"""Descriptors → a trained vocabulary: words by k-means, a random projection, and per-word medians."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VocabularyError
from ..options import FeatureOptions, VocabularyOptions, to_dict
from ..types import Bytes, Float32, Int64
from .codes import insist_on_codes, learn_codebooks
from .k_means import k_means
from .nearest import flat_index
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
    descriptors: Bytes | Float32, *, options: VocabularyOptions, source: str, features: FeatureOptions | None = None
) -> Vocabulary:
    """Words by k-means, then the Hamming embedding of BURST-09 §2.2 on the same descriptors.

    They come in random order, as ``sample`` gives them, and for several vocabularies that many times as many: each is
    learnt from ``options.sample`` of its own. Where there are fewer, some are shared.
    """
    count, total = options.vocabularies, len(descriptors)
    size = min(total, max(options.sample, total // count))
    if size < options.words:
        raise VocabularyError(
            f"{size} descriptors cannot make {options.words} words; give more pictures or fewer words"
        )
    if options.codes:
        insist_on_codes(descriptors, options.codes)  # before the words, which take long
    whole = descriptors.dtype == np.uint8
    values = descriptors.astype(np.float32)
    projection = _as_stored_projection(_orthogonal_rows(values.shape[1], options.seed), descriptors.dtype)
    reduction = _principal_axes(values, options.pca) if options.pca else None
    compared = values if reduction is None else values @ reduction.T
    centroids: list[Any] = []  # bytes or floats
    medians: list[Float32] = []
    for number in range(count):
        begin = number * (total - size) // max(count - 1, 1)
        mine = slice(begin, begin + size)
        seeded = replace(options, seed=options.seed + number)
        words, tree, nearest = _find_words(compared[mine], seeded, whole=whole and reduction is None)
        centroids.append(words)
        medians.append(_medians(values[mine] @ projection.astype(np.float32).T, nearest, len(words)))
    found = np.concatenate(medians)
    codebooks = None
    if options.codes:  # then there is one vocabulary: the last one's words are all
        codebooks = learn_codebooks(values[mine], centroids[-1][nearest], options=options, whole=whole)
    return Vocabulary(
        centroids=np.concatenate(centroids),
        projection=projection,
        # Integers throughout: x > median is x > floor(median).
        medians=np.floor(found).astype(np.int16) if whole else found.astype(np.float32),
        description={
            "options": to_dict(options),
            "features": to_dict(features) if features else None,
            "descriptors": total,
            "words": len(found),  # of a tree there may be fewer than asked for
            "source": source,
        },
        tree=tree,
        reduction=reduction,
        vocabularies=count,
        codebooks=codebooks,
    )


def _find_words(
    values: Float32, options: VocabularyOptions, *, whole: bool
) -> tuple[Bytes | Float32, Tree | None, Int64]:
    """The centroids, the tree above them if there is to be one, and the word of each row."""
    if options.branching:
        words, tree = grow(values, options=options, whole=whole)
        return words, tree, TreeSearch(words, tree).search(values, 1)[1][:, 0]
    words = k_means(values, options.words, options=options, whole=whole)
    return words, None, flat_index(words).search(values, 1)[1][:, 0]


def _principal_axes(values: Float32, count: int) -> Float32:
    """The directions (count, d) in which descriptors vary most, each of length 1."""
    if count > values.shape[1]:
        raise VocabularyError(
            f"descriptors of {values.shape[1]} dimensions cannot be reduced to {count}; set vocabulary.pca lower"
        )
    centred = values - values.mean(axis=0)
    _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))  # the largest come last
    return np.ascontiguousarray(axes[:, ::-1][:, :count].T, dtype=np.float32)


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
    medians = np.tile(np.median(projected, axis=0), (count, 1))
    order = np.argsort(words, kind="stable")
    bounds = np.searchsorted(words[order], np.arange(count + 1))
    for word in np.flatnonzero(np.diff(bounds) >= LEAST_FOR_MEDIANS):
        members = order[bounds[word] : bounds[word + 1]]
        medians[word] = np.median(projected[members], axis=0)
    return medians
