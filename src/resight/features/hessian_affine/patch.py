"""What is read of a level: a square grid around a region's centre, in the region's own frame."""

from __future__ import annotations

import numpy as np

from ..._numba import kernel
from ...types import Float32

SIZE = 31  # samples of a patch's side
HALF = SIZE // 2
# Gradients of a row are computed in whole vectors, some beyond the samples; a patch's array has room for them.
WIDE = 32
COLUMNS = WIDE + 2


@kernel
def sample(level: Float32, x: float, y: float, xx: float, xy: float, yx: float, yy: float, patch: Float32) -> None:
    """patch[j, i] = level at (x, y) + (i − HALF) (xx, yx) + (j − HALF) (xy, yy), between four pixels.

    Beyond its rim a level goes on as it ends there.
    """
    rows, columns = level.shape
    values = level.ravel()
    # Up to a pixel that has a right and a lower neighbour.
    most_x, most_y = np.float32(columns - 1.001), np.float32(rows - 1.001)
    reach_x, reach_y = HALF * (abs(xx) + abs(xy)) + 0.01, HALF * (abs(yx) + abs(yy)) + 0.01
    inside = reach_x <= x <= most_x - reach_x and reach_y <= y <= most_y - reach_y
    right, down = np.float32(xx), np.float32(yx)
    zero = np.float32(0)
    wide, one = np.uint32(columns), np.uint64(1)
    place = np.empty(SIZE, np.uint32)
    across, along = np.empty(SIZE, np.float32), np.empty(SIZE, np.float32)
    for j in range(SIZE):
        left = np.float32(x + (j - HALF) * xy - HALF * xx)
        top = np.float32(y + (j - HALF) * yy - HALF * yx)
        # Apart from what follows, so that several places are computed at once.
        for i in range(SIZE):
            u, v = left + np.float32(i) * right, top + np.float32(i) * down
            if not inside:
                u, v = min(max(u, zero), most_x), min(max(v, zero), most_y)
            column, row = np.int32(u), np.int32(v)
            across[i], along[i] = u - np.float32(column), v - np.float32(row)
            place[i] = np.uint32(row) * wide + np.uint32(column)
        for i in range(SIZE):
            at = np.uint64(place[i])
            below = at + np.uint64(columns)
            upper = values[at] + across[i] * (values[at + one] - values[at])
            lower = values[below] + across[i] * (values[below + one] - values[below])
            patch[j, i] = upper + along[i] * (lower - upper)


def gauss(sigma: float) -> Float32:
    """Weights of a patch's samples."""
    weight = np.exp(-((np.arange(SIZE) - HALF) ** 2) / (2 * sigma**2))
    return np.outer(weight, weight).astype(np.float32)
