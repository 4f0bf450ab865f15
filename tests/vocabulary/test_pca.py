"""Words among reduced descriptors: the axes against numpy, the words against brute force, signatures as before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.errors import VocabularyError
from resight.options import AssignOptions, VocabularyOptions
from resight.vocabulary import Assigner, Vocabulary, train
from resight.vocabulary.nearest import SMALL, Cells
from resight.vocabulary.tree import TreeSearch

from ..support.vocabularies import byte_vocabulary, root_sift_like

Array = npt.NDArray[Any]
DIMENSIONS = 12


def learnt(made: Array, **options: Any) -> Vocabulary:
    chosen = VocabularyOptions(**{"words": 30, "iterations": 5, "pca": DIMENSIONS, **options})
    return train(made, options=chosen, source="test")


def reduction_of(vocabulary: Vocabulary) -> Array:
    assert vocabulary.reduction is not None
    return vocabulary.reduction.astype(float)


def gaps(vocabulary: Vocabulary, descriptors: Array) -> Array:
    """Distances of reduced descriptors to all words."""
    reduced = descriptors.astype(float) @ reduction_of(vocabulary).T
    result: Array = np.linalg.norm(reduced[:, None] - vocabulary.centroids[None], axis=2)
    return result


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_axes_are_the_leading_eigenvectors(kind: type) -> None:
    made: Array = root_sift_like(800, seed=0).astype(kind)
    axes = reduction_of(learnt(made))
    assert axes.shape == (DIMENSIONS, 128)
    assert axes @ axes.T == pytest.approx(np.eye(DIMENSIONS), abs=1e-5)
    values, vectors = np.linalg.eigh(np.cov(made.astype(float), rowvar=False))
    best = vectors[:, -DIMENSIONS:]
    assert values[-DIMENSIONS] > 1.02 * values[-DIMENSIONS - 1]  # so that the subspace is well defined
    assert axes.T @ axes == pytest.approx(best @ best.T, abs=2e-3)
    variances = np.var(made.astype(float) @ axes.T, axis=0)
    assert variances == pytest.approx(values[::-1][:DIMENSIONS] * 799 / 800, rel=1e-3)  # the largest first


def test_all_dimensions_keep_distances_and_words() -> None:
    """A rotation: the mean that is not subtracted makes no difference."""
    made = root_sift_like(600, seed=1)
    vocabulary = learnt(made, pca=128)
    reduced = made.astype(float) @ reduction_of(vocabulary).T
    before, after = (
        np.linalg.norm(rows[:100, None] - rows[None, :100], axis=2) for rows in (made.astype(float), reduced)
    )
    assert after == pytest.approx(before, abs=1e-2)
    centred = reduced - reduced.mean(axis=0)
    assert np.linalg.norm(centred[:100, None] - centred[None, :100], axis=2) == pytest.approx(before, abs=1e-2)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_words_equal_brute_force_among_reduced_descriptors(kind: type) -> None:
    made: Array = root_sift_like(600, seed=2).astype(kind)
    vocabulary = learnt(made)
    assert (vocabulary.dimension, vocabulary.kind) == (128, np.dtype(kind))
    assert vocabulary.centroids.shape == (30, DIMENSIONS)
    assert vocabulary.centroids.dtype == np.float32
    queries: Array = root_sift_like(100, seed=3).astype(kind)
    truth = gaps(vocabulary, queries)
    found = Assigner(vocabulary).assign(queries).word
    assert truth[np.arange(100), found] == pytest.approx(truth.min(axis=1), rel=1e-5)
    several = Assigner(vocabulary).assign_query(queries, options=AssignOptions(neighbours=4, ratio=50))
    assert truth[several.feature, several.word].reshape(100, 4) == pytest.approx(np.sort(truth)[:, :4], rel=1e-5)


def test_large_vocabularies_find_the_nearest_word_mostly() -> None:
    """At least 95 %: cells are made of reduced words."""
    rng, d = np.random.default_rng(0), DIMENSIONS
    axes = np.linalg.qr(rng.standard_normal((128, d)))[0].T.astype(np.float32)
    words = root_sift_like(SMALL + 100, seed=4).astype(np.float32) @ axes.T
    plain = byte_vocabulary(np.zeros((SMALL + 100, 128)))
    vocabulary = replace(plain, centroids=words, reduction=axes, cells=Cells.of(words))
    queries = root_sift_like(300, seed=5)
    truth = gaps(vocabulary, queries)
    found = truth[np.arange(300), Assigner(vocabulary).assign(queries).word]
    assert np.mean(found <= truth.min(axis=1) * 1.0001) >= 0.95


def test_signatures_are_of_the_whole_descriptor() -> None:
    made = root_sift_like(600, seed=6)
    vocabulary = learnt(made)
    words = Assigner(vocabulary).assign(made[:50])
    for row in range(50):
        projected = vocabulary.projection.astype(int) @ made[row].astype(int)
        bits = sum(1 << b for b in range(64) if projected[b] > vocabulary.medians[words.word[row], b])
        assert int(words.signature[row]) == bits


def test_a_tree_of_reduced_words() -> None:
    made = root_sift_like(600, seed=7)
    vocabulary = learnt(made, words=16, branching=4)
    assert vocabulary.tree is not None
    assert vocabulary.tree.inner.shape == (5, DIMENSIONS)
    back = Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    reduced = made.astype(np.float32) @ reduction_of(vocabulary).astype(np.float32).T
    greedy = TreeSearch(vocabulary.centroids, vocabulary.tree).search(reduced, 1)[1][:, 0]
    assert np.array_equal(Assigner(back).assign(made).word, greedy)
    all_words = Assigner(back).assign_query(made[:60], options=AssignOptions(neighbours=16, ratio=1.0))
    truth = gaps(vocabulary, made[:60])
    assert truth[all_words.feature, all_words.word] == pytest.approx(truth.min(axis=1), rel=1e-5)


def test_more_dimensions_than_there_are() -> None:
    with pytest.raises(VocabularyError, match=r"128 dimensions cannot be reduced to 129; set vocabulary\.pca lower"):
        learnt(root_sift_like(100, seed=0), pca=129)


# --- the file


def test_round_trip_and_fingerprint() -> None:
    made = root_sift_like(300, seed=8)
    vocabulary = learnt(made)
    back = Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    assert back.fingerprint == vocabulary.fingerprint
    assert np.array_equal(reduction_of(back), reduction_of(vocabulary))
    assert np.array_equal(Assigner(back).assign(made).word, Assigner(vocabulary).assign(made).word)
    assert replace(vocabulary, reduction=-reduction_of(vocabulary).astype(np.float32)).fingerprint != back.fingerprint


@pytest.mark.parametrize(
    "changed",
    [
        {"reduction": None},  # words of 12 dimensions, a projection of 128
        {"reduction": np.zeros((DIMENSIONS, 128))},
        {"reduction": np.zeros((DIMENSIONS, 127), np.float32)},
        {"reduction": np.zeros((DIMENSIONS + 1, 128), np.float32)},
        {"reduction": np.zeros(DIMENSIONS, np.float32)},
        {"centroids": np.zeros((30, DIMENSIONS), np.uint8)},
        {"centroids": np.zeros((30, 129), np.float32), "reduction": np.zeros((129, 128), np.float32)},
        {"medians": np.zeros((30, 64), np.float32)},
    ],
)
def test_arrays_that_do_not_fit(changed: dict[str, Any]) -> None:
    vocabulary = replace(
        byte_vocabulary(np.zeros((30, 128))),
        centroids=np.zeros((30, DIMENSIONS), np.float32),
        reduction=np.zeros((DIMENSIONS, 128), np.float32),
    )
    Vocabulary.from_bytes(vocabulary.to_bytes(), name="x")
    with pytest.raises(VocabularyError, match="x has arrays that do not fit together"):
        Vocabulary.from_bytes(replace(vocabulary, **changed).to_bytes(), name="x")
