"""SIFT histograms → RootSIFT on a byte grid: the space that vocabularies live in."""

from __future__ import annotations

import numpy as np

from ..types import Bytes, Float32

# RootSIFT is kept on a byte grid of this step. The rounding error (norm 0.006) is far below the distance between
# matching descriptors (about 0.5), and dot products become exact integers below 2^24: float32 arithmetic then gives the
# same words on any machine, with any number of threads.
GRID = 512.0


def root_sift(descriptors: Float32) -> Bytes:
    """RootSIFT on the byte grid: L1-normalise, element-wise square root (LEARN-14 §4.1), times GRID."""
    total: Float32 = np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-12)
    grid: Float32 = np.rint(np.sqrt(descriptors / total) * GRID)
    return np.minimum(grid, 255).astype(np.uint8)
