"""Several rankings → one: against counting in plain Python, and whatever must not matter."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resight.rerank import aggregate
from resight.types import Float32

Table = list[list[int]]  # for each ranking a score for each picture
few_values = st.integers(0, 4)  # so that there are ties


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rankings, pictures = draw(st.integers(1, 5)), draw(st.integers(0, 9))
    return [draw(st.lists(few_values, min_size=pictures, max_size=pictures)) for _ in range(rankings)]


def arrays(table: Table) -> list[Float32]:
    return [np.array(scores, np.float32) for scores in table]


def combined(table: Table, *, quantile: float = 0.5, depth: int = 1000) -> list[float]:
    return [float(score) for score in aggregate(arrays(table), quantile=quantile, depth=depth)]


def counted(table: Table, *, quantile: float, depth: int) -> list[float]:
    """The same from its definition: nothing is sorted but the few ranks of one picture."""
    keys = []
    for picture in range(len(table[0])):
        ranks: list[float] = []
        for scores in table:
            rank = 1 + sum(other > scores[picture] for other in scores)
            ranks.append(rank if scores[picture] > 0 and rank <= depth else inf)
        share = Fraction(quantile).limit_denominator(1000) * len(table)
        reached = next(r for n, r in enumerate(sorted(ranks), 1) if n >= share)
        known = [rank for rank in ranks if rank < inf]
        keys.append((reached, len(ranks) - len(known), sum(known)))
    return [0.0 if key[0] == inf else float(np.float32(1 / (1 + sum(k < key for k in keys)))) for key in keys]


@given(table=tables(), quantile=st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.6, 0.75, 1.0]), depth=st.integers(1, 10))
def test_as_counted(table: Table, quantile: float, depth: int) -> None:
    assert combined(table, quantile=quantile, depth=depth) == counted(table, quantile=quantile, depth=depth)


@given(table=tables(), data=st.data())
def test_order_does_not_matter(table: Table, data: st.DataObject) -> None:
    found = combined(table)
    order = data.draw(st.permutations(range(len(table[0]))))
    assert combined([[scores[i] for i in order] for scores in table]) == [found[i] for i in order]
    assert combined(data.draw(st.permutations(table))) == found


@given(table=tables())
def test_scores_matter_by_their_order_alone(table: Table) -> None:
    assert combined([[s**3 for s in scores] for scores in table]) == combined(table)


def test_the_papers_example() -> None:
    """Ranked 1st, 4th and 3rd: the median is 3 (CDM-10 §IV). Two others are at 1 and 2."""
    table = [[9, 8, 7, 0], [6, 9, 8, 7], [7, 9, 8, 0]]
    ranks = [[1 + sum(o > s for o in scores) for s in scores] for scores in table]
    assert [r[0] for r in ranks] == [1, 4, 3]
    assert np.median([r[0] for r in ranks]) == 3
    assert combined(table)[:3] == pytest.approx([1 / 3, 1, 1 / 2])


def test_two_of_three_must_return_a_picture() -> None:
    assert combined([[5, 9], [0, 8], [0, 0]]) == [0, 1]
    assert combined([[5, 9], [0, 8], [0, 0]], quantile=1) == [0, 0]
    assert combined([[5, 9], [0, 8], [0, 0]], quantile=0) == [0.5, 1]


@pytest.mark.parametrize(("rankings", "votes"), [(1, 1), (2, 1), (3, 2), (5, 3), (9, 5), (19, 10)])
def test_votes_of_the_paper(rankings: int, votes: int) -> None:
    """Those that CDM-10 §V-C.7 tells for 3 to 19 vocabularies."""
    for given_votes in (votes - 1, votes):
        table = [[int(number < given_votes)] for number in range(rankings)]
        assert combined(table) == [float(given_votes == votes)]


def test_no_more_than_depth_are_ranked_but_ties_are() -> None:
    assert combined([[4, 3, 2, 1]] * 3, depth=2) == [1, 0.5, 0, 0]
    assert combined([[4, 3, 3, 1]] * 3, depth=2) == [1, 0.5, 0.5, 0]


def test_equal_medians_are_placed_by_the_mean() -> None:
    """Medians 2 and 2, means 2 and 5/3; a missing rank is more than any."""
    assert combined([[7, 7, 9], [6, 6, 9], [6, 8, 7]])[:2] == pytest.approx([1 / 3, 1 / 2])
    both, one_missing = combined([[9, 9], [9, 9], [1, 0]])
    assert (both, one_missing) == (1, 0.5)


def test_many_places_are_told_apart() -> None:
    scores = np.random.default_rng(0).permutation(100_000).astype(np.float32) + 1
    assert len(np.unique(aggregate([scores] * 3, quantile=0.5, depth=100_000))) == 100_000
