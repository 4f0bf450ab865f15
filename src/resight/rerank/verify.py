"""Do the matches of a picture agree on one affine map? Shortlist → verified list (BURST-09 §2.4).

Every match carries position, scale and angle in both pictures, so a single match proposes a similarity; with the shape
of its ellipses, an affine map. All proposals are tried, in order, and the best ones refined: there is no random choice,
and the same matches give the same answer. Where features are positions alone it takes two matches: each is tried with
the few that follow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import lgamma, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..arrays import products
from ..options import VerifyOptions
from ..types import Float32, Float64, Int64

PARTNERS = 8  # matches that each is tried with, where features are positions alone
REFINED = 5  # proposals that are refined
ROUNDS = 4  # refinements of each
LARGEST_STRETCH = 10.0  # a map that stretches one direction this much more than another is no view of a scene
# A match agrees with a map only if its own turn and change of size do, within these bounds.
TURN = np.pi / 6
OCTAVES = 0.8
NEAR_TURN = np.cos(TURN)
# Random matches would pass the bound on turn this often.
CHANCE_OF_TURN = 2 * TURN / (2 * np.pi)


@dataclass(frozen=True, slots=True)
class Placed:
    """Where matched features sit: one row per match."""

    xy: Float32  # (m, 2)
    scale: Float32  # (m,)
    angle: Float32  # (m,) radians
    shape: Float32 | None = None  # (m, 2, 2) as ``Features.shape``


@dataclass(frozen=True, slots=True)
class Verified:
    """The affine map query → picture, and which matches agree with it."""

    transform: Float64  # (2, 3)
    inliers: npt.NDArray[np.bool_]  # (m,)


class Pairs(NamedTuple):
    """Matches as the kernels take them: each column by itself, so that the compiler can take several at once."""

    ax: Float64  # in the query
    ay: Float64
    bx: Float64  # in the picture
    by: Float64
    cos: Float64  # of how much the map that the match proposes turns
    sin: Float64
    octaves: Float64  # by how much it enlarges


def verify(
    query: Placed, found: Placed, *, bounds: Int64, sizes: Int64, options: VerifyOptions, oriented: bool = True
) -> list[Verified | None]:
    """For each picture the map that most of its matches agree with, or None if so many could agree by chance.

    The matches of picture p are the rows bounds[p] … bounds[p + 1]; sizes[p] are its width and height.
    oriented: whether scales and angles mean anything; they do not where features are positions alone.
    """
    transforms, inliers = np.zeros((len(sizes), 2, 3)), np.zeros(len(query.xy), np.bool_)
    pairs, linear = _paired(query, found)
    limit = log(options.false_alarms)
    tolerance, least = options.tolerance, options.min_inliers
    _verify_each(bounds, sizes, pairs, linear, oriented, tolerance, least, limit, transforms, inliers)
    return [
        Verified(transforms[p], inliers[first:last]) if inliers[first:last].any() else None
        for p, (first, last) in enumerate(pairwise(bounds.tolist()))
    ]


def _paired(query: Placed, found: Placed) -> tuple[Pairs, Float64]:
    """The matches, and (m, 2, 2) what each proposes: that frames scale · shape · R(angle) go over into each other."""
    turn, octaves = found.angle - query.angle, np.log2(found.scale / query.scale)
    cos, sin, size = np.cos(turn), np.sin(turn), np.exp2(octaves, dtype=np.float64)
    linear = np.empty((len(turn), 2, 2))
    linear[:, 0, 0] = linear[:, 1, 1] = size * cos
    linear[:, 1, 0] = size * sin
    linear[:, 0, 1] = -linear[:, 1, 0]
    if query.shape is not None and found.shape is not None:
        # Shapes have determinant 1: they do not change sizes, and [[d, −b], [−b, a]] undoes [[a, b], [b, d]].
        undone = query.shape[:, ::-1, ::-1] * np.array([[1, -1], [-1, 1]])
        linear = products(products(found.shape, linear), undone)
        cos, sin = linear[:, 0, 0] + linear[:, 1, 1], linear[:, 1, 0] - linear[:, 0, 1]  # as in _mark
        cos, sin = (cos, sin) / np.hypot(cos, sin)
    columns = (*query.xy.T, *found.xy.T, cos, sin, octaves)
    pairs = Pairs(*(np.ascontiguousarray(column, np.float64) for column in columns))
    return pairs, linear


@kernel
def log_false_alarms(matches: int, agreeing: int, chance: float) -> float:
    """Logarithm of how many maps that ``agreeing`` matches support are expected among random matches.

    An affine map is fixed by three matches; each other one agrees by chance with probability ``chance``. Summed over
    all ways to choose the agreeing ones and the three: the a-contrario test of Moisan & Stival (2004).
    """
    ways = log(matches) + _log_choose(matches, agreeing) + _log_choose(agreeing, 3)
    return ways + (agreeing - 3) * log(max(chance, 1e-12))


@kernel
def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def one_to_one(posting: Int64, distance: Int64) -> Int64:
    """Rows to keep so that each posting occurs once: the closest signature, of equally close ones the first."""
    order = np.argsort(distance, kind="stable")
    _, first = np.unique(posting[order], return_index=True)
    return np.sort(order[first])


@kernel
def _mark(transform: Float64, pairs: Pairs, oriented: bool, tolerance: float, inliers: npt.NDArray[np.bool_]) -> int:
    """Which points are taken within tolerance of their partner, turned and resized as their features are; how many."""
    ax, ay, bx, by, cos, sin, octaves = pairs
    p, q, x = transform[0, 0], transform[0, 1], transform[0, 2]
    r, s, y = transform[1, 0], transform[1, 1], transform[1, 2]
    limit = tolerance * tolerance
    # The map turns by the angle of (p + s, r − q); two angles are near if the cosine of their difference is large.
    near = NEAR_TURN * np.sqrt((p + s) ** 2 + (r - q) ** 2) if oriented else -np.inf
    resized = 0.5 * np.log2(max(p * s - q * r, 1e-12))
    octaves_near = OCTAVES if oriented else np.inf
    found = 0
    for i in range(len(ax)):
        dx, dy = p * ax[i] + q * ay[i] + x - bx[i], r * ax[i] + s * ay[i] + y - by[i]
        inliers[i] = (
            (dx * dx + dy * dy <= limit)
            & (abs(octaves[i] - resized) <= octaves_near)
            & ((p + s) * cos[i] + (r - q) * sin[i] >= near)
        )
        found += inliers[i]
    return found


@kernel
def _is_view(p: float, q: float, r: float, s: float) -> bool:
    """Whether [[p, q], [r, s]] does not mirror, and stretches no direction much more than another."""
    # Singular values a ≥ b have the determinant a · b and the squared Frobenius norm a² + b²: a/b + b/a is their ratio.
    size, area = p * p + q * q + r * r + s * s, p * s - q * r
    return area > 0 and size <= (LARGEST_STRETCH + 1 / LARGEST_STRETCH) * area


@kernel
def _fit(pairs: Pairs, chosen: npt.NDArray[np.bool_], transform: Float64) -> bool:
    """Least-squares affine map of the chosen pairs into ``transform``; False if they lie on a line or it is no view."""
    n, ax, ay, bx, by = 0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(chosen)):
        if chosen[i]:
            n, ax, ay, bx, by = n + 1, ax + pairs.ax[i], ay + pairs.ay[i], bx + pairs.bx[i], by + pairs.by[i]
    if n < 3:
        return False
    ax, ay, bx, by = ax / n, ay / n, bx / n, by / n
    xx, xy, yy, xu, yu, xv, yv = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(chosen)):
        if chosen[i]:
            x, y, u, v = pairs.ax[i] - ax, pairs.ay[i] - ay, pairs.bx[i] - bx, pairs.by[i] - by
            xx, xy, yy = xx + x * x, xy + x * y, yy + y * y
            xu, yu, xv, yv = xu + x * u, yu + y * u, xv + x * v, yv + y * v
    determinant = xx * yy - xy * xy
    if determinant <= 1e-4 * (xx + yy) ** 2:
        return False
    p, q = (xu * yy - yu * xy) / determinant, (yu * xx - xu * xy) / determinant
    r, s = (xv * yy - yv * xy) / determinant, (yv * xx - xv * xy) / determinant
    if not _is_view(p, q, r, s):
        return False
    transform[0, 0], transform[0, 1], transform[0, 2] = p, q, bx - p * ax - q * ay
    transform[1, 0], transform[1, 1], transform[1, 2] = r, s, by - r * ax - s * ay
    return True


@kernel
def _propose(pairs: Pairs, linear: Float64, i: int, j: int, transform: Float64) -> bool:
    """The map of match i, or if j is another the similarity of both positions; False if that is no view of a scene."""
    if i == j:
        p, q, r, s = linear[i, 0, 0], linear[i, 0, 1], linear[i, 1, 0], linear[i, 1, 1]
        if not _is_view(p, q, r, s):
            return False
    else:
        ax, ay = pairs.ax[j] - pairs.ax[i], pairs.ay[j] - pairs.ay[i]
        bx, by = pairs.bx[j] - pairs.bx[i], pairs.by[j] - pairs.by[i]
        a, b = ax * ax + ay * ay, bx * bx + by * by
        if max(a, b) >= LARGEST_STRETCH**2 * min(a, b):
            return False
        p, r = (ax * bx + ay * by) / a, (ax * by - ay * bx) / a
        q, s = -r, p
    transform[0, 0], transform[0, 1], transform[0, 2] = p, q, pairs.bx[i] - p * pairs.ax[i] - q * pairs.ay[i]
    transform[1, 0], transform[1, 1], transform[1, 2] = r, s, pairs.by[i] - r * pairs.ax[i] - s * pairs.ay[i]
    return True


@kernel
def _best_affine(
    pairs: Pairs, linear: Float64, oriented: bool, tolerance: float
) -> tuple[Float64, npt.NDArray[np.bool_]]:
    m = len(pairs.ax)
    each = 1 if oriented else min(PARTNERS, m - 1)
    against = np.full(m * each, m)  # how many matches do not support each proposal
    proposals = np.zeros((m * each, 2, 3))
    scratch = np.zeros(m, np.bool_)
    for n in range(m * each):
        i = n // each
        j = i if oriented else (i + 1 + n % each) % m
        # A proposal inherits the coarse frame of one feature: it may miss by more than a fitted map.
        if _propose(pairs, linear, i, j, proposals[n]):
            against[n] = m - _mark(proposals[n], pairs, oriented, 2 * tolerance, scratch)
    best, best_inliers, best_count = np.zeros((2, 3)), np.zeros(m, np.bool_), 0
    order = np.argsort(against, kind="mergesort")
    for i in order[:REFINED]:
        current = proposals[i].copy()
        _mark(current, pairs, oriented, 2 * tolerance, scratch)
        for _ in range(ROUNDS):
            if not _fit(pairs, scratch, current):
                break
            found = _mark(current, pairs, oriented, tolerance, scratch)
            if found > best_count:
                best_count = found
                best[:], best_inliers[:] = current, scratch
    # The map that found them may have been fitted to a match that they have left out since.
    _fit(pairs, best_inliers, best)
    return best, best_inliers


@kernel
def _verify_each(
    bounds: Int64,
    sizes: Int64,
    pairs: Pairs,
    linear: Float64,
    oriented: bool,
    share: float,
    min_inliers: int,
    log_limit: float,
    transforms: Float64,
    inliers: npt.NDArray[np.bool_],
) -> None:
    """Fill in the maps and inliers of the pictures that pass the test; the others keep none."""
    ax, ay, bx, by, cos, sin, octaves = pairs
    for picture in range(len(sizes)):
        first, last = bounds[picture], bounds[picture + 1]
        matches = last - first
        if matches < min_inliers:
            continue
        mine = Pairs(
            ax[first:last],
            ay[first:last],
            bx[first:last],
            by[first:last],
            cos[first:last],
            sin[first:last],
            octaves[first:last],
        )
        width, height = sizes[picture, 0], sizes[picture, 1]
        tolerance = share * max(width, height)
        transform, agree = _best_affine(mine, linear[first:last], oriented, tolerance)
        agreeing = 0
        for match in range(matches):
            agreeing += agree[match]
        chance = min(1.0, np.pi * tolerance**2 / (width * height)) * (CHANCE_OF_TURN if oriented else 1.0)
        if agreeing >= min_inliers and log_false_alarms(matches, agreeing, chance) <= log_limit:
            transforms[picture], inliers[first:last] = transform, agree
