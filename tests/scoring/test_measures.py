"""Measures from the inverted file against dense vectors, plain double loops and numbers worked out by hand."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.errors import OptionError
from resight.options import ScoringOptions
from resight.postings import count
from resight.scoring import MEASURES, idf_weights, matches, score

from . import made
from .made import Collection, random_collection

Array = npt.NDArray[Any]
SEEDS = range(12)


def scores_of(collection: Collection, measure: str, **options: Any) -> Array:
    return score(collection.query, collection.part, options=ScoringOptions(measure=measure, **options))


def dense(collection: Collection) -> tuple[Array, Array]:
    """Counts of the query (K,) and of the pictures (n, K)."""
    table = np.array([made.histogram(p, collection.k) for p in collection.pictures])
    return made.histogram(collection.query, collection.k), table


# --- against dense vectors


@pytest.mark.parametrize("seed", SEEDS)
def test_l1_score_is_the_dense_l1_distance(seed: int) -> None:
    collection = random_collection(seed)
    query, table = (counts * collection.idf for counts in dense(collection))
    query, weighty = query / query.sum(), table.sum(axis=1) > 0
    table = table[weighty] / table[weighty].sum(axis=1, keepdims=True)
    distance = np.abs(query - table).sum(axis=1)
    assert 2 - 2 * scores_of(collection, "l1")[weighty] == pytest.approx(distance, abs=1e-5)
    assert distance.min() < 1.7  # something is shared, so the identity is put to the test


@pytest.mark.parametrize("seed", SEEDS)
def test_l2_score_is_the_dense_squared_distance(seed: int) -> None:
    collection = random_collection(seed)
    query, table = (counts * collection.idf for counts in dense(collection))
    query, weighty = query / np.linalg.norm(query), table.sum(axis=1) > 0
    table = table[weighty] / np.linalg.norm(table[weighty], axis=1, keepdims=True)
    distance = ((query - table) ** 2).sum(axis=1)
    assert 2 - 2 * scores_of(collection, "l2")[weighty] == pytest.approx(distance, abs=1e-5)
    assert distance.min() < 1.9


@pytest.mark.parametrize("seed", SEEDS)
def test_cosine_is_equation_1(seed: int) -> None:
    collection = random_collection(seed)
    query, table = dense(collection)
    norms = np.linalg.norm(table, axis=1)
    expected = (table * query * collection.idf**2).sum(axis=1) / np.maximum(norms, 1) / np.linalg.norm(query)
    assert scores_of(collection, "cosine") == pytest.approx(expected, abs=1e-5)
    assert expected.max() > 0.1


@pytest.mark.parametrize("measure", ["l1", "l2"])
def test_a_picture_scores_1_with_itself_and_no_other_more(measure: str) -> None:
    collection = random_collection(3)
    itself = Collection(collection.k, collection.pictures, collection.pictures[0])
    scores = scores_of(itself, measure)
    assert scores[0] == pytest.approx(1, abs=1e-5)
    assert scores.argmax() == 0


# --- by hand: three words; pictures {0, 0, 1}, {1, 2} and {}; the query is {0, 1, 1}

PICTURES = [made.words([0, 0, 1]), made.words([1, 2]), made.words([])]
IDF = [log(3), log(3 / 2), log(3)]  # words 0 and 2 are in one picture of three, word 1 in two
A, B = 1.0986123, 0.4054651  # log 3, log 1.5
BY_HAND = {
    # q = (A, 2B, 0) / (A + 2B), d = (2A, B, 0) / (2A + B): min(.5753, .8442) + min(.4247, .1558) = .7311
    # d = (0, B, A) / (A + B): min(.4247, .2696) = .2696
    "l1": [0.5753 + 0.1558, 0.2696, 0],
    # (2A² + 2B²) / (1.3656 · 2.2342);  2B² / (1.3656 · 1.1710)
    "l2": [2.7427 / 3.0510, 0.3288 / 1.5992, 0],
    # (1·2·A² + 2·1·B²) / (√5 · √5);  2·1·B² / (√5 · √2)
    "cosine": [2.7427 / 5, 0.3288 / sqrt(10), 0],
}


@pytest.mark.parametrize("measure", BY_HAND)
def test_worked_example(measure: str) -> None:
    part = made.part_of(PICTURES, 3, np.array(IDF))
    scores = score(made.words([0, 1, 1]), part, options=ScoringOptions(measure=measure))
    assert IDF[:2] == pytest.approx([A, B], abs=1e-6)
    assert scores == pytest.approx(BY_HAND[measure], abs=2e-4)
    assert scores.dtype == np.float32


def test_worked_hamming_example() -> None:
    # Picture 0 has word 0 with bits 0b0000 and 0b0111, and word 1; picture 1 has word 0 with 25 bits set.
    pictures = [made.words([0, 0, 1], [0b0000, 0b0111, 0]), made.words([0], [2**25 - 1]), made.words([2], [0])]
    part = made.part_of(pictures, 3, np.array([2.0, 3.0, 1.0]))
    query = made.words([0, 1], [0b0001, 0b11])
    # Row 0: distances 1 and 2 in picture 0, 24 in picture 1 (just within); row 1: distance 2 in picture 0.
    first = 4 * exp(-1 / 256) + 4 * exp(-4 / 256) + 9 * exp(-4 / 256)
    expected = [first / sqrt(2**2 + 1**2), 4 * exp(-576 / 256) / 1, 0]
    assert score(query, part, options=ScoringOptions()) == pytest.approx(expected, rel=1e-6)
    one_bit_less = score(query, part, options=ScoringOptions(threshold=23))
    assert one_bit_less == pytest.approx([expected[0], 0, 0], rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("threshold", "sigma"), [(24, 16.0), (0, 16.0), (64, 30.0)])
def test_hamming_equals_a_double_loop(seed: int, threshold: int, sigma: float) -> None:
    collection = random_collection(seed, k=20, pictures=6, features=25)
    idf = collection.idf
    expected = []
    for picture in collection.pictures:
        total = 0.0
        for word, bits in zip(collection.query.word, collection.query.signature, strict=True):
            for other, theirs in zip(picture.word, picture.signature, strict=True):
                h = (int(bits) ^ int(theirs)).bit_count()
                if word == other and h <= threshold:
                    total += idf[word] ** 2 * exp(-(h**2) / sigma**2)
        norm = sqrt((made.histogram(picture, collection.k) ** 2).sum())
        expected.append(total / norm if norm else 0)
    assert scores_of(collection, "hamming", threshold=threshold, sigma=sigma) == pytest.approx(expected, rel=1e-4)
    assert threshold == 0 or max(expected) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_matches_equal_a_double_loop(seed: int) -> None:
    collection = random_collection(seed, k=12, pictures=6, features=25)
    slot_of = np.array([2, -1, 0, 1, -1, 3], np.int32)
    part = collection.part
    lists = part.read(None)
    expected: dict[tuple[int, int], list[int]] = {}  # each feature's closest match in each picture
    for row, (word, bits) in enumerate(zip(collection.query.word, collection.query.signature, strict=True)):
        for posting in range(lists.offsets[word], lists.offsets[word + 1]):
            h = (int(bits) ^ int(lists.signature[posting])).bit_count()
            slot = slot_of[lists.image[posting]]
            if h <= 24 and slot >= 0 and h < expected.get((row, int(slot)), [0, 0, 0, 65])[3]:
                expected[row, int(slot)] = [int(slot), row, int(posting), h]
    found = matches(collection.query, part, slot_of, ScoringOptions())
    assert found.tolist() == list(expected.values())
    assert len(expected) > 20


def test_no_matches_is_an_empty_table() -> None:
    collection = random_collection(0)
    nobody = np.full(len(collection.pictures), -1, np.int32)
    assert matches(collection.query, collection.part, nobody, ScoringOptions()).shape == (0, 4)
    everybody = np.zeros(len(collection.pictures), np.int32)
    assert matches(made.words([]), collection.part, everybody, ScoringOptions()).shape == (0, 4)


# --- edges


def test_idf_by_hand() -> None:
    df = np.array([1, 2, 4, 0])
    assert idf_weights(df, 4) == pytest.approx([log(5), log(5 / 2), log(5 / 4), log(5)])
    assert idf_weights(df[:1], 1) == pytest.approx([log(2)])  # an index of one picture
    assert idf_weights(df[3:], 0).tolist() == [0]


def test_idf_follows_from_the_lists() -> None:
    collection = random_collection(5)
    n = len(collection.pictures)
    df, *_ = count(collection.part.read(None), np.ones(n, np.bool_))
    # Eq. 2 has log n where resight has log (n + 1).
    assert idf_weights(df, n) == pytest.approx(collection.idf - log(n) + log(n + 1), abs=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
class TestEdges:
    def test_query_without_features(self, measure: str) -> None:
        collection = random_collection(1)
        scores = score(made.words([]), collection.part, options=ScoringOptions(measure=measure))
        assert scores.tolist() == [0] * len(collection.pictures)

    def test_picture_without_features_scores_0(self, measure: str) -> None:
        pictures = [made.words([]), made.words([0, 1]), made.words([2])]
        part = made.part_of(pictures, 3, made.dense_idf(pictures, 3))
        scores = score(made.words([0, 1, 2]), part, options=ScoringOptions(measure=measure))
        assert scores[0] == 0
        assert (scores[1:] > 0).all()

    def test_no_pictures(self, measure: str) -> None:
        part = made.part_of([], 3, np.zeros(3))
        assert score(made.words([0, 1]), part, options=ScoringOptions(measure=measure)).shape == (0,)

    def test_words_that_nobody_has(self, measure: str) -> None:
        pictures = [made.words([0]), made.words([1])]
        part = made.part_of(pictures, 4, made.dense_idf(pictures, 4))
        assert score(made.words([2, 3]), part, options=ScoringOptions(measure=measure)).tolist() == [0, 0]

    def test_words_that_everybody_has_weigh_nothing(self, measure: str) -> None:
        pictures = [made.words([0, 0, 1]), made.words([0, 1, 1])]
        part = made.part_of(pictures, 2, made.dense_idf(pictures, 2))
        scores = score(made.words([0, 1]), part, options=ScoringOptions(measure=measure))
        assert scores.tolist() == [0, 0]  # and not NaN, though every norm is 0

    @pytest.mark.parametrize("seed", range(4))
    def test_parts_give_the_same_bits_as_the_whole(self, measure: str, seed: int) -> None:
        collection = random_collection(seed, pictures=30)
        options = ScoringOptions(measure=measure)
        whole = score(collection.query, collection.part, options=options)
        assert np.isfinite(whole).all()
        for cuts in ([0, 30], [0, 1, 30], [0, 7, 7, 19, 30], list(range(31))):
            pieces = [
                score(
                    collection.query,
                    made.part_of(collection.pictures[a:b], collection.k, collection.idf),
                    options=options,
                )
                for a, b in pairwise(cuts)
            ]
            assert np.concatenate(pieces).tobytes() == whole.tobytes()


def test_unknown_measure_lists_the_known_ones() -> None:
    collection = random_collection(0)
    with pytest.raises(OptionError, match="unknown measure 'chi2'; known: cosine, hamming, l1, l2"):
        scores_of(collection, "chi2")
