"""Several rankings → one, by the median of a picture's ranks (CDM-10 §IV)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np

from ..scoring import best
from ..types import Float32, Int64

# The rank of a picture that was not returned: more than all others, and a hundred of them can be added.
MISSING = 1 << 40


def aggregate(scores: Sequence[Float32], *, quantile: float, depth: int) -> Float32:
    """What t rankings of the same pictures, given by scores, say together: 1 / place, or 0 where too few say anything.

    A picture is placed by the least rank that a share ``quantile`` of the rankings reaches; equal ones by the mean of
    all ranks, where one that is missing counts more than all that are not; and they share their place if that is equal,
    too. So nothing depends on the order of pictures or rankings.
    """
    shown = np.unique(np.concatenate([best(s, depth) for s in scores]))
    ranks = np.stack([_ranks(s[shown], depth) for s in scores])
    votes = max(ceil(round(quantile * len(scores), 9)), 1)
    at_quantile = np.sort(ranks, axis=0)[votes - 1]
    found = at_quantile < MISSING
    order = np.stack([at_quantile, ranks.sum(axis=0)], axis=1)[found]
    _, group, size = np.unique(order, axis=0, return_inverse=True, return_counts=True)
    place = 1 + (np.cumsum(size) - size)[group.reshape(-1)]
    combined = np.zeros(len(scores[0]), np.float32)
    combined[shown[found]] = 1 / place
    return combined


def _ranks(scores: Float32, depth: int) -> Int64:
    """1 + how many have a higher score; MISSING for those that have none and those that are ranked below the depth."""
    rank = 1 + np.searchsorted(np.sort(-scores), -scores)
    return np.where((scores > 0) & (rank <= depth), rank, MISSING)
