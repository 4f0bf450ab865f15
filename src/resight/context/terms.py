"""Neighbour distances → context terms δ: d(i, j) · δ_i · δ_j then has equally wide neighbourhoods everywhere.

r(i) is the mean distance of picture i to its nearest neighbours, r̄ the geometric mean of all r(i) (CDM-10 eq. 4, 6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .._numba import kernel
from ..options import ContextOptions
from ..types import Float32, Float64, Int32
from .neighbours import Neighbours

FLOOR = 1e-3  # least r(i), in units of the mean of all
EVEN = 1e-6  # Sinkhorn's algorithm ends when no row's sum is farther from the mean than this share
MOST_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of some pictures, and what it takes to give others theirs."""

    delta: Float64  # (n,)
    radius: float  # what the terms make r(i), or for Sinkhorn's the sum of a row, of every picture; 0: not known
    far: float = 0.0  # for Sinkhorn's: the distance of pictures that have nothing in common
    spreads: tuple[float, ...] = ()  # after each round, the mean of |r(i) − r̄| / r̄ (S of CDM-10 eq. 10, per picture)
    uncertain: int = 0  # pictures that might have nearer neighbours, under these terms, than the lists hold


@kernel
def radii(picture: Int32, distance: Float32, delta: Float64, count: int, complete: bool, radius: Float64) -> int:
    """Write r(i) under d(i, j) δ_i δ_j; how many might be smaller if the lists, ordered by d, were longer.

    No δ is smaller than the smallest, so the rest of a list is farther than what is held as soon as even that says so.
    """
    least, uncertain, held = delta.min(), 0, np.empty(count, np.float64)
    for i in range(len(picture)):
        found, sure = 0, complete
        for k in range(picture.shape[1]):
            if picture[i, k] < 0 or (found == count and distance[i, k] * least >= held[found - 1]):
                sure = True
                break
            value = distance[i, k] * delta[picture[i, k]]
            if found == count:
                if value >= held[found - 1]:
                    continue
                found -= 1
            place = found
            while place > 0 and held[place - 1] > value:
                held[place] = held[place - 1]
                place -= 1
            held[place] = value
            found += 1
        uncertain += not sure
        radius[i] = delta[i] * held[:found].mean() if found else np.nan
    return uncertain


def _spread(near: Neighbours, delta: Float64, count: int) -> tuple[Float64, float, float, int]:
    """r(i), r̄, the mean of |r(i) − r̄| / r̄, and how many r(i) are uncertain. Pictures without neighbours get r̄."""
    r = np.zeros(len(delta))
    complete = near.picture.shape[1] == len(delta) - 1
    uncertain = radii(near.picture, near.distance, delta, count, complete, r)
    known = np.isfinite(r)
    if not r[known].any():
        return np.ones(len(delta)), 0.0, 0.0, uncertain
    r[known] = np.maximum(r[known], FLOOR * r[known].mean())
    mean = float(np.exp(np.log(r[known]).mean()))
    r[~known] = mean
    return r, mean, float(np.abs(r / mean - 1).mean()), uncertain


def nicdm(near: Neighbours, options: ContextOptions) -> Terms:
    """δ_i = (r̄ / r(i))^α, once (CDM-07 eq. 5)."""
    r, mean, spread, uncertain = _spread(near, np.ones(len(near.picture)), options.neighbours)
    return Terms((mean / r) ** options.alpha if mean else r, mean, spreads=(spread,), uncertain=uncertain)


def cdm(near: Neighbours, options: ContextOptions) -> Terms:
    """The terms of the last round (CDM-07 eq. 9–12)."""
    return deque(rounds(near, options), maxlen=1).pop()


def rounds(near: Neighbours, options: ContextOptions) -> Iterator[Terms]:
    """Terms of 1, then δ_i ← δ_i (r̄ / r(i))^α under the terms so far, until that evens out no more."""
    delta: Float64 = np.ones(len(near.picture))
    spreads: list[float] = []
    for _ in range(MOST_ROUNDS):
        r, mean, spread, uncertain = _spread(near, delta, options.neighbours)
        if spreads and spread >= spreads[-1]:
            return
        settled = bool(spreads) and spreads[-1] - spread < options.epsilon
        spreads.append(spread)
        yield Terms(delta, mean, spreads=tuple(spreads), uncertain=uncertain)
        if settled or not mean:
            return
        delta = delta * (mean / r) ** options.alpha


def sinkhorn(near: Neighbours, options: ContextOptions) -> Terms:
    """Scale squared distances so that all rows, and so all columns, have one sum (CDM-10 §III-D). Takes whole rows."""
    known = near.picture >= 0
    squares = np.where(known, near.distance, 0).astype(np.float64) ** 2
    far = float(near.distance.max(initial=0, where=known))  # what has nothing in common is as far as anything that has
    scale = np.ones(len(squares))
    for _ in range(MOST_ROUNDS):
        others = np.where(known, scale[near.picture], 0)
        unlisted = scale.sum() - scale - others.sum(axis=1)
        sums = scale * ((squares * others).sum(axis=1) + far**2 * unlisted)
        mean = float(sums.mean())
        if mean == 0 or np.abs(sums / mean - 1).max() < EVEN:
            break
        scale = scale * np.sqrt(mean / np.maximum(sums, FLOOR * mean))
    size = np.exp(np.log(scale).mean())  # any common factor would do: terms are 1 on average, as CDM's are
    return Terms(np.sqrt(scale / size), mean / size**2, far)


METHODS: dict[str, Callable[[Neighbours, ContextOptions], Terms]] = {"nicdm": nicdm, "cdm": cdm, "sinkhorn": sinkhorn}
