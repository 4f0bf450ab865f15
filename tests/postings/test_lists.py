"""Inverted lists and their statistics against plain Python dictionaries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.postings import GEOMETRY, SHAPED, Lists, build, count
from resight.types import Words

K = 9
Described = tuple[Words, npt.NDArray[Any]]


def picture(
    word: list[int],
    rng: np.random.Generator,
    *,
    per_feature: int = 1,
    kept: int = 0,
    kind: np.dtype[np.void] = GEOMETRY,
) -> Described:
    """Rows with random signatures; each feature owns ``per_feature`` rows and has a geometry of its own."""
    features = -(-len(word) // per_feature)
    geometry = np.zeros(features, kind)
    for name in kind.names or ():
        geometry[name] = rng.integers(0, 128, features)
    feature = np.arange(len(word), dtype=np.int32) // per_feature
    signature = rng.integers(0, 2**64, len(word), dtype=np.uint64)
    code = rng.integers(0, 256, (len(word), kept), dtype=np.uint8) if kept else None
    return Words(feature, np.array(word, np.int32), signature, code), geometry


collections = st.lists(st.lists(st.integers(0, K - 1), max_size=15), max_size=8)


def brute_force(pictures: list[Described]) -> list[list[tuple[Any, ...]]]:
    """For each word, (image, signature, geometry, code) in order of image, then feature."""
    lists: list[list[tuple[Any, ...]]] = [[] for _ in range(K)]
    for image, (words, geometry) in enumerate(pictures):
        for row in range(len(words)):
            code = geometry[words.feature[row]].item()
            kept = [] if words.code is None else words.code[row].tolist()
            lists[words.word[row]].append((image, int(words.signature[row]), code, kept))
    return lists


def as_tuples(lists: Lists, word: int) -> list[tuple[Any, ...]]:
    rows = slice(lists.offsets[word], lists.offsets[word + 1])
    columns = (lists.image, lists.signature, lists.geometry, lists.code)
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


@settings(max_examples=60, deadline=None)
@given(
    words=collections,
    seed=st.integers(0, 1000),
    per_feature=st.integers(1, 3),
    kept=st.sampled_from([0, 1, 8]),
    kind=st.sampled_from([GEOMETRY, SHAPED]),
)
def test_lists_equal_brute_force(
    words: list[list[int]], seed: int, per_feature: int, kept: int, kind: np.dtype[np.void]
) -> None:
    rng = np.random.default_rng(seed)
    pictures = [picture(w, rng, per_feature=per_feature, kept=kept, kind=kind) for w in words]
    lists = build(pictures, words=K)
    assert lists.words == K
    assert [as_tuples(lists, word) for word in range(K)] == brute_force(pictures)
    assert [a.dtype.name for a in (lists.offsets, lists.image, lists.signature)] == ["int64", "uint32", "uint64"]
    assert lists.geometry.dtype == (kind if words else GEOMETRY)
    assert (lists.code.dtype.name, lists.code.shape) == ("uint8", (len(lists.image), kept if words else 0))
    some = lists.within(range(3, 6))
    assert [as_tuples(some, word) for word in range(3)] == brute_force(pictures)[3:6]


@settings(max_examples=60, deadline=None)
@given(words=collections, chosen_bits=st.integers(0, 255))
def test_statistics_equal_brute_force(words: list[list[int]], chosen_bits: int) -> None:
    rng = np.random.default_rng(0)
    chosen = np.array([bool(chosen_bits >> i & 1) for i in range(len(words))], np.bool_)
    df, tf, length, squared = count(build([picture(w, rng) for w in words], words=K), chosen)
    counters = [Counter(w) if keep else Counter() for w, keep in zip(words, chosen, strict=True)]
    assert df.tolist() == [sum(c[word] > 0 for c in counters) for word in range(K)]
    assert tf.tolist() == [sum(c[word] for c in counters) for word in range(K)]
    assert length.tolist() == [sum(c.values()) for c in counters]
    assert squared.tolist() == [sum(n * n for n in c.values()) for c in counters]


def test_statistics_by_hand() -> None:
    rng = np.random.default_rng(0)
    lists = build([picture([0, 2, 0, 0], rng), picture([], rng), picture([2, 1], rng)], words=4)
    df, tf, length, squared = count(lists, np.array([True, True, True]))
    assert df.tolist() == [1, 1, 2, 0]
    assert tf.tolist() == [3, 1, 2, 0]
    assert length.tolist() == [4, 0, 2]
    assert squared.tolist() == [3 * 3 + 1, 0, 2]


def test_what_is_taken_away_subtracts() -> None:
    """all − gone = rest, for the statistics over words."""
    rng = np.random.default_rng(1)
    pictures = [picture(rng.integers(0, K, 12).tolist(), rng) for _ in range(6)]
    lists, gone = build(pictures, words=K), np.array([True, False, False, True, False, False])
    for every, some, rest in zip(
        count(lists, np.ones(6, np.bool_))[:2], count(lists, gone)[:2], count(lists, ~gone)[:2], strict=True
    ):
        assert np.array_equal(every - some, rest)


@pytest.mark.parametrize("pictures", [0, 3])
def test_nothing_to_list(pictures: int) -> None:
    lists = build([picture([], np.random.default_rng(0))] * pictures, words=K)
    assert lists.offsets.tolist() == [0] * (K + 1)
    assert (len(lists.image), len(lists.signature), len(lists.geometry)) == (0, 0, 0)
    assert lists.geometry.dtype == GEOMETRY
    assert [len(column) for column in count(lists, np.ones(pictures, np.bool_))] == [K, K, pictures, pictures]


@pytest.mark.parametrize(("kind", "size"), [(GEOMETRY, 18), (SHAPED, 20)])
def test_bytes_of_a_posting(kind: np.dtype[np.void], size: int) -> None:
    lists = build([picture([1, 2, 3], np.random.default_rng(0), kind=kind)], words=K)
    columns = (lists.image, lists.signature, lists.geometry)
    assert sum(column.itemsize for column in columns) == size
    assert sum(column.nbytes for column in columns) == 3 * size
