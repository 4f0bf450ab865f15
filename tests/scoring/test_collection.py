"""Measures that see counts against those of all pictures: by hand, and against dense vectors as the formulas stand."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from resight.options import NegativeOptions, scoring_options
from resight.scoring import Query, collection_statistics

from ..support.quantised import (
    Array,
    Collection,
    WeighedSegment,
    histogram,
    picture,
    random_collection,
    score,
    segment_of,
)

SEEDS = range(8)


def scores(query: Query, segments: Sequence[WeighedSegment], measure: str, **options: Any) -> Array:
    return np.concatenate(score(query, segments, options=scoring_options(measure, **options)))


def dense(collection: Collection) -> tuple[Array, Array, Array]:
    """Counts of the query (K,), of all pictures (n, K) and of the living ones."""
    table = np.array([histogram(p, collection.k) for p in collection.pictures])
    return histogram(collection.query, collection.k), table, table[collection.alive]


# --- by hand: three words; pictures {0, 0, 1}, {1, 2} and {}; the query is {0, 1, 1}

PICTURES = [picture([0, 0, 1]), picture([1, 2]), picture([])]
QUERY = picture([0, 1, 1])
A, B = log(3) ** 2, log(1.5) ** 2  # idf² of words 0 and 2, which are in one picture of three, and of word 1, in two
SEGMENT = segment_of(PICTURES, 3, np.sqrt([A, B, A]))


def test_burst_by_hand() -> None:
    # Σ_j √d is √2 for word 0 and 2 for word 1.
    first = A * 1 * 2**0.25 / sqrt(sqrt(2)) + B * 2 * 1 / sqrt(2)
    assert scores(QUERY, [SEGMENT], "burst") == pytest.approx([first, B * 2 / sqrt(2), 0], rel=1e-6)
    assert first == pytest.approx(A + sqrt(2) * B)


def test_negative_by_hand() -> None:
    # The mean is (2, 2, 1) / 3. Half of it taken off, q is (4, 10, −1) / 6, pictures (10, 4, −1) / 6, (−2, 4, 5) / 6.
    first = (40 * A + 40 * B + A) / sqrt(117 * 117)
    second = (-8 * A + 40 * B - 5 * A) / sqrt(117 * 45)
    expected = [(1 + first) / 2, (1 + second) / 2, 0]
    assert scores(QUERY, [SEGMENT], "negative", beta=0.5) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("power", [1, 2])
def test_asymmetric_by_hand(power: int) -> None:
    # 5 features in all; 2 of picture 0 and 1 of picture 1 are in common with the query. All differences are 1.
    factor = 0.8 * 5 / 3 - 1
    expected = [1 / (1 + 1 + factor), 1 / (1 + 1 + 2 * factor), 0]
    assert scores(QUERY, [SEGMENT], "asymmetric", alpha=0.8, power=power) == pytest.approx(expected, rel=1e-6)


# --- against dense vectors


@pytest.mark.parametrize("seed", SEEDS)
def test_burst_is_equation_3(seed: int) -> None:
    collection = random_collection(seed, removed=0.3)
    query, table, living = dense(collection)
    value = collection.idf**2 * query / np.sqrt(np.maximum(np.sqrt(living).sum(axis=0), 1))
    expected = (value * table**0.25).sum(axis=1) * collection.alive
    assert scores(collection.query, [collection.segment], "burst") == pytest.approx(expected, rel=1e-5)
    assert expected.any()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("beta", [0.0, 0.1, 1.0, 3.0])
def test_negative_is_equation_1_of_what_differs_from_the_mean(seed: int, beta: float) -> None:
    collection = random_collection(seed, removed=0.3)
    query, table, living = dense(collection)
    weight, mean = collection.idf**2, beta * living.mean(axis=0)
    norms = np.linalg.norm(query - mean) * np.linalg.norm(table - mean, axis=1)
    cosine = (weight * (query - mean) * (table - mean)).sum(axis=1) / np.maximum(norms, 1e-30)
    shared = (weight * query * table).sum(axis=1) > 0
    expected = np.maximum((1 + cosine) / 2, 1e-6) * shared * collection.alive
    assert scores(collection.query, [collection.segment], "negative", beta=beta) == pytest.approx(expected, rel=1e-5)
    assert expected.any()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("alpha", [0.0, 0.8, 5.0])
def test_asymmetric_is_the_sum_over_all_words(seed: int, power: int, alpha: float) -> None:
    collection = random_collection(seed, removed=0.3)
    query, table, living = dense(collection)
    factor = max(alpha * living.sum() / np.minimum(query, living).sum() - 1, 0)
    more, less = np.maximum(table - query, 0) ** power, np.maximum(query - table, 0) ** power
    shared = (query * table).any(axis=1)
    expected = shared * collection.alive / (1 + more.sum(axis=1) + factor * less.sum(axis=1))
    found = scores(collection.query, [collection.segment], "asymmetric", alpha=alpha, power=power)
    assert found == pytest.approx(expected, rel=1e-6)
    assert (factor > 0) == (alpha > 0)


# --- what follows


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_of_the_mean_is_the_cosine(seed: int) -> None:
    collection = random_collection(seed, assigned=2, removed=0.3)
    cosine = scores(collection.query, [collection.segment], "cosine")
    found = scores(collection.query, [collection.segment], "negative", beta=0.0)
    assert 2 * found[cosine > 0] - 1 == pytest.approx(cosine[cosine > 0], abs=1e-5)
    assert not found[cosine == 0].any()


def test_a_picture_as_unlike_the_query_as_can_be_is_found_all_the_same() -> None:
    """By idf² of 100, differences that point away from each other come to much less than −1."""
    shown = [picture([0, *[1] * 9]), picture([0, *[2] * 9])]
    segment = segment_of(shown, 3, np.array([1.0, 10.0, 10.0]))
    assert scores(shown[0], [segment], "negative", beta=1.0).tolist() == pytest.approx([50, 1e-6], rel=0.1)


def test_pictures_that_are_all_alike_differ_in_nothing_from_their_mean() -> None:
    segment = segment_of([picture([0, 1, 1])] * 3, 2, np.ones(2))
    assert scores(picture([0, 1]), [segment], "negative", beta=1.0).tolist() == [0.5] * 3


def test_what_only_the_query_has_is_never_a_merit() -> None:
    """Where λ would be negative, a picture that has less would be nearer."""
    segment = segment_of([picture([0, 0, 0]), picture([0])], 1, np.ones(1))
    assert scores(picture([0, 0, 0]), [segment], "asymmetric", alpha=0.1).tolist() == [1, 1]


def test_words_are_counted_over_all_segments() -> None:
    collection, options = random_collection(4, removed=0.3), NegativeOptions()
    living = dense(collection)[2]
    for segments in ([collection.segment], collection.segments([0, 9, 25])):
        counted = collection_statistics(segments, options)
        assert counted.counts.tolist() == living.sum(axis=0).tolist()
        assert counted.pictures == len(living)
        assert counted.idf == pytest.approx(np.log((len(living) + 1) / np.maximum((living > 0).sum(axis=0), 1)))
