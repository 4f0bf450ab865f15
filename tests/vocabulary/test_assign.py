"""Assignment against brute force, and Hamming signatures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resight.errors import VocabularyError
from resight.options import AssignOptions, VocabularyOptions
from resight.vocabulary import Assigner, Vocabulary, nearest, train
from resight.vocabulary.nearest import SMALL, Cells, CellSearch

from ..support.vocabularies import (
    Array,
    bits_apart,
    byte_vocabulary,
    float_vocabulary,
    root_sift_like,
    squared_distances,
)


@pytest.mark.parametrize("count", [1, 7, 300])
def test_exact_words_equal_brute_force(count: int) -> None:
    """In integers the nearest word is the nearest word, in any batch size; equally near ones go to the first."""
    centroids = root_sift_like(500, seed=0)
    centroids[250] = centroids[3]
    descriptors = root_sift_like(count, seed=1)
    descriptors[0] = centroids[3]
    assigner, nearest = Assigner(byte_vocabulary(centroids)), AssignOptions(neighbours=1)
    truth = squared_distances(descriptors, centroids).argmin(axis=1).tolist()
    assert truth[0] == 3
    words = assigner.assign(descriptors)
    assert words.word.tolist() == truth
    assert assigner.assign_query(descriptors, options=nearest).word.tolist() == truth
    assert words.feature.tolist() == list(range(count))
    assert [a.dtype.name for a in (words.feature, words.word, words.signature)] == ["int32", "int32", "uint64"]


def test_large_vocabularies_find_the_nearest_word_mostly() -> None:
    """At least 95 % of them, and the same in every process and batch."""
    centroids, descriptors = root_sift_like(SMALL + 900, seed=2), root_sift_like(400, seed=3)
    vocabulary = replace(byte_vocabulary(centroids), cells=Cells.of(centroids))
    truth = squared_distances(descriptors, centroids)
    words = Assigner(vocabulary).assign(descriptors)
    assert words.feature.tolist() == list(range(400))
    assert np.mean(truth[np.arange(400), words.word] == truth.min(axis=1)) >= 0.95
    assert np.array_equal(Assigner(vocabulary).assign(descriptors).word, words.word)
    alone = Assigner(vocabulary)
    assert [alone.assign(row[None]).word[0] for row in descriptors[:50]] == words.word[:50].tolist()
    three = Assigner(vocabulary).assign_query(descriptors, options=AssignOptions(neighbours=3, ratio=100))
    assert np.mean(truth[three.feature, three.word].reshape(400, 3) == np.sort(truth, axis=1)[:, :3]) >= 0.95


@pytest.mark.parametrize("neighbours", [1, 2, 7])
def test_all_blocks_of_all_cells_are_exact(neighbours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "LEAST_PROBED", 10**6)
    monkeypatch.setattr(nearest, "SPARE", 10**6)
    centroids, descriptors = root_sift_like(1000, seed=4), root_sift_like(50, seed=5)
    squared, words = CellSearch(centroids, Cells.of(centroids)).search(descriptors.astype(np.float32), neighbours)
    truth = squared_distances(descriptors, centroids)
    assert np.array_equal(squared, np.sort(truth, axis=1)[:, :neighbours])
    assert np.array_equal(np.take_along_axis(truth, words, axis=1), squared)


def test_cells_with_too_few_words_leave_infinities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "LEAST_PROBED", 1)
    centroids = root_sift_like(1000, seed=4)
    squared, _ = CellSearch(centroids, Cells.of(centroids)).search(centroids[:5].astype(np.float32), 900)
    assert np.all(squared[:, 0] == 0)
    assert np.all(np.isinf(squared[:, -1]))


# --- multiple assignment

# Words at distance 10, 11, 12, 13 and 100 from the origin, in an order of their own.
PLACES = np.array([[0, 13], [11, 0], [100, 0], [0, -10], [-12, 0]])


@pytest.mark.parametrize(
    ("neighbours", "ratio", "expected"),
    [
        (1, 1.2, [3]),
        (2, 1.2, [3, 1]),
        (3, 1.2, [3, 1, 4]),  # 12 = 1.2 · 10 is still in
        (5, 1.2, [3, 1, 4]),
        (5, 1.15, [3, 1]),
        (5, 1.0, [3]),
        (4, 50.0, [3, 1, 4, 0]),
        (100, 50.0, [3, 1, 4, 0, 2]),  # more neighbours than words
    ],
)
def test_neighbours_and_ratio(neighbours: int, ratio: float, expected: list[int]) -> None:
    assigner = Assigner(float_vocabulary(PLACES))
    words = assigner.assign_query(
        np.zeros((1, 2), np.float32), options=AssignOptions(neighbours=neighbours, ratio=ratio)
    )
    assert words.word.tolist() == expected
    assert words.feature.tolist() == [0] * len(expected)


def test_rows_come_in_feature_order() -> None:
    descriptors = np.array([[0, 0], [100, 0], [0.5, 0]], np.float32)
    words = Assigner(float_vocabulary(PLACES)).assign_query(descriptors, options=AssignOptions(neighbours=2, ratio=1.2))
    # The second lies on a word, so that no other is within 1.2 times its distance, 0.
    assert words.feature.tolist() == [0, 0, 1, 2, 2]
    assert words.word.tolist() == [3, 1, 2, 3, 1]


def test_the_ratio_in_bytes_equals_brute_force() -> None:
    centroids, descriptors = root_sift_like(300, seed=4), root_sift_like(100, seed=5)
    words = Assigner(byte_vocabulary(centroids)).assign_query(
        descriptors, options=AssignOptions(neighbours=10, ratio=1.2)
    )
    distance = np.sqrt(squared_distances(descriptors, centroids))
    for row in range(100):
        near = np.sort(distance[row])[:10]
        assert (words.feature == row).sum() == (near <= 1.2 * near[0]).sum()


def test_no_descriptors() -> None:
    assigner, nothing = Assigner(byte_vocabulary(root_sift_like(20, seed=0))), np.zeros((0, 128), np.uint8)
    for words in (assigner.assign(nothing), assigner.assign_query(nothing, options=AssignOptions())):
        assert (words.feature.shape, words.word.shape, words.signature.shape) == ((0,), (0,), (0,))


# --- signatures


def test_bit_b_is_bit_b() -> None:
    """One dimension, median of bit b is b: the signature of x has the bits below x."""
    ladder = np.arange(64, dtype=np.float32)[None]
    vocabulary = Vocabulary(np.zeros((1, 1), np.float32), np.ones((64, 1), np.float32), ladder, {})
    words = Assigner(vocabulary).assign(np.array([[-1], [0], [0.5], [3.5], [62.5], [64]], np.float32))
    assert words.signature.tolist() == [0, 0, 1, 0b1111, 2**63 - 1, 2**64 - 1]


def test_signatures_use_the_assigned_words_medians() -> None:
    """In bytes and with several words for each feature, against a plain loop over bits."""
    vocabulary = byte_vocabulary(root_sift_like(40, seed=6))
    descriptors = root_sift_like(20, seed=7)
    words = Assigner(vocabulary).assign_query(descriptors, options=AssignOptions(neighbours=3, ratio=2))
    assert len(words) > 20
    for feature, word, signature in zip(words.feature, words.word, words.signature, strict=True):
        projected = vocabulary.projection.astype(int) @ descriptors[feature].astype(int)
        expected = sum(1 << b for b in range(64) if projected[b] > vocabulary.medians[word, b])
        assert int(signature) == expected


def test_copies_are_near_and_strangers_32_bits_apart() -> None:
    made = root_sift_like(4000, seed=8)
    # One word: its cell holds everything, so that any two descriptors may be compared.
    assigner = Assigner(train(made, options=VocabularyOptions(words=1), source="test"))
    rng = np.random.default_rng(0)
    noisy = np.clip(made + rng.normal(0, 3, made.shape), 0, 255).astype(np.uint8)
    original, copy = assigner.assign(made).signature, assigner.assign(noisy).signature
    assert bits_apart(original[:500], copy[:500]).mean() < 12
    strangers = bits_apart(original, np.roll(original, 1))
    assert strangers.mean() == pytest.approx(32, abs=2)
    assert np.mean(bits_apart(original[:500], copy[:500]) <= 24) > 0.99


# --- other features


@pytest.mark.parametrize("dimension", [2, 32, 64, 256])
def test_float_descriptors_of_any_dimension(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    made = rng.standard_normal((600, dimension)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    trained = train(made, options=VocabularyOptions(words=12, iterations=5), source="test")
    vocabulary = Vocabulary.from_bytes(trained.to_bytes(), name="test")
    assert vocabulary.dimension == dimension
    words = Assigner(vocabulary).assign(made)
    gaps = np.linalg.norm(made[:, None].astype(float) - vocabulary.centroids[None], axis=2)
    assert gaps[np.arange(600), words.word] == pytest.approx(gaps.min(axis=1), abs=1e-5)
    noisy = (made + 0.01 / np.sqrt(dimension) * rng.standard_normal(made.shape)).astype(np.float32)
    again = Assigner(vocabulary).assign(noisy)
    same = again.word == words.word
    assert same.mean() > 0.9
    assert bits_apart(words.signature[same], again.signature[same]).mean() < 3


@pytest.mark.parametrize(
    "descriptors", [np.zeros((3, 64), np.uint8), np.zeros((3, 128), np.float32), np.zeros((0, 64), np.uint8)]
)
def test_descriptors_of_another_kind(descriptors: Array) -> None:
    assigner = Assigner(byte_vocabulary(root_sift_like(20, seed=0)))
    mine = f"{descriptors.shape[1]} × {descriptors.dtype}"
    with pytest.raises(VocabularyError, match=f"descriptors are {mine}, the vocabulary's words 128 × uint8"):
        assigner.assign(descriptors)
    with pytest.raises(VocabularyError, match=f"descriptors are {mine}"):
        assigner.assign_query(descriptors, options=AssignOptions())
