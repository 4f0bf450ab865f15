"""Several vocabularies in one: each has its own words, learnt from descriptors of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.errors import VocabularyError
from resight.options import AssignOptions, IndexingOptions, VocabularyOptions
from resight.types import Words
from resight.vocabulary import Assigner, Vocabulary, train

from ..support.vocabularies import byte_vocabulary, one_of, root_sift_like

Array = npt.NDArray[Any]
EACH = 20


def options(**values: Any) -> VocabularyOptions:
    return VocabularyOptions(**{"words": EACH, "iterations": 4, "sample": 200, "vocabularies": 3, **values})


def rows(words: Words) -> list[tuple[int, int, int]]:
    return list(zip(words.feature.tolist(), words.word.tolist(), words.signature.tolist(), strict=True))


@pytest.fixture
def three() -> Vocabulary:
    return replace(byte_vocabulary(root_sift_like(3 * EACH, seed=0)), vocabularies=3)


@pytest.mark.parametrize("count", [1, 3, 10])
def test_pictures_have_the_words_of_each(three: Vocabulary, count: int) -> None:
    descriptors, indexing = root_sift_like(50, seed=1), IndexingOptions(words=count)
    found = Assigner(three).assign(descriptors, options=indexing)
    alone = [Assigner(one_of(three, v)).assign(descriptors, options=indexing) for v in range(3)]
    expected = [(f, w + v * EACH, s) for v, words in enumerate(alone) for f, w, s in rows(words)]
    assert sorted(rows(found)) == sorted(expected)
    assert np.all(np.diff(found.feature) >= 0)  # rows of a feature follow each other


@pytest.mark.parametrize("neighbours", [1, 5, 100])
def test_queries_too_and_the_ratio_is_within_each(three: Vocabulary, neighbours: int) -> None:
    descriptors, assign = root_sift_like(50, seed=2), AssignOptions(neighbours=neighbours, ratio=1.2)
    found = Assigner(three).assign_query(descriptors, options=assign)
    alone = [Assigner(one_of(three, v)).assign_query(descriptors, options=assign) for v in range(3)]
    expected = [(f, w + v * EACH, s) for v, words in enumerate(alone) for f, w, s in rows(words)]
    assert sorted(rows(found)) == sorted(expected)
    assert np.all(np.diff(found.feature) >= 0)
    assert {int(w) // EACH for w in found.word[found.feature == 0]} == {0, 1, 2}


def test_no_descriptors(three: Vocabulary) -> None:
    nothing = np.zeros((0, 128), np.uint8)
    assert len(Assigner(three).assign(nothing)) == 0
    assert len(Assigner(three).assign_query(nothing, options=AssignOptions())) == 0


# --- training


def test_each_is_learnt_by_itself() -> None:
    """From a third of the descriptors each, with another seed; one projection is shared."""
    made = root_sift_like(600, seed=3)
    vocabulary = train(made, options=options(seed=5), source="test")
    assert (vocabulary.words, vocabulary.vocabularies) == (3 * EACH, 3)
    for number in range(3):
        mine = made[200 * number : 200 * (number + 1)]
        single = train(mine, options=options(seed=5 + number, vocabularies=1), source="test")
        assert np.array_equal(one_of(vocabulary, number).centroids, single.centroids)
        assert (number == 0) == np.array_equal(vocabulary.projection, single.projection)
        same_projection = Assigner(replace(single, projection=vocabulary.projection))
        word = same_projection.assign(mine).word
        projected = mine.astype(float) @ vocabulary.projection.astype(float).T
        common = int(np.bincount(word).argmax())
        median = np.floor(np.median(projected[word == common], axis=0))
        assert np.array_equal(one_of(vocabulary, number).medians[common], median)


@pytest.mark.parametrize(("total", "seen"), [(150, 150), (400, 200), (900, 300)])
def test_few_descriptors_are_shared_and_many_are_used(total: int, seen: int) -> None:
    made = root_sift_like(total, seed=4)
    vocabulary = train(made, options=options(), source="test")
    for number, begin in enumerate([0, (total - seen) // 2, total - seen]):
        single = train(made[begin : begin + seen], options=options(seed=1 + number, vocabularies=1), source="test")
        assert np.array_equal(one_of(vocabulary, number).centroids, single.centroids)
    assert len({one_of(vocabulary, number).fingerprint for number in range(3)}) == 3


def test_reduced_ones_share_their_axes() -> None:
    made = root_sift_like(600, seed=5)
    vocabulary = train(made, options=options(pca=8), source="test")
    assert vocabulary.reduction is not None
    assert vocabulary.centroids.shape == (3 * EACH, 8)
    assert len(Assigner(vocabulary).assign(made)) == 3 * 600


def test_too_few_descriptors_for_one() -> None:
    with pytest.raises(VocabularyError, match="15 descriptors cannot make 20 words"):
        train(root_sift_like(40, seed=6), options=options(sample=15, vocabularies=4), source="test")


# --- the file


def test_round_trip_and_fingerprint(three: Vocabulary) -> None:
    back = Vocabulary.from_bytes(three.to_bytes(), name="x")
    assert (back.vocabularies, back.words) == (3, 3 * EACH)
    assert back.fingerprint == three.fingerprint
    others = {replace(three, vocabularies=number).fingerprint for number in (1, 2, 4)}
    assert len(others | {three.fingerprint}) == 4


@pytest.mark.parametrize("number", [7, 61, 1000])
def test_numbers_that_do_not_fit(three: Vocabulary, number: int) -> None:
    with pytest.raises(VocabularyError, match="x has arrays that do not fit together"):
        Vocabulary.from_bytes(replace(three, vocabularies=number).to_bytes(), name="x")
