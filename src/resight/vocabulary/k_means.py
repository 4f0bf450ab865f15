"""k-means by faiss: seeded, and the same with any number of threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._faiss import load
from ..options import VocabularyOptions
from ..types import Bytes, Float32

Done = Callable[[int], None]  # hears how many more rounds were done


def silent(count: int) -> None:
    """Nobody wants to know."""


def k_means(
    values: Float32, count: int, *, options: VocabularyOptions, whole: bool, done: Done = silent
) -> Bytes | Float32:
    """The centroids (count, d); as bytes where descriptors are whole numbers."""
    faiss = load()
    clustering, index = faiss.Clustering(values.shape[1], count), faiss.IndexFlatL2(values.shape[1])
    clustering.niter, clustering.seed = 1, options.seed
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, len(values)
    for _ in range(options.iterations):  # each call goes on from the centroids that the last one left
        clustering.train(values, index)
        done(1)
    centroids: Float32 = faiss.vector_to_array(clustering.centroids).reshape(count, -1)
    return np.clip(np.rint(centroids), 0, 255).astype(np.uint8) if whole else centroids
