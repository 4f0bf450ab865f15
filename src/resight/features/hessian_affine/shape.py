"""Affine adaptation (Baumberg 2000; Mikolajczyk & Schmid 2004): the shape in which gradients have no preferred axis."""

from __future__ import annotations

import numpy as np

from ..._numba import kernel
from ...types import Float32
from .patch import HALF, SIZE, gauss, sample

WIDTH = 4.0  # σ of the window in which gradients are gathered, in scales
BLUR = 0.7  # of the level that they are taken from, in scales (Mikolajczyk & Schmid: s = 0.7)
STEP = 3 * WIDTH / HALF  # of the window's samples, in scales: it reaches to 3 σ
ROUNDS = 16
ROUND = 0.95  # ratio of the axes from which on a shape counts as found
LONGEST = 6.0  # ratio of the axes beyond which a region is given up: an edge, not a blob
WEIGHTS = gauss(WIDTH / STEP)


@kernel
def adapt(level: Float32, x: float, y: float, step: float, window: Float32) -> tuple[bool, float, float, float]:
    """Whether a shape was found, and the shape (xx, xy, yy): symmetric, determinant 1.

    With the second moments µ of the gradients in the frame of the present shape U, the next is the root of U µ⁻¹ U.
    """
    a, b, c = 1.0, 0.0, 1.0
    for _ in range(ROUNDS):
        sample(level, x, y, a * step, b * step, b * step, c * step, window)
        xx, xy, yy = second_moments(window)
        mean, spread = (xx + yy) / 2, np.sqrt(((xx - yy) / 2) ** 2 + xy * xy)
        det = (mean - spread) * (mean + spread)
        if det <= 0:  # no gradients, or all in one direction
            break
        if mean - spread >= ROUND**2 * (mean + spread):
            return True, a, b, c
        root = np.sqrt(det)
        p, q, r = yy / root, -xy / root, xx / root
        s = a * (a * p + b * q) + b * (a * q + b * r)
        t = b * (a * p + b * q) + c * (a * q + b * r)
        u = b * (b * p + c * q) + c * (b * q + c * r)
        # √Σ = (Σ + 1) / √(trace Σ + 2), if det Σ = 1
        norm = np.sqrt(s + u + 2)
        a, b, c = (s + 1) / norm, t / norm, (u + 1) / norm
        if longest(a, c) ** 2 > LONGEST:
            break
    return False, a, b, c


@kernel
def longest(xx: float, yy: float) -> float:
    """The longer axis of a shape; the shorter one is its inverse."""
    half = (xx + yy) / 2
    return float(half + np.sqrt(max(half * half - 1, 0.0)))


@kernel
def second_moments(window: Float32) -> tuple[float, float, float]:
    """Σ w g gᵀ over the window: (xx, xy, yy)."""
    xx = xy = yy = 0.0
    for j in range(1, SIZE - 1):
        for i in range(1, SIZE - 1):
            gx, gy = window[j, i + 1] - window[j, i - 1], window[j + 1, i] - window[j - 1, i]
            weight = WEIGHTS[j, i]
            xx += weight * gx * gx
            xy += weight * gx * gy
            yy += weight * gy * gy
    return xx, xy, yy
