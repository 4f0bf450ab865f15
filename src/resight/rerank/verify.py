"""Do the matches of a picture agree on one affine map? Shortlist → verified list (BURST-09 §2.4).

Every match carries position, scale and angle in both pictures, so a single match proposes a similarity; with the shape
of its ellipses, an affine map. All proposals are tried, in order, and the best ones refined: there is no random choice,
and the same matches give the same answer. Where features are positions alone it takes two matches: each is tried with
the few that follow it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import lgamma, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..arrays import products
from ..machine import processors
from ..options import VerifyOptions
from ..types import Float32, Float64, Int64

PARTNERS = 8  # matches that each is tried with, where features are positions alone
AT_ONCE = 25  # pictures that a thread verifies before it takes others
REFINED = 5  # proposals that are refined
ROUNDS = 4  # refinements of each
LARGEST_STRETCH = 10.0  # a map that stretches one direction this much more than another is no view of a scene
# A match agrees with a map only if its own turn and change of size do, within these bounds.
TURN = np.pi / 6
OCTAVES = 0.8
NEAR_TURN = np.cos(TURN)
HASH = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: its product spreads numbers that follow each other
TURN_BINS = 11  # each wider than TURN, so that what is near in turn is in the same bin or in one beside it
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


# Matches as the kernels take them: a row of float64 for each of these. In the query, in the picture; how much the map
# that the match proposes turns (cosine and sine); by how many octaves it enlarges.
AX, AY, BX, BY, COS, SIN, SIZE = range(7)


def verify(
    query: Placed, found: Placed, *, bounds: Int64, sizes: Int64, options: VerifyOptions, oriented: bool = True
) -> list[Verified | None]:
    """For each picture the map that most of its matches agree with, or None if so many could agree by chance.

    The matches of picture p are the rows bounds[p] … bounds[p + 1]; sizes[p] are its width and height.
    oriented: whether scales and angles mean anything; they do not where features are positions alone.
    """
    transforms, agreeing = np.zeros((len(sizes), 2, 3)), np.zeros(len(sizes), np.int64)
    inliers = np.zeros(len(query.xy), np.bool_)
    limit = log(options.false_alarms)

    def verify_some(first: int) -> None:
        last = min(first + AT_ONCE, len(sizes))
        some, begin, end = slice(first, last), bounds[first], bounds[last]
        pairs, linear = _paired(query, found, slice(begin, end))
        _verify_each(
            bounds[first : last + 1] - begin,
            sizes[some],
            pairs,
            linear,
            oriented,
            options.tolerance,
            options.min_inliers,
            limit,
            transforms[some],
            inliers[begin:end],
            agreeing[some],
        )

    if len(sizes) <= AT_ONCE:
        verify_some(0)
    else:
        with ThreadPoolExecutor(processors()) as pool:
            list(pool.map(verify_some, range(0, len(sizes), AT_ONCE)))
    return [
        Verified(transforms[p], inliers[bounds[p] : bounds[p + 1]]) if count else None
        for p, count in enumerate(agreeing.tolist())
    ]


def _paired(query: Placed, found: Placed, rows: slice) -> tuple[Float64, Float64]:
    """(7, m) some of the matches, and (m, 2, 2) what each proposes: that frames scale · shape · R(angle) are alike."""
    turn, octaves = found.angle[rows] - query.angle[rows], np.log2(found.scale[rows] / query.scale[rows])
    cos, sin, size = np.cos(turn), np.sin(turn), np.exp2(octaves, dtype=np.float64)
    linear = np.empty((len(turn), 2, 2))
    linear[:, 0, 0] = linear[:, 1, 1] = size * cos
    linear[:, 1, 0] = size * sin
    linear[:, 0, 1] = -linear[:, 1, 0]
    if query.shape is not None and found.shape is not None:
        # Shapes have determinant 1: they do not change sizes, and [[d, −b], [−b, a]] undoes [[a, b], [b, d]].
        undone = query.shape[rows, ::-1, ::-1] * np.array([[1, -1], [-1, 1]])
        linear = products(products(found.shape[rows], linear), undone)
        cos, sin = linear[:, 0, 0] + linear[:, 1, 1], linear[:, 1, 0] - linear[:, 0, 1]  # as in _test
        cos, sin = (cos, sin) / np.hypot(cos, sin)
    return np.array([*query.xy[rows].T, *found.xy[rows].T, cos, sin, octaves], np.float64), linear


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


@kernel
def one_to_one(picture: Int64, posting: Int64, distance: Int64, bounds: Int64) -> Int64:
    """Matches by picture, each posting once: the closest signature, of equally close ones the first.

    Returns their rows, those of each picture in order, and writes where each picture's begin and end.
    """
    ends, largest = np.zeros(len(bounds), np.int64), 1
    for one in picture:
        ends[one + 1] += 1
    for one in range(len(bounds) - 1):
        largest = max(largest, int(ends[one + 1]))
        ends[one + 1] += ends[one]
    rows = np.empty(len(picture), np.int64)
    for row in range(len(picture)):
        rows[ends[picture[row]]] = row
        ends[picture[row]] += 1
    bits = 2
    while (1 << bits) < 2 * largest:  # a table at most half full, for the postings of one picture
        bits += 1
    table, mask, kept, first = np.full(1 << bits, -1, np.int64), np.uint64((1 << bits) - 1), 0, 0
    places = np.empty(largest, np.uint64)
    for one in range(len(bounds) - 1):
        last, bounds[one] = ends[one], kept
        for n in range(first, last):
            place = (np.uint64(posting[rows[n]]) * HASH) >> np.uint64(64 - bits)
            while table[place] >= 0 and posting[table[place]] != posting[rows[n]]:
                place = (place + np.uint64(1)) & mask
            places[n - first] = place
            if table[place] < 0 or distance[rows[n]] < distance[table[place]]:
                table[place] = rows[n]
        for n in range(first, last):
            if table[places[n - first]] == rows[n]:
                rows[kept] = rows[n]
                kept += 1
        for n in range(first, last):
            table[places[n - first]] = -1
        first = last
    bounds[-1] = kept
    return rows[:kept]


class Test(NamedTuple):
    """What a match must fulfil to agree with a map (x, y) → (p x + q y + u, r x + s y + v)."""

    p: float
    q: float
    u: float
    r: float
    s: float
    v: float
    limit: float  # squared distance
    resized: float  # octaves by which the map enlarges
    octaves: float  # how far from that a match may be
    near: float  # the map turns by the angle of (p + s, r − q): the least product with a match's direction


@kernel
def _test(transform: Float64, oriented: bool, tolerance: float) -> Test:
    p, q, u = transform[0, 0], transform[0, 1], transform[0, 2]
    r, s, v = transform[1, 0], transform[1, 1], transform[1, 2]
    resized = 0.5 * np.log2(max(p * s - q * r, 1e-12))
    near = NEAR_TURN * np.sqrt((p + s) ** 2 + (r - q) ** 2)
    if not oriented:
        return Test(p, q, u, r, s, v, tolerance * tolerance, resized, np.inf, -np.inf)
    return Test(p, q, u, r, s, v, tolerance * tolerance, resized, OCTAVES, near)


@kernel
def _agrees(test: Test, pairs: Float64, i: int) -> bool:
    """Whether the map takes the point within tolerance of its partner, turned and resized as their features are."""
    p, q, u, r, s, v, limit, resized, octaves, near = test
    x, y = pairs[AX, i], pairs[AY, i]
    dx, dy = p * x + q * y + u - pairs[BX, i], r * x + s * y + v - pairs[BY, i]
    agrees: bool = (
        (dx * dx + dy * dy <= limit)
        & (abs(pairs[SIZE, i] - resized) <= octaves)
        & ((p + s) * pairs[COS, i] + (r - q) * pairs[SIN, i] >= near)
    )
    return agrees


@kernel
def _count(test: Test, pairs: Float64, first: int, last: int) -> int:
    """How many of the matches first … last agree."""
    found = 0
    for i in range(np.uint64(first), np.uint64(last)):
        found += _agrees(test, pairs, i)
    return found


@kernel
def _mark(test: Test, pairs: Float64, inliers: npt.NDArray[np.bool_]) -> int:
    """Which matches agree, and how many."""
    found = 0
    for i in range(np.uint64(len(inliers))):
        inliers[i] = _agrees(test, pairs, i)
        found += int(inliers[i])
    return found


@kernel
def _is_view(p: float, q: float, r: float, s: float) -> bool:
    """Whether [[p, q], [r, s]] does not mirror, and stretches no direction much more than another."""
    # Singular values a ≥ b have the determinant a · b and the squared Frobenius norm a² + b²: a/b + b/a is their ratio.
    size, area = p * p + q * q + r * r + s * s, p * s - q * r
    return area > 0 and size <= (LARGEST_STRETCH + 1 / LARGEST_STRETCH) * area


@kernel
def _fit(pairs: Float64, chosen: npt.NDArray[np.bool_], transform: Float64) -> bool:
    """Least-squares affine map of the chosen pairs into ``transform``; False if they lie on a line or it is no view."""
    n, ax, ay, bx, by = 0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(chosen)):
        if chosen[i]:
            n, ax, ay, bx, by = n + 1, ax + pairs[AX, i], ay + pairs[AY, i], bx + pairs[BX, i], by + pairs[BY, i]
    if n < 3:
        return False
    ax, ay, bx, by = ax / n, ay / n, bx / n, by / n
    xx, xy, yy, xu, yu, xv, yv = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(chosen)):
        if chosen[i]:
            x, y, u, v = pairs[AX, i] - ax, pairs[AY, i] - ay, pairs[BX, i] - bx, pairs[BY, i] - by
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
def _propose(pairs: Float64, linear: Float64, oriented: bool, number: int, transform: Float64) -> bool:
    """The map of a match or, without angles, the similarity of two positions; False if that is no view of a scene."""
    if oriented:
        i = number
        p, q, r, s = linear[i, 0, 0], linear[i, 0, 1], linear[i, 1, 0], linear[i, 1, 1]
        if not _is_view(p, q, r, s):
            return False
    else:
        m = pairs.shape[1]
        each = min(PARTNERS, m - 1)
        i = number // each
        j = (i + 1 + number % each) % m
        ax, ay = pairs[AX, j] - pairs[AX, i], pairs[AY, j] - pairs[AY, i]
        bx, by = pairs[BX, j] - pairs[BX, i], pairs[BY, j] - pairs[BY, i]
        a, b = ax * ax + ay * ay, bx * bx + by * by
        if max(a, b) >= LARGEST_STRETCH**2 * min(a, b):
            return False
        p, r = (ax * bx + ay * by) / a, (ax * by - ay * bx) / a
        q, s = -r, p
    transform[0, 0], transform[0, 1], transform[0, 2] = p, q, pairs[BX, i] - p * pairs[AX, i] - q * pairs[AY, i]
    transform[1, 0], transform[1, 1], transform[1, 2] = r, s, pairs[BY, i] - r * pairs[AX, i] - s * pairs[AY, i]
    return True


@kernel
def _by_turn(pairs: Float64) -> tuple[Float64, Int64, Int64]:
    """The matches sorted by turn, the bin of turn of each match, and where bins begin among the sorted ones.

    Bins are a circle: the last one stands once more before the first, and the first once more behind the last.
    """
    bins = np.empty(pairs.shape[1], np.int64)
    for i in range(len(bins)):
        bins[i] = int((np.arctan2(pairs[SIN, i], pairs[COS, i]) / (2 * np.pi) + 0.5) * TURN_BINS) % TURN_BINS
    counts = np.zeros(TURN_BINS + 2, np.int64)
    for here in bins:
        counts[here + 1] += 1
    counts[0], counts[-1] = counts[-2], counts[1]
    starts = np.zeros(len(counts) + 1, np.int64)
    for place in range(len(counts)):
        starts[place + 1] = starts[place] + counts[place]
    order, ends = np.empty(starts[-1], np.int64), starts.copy()
    for i in range(len(bins)):
        order[ends[bins[i] + 1]] = i
        ends[bins[i] + 1] += 1
    order[: counts[0]] = order[starts[-3] : starts[-2]]
    order[starts[-2] :] = order[starts[1] : starts[2]]
    return pairs[:, order], bins, starts


@kernel
def _support(pairs: Float64, linear: Float64, oriented: bool, tolerance: float) -> Int64:
    """How many matches agree with each proposal; 0 where it is no view of a scene, or was not tried.

    Once as many as are refined have most matches on their side, the outcome is decided.
    """
    m = pairs.shape[1]
    support = np.zeros(m if oriented else m * min(PARTNERS, m - 1), np.int64)
    transform, decided = np.zeros((2, 3)), 0
    sorted_pairs, bins, starts = _by_turn(pairs)
    for n in range(len(support)):
        if not _propose(pairs, linear, oriented, n, transform):
            continue
        test = _test(transform, oriented, tolerance)
        if oriented:  # what agrees is turned like the match itself: it is in its bin, or in one beside it
            support[n] = _count(test, sorted_pairs, starts[bins[n]], starts[bins[n] + 3])
        else:
            support[n] = _count(test, pairs, 0, m)
        decided += 2 * support[n] > m
        if decided == REFINED:
            break
    return support


@kernel
def _best_affine(
    pairs: Float64, linear: Float64, oriented: bool, tolerance: float
) -> tuple[Float64, npt.NDArray[np.bool_]]:
    m = pairs.shape[1]
    best, best_inliers, best_count = np.zeros((2, 3)), np.zeros(m, np.bool_), 0
    current, scratch = np.zeros((2, 3)), np.zeros(m, np.bool_)
    # A proposal inherits the coarse frame of one feature: it may miss by more than a fitted map.
    support = _support(pairs, linear, oriented, 2 * tolerance)
    for _ in range(min(REFINED, len(support))):
        proposal = 0
        for n in range(len(support)):
            if support[n] > support[proposal]:
                proposal = n
        support[proposal] = -1
        if not _propose(pairs, linear, oriented, proposal, current):
            break
        _mark(_test(current, oriented, 2 * tolerance), pairs, scratch)
        for _ in range(ROUNDS):
            if not _fit(pairs, scratch, current):
                break
            found = _mark(_test(current, oriented, tolerance), pairs, scratch)
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
    pairs: Float64,
    linear: Float64,
    oriented: bool,
    share: float,
    min_inliers: int,
    log_limit: float,
    transforms: Float64,
    inliers: npt.NDArray[np.bool_],
    agreeing: Int64,
) -> None:
    """Fill in maps, inliers and their number for those of the pictures that pass the test."""
    for picture in range(len(sizes)):
        first, last = bounds[picture], bounds[picture + 1]
        matches = last - first
        if matches < min_inliers:
            continue
        width, height = sizes[picture, 0], sizes[picture, 1]
        tolerance = share * max(width, height)
        mine = np.ascontiguousarray(pairs[:, first:last])
        transform, agree = _best_affine(mine, linear[first:last], oriented, tolerance)
        count = 0
        for match in range(matches):
            count += int(agree[match])
        chance = min(1.0, np.pi * tolerance**2 / (width * height)) * (CHANCE_OF_TURN if oriented else 1.0)
        if count >= min_inliers and log_false_alarms(matches, count, chance) <= log_limit:
            transforms[picture], inliers[first:last], agreeing[picture] = transform, agree, count
