"""Measures from the inverted file against dense vectors, plain double loops and numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.errors import OptionError
from resight.options import (
    AsymmetricOptions,
    KnnOptions,
    NegativeOptions,
    ScoringOptions,
    scoring_options,
)
from resight.postings import count
from resight.scoring import MEASURES, Query, idf_weights, matches

from ..support import quantised
from ..support.quantised import Collection, WeighedSegment, random_collection, score

Array = npt.NDArray[Any]
SEEDS = range(12)
# Every measure, some with other options, and the Hamming measure with each kind of weight.
SYSTEMS = {
    **{measure: scoring_options(measure) for measure in MEASURES},
    "hamming, plain": quantised.hamming(),
    "hamming, closest": quantised.hamming(closest_only=True, intra="count"),
    "hamming, intra": quantised.hamming(intra="root-share"),
    "hamming, inter": quantised.hamming(inter=True, intra="root-share"),
    "hamming, weak geometry": quantised.hamming(weak_geometry=True),
    "hamming, all": quantised.hamming(intra="log-share", inter=True, weak_geometry=True, size_power=0.5),
    "hamming, density": quantised.hamming(intra="root-share", weak_geometry=True, weights="density"),
    "knn, density": KnnOptions(weights="density"),
    "negative, all of the mean": NegativeOptions(beta=1.0),
    "asymmetric, squared": AsymmetricOptions(power=2),
}
BY_WORD = {name: options for name, options in SYSTEMS.items() if options.measure != "knn"}
BY_IDF = {
    name: options
    for name, options in SYSTEMS.items()
    if options.measure not in ("tf", "asymmetric", "learnt") and options.ratio_mixture is None
}


def in_segment(query: Query, segment: WeighedSegment, options: ScoringOptions) -> Array:
    (scores,) = score(query, [segment], options=options)
    return scores


def scores_of(collection: Collection, measure: str) -> Array:
    return in_segment(collection.query, collection.segment, scoring_options(measure))


def dense(collection: Collection) -> tuple[Array, Array]:
    """Counts of the query (K,) and of the pictures (n, K)."""
    table = np.array([quantised.histogram(p, collection.k) for p in collection.pictures])
    return quantised.histogram(collection.query, collection.k), table


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
    itself = Collection(collection.k, collection.pictures, collection.pictures[0], collection.alive)
    scores = scores_of(itself, measure)
    assert scores[0] == pytest.approx(1, abs=1e-5)
    assert scores.argmax() == 0


# --- by hand: three words; pictures {0, 0, 1}, {1, 2} and {}; the query is {0, 1, 1}

PICTURES = [quantised.picture([0, 0, 1]), quantised.picture([1, 2]), quantised.picture([])]
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
    segment = quantised.segment_of(PICTURES, 3, np.array(IDF))
    scores = in_segment(quantised.picture([0, 1, 1]), segment, scoring_options(measure))
    assert IDF[:2] == pytest.approx([A, B], abs=1e-6)
    assert scores == pytest.approx(BY_HAND[measure], abs=2e-4)
    assert scores.dtype == np.float32


def test_worked_hamming_example() -> None:
    # Picture 0 has word 0 with bits 0b0000 and 0b0111, and word 1; picture 1 has word 0 with 25 bits set.
    pictures = [
        quantised.picture([0, 0, 1], [0b0000, 0b0111, 0]),
        quantised.picture([0], [2**25 - 1]),
        quantised.picture([2], [0]),
    ]
    segment = quantised.segment_of(pictures, 3, np.array([2.0, 3.0, 1.0]))
    query = quantised.picture([0, 1], [0b0001, 0b11])
    # Row 0: distances 1 and 2 in picture 0, 24 in picture 1 (just within); row 1: distance 2 in picture 0.
    first = 4 * exp(-1 / 256) + 4 * exp(-4 / 256) + 9 * exp(-4 / 256)
    expected = [first / sqrt(2**2 + 1**2), 4 * exp(-576 / 256) / 1, 0]
    assert in_segment(query, segment, quantised.hamming(sigma=16)) == pytest.approx(expected, rel=1e-6)
    one_bit_less = in_segment(query, segment, quantised.hamming(threshold=23, sigma=16))
    assert one_bit_less == pytest.approx([expected[0], 0, 0], rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("threshold", "sigma"), [(24, 16.0), (0, 16.0), (64, 30.0)])
def test_hamming_equals_a_double_loop(seed: int, threshold: int, sigma: float) -> None:
    collection = random_collection(seed, k=20, pictures=6, features=25)
    idf, query = collection.idf, collection.query.words
    expected = []
    for picture in collection.pictures:
        total = 0.0
        for word, bits in zip(query.word, query.signature, strict=True):
            for other, theirs in zip(picture.words.word, picture.words.signature, strict=True):
                h = (int(bits) ^ int(theirs)).bit_count()
                if word == other and h <= threshold:
                    total += idf[word] ** 2 * exp(-(h**2) / sigma**2)
        norm = sqrt((quantised.histogram(picture, collection.k) ** 2).sum())
        expected.append(total / norm if norm else 0)
    found = in_segment(collection.query, collection.segment, quantised.hamming(threshold=threshold, sigma=sigma))
    assert found == pytest.approx(expected, rel=1e-4)
    assert threshold == 0 or max(expected) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_matches_equal_a_double_loop(seed: int) -> None:
    collection = random_collection(seed, k=12, pictures=6, features=25)
    slot_of = np.array([2, -1, 0, 1, -1, 3], np.int32)
    segment, query = collection.segment, collection.query.words
    lists = segment.read(None, "image")
    expected: dict[tuple[int, int], list[int]] = {}  # each feature's closest match in each picture
    for row, (word, bits) in enumerate(zip(query.word, query.signature, strict=True)):
        for posting in range(lists.offsets[word], lists.offsets[word + 1]):
            h = (int(bits) ^ int(lists.signature[posting])).bit_count()
            slot = slot_of[lists.image[posting]]
            if h <= 24 and slot >= 0 and h < expected.get((row, int(slot)), [0, 0, 0, 65])[3]:
                expected[row, int(slot)] = [int(slot), row, int(posting), h]
    found = matches(query, *segment.find(query.word, "image", "signature"), slot_of, 24)
    assert found.tolist() == list(expected.values())
    assert len(expected) > 20


def test_no_matches_is_an_empty_table() -> None:
    collection = random_collection(0)
    nobody = np.full(len(collection.pictures), -1, np.int32)
    lists, words = collection.segment.read(None, "image", "signature"), collection.query.words
    assert matches(words, words.word, lists, nobody, 24).shape == (0, 4)
    everybody, nothing = np.zeros(len(collection.pictures), np.int32), quantised.picture([]).words
    assert matches(nothing, nothing.word, lists, everybody, 24).shape == (0, 4)


# --- edges


def test_idf_by_hand() -> None:
    df = np.array([1, 2, 4, 0])
    assert idf_weights(df, 4) == pytest.approx([log(5), log(5 / 2), log(5 / 4), log(5)])
    assert idf_weights(df[:1], 1) == pytest.approx([log(2)])  # an index of one picture
    assert idf_weights(df[3:], 0).tolist() == [0]


def test_idf_follows_from_the_lists() -> None:
    collection = random_collection(5)
    n = len(collection.pictures)
    df, *_ = count(collection.segment.read(None, "image"), np.ones(n, np.bool_))
    # Eq. 2 has log n where resight has log (n + 1).
    assert idf_weights(df, n) == pytest.approx(collection.idf - log(n) + log(n + 1), abs=1e-6)


@pytest.mark.parametrize("options", SYSTEMS.values(), ids=SYSTEMS)
class TestEdges:
    def test_query_without_features(self, options: ScoringOptions) -> None:
        collection = random_collection(1)
        assert in_segment(quantised.picture([]), collection.segment, options).tolist() == [0] * len(collection.pictures)

    def test_picture_without_features_scores_0(self, options: ScoringOptions) -> None:
        pictures = [quantised.picture([]), quantised.picture([0, 1]), quantised.picture([2])]
        segment = quantised.segment_of(pictures, 3, quantised.dense_idf(pictures, 3))
        scores = in_segment(quantised.picture([0, 1, 2]), segment, options)
        assert scores[0] == 0
        assert (scores[1:] > 0).all()

    def test_no_pictures(self, options: ScoringOptions) -> None:
        assert in_segment(quantised.picture([0, 1]), quantised.segment_of([], 3, np.zeros(3)), options).shape == (0,)

    def test_no_segments(self, options: ScoringOptions) -> None:
        assert score(quantised.picture([0, 1]), [], options=options) == []

    def test_removed_pictures_score_0(self, options: ScoringOptions) -> None:
        collection = random_collection(2, removed=0.5)
        assert 0 < collection.alive.sum() < len(collection.alive)
        scores = in_segment(collection.query, collection.segment, options)
        assert not scores[~collection.alive].any()
        assert scores[collection.alive].any()
        none_left = replace(collection, alive=np.zeros_like(collection.alive))
        assert not in_segment(collection.query, none_left.segment, options).any()

    def test_removed_pictures_count_as_if_they_had_never_been(self, options: ScoringOptions) -> None:
        collection = random_collection(2, removed=0.5)
        left = [p for p, alive in zip(collection.pictures, collection.alive, strict=True) if alive]
        scores = in_segment(collection.query, collection.segment, options)
        alone = in_segment(collection.query, quantised.segment_of(left, collection.k, collection.idf), options)
        assert scores[collection.alive].tobytes() == alone.tobytes()

    @pytest.mark.parametrize("seed", range(4))
    def test_segments_give_the_same_bits_as_the_whole(self, options: ScoringOptions, seed: int) -> None:
        collection = random_collection(seed, pictures=30, assigned=2, removed=0.2)
        whole = in_segment(collection.query, collection.segment, options)
        assert np.isfinite(whole).all()
        assert whole.dtype == np.float32
        for cuts in ([0, 30], [0, 1, 30], [0, 7, 7, 19, 30], range(31)):
            pieces = score(collection.query, collection.segments(cuts), options=options)
            assert [len(piece) for piece in pieces] == np.diff(cuts).tolist()
            assert np.concatenate(pieces).tobytes() == whole.tobytes()


@pytest.mark.parametrize("options", BY_WORD.values(), ids=BY_WORD)
def test_words_that_nobody_has(options: ScoringOptions) -> None:
    pictures = [quantised.picture([0]), quantised.picture([1])]
    segment = quantised.segment_of(pictures, 4, quantised.dense_idf(pictures, 4))
    assert in_segment(quantised.picture([2, 3]), segment, options).tolist() == [0, 0]


@pytest.mark.parametrize("options", BY_IDF.values(), ids=BY_IDF)
def test_words_that_everybody_has_weigh_nothing(options: ScoringOptions) -> None:
    pictures = [quantised.picture([0, 0, 1]), quantised.picture([0, 1, 1])]
    segment = quantised.segment_of(pictures, 2, quantised.dense_idf(pictures, 2))
    scores = in_segment(quantised.picture([0, 1]), segment, options)
    assert scores.tolist() == [0, 0]  # and not NaN, though every norm is 0


def test_unknown_measure_lists_the_known_ones() -> None:
    collection = random_collection(0)
    known = ", ".join(sorted(MEASURES))
    with pytest.raises(OptionError, match=f"unknown measure 'chi2'; known: {known}"):
        scores_of(collection, "chi2")
