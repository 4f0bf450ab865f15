"""Scores → the best pictures, exactly."""

from __future__ import annotations

import numpy as np

from ..types import Float32, Int32, Int64

EVERY = 16  # of the values, one is looked at for the bound
SPARE = 2  # so many times as many as are wanted are let through, about


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
    # Finding the last of many takes long. So most are left out first, by a bound that some of the values tell.
    some, last = values[::EVERY], SPARE * (count // EVERY + 1)
    likely: Int64 = np.arange(len(values))
    if last < len(some):
        above = np.flatnonzero(values >= np.partition(some, len(some) - last)[len(some) - last])
        likely = above if len(above) >= count else likely
    left = values[likely]
    chosen: Int64 = likely[left >= np.partition(left, len(left) - count)[len(left) - count]]
    return chosen
