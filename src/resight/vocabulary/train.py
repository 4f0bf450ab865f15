"""Descriptors → a trained vocabulary: k-means words, a random projection, and per-word medians."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._faiss import load
from ..errors import VocabularyError
from ..options import FeatureOptions, VocabularyOptions, to_dict
from ..types import Bytes, Float32
from .nearest import flat_index
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
    """k-means (faiss) on the descriptors, then the Hamming embedding of BURST-09 §2.2 on the same ones."""
    if len(descriptors) < options.words:
        raise VocabularyError(
            f"{len(descriptors)} descriptors cannot make {options.words} words; give more pictures or fewer words"
        )
    values = descriptors.astype(np.float32)
    centroids = _as_stored(_k_means(values, options), descriptors.dtype)
    projection = _as_stored_projection(_orthogonal_rows(values.shape[1], options.seed), descriptors.dtype)
    _, words = flat_index(centroids).search(values, 1)
    medians = _medians(values @ projection.astype(np.float32).T, words[:, 0], options.words)
    whole = descriptors.dtype == np.uint8  # integers throughout: x > median is x > floor(median)
    return Vocabulary(
        centroids=centroids,
        projection=projection,
        medians=np.floor(medians).astype(np.int16) if whole else medians.astype(np.float32),
        description={
            "options": to_dict(options),
            "features": to_dict(features) if features else None,
            "descriptors": len(descriptors),
            "source": source,
        },
    )


def _k_means(values: Float32, options: VocabularyOptions) -> Float32:
    faiss = load()
    clustering = faiss.Clustering(values.shape[1], options.words)
    clustering.niter, clustering.seed = options.iterations, options.seed
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, len(values)
    clustering.train(values, faiss.IndexFlatL2(values.shape[1]))
    return faiss.vector_to_array(clustering.centroids).reshape(options.words, -1)  # type: ignore[no-any-return]


def _orthogonal_rows(dimension: int, seed: int) -> Float32:
    """The first 64 rows of a random orthogonal matrix; with fewer dimensions, rows are drawn from several matrices."""
    rng = np.random.default_rng(seed)
    blocks = [
        np.linalg.qr(rng.standard_normal((dimension, dimension)))[0].T for _ in range(-(-SIGNATURE_BITS // dimension))
    ]
    return np.concatenate(blocks)[:SIGNATURE_BITS].astype(np.float32)


def _as_stored(centroids: Float32, kind: npt.DTypeLike) -> Bytes | Float32:
    if kind == np.uint8:
        return np.clip(np.rint(centroids), 0, 255).astype(np.uint8)
    return centroids


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
