"""How much more a result counts whose colours are like the query's."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np

from ..colours import likeness
from ..types import Float64, Int64

# A result of so many agreeing matches certainly shows the same thing; so its colours tell how far to trust colours.
CERTAIN = 8


def colour_factors(query: bytes, colours: Sequence[bytes | None], inliers: Int64, *, weight: float) -> Float64:
    """For each result what its score is multiplied by; 1 where colours tell nothing.

    colours: of the results, None where they are not known; inliers: how many matches of each agree.

    The same building by night has other colours. So colours count as far as every certain result is more alike than
    those are that geometry does not confirm: fully if it is more alike than all of them, not at all if it is less alike
    than half of them, and in between accordingly. Where no result is certain, or all are confirmed, they count fully.
    """
    known = np.array([number for number, one in enumerate(colours) if one is not None], np.int64)
    factors = np.ones(len(colours))
    if len(known):
        alike = likeness(query, [one for one in colours if one is not None])
        trust = _trust(alike, inliers[known])
        mean = fsum(alike) / len(alike)  # in whatever order they come
        factors[:] = np.exp(weight * trust * mean)  # what is not known is neither for nor against a result
        factors[known] = np.exp(weight * trust * alike)
    return factors


def _trust(alike: Float64, inliers: Int64) -> float:
    certain, others = alike[inliers >= CERTAIN], alike[inliers == 0]
    if not (len(certain) and len(others)):
        return 1.0
    return max(0.0, 2 * float(np.mean(others < certain.min())) - 1)
