"""Weights with which relevant pictures score above irrelevant ones, by sub-gradient descent (LEARN-14 §3.2).

There are two objectives, convex and solved in the primal. Steps are AdaGrad's (Duchi et al. 2011), each weight in
units of how much its counts vary: pairs of absent words outnumber others by far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from .._numba import kernel
from ..types import Float32, Float64, Int64
from .pairs import Problem

STEP = 0.03
LEAST_SPREAD = 1e-3  # of counts that hardly ever occur


class Objective(Protocol):
    def __call__(self, problem: Problem, weights: Float64) -> tuple[float, Float64]:
        """Its value and a sub-gradient, but for the regularisation."""


def by_nearest(problem: Problem, weights: Float64) -> tuple[float, Float64]:
    """Eq. 11: each relevant picture against the best irrelevant one; all queries count alike."""
    values, first, relevant = problem.values, problem.first, problem.relevant
    scores = values @ weights.astype(np.float32)
    rivals = best_rivals(scores, first, relevant)
    rows = _relevant_rows(problem)
    query = np.repeat(np.arange(len(relevant)), relevant)
    violated = 1 - scores[rows].astype(np.float64) + scores[rivals[query]]
    share = np.where(violated > 0, 1 / relevant[query], 0)
    loss = float((share * violated).sum())
    against = np.bincount(query, weights=share, minlength=len(relevant))
    gradient = against @ values[rivals] - share @ values[rows]
    return loss, gradient


@kernel
def best_rivals(scores: Float32, first: Int64, relevant: Int64) -> Int64:
    """The row of the best irrelevant picture of each query."""
    best = np.empty(len(relevant), np.int64)
    for q in range(len(relevant)):
        begin = first[q] + relevant[q]
        best[q] = begin + np.argmax(scores[begin : first[q + 1]])
    return best


def by_pairs(problem: Problem, weights: Float64) -> tuple[float, Float64]:
    """Eq. 9, the rank-SVM that eq. 11 is measured against: each relevant picture against every irrelevant one."""
    values, loss = problem.values, 0.0
    scores = (values @ weights.astype(np.float32)).astype(np.float64)
    share = np.zeros(len(values))
    for begin, relevant, end in zip(problem.first[:-1], problem.relevant, problem.first[1:], strict=True):
        middle = begin + relevant
        violated = np.maximum(1 - scores[begin:middle, None] + scores[middle:end], 0)
        loss += float(violated.sum())
        share[begin:middle] -= (violated > 0).sum(axis=1)
        share[middle:end] += (violated > 0).sum(axis=0)
    return loss, share @ values


def _relevant_rows(problem: Problem) -> Int64:
    begin = np.repeat(problem.first[:-1] - np.cumsum(problem.relevant) + problem.relevant, problem.relevant)
    return begin + np.arange(len(begin))


OBJECTIVES: dict[str, Objective] = {"nearest": by_nearest, "pairs": by_pairs}


def descend(
    problem: Problem,
    objective: Objective,
    *,
    regularisation: float,
    rounds: int,
    start: Float64 | None = None,
    judge: Callable[[int, float, Float64], bool] = lambda number, value, weights: True,
) -> Float64:
    """The weights after so many rounds, or when ``judge`` says no.

    Before the first round and after each it hears the round's number, λ/2 ‖w‖² + the objective's value, and weights.
    """
    problem = problem.centred
    spread = np.maximum(problem.values.std(axis=0, dtype=np.float64), LEAST_SPREAD)
    weights = np.zeros(len(spread)) if start is None else start
    squares = np.full(len(spread), 1e-12)
    for number in range(rounds + 1):
        loss, gradient = objective(problem, weights)
        if not judge(number, loss + regularisation / 2 * float(weights @ weights), weights) or number == rounds:
            break
        gradient = gradient + regularisation * weights
        squares += gradient**2
        weights = weights - STEP / spread * gradient / np.sqrt(squares)
    return weights
