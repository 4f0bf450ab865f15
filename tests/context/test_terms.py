"""Context terms: against matrices, by hand, and what must hold of any."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.context import METHODS, Neighbours, terms
from resight.options import ContextOptions

Array = npt.NDArray[Any]
seeds = st.integers(0, 2**32)


def matrix(seed: int, n: int, *, clumps: int = 4) -> Array:
    """Distances of points in the plane, some of them crowded."""
    rng = np.random.default_rng(seed)
    centres = rng.random((clumps, 2)) * 10
    points = centres[rng.integers(clumps, size=n)] + rng.normal(0, rng.choice([0.1, 1.0, 3.0], (n, 1)), (n, 2))
    return np.asarray(np.linalg.norm(points[:, None] - points[None], axis=2).astype(np.float32))


def lists(distances: Array, kept: int | None = None) -> Neighbours:
    """The nearest of each, self excluded."""
    apart = distances.astype(np.float64).copy()
    np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, : kept or len(apart) - 1]
    nearest = np.take_along_axis(apart, order, axis=1)
    return Neighbours(np.where(np.isfinite(nearest), order, -1).astype(np.int32), nearest.astype(np.float32))


def radius(distances: Array, count: int) -> Array:
    """r(i) of a matrix (CDM-10 eq. 4)."""
    apart = distances.astype(np.float64).copy()
    np.fill_diagonal(apart, np.inf)
    found: Array = np.sort(apart, axis=1)[:, :count].mean(axis=1)
    return found


@settings(max_examples=60, deadline=None)
@given(seed=seeds, n=st.integers(3, 40), count=st.integers(1, 12), kept=st.integers(1, 39))
def test_radii_are_those_of_the_matrix_or_said_to_be_uncertain(seed: int, n: int, count: int, kept: int) -> None:
    distances, count = matrix(seed, n), min(count, n - 1)
    kept = max(min(kept, n - 1), count)
    delta = np.random.default_rng(seed).uniform(0.5, 2, n)
    near, found = lists(distances, kept), np.zeros(n)
    uncertain = terms.radii(near.picture, near.distance, delta, count, kept == n - 1, found)
    right = radius(distances * delta[:, None] * delta[None], count)
    wrong = ~np.isclose(found, right, rtol=1e-5)
    assert wrong.sum() <= uncertain
    assert (found >= right * (1 - 1e-5)).all()
    assert kept < n - 1 or uncertain == 0


def test_nicdm_by_hand() -> None:
    """Points 0, 1, 3 and 7 on a line, two neighbours: r = 2, 1.5, 2.5, 5."""
    points = np.array([0, 1, 3, 7], np.float32)
    near = lists(np.abs(points[:, None] - points[None]))
    found = METHODS["nicdm"](near, ContextOptions(method="nicdm", neighbours=2, alpha=0.5))
    r = np.array([(1 + 3) / 2, (1 + 2) / 2, (2 + 3) / 2, (4 + 6) / 2])
    mean = (2 * 1.5 * 2.5 * 5) ** 0.25
    assert found.radius == pytest.approx(mean)
    assert found.delta == pytest.approx(np.sqrt(mean / r))
    assert found.spreads[0] == pytest.approx(np.abs(r / mean - 1).mean())


@pytest.mark.parametrize("rounds", range(1, 7))
@pytest.mark.parametrize("alpha", [0.25, 0.5])
def test_each_round_of_cdm_scales_the_matrix(rounds: int, alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """d^(k)(i, j) = d(i, j) δ_i δ_j, where the matrix is multiplied by each round's step alone (eq. 9, 13)."""
    distances = matrix(3, 60)
    monkeypatch.setattr(terms, "MOST_ROUNDS", rounds)
    found = METHODS["cdm"](lists(distances), ContextOptions(method="cdm", alpha=alpha, epsilon=0))
    scaled = distances.astype(np.float64)
    for _ in range(rounds - 1):
        r = radius(scaled, 10)
        step = (np.exp(np.log(r).mean()) / r) ** alpha
        scaled = scaled * step[:, None] * step[None]
    assert distances * found.delta[:, None] * found.delta[None] == pytest.approx(scaled, rel=1e-6)
    r = radius(scaled, 10)
    mean = np.exp(np.log(r).mean())
    assert found.radius == pytest.approx(mean)
    assert found.spreads[-1] * len(r) * mean == pytest.approx(np.abs(r - mean).sum())  # S of eq. 10


def test_rounds_start_without_terms_and_end_with_those_of_cdm() -> None:
    near, options = lists(matrix(3, 60)), ContextOptions(method="cdm", alpha=0.1)
    found = list(terms.rounds(near, options))
    assert found[0].delta.tolist() == [1] * 60
    assert [len(t.spreads) for t in found] == list(range(1, len(found) + 1))
    last = METHODS["cdm"](near, options)
    assert found[-1].delta.tolist() == last.delta.tolist()
    assert found[-1].spreads == last.spreads


@settings(max_examples=40, deadline=None)
@given(seed=seeds, n=st.integers(12, 60))
def test_cdm_evens_out_and_ends(seed: int, n: int) -> None:
    found = METHODS["cdm"](lists(matrix(seed, n)), ContextOptions(method="cdm"))
    assert (np.diff(found.spreads) < 0).all()
    assert (found.delta > 0).all()
    assert found.uncertain == 0
    assert len(found.spreads) < terms.MOST_ROUNDS


@settings(max_examples=30, deadline=None)
@given(seed=seeds, method=st.sampled_from(list(METHODS)))
def test_terms_follow_their_pictures(seed: int, method: str) -> None:
    distances, order = matrix(seed, 30), np.random.default_rng(seed).permutation(30)
    options = ContextOptions(method=method)
    found = METHODS[method](lists(distances), options)
    again = METHODS[method](lists(distances[np.ix_(order, order)]), options)
    assert again.delta == pytest.approx(found.delta[order], rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("copies", [2, 15, 40])
def test_exact_copies_get_finite_terms(method: str, copies: int) -> None:
    """With 15 copies some pictures have no distance to any of their ten neighbours; with 40 none has."""
    distances = matrix(1, 40)
    distances[:copies] = distances[0]
    distances[:, :copies] = distances[:, :1]
    distances[:copies, :copies] = 0
    found = METHODS[method](lists(distances), ContextOptions(method=method))
    assert np.isfinite(found.delta).all()
    assert (found.delta > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_pictures_without_neighbours_get_finite_terms(method: str) -> None:
    distances = matrix(2, 20)
    distances[0] = distances[:, 0] = np.inf
    distances[1, 2:] = distances[2:, 1] = np.inf
    found = METHODS[method](lists(distances), ContextOptions(method=method))
    assert np.isfinite(found.delta).all()
    assert (found.delta > 0).all()
    alone = METHODS[method](lists(np.full((3, 3), np.inf)), ContextOptions(method=method))
    assert alone.delta.tolist() == [1, 1, 1]


def test_sinkhorn_makes_all_rows_of_squares_equal() -> None:
    distances = matrix(4, 30)
    found = METHODS["sinkhorn"](lists(distances), ContextOptions(method="sinkhorn"))
    scaled = (distances.astype(np.float64) * found.delta[:, None] * found.delta[None]) ** 2
    assert scaled.sum(axis=1) == pytest.approx(found.radius, rel=1e-5)
    assert scaled.sum(axis=0) == pytest.approx(found.radius, rel=1e-5)


def test_short_lists_say_when_they_are_too_short() -> None:
    distances, options = matrix(5, 120), ContextOptions(method="cdm")
    whole = METHODS["cdm"](lists(distances), options)
    long, short = (METHODS["cdm"](lists(distances, kept), options) for kept in (80, 10))
    assert long.uncertain < short.uncertain
    assert np.abs(long.delta / whole.delta - 1).max() < np.abs(short.delta / whole.delta - 1).max()
    assert short.uncertain > 60
