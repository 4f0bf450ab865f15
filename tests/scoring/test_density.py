"""Density-ratio scores against numbers worked out by hand, and against eq. 10 as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np
import pytest

from resight.options import DensityOptions, ScoringOptions, TfIdfOptions, TfOptions
from resight.scoring import Query
from resight.scoring.density import vote_in_order

from ..support.quantised import (
    Array,
    Collection,
    WeighedSegment,
    hamming,
    lists_of,
    picture,
    random_collection,
    score,
    segment_of,
)
from .twins import density_score, popcount

LAMBDA = 0.06
DENSITY = DensityOptions(mixture=LAMBDA)
ODDS = LAMBDA / (1 - LAMBDA)


def scores(query: Query, segments: Sequence[WeighedSegment], options: ScoringOptions = DENSITY) -> Array:
    return np.concatenate(score(query, segments, options=options))


def test_by_hand() -> None:
    shown = [picture([0, 0, 1]), picture([0, 2]), picture([2, 2, 2, 2, 1])]
    segment = segment_of(shown, 4, np.ones(4))
    found = scores(picture([0, 2, 3]), [segment])
    # 10 features in all; word 0 is in three of them, word 2 in five, word 3 in none.
    first = log(ODDS * 2 * 10 / (3 * 3) + 1)
    second = log(ODDS * 1 * 10 / (3 * 2) + 1) + log(ODDS * 1 * 10 / (5 * 2) + 1)
    third = log(ODDS * 4 * 10 / (5 * 5) + 1)
    assert found == pytest.approx([first, second, third], rel=1e-6)


def test_votes_of_every_query_feature_add_up() -> None:
    segment = segment_of([picture([0, 1]), picture([1])], 2, np.ones(2))
    assert scores(picture([0, 0, 0]), [segment]) == pytest.approx(3 * scores(picture([0]), [segment]), rel=1e-6)


def test_baselines_by_hand() -> None:
    segment = segment_of([picture([0, 0, 1]), picture([1, 2])], 3, np.array([2.0, 0.5, 1.0]))
    query = picture([0, 0, 1, 2])
    assert scores(query, [segment], TfOptions()).tolist() == [5, 2]  # 2 · 2 + 1 · 1; 1 + 1
    assert scores(query, [segment], TfIdfOptions()).tolist() == [8.5, 1.5]


def test_fixed_weights_of_matches_by_hand() -> None:
    shown = [picture([0, 0, 1], [0b0, 0b111, 0b0]), picture([1], [2**64 - 1])]
    segment = segment_of(shown, 2, np.array([7.0, 9.0]))
    found = scores(picture([0, 1], [0b1, 0b0]), [segment], hamming(weights="fixed"))
    assert found == pytest.approx([3 / np.sqrt(5), 0])  # over the length of (2, 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("assigned", [1, 3])
def test_lists_of_words_are_the_sets(seed: int, assigned: int) -> None:
    """The m-th row of a feature is its m-th set; with one row for each feature that is eq. 12."""
    made = random_collection(seed, assigned=assigned, removed=0.3)
    words = made.query.words
    position = np.arange(len(words)) - np.searchsorted(words.feature, words.feature)
    assert scores(made.query, [made.segment]) == pytest.approx(general_form(made, words.feature, position), rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_words_of_one_level_are_one_set(seed: int) -> None:
    made = random_collection(seed, assigned=4, removed=0.3)
    words = made.query.words
    position = np.arange(len(words)) - np.searchsorted(words.feature, words.feature)
    level = (position + 1) // 2  # 0, 1, 1, 2, 2, …
    asked = replace(made.query, words=replace(words, level=level.astype(np.int32)))
    assert scores(asked, [made.segment]) == pytest.approx(general_form(made, words.feature, level), rel=1e-5)


def general_form(made: Collection, feature: Array, order: Array) -> Array:
    """Eq. 10 where the sets of a feature are the lists of those of its rows that have the same order."""
    lists, words = lists_of(made.pictures, made.k), made.query.words
    row, posting = np.nonzero(words.word[:, None] == np.repeat(np.arange(made.k), np.diff(lists.offsets))[None, :])
    return density_score(feature[row], order[row], lists.image[posting], made.alive, lengths(made.pictures), LAMBDA)


def lengths(pictures: Sequence[Query]) -> Array:
    return np.array([len(p.words) for p in pictures])


@pytest.mark.parametrize("seed", range(4))
def test_shells_of_signatures_are_the_sets(seed: int) -> None:
    made = random_collection(seed, removed=0.3)
    lists, words = lists_of(made.pictures, made.k), made.query.words
    apart = popcount(words.signature[:, None] ^ lists.signature[None, :])
    same = words.word[:, None] == np.repeat(np.arange(made.k), np.diff(lists.offsets))[None, :]
    row, posting = np.nonzero(same & (apart <= 24))
    wanted = density_score(
        words.feature[row], apart[row, posting], lists.image[posting], made.alive, lengths(made.pictures), LAMBDA
    )
    options = hamming(threshold=24, weights="density", mixture=LAMBDA)
    assert scores(made.query, [made.segment], options) == pytest.approx(wanted, rel=1e-5)


def test_several_words_of_a_feature_share_their_shells() -> None:
    """A row with its own list to itself still counts what lies as near in the lists of its feature's other words."""
    shown = [picture([0], [0b0]), picture([1, 1], [0b1, 0b11])]
    asked = picture([0, 1], [0, 0], feature=[0, 0])
    found = scores(asked, [segment_of(shown, 2, np.ones(2))], hamming(weights="density", mixture=LAMBDA))
    near, farther = log(ODDS * 3 / (1 * 1) + 1), log(ODDS * 3 / (2 * 2) + 1) + log(ODDS * 3 / (3 * 2) + 1)
    assert found == pytest.approx([near, farther], rel=1e-6)


def test_a_set_is_counted_for_each_word_by_itself() -> None:
    """Two descriptors of a picture that are equally far in two words of a feature: two votes of one, not one of two."""
    shown = [picture([0, 1], [0b1, 0b1]), picture([0], [2**64 - 1])]
    asked = picture([0, 1], [0, 0], feature=[0, 0])
    found = scores(asked, [segment_of(shown, 2, np.ones(2))], hamming(weights="density", mixture=LAMBDA))
    assert found == pytest.approx([2 * log(ODDS * 3 / (2 * 2) + 1), 0], rel=1e-6)


def test_the_general_form_is_the_bag_of_words_form_with_one_set() -> None:
    made = random_collection(5)
    lists, words = lists_of(made.pictures, made.k), made.query.words
    row, posting = np.nonzero(words.word[:, None] == np.repeat(np.arange(made.k), np.diff(lists.offsets))[None, :])
    votes = in_order(words.feature[row], np.zeros(len(row)), lists.image[posting], made)
    assert votes.astype(np.float32).tolist() == scores(made.query, [made.segment]).tolist()


def test_the_general_form_is_k_nn_voting_with_single_descriptors() -> None:
    made = random_collection(6)
    rng = np.random.default_rng(1)
    feature = np.repeat(np.arange(8), 10)
    shown = rng.integers(0, len(made.pictures), 80)
    length = np.maximum(lengths(made.pictures), 1)
    found = in_order(feature, np.tile(np.arange(10.0), 8), shown, made)
    wanted = np.zeros(len(made.pictures))
    for rank, j in zip(np.tile(np.arange(1, 11), 8), shown, strict=True):
        wanted[j] += log(ODDS * lengths(made.pictures).sum() / (rank * length[j]) + 1)  # eq. 13
    assert found == pytest.approx(wanted, rel=1e-12)


def in_order(feature: Array, distance: Array, shown: Array, made: Collection) -> Array:
    found, length = np.zeros(len(made.pictures)), lengths(made.pictures)
    order = np.lexsort([distance, feature])
    vote_in_order(
        feature[order].astype(np.int64),
        distance[order].astype(np.float32),
        shown[order].astype(np.uint32),
        np.full(int(feature.max()) + 1, len(feature)),
        ODDS * length.sum(),
        np.zeros(0),
        1 / np.maximum(length, 1),
        found,
    )
    return found


@pytest.mark.parametrize(
    "options", [DENSITY, hamming(weights="density"), hamming(weights="density", weak_geometry=True)]
)
def test_segments_do_not_matter(options: ScoringOptions) -> None:
    made = random_collection(7, assigned=2, removed=0.3)
    whole = scores(made.query, [made.segment], options)
    assert scores(made.query, made.segments([0, 4, 5, 25]), options).tolist() == whole.tolist()


@pytest.mark.parametrize("options", [DENSITY, hamming(weights="density")])
def test_removed_pictures_count_for_nothing(options: ScoringOptions) -> None:
    made = random_collection(8, removed=0.4)
    living = [p for p, alive in zip(made.pictures, made.alive, strict=True) if alive]
    fresh = scores(made.query, [segment_of(living, made.k, made.idf)], options)
    found = scores(made.query, [made.segment], options)
    assert found[made.alive].tolist() == fresh.tolist()
    assert not found[~made.alive].any()


def test_nothing_asked_and_nothing_there() -> None:
    made = random_collection(9)
    assert not scores(picture([]), [made.segment]).any()
    assert score(made.query, [], options=DENSITY) == []
    assert not scores(made.query, [segment_of([picture([])], made.k, made.idf)]).any()
