"""Small collections as scoring knows them, made of nothing but words, signatures and geometry codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from resight.options import HammingOptions, ScoringOptions
from resight.postings import GEOMETRY, Lists, build, whole_forward
from resight.scoring import (
    CollectionStatistics,
    Query,
    Scope,
    SegmentView,
    Similarity,
    collection_statistics,
    score_all,
)
from resight.scoring import score as scores_with_totals
from resight.types import Features, Words

Array = npt.NDArray[Any]
Numbers = Sequence[int] | Array


def hamming(**options: Any) -> HammingOptions:
    """The Hamming measure with these options, and without any weight that they do not ask for."""
    plain = {"closest_only": False, "intra": "none", "inter": False, "weak_geometry": False, "size_power": 0.0}
    return HammingOptions(**{**plain, **options})


def picture(
    word: Numbers,
    signature: Numbers | None = None,
    *,
    feature: Numbers | None = None,
    scale: Numbers | int = 0,
    angle: Numbers | int = 0,
) -> Query:
    """The quantised features of a picture, asked for or indexed; one feature for each word unless told otherwise.

    A row's signature is also the descriptor that is kept of it, and a feature's first row has its own.
    """
    bits = np.zeros(len(word)) if signature is None else signature
    owner = np.arange(len(word)) if feature is None else np.asarray(feature)
    codes = np.zeros(int(owner.max(initial=-1)) + 1, GEOMETRY)
    codes["scale"], codes["angle"] = scale, angle
    kept = np.asarray(bits, "<u8").view(np.uint8).reshape(-1, 8)
    words = Words(owner.astype(np.int32), np.asarray(word, np.int32), np.asarray(bits, np.uint64), kept)
    descriptors = np.zeros((len(codes), 8), np.uint8)
    descriptors[owner[::-1]] = kept[::-1]
    return described(words, codes, descriptors)


def described(words: Words, codes: Array, descriptors: Array) -> Query:
    """A query of which descriptors are known, and no places."""
    places, ones = np.zeros((len(codes), 2), np.float32), np.ones(len(codes), np.float32)
    return Query(words, codes, Features(places, ones, ones, descriptors, 1, 1))


def histogram(shown: Query, k: int) -> Array:
    """Dense counts of the picture's words."""
    dense = np.zeros(k)
    for word in shown.words.word:
        dense[word] += 1
    return dense


def lists_of(pictures: Sequence[Query], k: int) -> Lists:
    return build([(p.words, p.geometry) for p in pictures], words=k)


def dense_idf(pictures: Sequence[Query], k: int) -> Array:
    """log n − log n_i (LEARN-14 eq. 2), and log n for a word nobody has; counted in plain Python.

    A word in every picture weighs 0 here, which is harder for the measures than what resight.scoring gives it.
    """
    having = [sum(int(word in p.words.word) for p in pictures) for word in range(k)]
    return np.array([np.log(len(pictures)) - np.log(max(n, 1)) for n in having])


@dataclass(eq=False)
class WeighedSegment(SegmentView):
    """A segment with the weights of its collection, which a test is free to choose."""

    idf: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    similarity: Similarity | None = None

    def within(self, span: range) -> WeighedSegment:
        seen = super().within(span)
        idf = self.idf[span.start : span.stop]
        columns = seen.read, seen.squared, seen.alive, seen.bounds, seen.forward, seen.first_word
        return WeighedSegment(*columns, idf=idf)


def segment_of(
    pictures: Sequence[Query], k: int, idf: Array, alive: Sequence[bool] | Array | None = None
) -> WeighedSegment:
    lists = lists_of(pictures, k)
    forward = whole_forward(lists, pictures=len(pictures))
    return WeighedSegment(
        read=lambda words, *columns: lists,
        forward=lambda chosen, *columns: forward,
        squared=np.array([(histogram(p, k) ** 2).sum() for p in pictures], dtype=np.int64),
        # A copy, which can be written to as that of a stored segment can: to numba that is a type.
        alive=np.ones(len(pictures), np.bool_) if alive is None else np.array(alive, np.bool_),
        idf=idf.astype(np.float32),
        similarity=similarity(k),
    )


def score(
    query: Query, segments: Sequence[WeighedSegment], *, options: ScoringOptions, chosen: Sequence[Array] | None = None
) -> list[Array]:
    """The scores of a collection that is all in these segments; of some pictures of each, if they are chosen."""
    if not segments:
        return scores_with_totals(query, [], Scope(options, CollectionStatistics(0, np.zeros(0, np.float32))), ())
    weighed = segments[0]
    collection = collection_statistics(segments, options, idf=weighed.idf, similarity=weighed.similarity)
    if chosen is not None:
        parts = [segment.only(pictures) for segment, pictures in zip(segments, chosen, strict=True)]
        return score_all(query, parts, Scope(options, collection))
    return score_all(query, segments, Scope(options, collection))


def similarity(k: int, *, groups: int = 3, most: int = 2, seed: int = 0) -> Similarity:
    """Some weights; those of words that both pictures have are the largest."""
    rng = np.random.default_rng(seed)
    pattern = rng.permutation((most + 1) ** 2).reshape(most + 1, most + 1).astype(np.uint8)
    weights = rng.normal(size=(groups, pattern.size))
    weights[:, pattern[1:, 1:].ravel()] += 8
    return Similarity(pattern, weights.astype(np.float32), rng.integers(0, groups, k).astype(np.uint8))


@dataclass
class Collection:
    """Pictures that share some structure: a few words are common, some occur in bursts, some in no picture."""

    k: int
    pictures: list[Query]
    query: Query
    alive: Array

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For Hypothesis, which would write down every number of an example: that takes longer than to try it."""
        printer.text(f"Collection of {len(self.pictures)} pictures with {self.k} words")

    @cached_property
    def idf(self) -> Array:
        return dense_idf(self.pictures, self.k)

    @cached_property
    def segment(self) -> WeighedSegment:
        return segment_of(self.pictures, self.k, self.idf, self.alive)

    def segments(self, cuts: Sequence[int]) -> list[WeighedSegment]:
        """The pictures between each cut and the next."""
        return [segment_of(self.pictures[a:b], self.k, self.idf, self.alive[a:b]) for a, b in pairwise(cuts)]


@lru_cache(200)
def random_collection(
    seed: int, *, k: int = 60, pictures: int = 25, features: int = 40, assigned: int = 1, removed: float = 0.0
) -> Collection:
    """Zipf-like words; signatures near one centre for each word, so that many pairs are within the threshold.

    Picture 0 and the query are never empty; word 0 is in every picture that has features; the last word in none.
    A feature of the query owns about ``assigned`` rows. About a share ``removed`` of the pictures are not alive.
    """
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, k)
    centres = rng.integers(0, 2**64, k, dtype=np.uint64)

    def one(count: int, assigned: int = 1, *, unknown: bool = False) -> Query:
        drawn = rng.choice(k - 1, count, p=popularity / popularity.sum())
        if count:
            drawn[0] = 0
        if unknown:
            drawn[-1] = k - 1
        flips = np.zeros(count, np.uint64)
        for _ in range(14):
            flips ^= np.uint64(1) << rng.integers(0, 64, count).astype(np.uint64)
        feature = np.arange(count) if assigned == 1 else np.sort(rng.integers(0, count // assigned + 1, count))
        scale, angle = rng.integers(0, 256, (2, int(feature.max(initial=-1)) + 1))
        return picture(drawn, centres[drawn] ^ flips, feature=feature, scale=scale, angle=angle)

    shown = [one(int(rng.integers(0, features)) if i else features) for i in range(pictures)]
    query = one(features + 1, assigned, unknown=True)
    alive = rng.random(pictures) >= removed
    alive.flags.writeable = False  # the next one who asks gets the same collection
    return Collection(k, shown, query, alive)
