"""Clusters of pictures: axes against an SVD, assignment against brute force, and groups that can be told apart."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resight.clusters import Clusters, Visit, _apart, _principal_axes, _step, _terms, by_cluster, compared
from resight.errors import UsageError
from resight.options import ClusterOptions
from resight.types import Int32

Array = npt.NDArray[Any]
K, GROUPS, EACH = 60, 4, 15
KINDS = ("k-means", "k-medoids", "random")


def options(**given: Any) -> ClusterOptions:
    if given.get("kind") == "k-medoids":
        pytest.importorskip("kmedoids")
    return ClusterOptions(**{"count": GROUPS, "dimensions": 6, **given})


def pictures(seed: int = 0) -> list[Int32]:
    """``EACH`` of each group in turn, whose words are mostly from the group's own quarter of the vocabulary."""
    rng, size = np.random.default_rng(seed), K // GROUPS
    made = []
    for number in range(GROUPS * EACH):
        own = rng.integers(0, size, 40) + size * (number % GROUPS)
        made.append(np.concatenate([own, rng.integers(0, K, 8)]).astype(np.int32))
    return made


def idf(shown: Sequence[Int32]) -> Array:
    having = np.array([sum(word in p for p in shown) for word in range(K)])
    return np.asarray(np.log((len(shown) + 1) / np.maximum(having, 1)), np.float32)


def learn(shown: Sequence[Int32], **given: Any) -> Clusters:
    return Clusters.learn(shown, idf=idf(shown), options=options(**given))


def dense(shown: Sequence[Int32], weights: Array) -> Array:
    """Square roots of unit-L1 tf-idf vectors, word by word."""
    table = np.zeros((len(shown), K))
    for row, words in zip(table, shown, strict=True):
        for word in words:
            row[word] += weights[word]
    return np.asarray(np.sqrt(table / np.maximum(table.sum(axis=1, keepdims=True), 1e-30)))


# --- the space


@pytest.mark.parametrize("seed", range(3))
def test_axes_are_those_of_an_svd(seed: int) -> None:
    """Three directions tell four groups apart: these are found to a fraction of a degree."""
    shown = pictures(seed)
    table = dense(shown, idf(shown))
    _, strength, right = np.linalg.svd(table - table.mean(axis=0))
    assert strength[2] > 2 * strength[3]  # there is something to be found
    axes, mean = _principal_axes(shown, idf(shown), options(dimensions=GROUPS - 1))
    assert axes.shape == (K, GROUPS - 1)
    assert axes.T @ axes == pytest.approx(np.eye(GROUPS - 1), abs=1e-5)
    cosines = np.linalg.svd(right[: GROUPS - 1] @ axes)[1]
    assert np.degrees(np.arccos(np.minimum(cosines, 1))).max() < 0.5
    assert mean == pytest.approx(table.mean(axis=0) @ axes, abs=1e-5)


def test_axes_hold_as_much_as_those_of_an_svd() -> None:
    """Where directions are alike they need not be the same ones, but must hold as much of the pictures."""
    shown = pictures(1)
    table = dense(shown, idf(shown))
    centred = table - table.mean(axis=0)
    strength = np.linalg.svd(centred)[1]
    axes, _ = _principal_axes(shown, idf(shown), options(dimensions=10))
    assert ((centred @ axes) ** 2).sum() > 0.98 * (strength[:10] ** 2).sum()


@pytest.mark.parametrize(("shown", "dimensions", "found"), [(60, 500, 60), (5, 500, 5), (60, 1, 1)])
def test_no_more_axes_than_pictures_and_words(shown: int, dimensions: int, found: int) -> None:
    clusters = learn(pictures()[:shown], dimensions=dimensions, count=2)
    assert clusters.axes.shape == (K, found)


def test_vectors_are_projections_of_unit_length() -> None:
    shown, others = pictures(), pictures(7)
    clusters = learn(shown)
    projected = (dense(others, clusters.idf) - dense(shown, clusters.idf).mean(axis=0)) @ clusters.axes
    found = clusters.vectors(others)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    assert found == pytest.approx(projected / np.linalg.norm(projected, axis=1, keepdims=True), abs=1e-4)
    assert found.dtype == np.float32
    assert clusters.vectors([]).shape == (0, 6)


# --- entries


@pytest.mark.parametrize("kind", KINDS)
def test_entries_are_of_unit_length(kind: str) -> None:
    clusters = learn(pictures(), kind=kind)
    assert clusters.entries.shape == (GROUPS, 6)
    assert np.linalg.norm(clusters.entries, axis=1) == pytest.approx(1, abs=1e-5)
    assert clusters.delta.shape == (GROUPS,)
    assert clusters.entries.dtype == clusters.delta.dtype == np.float32


@pytest.mark.parametrize("kind", ["k-medoids", "random"])
def test_entries_are_pictures(kind: str) -> None:
    shown = pictures()
    clusters = learn(shown, kind=kind, count=7)
    theirs = [row.tobytes() for row in clusters.vectors(shown)]
    chosen = [theirs.index(entry.tobytes()) for entry in clusters.entries]
    assert len(set(chosen)) == 7


def test_medoids_are_better_than_pictures_at_random() -> None:
    def far(kind: str) -> float:
        clusters = learn(pictures(), kind=kind)
        return float(_apart(clusters.vectors(pictures()), clusters.entries).min(axis=1).sum())

    assert far("k-medoids") < 0.8 * far("random")


def test_entries_that_are_pictures_have_context_terms() -> None:
    assert learn(pictures()).delta.tolist() == [1] * GROUPS
    clusters = learn(pictures(), kind="random", count=20)
    assert clusters.delta.tolist() == _terms(clusters.entries).tolist()
    assert len(set(clusters.delta.tolist())) > 10
    apart = _apart(clusters.entries, clusters.entries).astype(float)
    np.fill_diagonal(apart, np.nan)

    def spread(terms: Array) -> float:
        """Of the mean distances to the 10 nearest, under terms on both sides."""
        mean = np.sort(apart * terms * terms[:, None], axis=1)[:, :10].mean(axis=1)
        return float(mean.std() / mean.mean())

    assert spread(clusters.delta.astype(float)) < 0.5 * spread(np.ones(20))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_few_clusters(kind: str, count: int) -> None:
    clusters = learn(pictures(), kind=kind, count=count)
    assert np.isfinite(clusters.delta).all()
    assert (clusters.delta > 0).all()
    assert set(clusters.place(pictures()).cluster.tolist()) == set(range(count))


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_that_are_all_alike(kind: str) -> None:
    shown = [pictures()[0]] * 6
    clusters = learn(shown, kind=kind, count=3)
    assert np.isfinite(clusters.entries).all()
    assert np.isfinite(clusters.delta).all()
    assert len(set(clusters.place(shown).cluster.tolist())) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_clusters_as_pictures(kind: str) -> None:
    """Of which some are the same: terms are numbers all the same."""
    shown = [*pictures()[:8], *pictures()[:2]]
    clusters = learn(shown, kind=kind, count=10)
    assert np.isfinite(clusters.delta).all()
    assert np.isfinite(clusters.entries).all()
    assert clusters.visit(shown[0], 10).clusters.tolist() == list(range(10))


@pytest.mark.parametrize("kind", KINDS)
def test_each_entry_is_followed_by_the_nearest_that_is_left(kind: str) -> None:
    clusters = learn(pictures(), kind=kind, count=9)
    for place in range(8):
        left = np.linalg.norm(clusters.entries[place + 1 :] - clusters.entries[place], axis=1)
        assert left[0] == pytest.approx(left.min(), abs=1e-3)


# --- pictures → clusters


@pytest.mark.parametrize("kind", ["k-means", "k-medoids"])
def test_groups_land_in_clusters_of_their_own(kind: str) -> None:
    clusters = learn(pictures(), kind=kind)
    for seed in (0, 7):  # those learnt from, and others
        found = clusters.place(pictures(seed)).cluster.reshape(EACH, GROUPS)
        assert (found == found[0]).all()
        assert sorted(found[0].tolist()) == list(range(GROUPS))
        assert [int(clusters.visit(words, 1).clusters[0]) for words in pictures(seed)] == found.ravel().tolist()


def distances(clusters: Clusters, words: Int32) -> list[float]:
    """d(q, entry) · δ, entry by entry."""
    (vector,) = clusters.vectors([words])
    return [
        float(np.linalg.norm(vector - entry)) * float(delta)
        for entry, delta in zip(clusters.entries, clusters.delta, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_visits_are_of_the_nearest(kind: str) -> None:
    clusters, others = learn(pictures(), kind=kind, count=12), pictures(7)
    assigned = clusters.place(others).cluster
    assert assigned.dtype == np.int64
    for words, cluster in zip(others, assigned.tolist(), strict=True):
        expected = distances(clusters, words)
        for probe in range(1, 13):
            visited = clusters.visit(words, probe).clusters.tolist()
            assert len(visited) == probe
            assert visited == sorted(visited)  # in the order of lists
            assert sorted(expected[c] for c in visited) == pytest.approx(sorted(expected)[:probe], abs=1e-3)
            assert cluster in visited
        assert expected[cluster] == pytest.approx(min(expected), abs=1e-3)


def test_terms_change_what_is_nearest() -> None:
    clusters = learn(pictures(), kind="random", count=12)
    plain = [int(np.linalg.norm(clusters.entries - v, axis=1).argmin()) for v in clusters.vectors(pictures(7))]
    assert clusters.place(pictures(7)).cluster.tolist() != plain


def test_pictures_can_come_one_at_a_time() -> None:
    clusters = learn(pictures())
    together = clusters.place(words for words in pictures(7))
    for number, words in enumerate(pictures(7)):
        (cluster,), (code,) = clusters.place([words])
        assert (cluster, code.tolist()) == (together.cluster[number], together.code[number].tolist())
        assert clusters.visit(words, 1).code.tolist() == code.tolist()
    assert clusters.place([]).cluster.tolist() == []


def test_vectors_equal_their_twin() -> None:
    clusters, shown = learn(pictures(), dimensions=25), pictures(7)
    right = dense(shown, clusters.idf) @ clusters.axes.astype(float) - clusters.mean
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    assert np.allclose(clusters.vectors(shown), right, atol=1e-5)


def test_codes_are_vectors_in_steps() -> None:
    for dimensions, step in ((4, 1 / 127), (49, 6 / 7 / 127)):
        clusters = learn(pictures(), count=3, dimensions=dimensions)
        vectors, codes = clusters.vectors(pictures(7)), clusters.place(pictures(7)).code
        right = np.clip(np.rint(vectors / step), -127, 127)
        assert codes.dtype == np.int8
        assert np.abs(codes - right).max() <= 1  # on the border between two steps
        assert (codes != right).mean() < 0.01


def test_pictures_of_a_group_are_most_alike() -> None:
    clusters = learn(pictures())
    cluster, code = clusters.place(pictures())
    order, bounds = by_cluster(cluster, GROUPS)
    for number, words in enumerate(pictures(7)):
        picture, distance = compared(code[order], bounds, clusters.visit(words, GROUPS))
        assert picture.tolist() == list(range(GROUPS * EACH))
        best = order[np.argsort(distance, kind="stable")[:EACH]]
        assert {int(i) % GROUPS for i in best} == {number % GROUPS}


@given(seed=st.integers(0, 2**32), axes=st.sampled_from([1, 7, 64]))
def test_comparing_codes_equals_its_twin(seed: int, axes: int) -> None:
    rng = np.random.default_rng(seed)
    code = rng.integers(-127, 128, (30, axes), np.int8)
    bounds = np.concatenate([[0], np.sort(rng.integers(0, 31, 5)), [30]])
    visit = Visit(np.flatnonzero(rng.random(6) < 0.5), rng.integers(-127, 128, axes, np.int8))
    picture, distance = compared(code, bounds, visit)
    inside = [i for c in visit.clusters.tolist() for i in range(bounds[c], bounds[c + 1])]
    assert picture.tolist() == inside
    products = code[inside].astype(np.int64) @ visit.code.astype(np.int64)
    assert distance.tolist() == pytest.approx((2 - 2 * products * _step(axes) ** 2).tolist(), rel=1e-6, abs=1e-6)


def test_some_clusters_stand_for_all() -> None:
    for count, numbers in ((4, range(4)), (20, (0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 19))):
        clusters = learn(pictures(), kind="random", count=count)
        spread = clusters.spread()
        assert [visit.clusters.tolist() for visit in spread] == [[number] for number in numbers]
        again = clusters.spread()
        assert [visit.code.tolist() for visit in spread] == [visit.code.tolist() for visit in again]


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_without_features(kind: str) -> None:
    nothing = np.zeros(0, np.int32)
    clusters = learn([*pictures(), nothing, nothing], kind=kind)
    assert 0 <= int(clusters.place([nothing]).cluster[0]) < GROUPS
    assert clusters.visit(nothing, GROUPS).clusters.tolist() == list(range(GROUPS))
    alone = learn([nothing, nothing, nothing], kind=kind, count=2)
    assert np.isfinite(alone.entries).all()
    assert np.isfinite(alone.delta).all()
    assert alone.visit(pictures()[0], 2).clusters.tolist() == [0, 1]


# --- what is learnt


@pytest.mark.parametrize("kind", KINDS)
def test_learning_twice_gives_the_same_bytes(kind: str) -> None:
    first, second = (learn(pictures(), kind=kind).to_bytes() for _ in range(2))
    assert first == second
    assert learn(pictures(1), kind=kind).to_bytes() != first


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind: str) -> None:
    clusters = learn(pictures(), kind=kind, probe=3, scored=9)
    again = Clusters.from_bytes(clusters.to_bytes())
    assert again.options == clusters.options == options(kind=kind)  # how many to visit is not part of it
    for name in ("idf", "axes", "mean", "entries", "delta"):
        ours, theirs = getattr(clusters, name), getattr(again, name)
        assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())
    assert again.place(pictures(7)).cluster.tolist() == clusters.place(pictures(7)).cluster.tolist()
    assert again.to_bytes() == clusters.to_bytes()


def test_too_few_pictures() -> None:
    with pytest.raises(UsageError, match="3 pictures cannot make 4 clusters; take fewer, or add pictures first"):
        learn(pictures()[:3])


def test_k_medoids_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kmedoids", None)
    with pytest.raises(UsageError, match=r"pip install resight\[medoids\]`, or take clusters.kind=k-means"):
        Clusters.learn(pictures(), idf=idf(pictures()), options=ClusterOptions(count=3, kind="k-medoids"))
