"""Extrema of the determinant of the Hessian in place and scale: blobs, and saddles between them."""

from __future__ import annotations

import numpy as np

from ..._numba import kernel
from ...types import Float32, Float64
from .pyramid import FIRST, LEVELS, SCALES, SIGMAS, Pyramid

BORDER = 5  # pixels at an octave's rim in which nothing is looked for, as OpenCV's SIFT
EDGE = 10.0  # ratio of the two curvatures of the response beyond which the place of an extremum is uncertain
FARTHEST = 1.0  # steps of the grid that a fitted extremum may lie from the greatest value


def detect(pyramid: Pyramid, contrast: float) -> Float64:
    """(n, 4) x, y, scale and |response|, strongest first, in pixels of the picture.

    The threshold is where OpenCV's SIFT has it, for round blobs: one of height a, at the level of its own width, has
    √det = a / 4 and a difference of Gaussians of (2^(1/3) − 1) a / 2, which OpenCV wants to be at least contrast / 3.
    """
    least = (contrast / (6 * (2 ** (1 / SCALES) - 1))) ** 2
    found = np.concatenate([np.zeros((0, 4)), *(_of_octave(pyramid, i, least) for i in range(len(pyramid.octaves)))])
    strongest: Float64 = found[np.lexsort((*found[:, :3].T, -found[:, 3]))]
    return strongest


def _of_octave(pyramid: Pyramid, number: int, least: float) -> Float64:
    octave = pyramid.octave(number)
    found = np.empty((octave[0].size // 64 + 64, 4))
    count = extrema(octave, least, found)
    if count > len(found):  # rare, hence no larger array for everyone
        found = np.empty((count, 4))
        extrema(octave, least, found)
    found = found[:count]
    found[:, :2] *= 2**number
    found[:, 2] = FIRST * 2 ** (number + found[:, 2] / SCALES)
    return found


@kernel
def response_row(level: Float32, y: int, sigma: float, row: Float32) -> None:
    """σ⁴ (Lxx Lyy − Lxy²) of one row of a level; nothing at its ends."""
    above, here, below = level[y - 1], level[y], level[y + 1]
    two, quarter, norm = np.float32(2), np.float32(0.25), np.float32(sigma**4)
    for x in range(1, len(row) - 1):
        xx = here[x - 1] - two * here[x] + here[x + 1]
        yy = above[x] - two * here[x] + below[x]
        xy = quarter * (above[x - 1] - above[x + 1] - below[x - 1] + below[x + 1])
        row[x] = norm * (xx * yy - xy * xy)


@kernel
def extrema(octave: Float32, least: float, found: Float64) -> int:
    """x, y, level and |response| of the extrema of an octave; how many there are, even if there is less room.

    Only three rows of responses are kept, of each level, row y in place y % 3.
    """
    rows, columns = octave.shape[1:]
    responses = np.zeros((LEVELS, 3, columns), np.float32)
    cube = np.zeros((3, 3, 3))
    one, threshold = np.float32(1), np.float32(least)
    count = 0
    for y in range(BORDER - 1, rows - BORDER + 1):
        for k in range(LEVELS):
            response_row(octave[k], y, SIGMAS[k], responses[k, y % 3])
        if y <= BORDER:
            continue
        middle = (y - 1) % 3
        for k in range(1, LEVELS - 1):
            row = responses[k, middle]
            for x in range(BORDER, columns - BORDER):
                sign = one if row[x] > 0 else -one
                size = sign * row[x]
                # Most pixels end here, so that the 27 values are looked at for few.
                if size < threshold or size < sign * row[x - 1] or size < sign * row[x + 1]:
                    continue
                for i in range(3):
                    for j in range(3):
                        for h in range(3):
                            cube[i, j, h] = sign * responses[k + i - 1, (y + 1 + j) % 3, x + h - 1]
                if not is_peak(cube):
                    continue
                good, across, down, up, peak = fit(cube)
                if good:
                    if count < len(found):
                        found[count, 0], found[count, 1] = x + across, y - 1 + down
                        found[count, 2], found[count, 3] = k + up, peak
                    count += 1
    return count


@kernel
def is_peak(cube: Float64) -> bool:
    """Whether the middle of 3 × 3 × 3 values is the greatest; of equal ones the first is."""
    values = cube.ravel()
    before = after = 0
    for n in range(13):
        before += values[n] < values[13]
        after += values[14 + n] <= values[13]
    return before == after == 13


@kernel
def fit(cube: Float64) -> tuple[bool, float, float, float, float]:
    """Whether the quadratic through 3 × 3 × 3 values (level, y, x) has a peak near the middle that is no edge;
    its place as x, y, level from there, and its height."""
    m = cube[1, 1, 1]
    gx = (cube[1, 1, 2] - cube[1, 1, 0]) / 2
    gy = (cube[1, 2, 1] - cube[1, 0, 1]) / 2
    gs = (cube[2, 1, 1] - cube[0, 1, 1]) / 2
    xx = cube[1, 1, 2] + cube[1, 1, 0] - 2 * m
    yy = cube[1, 2, 1] + cube[1, 0, 1] - 2 * m
    ss = cube[2, 1, 1] + cube[0, 1, 1] - 2 * m
    xy = (cube[1, 2, 2] - cube[1, 2, 0] - cube[1, 0, 2] + cube[1, 0, 0]) / 4
    xs = (cube[2, 1, 2] - cube[2, 1, 0] - cube[0, 1, 2] + cube[0, 1, 0]) / 4
    ys = (cube[2, 2, 1] - cube[2, 0, 1] - cube[0, 2, 1] + cube[0, 0, 1]) / 4
    flat = xx * yy - xy * xy
    # Cofactors of the Hessian: the place is −H⁻¹ g.
    a, b, c = yy * ss - ys * ys, xs * ys - xy * ss, xy * ys - xs * yy
    d, e = xx * ss - xs * xs, xs * xy - xx * ys
    det = xx * a + xy * b + xs * c
    if flat <= 0 or (xx + yy) ** 2 * EDGE > (EDGE + 1) ** 2 * flat or det == 0:
        return False, 0.0, 0.0, 0.0, 0.0
    x = -(a * gx + b * gy + c * gs) / det
    y = -(b * gx + d * gy + e * gs) / det
    s = -(c * gx + e * gy + flat * gs) / det
    near = max(abs(x), abs(y), abs(s)) <= FARTHEST
    return near, x, y, s, m + (gx * x + gy * y + gs * s) / 2
