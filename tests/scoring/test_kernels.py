"""Every kernel against its plain numpy twin, on random lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.options import ScoringOptions
from resight.postings import Lists
from resight.scoring import kernels
from resight.scoring.hamming import match_weights

from . import made, twins
from .made import Collection, random_collection

collections = st.builds(
    random_collection,
    seed=st.integers(0, 2**32),
    k=st.integers(2, 40),
    pictures=st.integers(1, 12),
    features=st.integers(1, 60),
)
few = settings(max_examples=40, deadline=None)


def lists_of(collection: Collection) -> Lists:
    return made.lists_of(collection.pictures, collection.k)


def test_popcount_of_known_numbers() -> None:
    known = {0: 0, 1: 1, 2: 1, 255: 8, 2**63: 1, 2**63 + 1: 2, 2**64 - 1: 64, 0x5555_5555_5555_5555: 32}
    numbers = np.array(list(known), np.uint64)
    assert twins.popcount(numbers).tolist() == list(known.values())
    for number, bits in known.items():
        lists = made.lists_of([made.words([0], [number])], 1)
        found, last, slots = np.zeros((1, 4), np.int64), np.full(1, -1, np.int64), np.zeros(1, np.int32)
        query, searched = made.words([0], [0]), (lists.offsets, lists.image, lists.signature, slots, 64)
        assert kernels.collect_hamming(query.feature, query.word, query.signature, *searched, last, found) == 1
        assert found.tolist() == [[0, 0, 0, bits]]


@few
@given(collection=collections, threshold=st.integers(0, 64), sigma=st.floats(1, 64))
def test_scan_hamming_equals_its_twin(collection: Collection, threshold: int, sigma: float) -> None:
    lists, query = lists_of(collection), collection.query
    row_weight = np.random.default_rng(threshold).random(len(query)).astype(np.float32)
    weights = match_weights(ScoringOptions(sigma=sigma))
    scores = np.zeros(len(collection.pictures), np.float32)
    arguments = (query.word, query.signature, row_weight, lists.offsets, lists.image, lists.signature, weights)
    kernels.scan_hamming(*arguments, threshold, scores)
    assert scores == pytest.approx(twins.scan_hamming(*arguments, threshold, len(scores)), rel=1e-5, abs=1e-6)


@few
@given(collection=collections, threshold=st.integers(0, 64), seed=st.integers(0, 1000))
def test_collect_hamming_equals_its_twin(collection: Collection, threshold: int, seed: int) -> None:
    lists, query = lists_of(collection), collection.query
    slot_of = np.random.default_rng(seed).integers(-1, 4, len(collection.pictures)).astype(np.int32)
    feature = np.sort(np.random.default_rng(seed).integers(0, len(query) + 1, len(query))).astype(np.int32)
    searched = (lists.offsets, lists.image, lists.signature, slot_of, threshold)
    arguments = (feature, query.word, query.signature, *searched)
    expected = twins.collect_hamming(*arguments)
    found = np.full((len(expected), 4), -9, np.int64)
    for room in (np.zeros((0, 4), np.int64), np.zeros((len(expected) // 2, 4), np.int64), found):
        assert kernels.collect_hamming(*arguments, np.full(4, -1, np.int64), room) == len(expected)
    assert np.array_equal(found, expected)


@few
@given(collection=collections, seed=st.integers(0, 1000))
def test_scan_product_equals_its_twin(collection: Collection, seed: int) -> None:
    lists, word = lists_of(collection), np.unique(collection.query.word)
    value = np.random.default_rng(seed).random(len(word)).astype(np.float32)
    scores = np.zeros(len(collection.pictures), np.float32)
    kernels.scan_product(word, value, lists.offsets, lists.image, scores)
    assert scores == pytest.approx(twins.scan_product(word, value, lists.offsets, lists.image, len(scores)), rel=1e-5)


@few
@given(collection=collections, seed=st.integers(0, 1000))
def test_scan_minimum_equals_its_twin(collection: Collection, seed: int) -> None:
    lists, word, rng = lists_of(collection), np.unique(collection.query.word), np.random.default_rng(seed)
    value, idf = rng.random((2, len(word))).astype(np.float32)
    inverse = rng.random(len(collection.pictures)).astype(np.float32)
    scores = np.zeros(len(collection.pictures), np.float32)
    arguments = (word, value, idf, inverse, lists.offsets, lists.image)
    kernels.scan_minimum(*arguments, scores)
    assert scores == pytest.approx(twins.scan_minimum(*arguments, len(scores)), rel=1e-5, abs=1e-7)


@few
@given(collection=collections, power=st.sampled_from([1, 2]))
def test_weighted_norms_equal_their_twin(collection: Collection, power: int) -> None:
    lists, idf = lists_of(collection), collection.idf.astype(np.float32)
    norms = np.zeros(len(collection.pictures))
    kernels.weighted_norms(lists.offsets, lists.image, idf, power, norms)
    expected = twins.weighted_norms(lists.offsets, lists.image, idf, power, len(norms))
    assert norms == pytest.approx(expected, rel=1e-9, abs=1e-12)
