"""Scores → the best pictures, exactly."""

from __future__ import annotations

import numpy as np

from ..types import Float32, Int32, Int64


def best(scores: Float32, count: int) -> Int64:
    """Positions of the ``count`` highest positive scores *and of all that tie with the last*, in no order.

    Ties are kept so that the caller, who knows the pictures' keys, can settle them the same way every time.
    """
    positive: Int64 = np.flatnonzero(scores > 0)
    return positive[largest(scores[positive], count)]


def largest(values: Float32 | Int32, count: int) -> Int64:
    """The same of any values, positive or not."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    chosen: Int64 = np.flatnonzero(values >= least)
    return chosen
