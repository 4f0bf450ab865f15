"""Points with a scale → affine regions with their descriptors."""

from __future__ import annotations

import numpy as np

from ..._numba import kernel
from ...types import Float32, Float64, Int64
from .describe import MOST_ANGLES, STEP, TURN_STEP, directions, histogram
from .patch import COLUMNS, SIZE, sample
from .pyramid import level_of
from .shape import BLUR, adapt
from .shape import STEP as SHAPE_STEP


@kernel
def regions(values: Float32, octaves: Int64, points: Float64, upright: bool, found: Float64, bins: Float32) -> int:
    """x, y, scale, angle and shape (xx, xy, yy) of regions, in the order of their points, until there is no more room.

    Returns how many. A point whose shape is not found is passed over; one with several directions becomes several.
    """
    patch = np.zeros((SIZE, COLUMNS), np.float32)
    length, direction = np.zeros(COLUMNS, np.float32), np.zeros(COLUMNS, np.float32)
    angles = np.zeros(MOST_ANGLES)
    count = 0
    for n in range(len(points)):
        if count == len(found):
            break
        x, y, scale = points[n, 0], points[n, 1], points[n, 2]
        level, side = level_of(values, octaves, BLUR * scale)
        good, a, b, c = adapt(level, x / side, y / side, SHAPE_STEP * scale / side, patch)
        if not good:
            continue
        level, side = level_of(values, octaves, scale)
        if upright:
            # Vertical stays vertical (Perdoch et al. 2009): shape · R(angle) · (0, 1) is a multiple of (0, 1).
            angles[0], many = np.arctan2(b, a) % (2 * np.pi), 1
        else:
            step = TURN_STEP * scale / side
            sample(level, x / side, y / side, a * step, b * step, b * step, c * step, patch)
            many = directions(patch, length, direction, angles)
        for angle in angles[: min(many, len(found) - count)]:
            u, v = np.cos(angle) * STEP * scale / side, np.sin(angle) * STEP * scale / side
            # shape R(angle), R = [[u, −v], [v, u]]
            xx, xy, yx, yy = a * u + b * v, b * u - a * v, b * u + c * v, c * u - b * v
            sample(level, x / side, y / side, xx, xy, yx, yy, patch)
            histogram(patch, length, direction, bins[count])
            for i, value in enumerate((x, y, scale, angle, a, b, c)):
                found[count, i] = value
            count += 1
    return count
