"""Dominant directions of a patch, and its SIFT histogram, with OpenCV's widths and order of bins."""

from __future__ import annotations

import numpy as np

from ..._numba import kernel
from ...types import Float32, Float64
from .patch import HALF, SIZE, WIDE, gauss

# Directions: as OpenCV, but in a window of 2 instead of 1.5 scales.
DIRECTIONS = 36  # bins
SHARE = 0.8  # of the highest peak, that another must reach
MOST_ANGLES = 8
TURN_STEP = 0.4  # of the samples, in scales
TURN_WEIGHTS = gauss(2.0 / TURN_STEP)

# The histogram: 4 × 4 places of 3 scales each, as in OpenCV, and of 6 samples; 8 directions.
SAMPLES = 6
STEP = 3.0 / SAMPLES  # of the samples, in scales
WEIGHTS = gauss(2.0 * SAMPLES)
CLIP = 0.2  # most that a bin may be of the histogram's norm
_PLACE = (np.arange(SIZE) - HALF) / SAMPLES + 2.5  # bins 1 to 4 count; what falls into 0 and 5 lies outside
LOWER = np.floor(_PLACE).astype(np.uint32)
UPPER_SHARE = (_PLACE - LOWER).astype(np.float32)

_HALF_PI, _PI = np.float32(np.pi / 2), np.float32(np.pi)
# atan(t) / t in t², by least squares on [0, 1]
_ATAN = np.array([0.99997726, -0.33262347, 0.19354346, -0.11643287, 0.05265332, -0.01172120], np.float32)


@kernel
def gradients(patch: Float32, y: int, turn: float, length: Float32, direction: Float32) -> None:
    """Lengths and directions of a row's gradients, without its ends; from +x towards +y, a whole turn is ``turn``.

    No branches, so that several samples are computed at once; hence np.divide, since numba's / has one, for zero.
    Directions are within a thousandth of a degree.
    """
    above, here, below = patch[y - 1], patch[y], patch[y + 1]
    unit, whole, tiny = np.float32(turn / (2 * np.pi)), np.float32(turn), np.float32(1e-20)
    for x in range(1, WIDE + 1):
        gx, gy = here[x + 1] - here[x - 1], below[x] - above[x]
        length[x] = np.sqrt(gx * gx + gy * gy)
        wide, high = abs(gx), abs(gy)
        t = np.divide(min(wide, high), max(wide, high) + tiny)
        s = t * t
        angle = t * (_ATAN[0] + s * (_ATAN[1] + s * (_ATAN[2] + s * (_ATAN[3] + s * (_ATAN[4] + s * _ATAN[5])))))
        angle = _HALF_PI - angle if high > wide else angle
        angle = _PI - angle if gx < 0 else angle
        angle *= unit
        direction[x] = whole - angle if gy < 0 else angle


@kernel
def directions(patch: Float32, length: Float32, direction: Float32, angles: Float64) -> int:
    """The angles, in radians, at which the histogram of directions peaks; how many."""
    raw = np.zeros(DIRECTIONS, np.float32)
    for y in range(1, SIZE - 1):
        gradients(patch, y, float(DIRECTIONS), length, direction)
        for x in range(1, SIZE - 1):
            nearest = np.uint32(direction[x] + np.float32(0.5))
            raw[nearest if nearest < DIRECTIONS else np.uint32(0)] += TURN_WEIGHTS[y, x] * length[x]
    smooth, highest = np.zeros(DIRECTIONS), 0.0
    for k in range(DIRECTIONS):
        near, far = raw[k - 1] + raw[(k + 1) % DIRECTIONS], raw[k - 2] + raw[(k + 2) % DIRECTIONS]
        smooth[k] = (6 * raw[k] + 4 * near + far) / 16
        highest = max(highest, smooth[k])
    count = 0
    for k in range(DIRECTIONS):
        before, here, after = smooth[k - 1], smooth[k], smooth[(k + 1) % DIRECTIONS]
        if here > before and here > after and here >= SHARE * highest and count < len(angles):
            between = (before - after) / (2 * (before - 2 * here + after))
            angles[count] = (k + between) % DIRECTIONS * (2 * np.pi / DIRECTIONS)
            count += 1
    return count


@kernel
def histogram(patch: Float32, length: Float32, direction: Float32, bins: Float32) -> None:
    """The 128 bins of SIFT: row, column, direction from +x towards −y as OpenCV counts; clipped, not normalised."""
    one, eight = np.float32(1), np.float32(8)
    # Directions 0 and 8 are the same; the first and the last row and column lie outside.
    every, row = np.zeros((6, 6, 9), np.float32), np.zeros((6, 9), np.float32)
    for y in range(1, SIZE - 1):
        gradients(patch, y, 8.0, length, direction)
        row.fill(np.float32(0))
        for x in range(1, SIZE - 1):
            turned = eight - direction[x]
            k = min(np.uint32(turned), np.uint32(7))
            later = turned - np.float32(k)
            value = WEIGHTS[y, x] * length[x]
            right = value * UPPER_SHARE[x]
            left = value - right
            c = LOWER[x]
            row[c, k] += left * (one - later)
            row[c, k + np.uint32(1)] += left * later
            row[c + np.uint32(1), k] += right * (one - later)
            row[c + np.uint32(1), k + np.uint32(1)] += right * later
        upper, lower = every[LOWER[y]], every[LOWER[y] + 1]
        for place in range(1, 5):
            for turn in range(9):
                upper[place, turn] += (one - UPPER_SHARE[y]) * row[place, turn]
                lower[place, turn] += UPPER_SHARE[y] * row[place, turn]
    squares = np.float32(0)
    for n in range(128):
        here = every[n // 32 + 1, n // 8 % 4 + 1]
        bins[n] = here[n % 8] + here[8] if n % 8 == 0 else here[n % 8]
        squares += bins[n] * bins[n]
    most = np.float32(CLIP) * np.sqrt(squares)
    for n in range(128):
        bins[n] = min(bins[n], most)
