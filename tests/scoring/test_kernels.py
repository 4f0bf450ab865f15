"""Every kernel of kernels.py against its plain numpy twin, on random lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.postings import Lists
from resight.scoring import distinct, kernels

from ..support import quantised
from ..support.quantised import Collection, random_collection
from . import twins

collections = st.builds(
    random_collection,
    seed=st.integers(0, 2**32),
    k=st.integers(2, 40),
    pictures=st.integers(1, 12),
    features=st.integers(1, 60),
)
few = settings(max_examples=40, deadline=None)


def lists_of(collection: Collection) -> Lists:
    return quantised.lists_of(collection.pictures, collection.k)


def test_popcount_of_known_numbers() -> None:
    known = {0: 0, 1: 1, 2: 1, 255: 8, 2**63: 1, 2**63 + 1: 2, 2**64 - 1: 64, 0x5555_5555_5555_5555: 32}
    numbers = np.array(list(known), np.uint64)
    assert twins.popcount(numbers).tolist() == list(known.values())
    for number, bits in known.items():
        lists = quantised.lists_of([quantised.picture([0], [number])], 1)
        found, last, slots = np.zeros((1, 4), np.int64), np.full(1, -1, np.int64), np.zeros(1, np.int32)
        query, searched = quantised.picture([0], [0]).words, (lists.offsets, lists.image, lists.signature, slots, 64)
        assert kernels.collect_hamming(query.feature, query.word, query.signature, *searched, last, found) == 1
        assert found.tolist() == [[0, 0, 0, bits]]


@few
@given(collection=collections, threshold=st.integers(0, 64), seed=st.integers(0, 1000))
def test_collect_hamming_equals_its_twin(collection: Collection, threshold: int, seed: int) -> None:
    lists, query = lists_of(collection), collection.query.words
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
@given(collection=collections, bits=st.integers(0, 40))
def test_mark_distinct_equals_its_twin(collection: Collection, bits: int) -> None:
    rows = collection.query.words
    marked = np.zeros(len(rows), np.bool_)
    kernels.mark_distinct(np.argsort(rows.word, kind="stable"), rows.word, rows.signature, bits, marked)
    expected = twins.mark_distinct(rows.word, rows.signature, bits)
    assert np.array_equal(marked, expected)
    assert np.array_equal(distinct(rows.word, rows.signature, bits), expected)


def test_distinct_rows_by_hand() -> None:
    # Of word 0, 0b0011 is 2 bits from the first; 0b1111 is 4 from the first and 2 from 0b0011, which was left out.
    rows = quantised.picture([0, 1, 0, 0, 1], [0b0000, 0b0000, 0b0011, 0b1111, 0b0000]).words
    assert distinct(rows.word, rows.signature, 2).tolist() == [True, True, False, True, False]
    assert distinct(rows.word, rows.signature, 1).tolist() == [True, True, True, True, False]
    assert distinct(rows.word, rows.signature, 4).tolist() == [True, True, False, False, False]
    nothing = quantised.picture([]).words
    assert distinct(nothing.word, nothing.signature, 2).tolist() == []


@few
@given(collection=collections, seed=st.integers(0, 1000))
def test_scan_product_equals_its_twin(collection: Collection, seed: int) -> None:
    lists, word = lists_of(collection), np.unique(collection.query.words.word)
    value = np.random.default_rng(seed).random(len(word)).astype(np.float32)
    scores = np.zeros(len(collection.pictures), np.float32)
    kernels.scan_product(word, value, lists.offsets, lists.image, scores)
    assert scores == pytest.approx(twins.scan_product(word, value, lists.offsets, lists.image, len(scores)), rel=1e-5)


@few
@given(collection=collections, seed=st.integers(0, 1000))
def test_scan_minimum_equals_its_twin(collection: Collection, seed: int) -> None:
    lists, rng = lists_of(collection), np.random.default_rng(seed)
    word = np.unique(collection.query.words.word)
    value, idf = rng.random((2, len(word))).astype(np.float32)
    inverse = rng.random(len(collection.pictures)).astype(np.float32)
    scores = np.zeros(len(collection.pictures), np.float32)
    arguments = (word, value, idf, inverse, lists.offsets, lists.image)
    kernels.scan_minimum(*arguments, scores)
    assert scores == pytest.approx(twins.scan_minimum(*arguments, len(scores)), rel=1e-5, abs=1e-7)


@few
@given(collection=collections, seed=st.integers(0, 1000))
def test_sums_of_roots_equal_their_twin(collection: Collection, seed: int) -> None:
    lists, alive = lists_of(collection), np.random.default_rng(seed).random(len(collection.pictures)) < 0.7
    roots = np.zeros(collection.k, np.int64)
    kernels.sum_roots(lists.offsets, lists.image, alive, roots)
    assert roots / kernels.ROOT_UNIT == pytest.approx(twins.sum_roots(lists.offsets, lists.image, alive), rel=1e-8)


@few
@given(collection=collections, seed=st.integers(0, 1000))
def test_scan_roots_equals_its_twin(collection: Collection, seed: int) -> None:
    lists, word = lists_of(collection), np.unique(collection.query.words.word)
    value = np.random.default_rng(seed).random(len(word)).astype(np.float32)
    scores = np.zeros(len(collection.pictures), np.float32)
    kernels.scan_roots(word, value, lists.offsets, lists.image, scores)
    assert scores == pytest.approx(twins.scan_roots(word, value, lists.offsets, lists.image, len(scores)), rel=1e-5)


@few
@given(collection=collections, power=st.sampled_from([1, 2]), seed=st.integers(0, 1000))
def test_scan_overlap_equals_its_twin(collection: Collection, power: int, seed: int) -> None:
    lists, alive = lists_of(collection), np.random.default_rng(seed).random(len(collection.pictures)) < 0.7
    word, count = np.unique(collection.query.words.word, return_counts=True)
    ours, theirs = np.zeros((2, len(alive)), np.int64)
    arguments = (word, count, power, lists.offsets, lists.image, alive)
    total = kernels.scan_overlap(*arguments, ours, theirs)
    expected = twins.scan_overlap(*arguments)
    assert (ours.tolist(), theirs.tolist(), total) == (expected[0].tolist(), expected[1].tolist(), expected[2])


@few
@given(collection=collections, power=st.sampled_from([1, 2]))
def test_weighted_norms_equal_their_twin(collection: Collection, power: int) -> None:
    lists, idf = lists_of(collection), collection.idf.astype(np.float32)
    norms = np.zeros(len(collection.pictures))
    kernels.weighted_norms(lists.offsets, lists.image, idf, power, norms)
    expected = twins.weighted_norms(lists.offsets, lists.image, idf, power, len(norms))
    assert norms == pytest.approx(expected, rel=1e-9, abs=1e-12)
