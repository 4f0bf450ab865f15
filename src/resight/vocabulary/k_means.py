"""k-means by faiss: seeded, and the same with any number of threads."""

from __future__ import annotations

import numpy as np

from .._faiss import load
from ..options import VocabularyOptions
from ..types import Bytes, Float32


def k_means(values: Float32, count: int, *, options: VocabularyOptions, whole: bool) -> Bytes | Float32:
    """The centroids (count, d); as bytes where descriptors are whole numbers."""
    faiss = load()
    clustering = faiss.Clustering(values.shape[1], count)
    clustering.niter, clustering.seed = options.iterations, options.seed
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, len(values)
    clustering.train(values, faiss.IndexFlatL2(values.shape[1]))
    centroids: Float32 = faiss.vector_to_array(clustering.centroids).reshape(count, -1)
    return np.clip(np.rint(centroids), 0, 255).astype(np.uint8) if whole else centroids
