"""``best`` against a full sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from resight.scoring import best, top


@given(scores=st.lists(st.sampled_from([0.0, -1.0, 0.25, 0.5, 1.0, 3.0, 3.5]), max_size=40), count=st.integers(1, 45))
def test_best_is_the_head_of_a_full_sort_and_its_ties(scores: list[float], count: int) -> None:
    chosen = best(np.array(scores, np.float32), count).tolist()
    ranked = sorted((s for s in scores if s > 0), reverse=True)
    least = ranked[min(count, len(ranked)) - 1] if ranked else 0.0
    assert sorted(chosen) == [i for i, s in enumerate(scores) if s > 0 and s >= least]


def test_ties_are_kept_by_hand() -> None:
    scores = np.array([0, 2, 1, 3, 1, 1, 0], np.float32)
    assert sorted(best(scores, 1).tolist()) == [3]
    assert sorted(best(scores, 2).tolist()) == [1, 3]
    assert sorted(best(scores, 3).tolist()) == [1, 2, 3, 4, 5]
    assert sorted(best(scores, 100).tolist()) == [1, 2, 3, 4, 5]


@given(seed=st.integers(0, 2**32), kinds=st.sampled_from([3, 40, 10**6]), count=st.integers(1, 300))
def test_largest_of_many_are_the_head_of_a_full_sort_and_its_ties(seed: int, kinds: int, count: int) -> None:
    """Of so many that most are left out by a bound first, which may be too high."""
    values = np.random.default_rng(seed).integers(-kinds, kinds, 2000).astype(np.float32)
    values[:: top.EVERY] += np.float32(kinds * (seed % 2))  # those that tell the bound are no fair sample
    least = np.sort(values)[-count]
    assert top.largest(values, count).tolist() == np.flatnonzero(values >= least).tolist()


def test_distinct_scores_give_exactly_the_count() -> None:
    scores = np.random.default_rng(0).permutation(1000).astype(np.float32) + 1
    assert set(best(scores, 10).tolist()) == set(np.argsort(-scores)[:10].tolist())
