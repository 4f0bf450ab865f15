"""Weight patterns: pairs of counts that share a weight (LEARN-14 §3.3.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..types import Bytes, Float64, Int64
from .descent import Objective, descend
from .pairs import Pairs

ROUNDS = 30  # of descent after each merger


def finest(most: int, *, symmetric: bool) -> Bytes:
    """Every pair of counts has a bin of its own; or, symmetric, shares it with the pair turned round.

    >>> finest(1, symmetric=True).tolist()
    [[0, 1], [1, 2]]
    """
    side = np.arange(most + 1)
    pairs = side[:, None] * (most + 1) + side
    return _numbered(np.minimum(pairs, pairs.T) if symmetric else pairs)


def _numbered(bins: Bytes | Int64) -> Bytes:
    """The same bins, numbered 0, 1, … in the order in which they appear."""
    _, first, inverse = np.unique(bins, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.uint8)[inverse].reshape(bins.shape)


def adjacent(pattern: Bytes) -> list[tuple[int, int]]:
    """Bins of which some members lie next to each other, |j − j'| + |l − l'| ≤ 1."""
    beside = np.concatenate(
        [
            np.stack([pattern[1:].ravel(), pattern[:-1].ravel()], axis=1),
            np.stack([pattern[:, 1:].ravel(), pattern[:, :-1].ravel()], axis=1),
        ]
    )
    return sorted({(min(a, b), max(a, b)) for a, b in beside.tolist() if a != b})


def merged(pattern: Bytes, one: int, other: int) -> Bytes:
    """``other``, the later one, becomes part of ``one``; bins after it move up."""
    return _numbered(np.where(pattern == other, np.uint8(one), pattern))


def coarser(
    pairs: Pairs, pattern: Bytes, *, objective: Objective, regularisation: float
) -> Iterator[tuple[Bytes, Float64]]:
    """The pattern, then coarser ones down to two bins, each with weights (groups · bins) fitted to it.

    Of all mergers of adjacent bins that one is made after which the training pictures are ranked best (mAP), judged
    with the mean of the two bins' weights, by how often they occur; of equally good ones the one that changes least.
    """
    groups, weights = pairs.counts.shape[1], None
    while True:
        problem, rounds = pairs.within(pattern), 4 * ROUNDS if weights is None else ROUNDS
        weights = descend(problem, objective, regularisation=regularisation, rounds=rounds, start=weights)
        yield pattern, weights
        bins = int(pattern.max()) + 1
        if bins == 2:
            return
        # Relative to each query's mean: what changes all scores of a query alike changes nothing.
        values, current = problem.centred.values.reshape(-1, groups, bins), weights.reshape(groups, bins)
        support = problem.values.reshape(-1, groups, bins).sum(axis=0, dtype=np.float64) + 1
        scores, found = problem.values @ weights, []
        for one, other in adjacent(pattern):
            both = [one, other]
            mean = (current[:, both] * support[:, both]).sum(axis=1) / support[:, both].sum(axis=1)
            change = values[:, :, one] @ (mean - current[:, one]) + values[:, :, other] @ (mean - current[:, other])
            found.append((problem.map_of(scores + change), -float(change.var()), one, other, mean))
        _, _, one, other, mean = max(found, key=lambda f: f[:2])
        current = current.copy()
        current[:, one] = mean
        new = merged(pattern, one, other)
        kept = np.delete(np.arange(bins), other)
        weights, pattern = current[:, kept].ravel(), new
