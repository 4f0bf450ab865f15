"""How much results count for their colours."""

from __future__ import annotations

import numpy as np
import pytest

from resight.colours import BINS
from resight.rerank import colour_factors
from resight.rerank.colour import CERTAIN


def colours(share: float) -> bytes:
    """As like those of ``colours(1)`` as this: the cosine of the angle between two roots of histograms."""
    roots = np.zeros(BINS, np.uint8)
    roots[:2] = np.rint([255 * share, 255 * np.sqrt(1 - share**2)])
    return roots.tobytes()


QUERY = colours(1)


def factors(results: list[tuple[float | None, int]], weight: float = 2.0) -> list[float]:
    """Of results that are so alike, with so many agreeing matches."""
    rows = [None if share is None else colours(share) for share, _ in results]
    inliers = np.array([count for _, count in results])
    found: list[float] = colour_factors(QUERY, rows, inliers, weight=weight).tolist()
    return found


def test_as_alike_as_they_are() -> None:
    found = factors([(1.0, 0), (0.5, 0), (0.0, 0)])
    assert found == pytest.approx([np.exp(2), np.exp(1), 1], rel=0.01)


def test_certain_results_that_are_more_alike_than_others_confirm_colours() -> None:
    assert factors([(0.9, CERTAIN), (0.8, 0), (0.1, 0)])[0] == pytest.approx(np.exp(1.8), rel=0.01)


def test_certain_results_of_other_colours_turn_them_off() -> None:
    """As a building by day and by night: half of what does not match is more like the query."""
    assert factors([(0.3, CERTAIN), (0.9, CERTAIN), (0.8, 0), (0.1, 0)]) == [1, 1, 1, 1]


def test_trust_grows_with_what_certain_results_leave_behind() -> None:
    """More alike than three of four others: half as much as if it were than all."""
    found = factors([(0.5, CERTAIN), (0.8, 0), (0.3, 0), (0.2, 0), (0.1, 0)])
    assert found[0] == pytest.approx(np.exp(2 * 0.5 * 0.5), rel=0.01)


def test_a_few_agreeing_matches_are_not_certain() -> None:
    assert factors([(0.1, CERTAIN - 1), (0.8, 0), (0.9, 0)])[2] == pytest.approx(np.exp(1.8), rel=0.01)


def test_unknown_colours_are_neither_for_nor_against() -> None:
    assert factors([(0.8, 0), (None, 0), (0.4, 0)])[1] == pytest.approx(np.exp(1.2), rel=0.01)
    assert factors([(None, 0), (None, 9)]) == [1, 1]
    assert factors([]) == []
