"""Clusters of pictures: axes against an SVD, assignment against brute force, and groups that can be told apart."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.clusters import Clusters, _apart, _principal_axes, _terms
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
    assert set(clusters.assign(pictures()).tolist()) == set(range(count))


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_that_are_all_alike(kind: str) -> None:
    shown = [pictures()[0]] * 6
    clusters = learn(shown, kind=kind, count=3)
    assert np.isfinite(clusters.entries).all()
    assert np.isfinite(clusters.delta).all()
    assert len(set(clusters.assign(shown).tolist())) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_clusters_as_pictures(kind: str) -> None:
    """Of which some are the same: terms are numbers all the same."""
    shown = [*pictures()[:8], *pictures()[:2]]
    clusters = learn(shown, kind=kind, count=10)
    assert np.isfinite(clusters.delta).all()
    assert np.isfinite(clusters.entries).all()
    assert sorted(clusters.visit(shown[0]).tolist()) == list(range(10))


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
        found = clusters.assign(pictures(seed)).reshape(EACH, GROUPS)
        assert (found == found[0]).all()
        assert sorted(found[0].tolist()) == list(range(GROUPS))
        assert [clusters.visit(words)[0] for words in pictures(seed)] == found.ravel().tolist()


def distances(clusters: Clusters, words: Int32) -> list[float]:
    """d(q, entry) · δ, entry by entry."""
    (vector,) = clusters.vectors([words])
    return [
        float(np.linalg.norm(vector - entry)) * float(delta)
        for entry, delta in zip(clusters.entries, clusters.delta, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_visits_are_in_order_of_distance(kind: str) -> None:
    clusters, others = learn(pictures(), kind=kind, count=12), pictures(7)
    assigned = clusters.assign(others)
    assert assigned.dtype == np.int64
    for words, cluster in zip(others, assigned.tolist(), strict=True):
        expected, visited = distances(clusters, words), clusters.visit(words).tolist()
        assert sorted(visited) == list(range(12))
        assert [expected[c] for c in visited] == pytest.approx(sorted(expected), abs=1e-3)
        assert expected[cluster] == pytest.approx(min(expected), abs=1e-3)
        assert cluster == visited[0]


def test_terms_change_what_is_nearest() -> None:
    clusters = learn(pictures(), kind="random", count=12)
    plain = [int(np.linalg.norm(clusters.entries - v, axis=1).argmin()) for v in clusters.vectors(pictures(7))]
    assert clusters.assign(pictures(7)).tolist() != plain


def test_pictures_can_come_one_at_a_time() -> None:
    clusters = learn(pictures())
    together = clusters.assign(words for words in pictures(7))
    assert [int(clusters.assign([words])[0]) for words in pictures(7)] == together.tolist()
    assert clusters.assign([]).tolist() == []


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_without_features(kind: str) -> None:
    nothing = np.zeros(0, np.int32)
    clusters = learn([*pictures(), nothing, nothing], kind=kind)
    assert 0 <= int(clusters.assign([nothing])[0]) < GROUPS
    assert sorted(clusters.visit(nothing).tolist()) == list(range(GROUPS))
    alone = learn([nothing, nothing, nothing], kind=kind, count=2)
    assert np.isfinite(alone.entries).all()
    assert np.isfinite(alone.delta).all()
    assert sorted(alone.visit(pictures()[0]).tolist()) == [0, 1]


# --- what is learnt


@pytest.mark.parametrize("kind", KINDS)
def test_learning_twice_gives_the_same_bytes(kind: str) -> None:
    first, second = (learn(pictures(), kind=kind).to_bytes() for _ in range(2))
    assert first == second
    assert learn(pictures(1), kind=kind).to_bytes() != first


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind: str) -> None:
    clusters = learn(pictures(), kind=kind, probe=3)
    again = Clusters.from_bytes(clusters.to_bytes())
    assert again.options == clusters.options == options(kind=kind)  # how many to visit is not part of it
    for name in ("idf", "axes", "mean", "entries", "delta"):
        ours, theirs = getattr(clusters, name), getattr(again, name)
        assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())
    assert again.assign(pictures(7)).tolist() == clusters.assign(pictures(7)).tolist()
    assert again.to_bytes() == clusters.to_bytes()


def test_too_few_pictures() -> None:
    with pytest.raises(UsageError, match="3 pictures cannot make 4 clusters; take fewer, or add pictures first"):
        learn(pictures()[:3])


def test_k_medoids_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kmedoids", None)
    with pytest.raises(UsageError, match=r"pip install resight\[medoids\]`, or take clusters.kind=k-means"):
        Clusters.learn(pictures(), idf=idf(pictures()), options=ClusterOptions(count=3, kind="k-medoids"))
