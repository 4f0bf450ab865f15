"""Both objectives against naive sums and finite differences; the descent on a problem whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.learning_to_rank.descent import OBJECTIVES, Objective, by_nearest, by_pairs, descend
from resight.learning_to_rank.pairs import Problem

Array = npt.NDArray[Any]


def random_problem(seed: int, *, queries: int = 6, weights: int = 5) -> Problem:
    rng = np.random.default_rng(seed)
    relevant = rng.integers(1, 4, queries)
    first = np.concatenate([[0], np.cumsum(relevant + rng.integers(1, 7, queries))])
    return Problem(rng.normal(size=(first[-1], weights)).astype(np.float32), first, relevant)


def naive(problem: Problem, weights: Array, *, pairs: bool) -> float:
    """Eq. 9 and eq. 11, without their regularisation, as they are printed."""
    total = 0.0
    for begin, end, count in zip(problem.first[:-1], problem.first[1:], problem.relevant, strict=True):
        scores = problem.values[begin:end].astype(float) @ weights
        good, bad = scores[:count], scores[count:]
        if pairs:
            total += sum(max(0.0, 1 - (u - v)) for u in good for v in bad)
        else:
            total += sum(max(0.0, 1 - u + max(bad)) for u in good) / count
    return total


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("objective", "pairs"), [(by_nearest, False), (by_pairs, True)])
class TestObjective:
    def test_value(self, objective: Objective, *, pairs: bool, seed: int) -> None:
        problem, weights = random_problem(seed), np.random.default_rng(seed).normal(size=5)
        assert objective(problem, weights)[0] == pytest.approx(naive(problem, weights, pairs=pairs), rel=1e-5)

    def test_gradient_against_finite_differences(self, objective: Objective, *, pairs: bool, seed: int) -> None:
        problem, weights = random_problem(seed), np.random.default_rng(100 + seed).normal(size=5)
        _, gradient = objective(problem, weights)
        step = 1e-6  # smaller than the distance to the next kink, for these seeds
        for i, unit in enumerate(np.eye(5)):
            ends = [naive(problem, weights + sign * step * unit, pairs=pairs) for sign in (1, -1)]
            assert gradient[i] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_descent_finds_what_tells_relevant_pictures_apart(name: str) -> None:
    """Column 0 is larger for relevant rows, column 1 for the others, column 2 is noise."""
    rng = np.random.default_rng(0)
    first, relevant = np.arange(0, 201, 10), np.full(20, 3)
    values = rng.normal(size=(200, 3)).astype(np.float32)
    good = np.arange(200) % 10 < 3
    values[good, 0] += 4
    values[~good, 1] += 4
    problem, seen = Problem(values, first, relevant), []

    def note(number: int, value: float, weights: Array) -> bool:
        seen.append(value)
        return True

    found = descend(problem, OBJECTIVES[name], regularisation=0.01, rounds=200, judge=note)
    assert found[0] > 0 > found[1]
    assert abs(found[2]) < min(found[0], -found[1]) / 2
    assert problem.map(found) > 0.99
    assert seen[-1] < 0.2 * seen[0]


def test_nearest_is_quicker_than_pairs_to_rank_well() -> None:
    """LEARN-14 figure 3: eq. 11 needs fewer rounds."""
    rng = np.random.default_rng(3)
    first, relevant = np.arange(0, 40 * 30 + 1, 40), np.full(30, 3)
    values = rng.normal(size=(1200, 8)).astype(np.float32) * np.array([30, 30, 10, 10, 3, 3, 1, 1], np.float32)
    values[np.arange(1200) % 40 < 3] += np.array([0, 20, 0, 8, 0, 3, 0, 1], np.float32)
    problem = Problem(values, first, relevant)
    after = {
        name: problem.map(descend(problem, OBJECTIVES[name], regularisation=0.01, rounds=5)) for name in OBJECTIVES
    }
    assert after["nearest"] > after["pairs"]


def test_regularisation_keeps_weights_small() -> None:
    values = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    values[::4] += 5
    problem = Problem(values, np.arange(0, 41, 4), np.ones(10, np.int64))
    loose, tight = (descend(problem, by_nearest, regularisation=r, rounds=200) for r in (0.01, 1000.0))
    assert np.abs(tight).max() < 0.5 * np.abs(loose).max()


def test_judge_ends_the_descent() -> None:
    problem, heard = random_problem(2), []

    def judge(number: int, value: float, weights: Array) -> bool:
        heard.append(number)
        return number < 3

    descend(problem, by_nearest, regularisation=1.0, rounds=50, judge=judge)
    assert heard == [0, 1, 2, 3]
    heard.clear()
    descend(problem, by_nearest, regularisation=1.0, rounds=2, judge=judge)
    assert heard == [0, 1, 2]  # the start, and what each round leads to
