"""Small collections for the scoring tests, made of nothing but (word, signature) pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from resight.postings import GEOMETRY, Lists, build
from resight.scoring import Part
from resight.types import Words

Array = npt.NDArray[Any]


def words(word: Sequence[int] | Array, signature: Sequence[int] | Array | None = None) -> Words:
    """One feature for each word."""
    bits = np.zeros(len(word)) if signature is None else signature
    return Words(np.arange(len(word), dtype=np.int32), np.asarray(word, np.int32), np.asarray(bits, np.uint64))


def histogram(query: Words, k: int) -> Array:
    """Dense counts of the query's words."""
    dense = np.zeros(k)
    for word in query.word:
        dense[word] += 1
    return dense


def lists_of(pictures: Sequence[Words], k: int) -> Lists:
    return build([(p, np.zeros(len(p), GEOMETRY)) for p in pictures], words=k)


def dense_idf(pictures: Sequence[Words], k: int) -> Array:
    """log n − log n_i (LEARN-14 eq. 2), and log n for a word nobody has; counted in plain Python.

    A word in every picture weighs 0 here, which is harder for the measures than what resight.scoring gives it.
    """
    having = [sum(int(word in p.word) for p in pictures) for word in range(k)]
    return np.array([np.log(len(pictures)) - np.log(max(n, 1)) for n in having])


def part_of(pictures: Sequence[Words], k: int, idf: Array) -> Part:
    lists = lists_of(pictures, k)
    squared = np.array([(histogram(p, k) ** 2).sum() for p in pictures], dtype=np.int64)
    return Part(read=lambda _: lists, squared=squared, idf=idf.astype(np.float32))


@dataclass
class Collection:
    """Pictures that share some structure: a few words are common, some occur in bursts, some in no picture."""

    k: int
    pictures: list[Words]
    query: Words

    @property
    def idf(self) -> Array:
        return dense_idf(self.pictures, self.k)

    @property
    def part(self) -> Part:
        return part_of(self.pictures, self.k, self.idf)


def random_collection(seed: int, *, k: int = 60, pictures: int = 25, features: int = 40) -> Collection:
    """Zipf-like words; signatures near one centre for each word, so that many pairs are within the threshold.

    Picture 0 and the query are never empty; word 0 is in every picture that has features; the last word in none.
    """
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, k)
    centres = rng.integers(0, 2**64, k, dtype=np.uint64)

    def one(count: int) -> Words:
        drawn = rng.choice(k - 1, count, p=popularity / popularity.sum())
        if count:
            drawn[0] = 0
        flips = np.zeros(count, np.uint64)
        for _ in range(14):
            flips ^= np.uint64(1) << rng.integers(0, 64, count).astype(np.uint64)
        return words(drawn, centres[drawn] ^ flips)

    made = [one(int(rng.integers(0, features)) if i else features) for i in range(pictures)]
    query = one(features)
    with_unknown = np.append(query.word, k - 1)
    return Collection(k, made, words(with_unknown, np.append(query.signature, np.uint64(7))))
