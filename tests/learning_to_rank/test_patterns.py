"""Which bins can be merged, and which are."""

from __future__ import annotations

import numpy as np
import pytest

from resight.learning_to_rank.descent import by_nearest
from resight.learning_to_rank.pairs import Pairs
from resight.learning_to_rank.patterns import adjacent, coarser, finest, merged


def test_finest() -> None:
    assert finest(2, symmetric=False).tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert finest(2, symmetric=True).tolist() == [[0, 1, 2], [1, 3, 4], [2, 4, 5]]


def test_adjacent_bins_touch() -> None:
    assert adjacent(finest(1, symmetric=False)) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert adjacent(finest(1, symmetric=True)) == [(0, 1), (1, 2)]
    assert adjacent(np.array([[0, 0, 1], [0, 2, 1], [3, 2, 1]], np.uint8)) == [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]


def test_merged_bins_are_numbered_in_order() -> None:
    assert merged(finest(1, symmetric=False), 0, 2).tolist() == [[0, 1], [0, 2]]
    assert merged(finest(2, symmetric=True), 1, 3).tolist() == [[0, 1, 2], [1, 1, 3], [2, 3, 4]]


def test_merging_goes_on_to_two_bins_and_keeps_what_matters() -> None:
    """Relevant pictures share words once (1, 1) or twice (2, 2) more often; all else is noise, alike on both sides."""
    rng = np.random.default_rng(0)
    rows, relevant = 20 * 12, np.arange(20 * 12) % 12 < 3
    counts = rng.poisson(30, (rows, 2, 9)).astype(np.float32)
    counts[relevant, :, 4] += 25
    counts[relevant, :, 8] += 25
    pairs = Pairs(counts, np.arange(0, rows + 1, 12), np.full(20, 3))
    found = list(coarser(pairs, finest(2, symmetric=False), objective=by_nearest, regularisation=0.1))
    assert [int(pattern.max()) + 1 for pattern, _ in found] == [9, 8, 7, 6, 5, 4, 3, 2]
    assert all(len(weights) == 2 * (int(pattern.max()) + 1) for pattern, weights in found)
    for pattern, weights in found[:-2]:
        assert pairs.within(pattern).map(weights) > 0.95
        assert pattern[1, 1] != pattern[0, 0]
        assert pattern[2, 2] != pattern[0, 0]


def test_bins_that_never_occur_do_no_harm() -> None:
    counts = np.zeros((4, 1, 4), np.float32)
    counts[[0, 2], 0, 3] = 1
    pairs = Pairs(counts, np.array([0, 2, 4]), np.array([1, 1]))
    for pattern, weights in coarser(pairs, finest(1, symmetric=False), objective=by_nearest, regularisation=0.1):
        assert np.isfinite(weights).all()
        if pattern[1, 1] != pattern[0, 0]:
            assert pairs.within(pattern).map(weights) == pytest.approx(1)
