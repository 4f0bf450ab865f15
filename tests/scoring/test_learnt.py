"""The learnt similarity through lists against the dense sum of LEARN-14 eq. 5, and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resight.errors import UsageError
from resight.options import LearntOptions
from resight.scoring import Query, Similarity
from resight.scoring.learnt import positive

from ..support.quantised import (
    Array,
    WeighedSegment,
    histogram,
    lists_of,
    picture,
    random_collection,
    score,
    segment_of,
    similarity,
)

LEARNT = LearntOptions()


def scores(query: Query, segment: WeighedSegment) -> Array:
    return score(query, [segment], options=LEARNT)[0]


def dense(found: Similarity, q: Array, d: Array) -> float:
    """Σ_i w[g(i), min(q_i, n), min(d_i, n)], word by word."""
    n = found.most
    counts = zip(found.group, q.astype(int), d.astype(int), strict=True)
    return sum(float(found.weights[g, found.pattern[min(j, n), min(m, n)]]) for g, j, m in counts)


@pytest.mark.parametrize("seed", range(8))
def test_lists_give_the_dense_sum(seed: int) -> None:
    collection = random_collection(seed, removed=0.2)
    known, segment = similarity(collection.k), collection.segment
    q, nothing = histogram(collection.query, collection.k), np.zeros(collection.k)
    found = scores(collection.query, segment)
    for number, shown in enumerate(collection.pictures):
        d = histogram(shown, collection.k)
        if not collection.alive[number] or not (np.minimum(q, d) > 0).any():
            assert found[number] == 0
            continue
        right = dense(known, q, d) - dense(known, q, nothing)
        assert found[number] == pytest.approx(positive(np.array([right], np.float32))[0], rel=1e-5)


@pytest.mark.parametrize("most", [1, 3, 5])
def test_any_truncation(most: int) -> None:
    collection = random_collection(3)
    known = similarity(collection.k, most=most, groups=2, seed=most)
    segment = replace(collection.segment, similarity=known)
    q, nothing = histogram(collection.query, collection.k), np.zeros(collection.k)
    right = [dense(known, q, histogram(p, collection.k)) - dense(known, q, nothing) for p in collection.pictures]
    found = scores(collection.query, segment)
    assert (found > 0).sum() > 5
    assert found[found > 0] == pytest.approx(positive(np.array(right, np.float32))[found > 0], rel=1e-5)


def test_by_hand() -> None:
    """Two words, n = 1: both have it 5, only the query −1, only the picture −2, none 0; word 1 half as much."""
    weights = np.array([[0, -2, -1, 5], [0, -1, -0.5, 2.5]], np.float32)
    known = Similarity(np.array([[0, 1], [2, 3]], np.uint8), weights, np.array([0, 1], np.uint8))
    plain = segment_of([picture([0]), picture([0, 0, 1]), picture([1]), picture([])], 2, np.ones(2))
    segment = replace(plain, similarity=known)
    # Against an empty picture the query {0} scores −1; so {0} is 6 above it, {0, 0, 1} one less, {1} shares nothing.
    assert scores(picture([0]), segment).tolist() == [7, 6, 0, 0]
    # Against an empty query pictures score what only they have.
    assert known.alone(lists_of([picture([0]), picture([0, 0, 1])], 2), 2).tolist() == [-2, -3]


def test_stored_scores_against_nothing_are_used() -> None:
    collection = random_collection(1)
    plain = collection.segment
    alone = similarity(collection.k).alone(plain.read(None, "image"), plain.pictures)
    other = replace(plain, stored_alone=alone + np.float32(3))
    found, more = scores(collection.query, plain), scores(collection.query, other)
    assert (more[found > 0] > found[found > 0]).all()


def test_positive_keeps_the_order() -> None:
    values = np.array([-1e6, -50, -1, -1e-3, 0, 1e-3, 1, 50, 1e6], np.float32)
    found = positive(values)
    assert (np.diff(found) > 0).all()
    assert found[0] > 0
    assert found[4] == 1


def test_weights_survive_storing() -> None:
    known = similarity(7)
    again = Similarity.from_bytes(known.to_bytes())
    assert again.fingerprint == known.fingerprint
    assert (again.table == known.table).all()
    assert replace(known, weights=known.weights + np.float32(1)).fingerprint != known.fingerprint


def test_without_weights_there_is_nothing_to_score_by() -> None:
    plain = segment_of([picture([0])], 1, np.ones(1))
    with pytest.raises(UsageError, match="resight learn"):
        scores(picture([0]), replace(plain, similarity=None))
