"""Pairs of counts against a naive loop over all words; the truncation; average precision against the measure."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from resight.evaluation.measures import average_precision
from resight.learning_to_rank.pairs import Pairs, Problem, pair_up, truncation
from resight.scoring.similarity import groups_by_frequency

from ..support.things import all_asked, dense, lists_of, things

K, EACH = 40, 3


@pytest.mark.parametrize(("groups", "most"), [(1, 1), (3, 2), (4, 4)])
def test_pairs_of_counts_are_those_of_all_words(groups: int, most: int) -> None:
    pictures = things(4, each=EACH, k=K)
    asked, _ = all_asked(pictures, EACH)
    lists, rng = lists_of(pictures, K), np.random.default_rng(1)
    group = groups_by_frequency(np.diff(lists.offsets), groups)
    rivals = [rng.permutation([i for i in range(12) if i // EACH != q // EACH])[: 2 + q % 3] for q in range(12)]
    found = pair_up(asked, lists, pictures=12, group=group, most=most, candidates=rivals)
    assert found.relevant.tolist() == [2] * 12
    row = 0
    for query, irrelevant in zip(asked, rivals, strict=True):
        for other in [*query.relevant, *irrelevant]:
            right: Counter[Any] = Counter(
                (group[i], j, n)
                for i, (j, n) in enumerate(
                    zip(dense(query.word, K, most), dense(pictures[other], K, most), strict=True)
                )
            )
            counts = found.counts[row].reshape(groups, most + 1, most + 1)
            assert all(counts[place] == right[place] for place in np.ndindex(counts.shape))
            row += 1
    assert row == found.first[-1] == len(found.counts)


def test_groups_are_equally_large_and_ordered_by_frequency() -> None:
    counts = np.array([5, 0, 9, 1, 7, 3, 3])
    assert groups_by_frequency(counts, 1).tolist() == [0] * 7
    assert groups_by_frequency(counts, 3).tolist() == [1, 0, 2, 0, 2, 0, 1]


def test_truncation_is_exceeded_by_less_than_a_tenth_of_the_words_that_occur() -> None:
    once = np.arange(20)
    assert truncation(lists_of([once], 30)) == 1
    assert truncation(lists_of([np.concatenate([once, [0]])], 30)) == 1  # 1 of 20
    assert truncation(lists_of([np.concatenate([once, [0, 1]])], 30)) == 2  # 2 of 20 are a tenth
    # In one picture: that others have the word, too, does not matter.
    assert truncation(lists_of([np.concatenate([once, [0, 0, 1, 1]]), once], 30)) == 3
    assert truncation(lists_of([np.zeros(0)], 30)) == 1


def problem_of(relevant: list[list[float]], irrelevant: list[list[float]]) -> tuple[Problem, np.ndarray[Any, Any]]:
    first = np.concatenate([[0], np.cumsum([len(u) + len(v) for u, v in zip(relevant, irrelevant, strict=True)])])
    scores = np.concatenate([np.array([*u, *v], float) for u, v in zip(relevant, irrelevant, strict=True)])
    return Problem(np.zeros((len(scores), 1), np.float32), first, np.array([len(u) for u in relevant])), scores


def test_average_precision_is_that_of_the_evaluation() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        good, bad = rng.random(rng.integers(1, 6)).tolist(), rng.random(rng.integers(1, 9)).tolist()
        problem, scores = problem_of([good], [bad])
        ranked = np.argsort(-scores).tolist()
        assert problem.map_of(scores) == pytest.approx(average_precision(ranked, set(range(len(good)))))


def test_equal_scores_count_against_a_ranking() -> None:
    problem, scores = problem_of([[1.0], [3.0]], [[1.0, 1.0], [1.0]])
    assert problem.map_of(scores) == pytest.approx((((0 / 2) + 1 / 3) / 2 + 1) / 2)


def test_levelled_pairs_share_equally_varied_numbers_of_words() -> None:
    pictures = things(5, each=EACH, k=K)
    asked, _ = all_asked(pictures, EACH)
    lists = lists_of(pictures, K)
    rivals = [np.array([i for i in range(15) if i // EACH != q // EACH]) for q in range(15)]
    group = np.zeros(K, np.uint8)
    plain = pair_up(asked, lists, pictures=15, group=group, most=2, candidates=rivals)
    level = plain.levelled
    for q in range(15):
        rows = slice(plain.first[q], plain.first[q + 1])
        ratio = plain.counts[rows] / np.where(level.counts[rows] > 0, level.counts[rows], 1)
        assert np.unique(ratio[plain.counts[rows] > 0].round(3)).size == 1  # one factor for each query
        before, after = (p.counts[rows].reshape(-1, 3, 3)[:, 1:, 1:].sum(axis=(1, 2))[2:] for p in (plain, level))
        assert after.std() == pytest.approx(min(before.std(), 1))


def test_patterns_add_up_counts() -> None:
    counts = np.arange(2 * 1 * 4, dtype=np.float32).reshape(2, 1, 4)
    pairs = Pairs(counts, np.array([0, 2]), np.array([1]))
    assert pairs.within(np.array([[0, 1], [1, 1]], np.uint8)).values.tolist() == [[0, 6], [4, 18]]


def test_problems_of_some_queries() -> None:
    values = np.arange(7, dtype=np.float32)[:, None]
    problem = Problem(values, np.array([0, 2, 5, 7]), np.array([1, 2, 1]))
    some = problem.of(np.array([0, 2]))
    assert some.values.ravel().tolist() == [0, 1, 5, 6]
    assert (some.first.tolist(), some.relevant.tolist()) == ([0, 2, 4], [1, 1])
    assert problem.centred.values.ravel().tolist() == [-0.5, 0.5, -1, 0, 1, -0.5, 0.5]
