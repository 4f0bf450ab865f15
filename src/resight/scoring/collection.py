"""Bag-of-words measures that see a picture's counts against those of the whole collection (LEARN-14 §2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..options import AsymmetricOptions, BurstOptions, NegativeOptions
from ..types import Float32, Float64, Int32, Int64, Words
from . import kernels
from .histogram import product
from .measure import Measure, Scope, Totals, sum_of
from .query import Query
from .segment import SegmentView, per_segment
from .statistics import CollectionStatistics

LEAST = 1e-6  # what a picture scores that has a word in common with the query, and is as unlike it as can be


def root_sums(segment: SegmentView) -> Int64:
    """(K,) Σ √tf of each word over living pictures, in units of 1 / ROOT_UNIT."""
    lists = segment.read(None, "image")
    total = np.zeros(lists.words, np.int64)
    kernels.sum_roots(lists.offsets, lists.image, segment.alive, total)
    return total


def burst(query: Words, segment: SegmentView, scope: Scope[BurstOptions]) -> Float32:
    """Σ idf_i² q_i d_i^(1/4) / √(Σ_j √d_i^j), j over all living pictures (LEARN-14 eq. 3)."""
    word, counts = np.unique(query.word, return_counts=True)
    roots = np.maximum(scope.collection.counts[word] / kernels.ROOT_UNIT, 1)
    value = (_squared(scope.collection.idf[word]) * counts / np.sqrt(roots)).astype(np.float32)
    scores = np.zeros(segment.pictures, np.float32)
    place, lists = segment.find(word, "image")
    kernels.scan_roots(place, value, lists.offsets, lists.image, scores)
    return scores


def word_totals(segment: SegmentView) -> Int64:
    """(K,) how many features of living pictures have each word."""
    return segment.living(np.arange(segment.read(None, "image").words, dtype=np.int32))


def negative(query: Words, segment: SegmentView, scope: Scope[NegativeOptions]) -> Float32:
    """(1 + s) / 2, where s is LEARN-14 eq. 1 of q − β m and d − β m, m the mean picture: what both lack counts, too.

    The products are multiplied out, so that lists are read of the query's words alone. Weighed by idf², s may lie
    below −1.
    """
    word, counts = np.unique(query.word, return_counts=True)
    beta, mean = scope.options.beta, _mean(scope.collection, word)
    value = _squared(scope.collection.idf[word]) * counts
    shared = product(word, value, segment)
    found = _mean_products(segment.whole, scope.collection)
    plain, weighted = segment.own(found.plain), segment.own(found.weighted)
    inner = shared - beta * ((value * mean).sum() + weighted) + beta**2 * found.weighted_square
    ours = (counts**2).sum() - 2 * beta * (counts * mean).sum() + beta**2 * found.square
    theirs = segment.squared - 2 * beta * plain + beta**2 * found.square
    norms = np.sqrt(np.maximum(ours, 0) * np.maximum(theirs, 0))
    cosine = np.divide(inner, norms, out=np.zeros_like(norms), where=norms > 0)
    scores: Float64 = np.maximum((1 + cosine) / 2, LEAST) * (shared > 0)
    return scores.astype(np.float32)


class MeanProducts(NamedTuple):
    """With the mean picture m of the collection."""

    plain: Float64  # Σ m_i d_i of each picture d
    weighted: Float64  # Σ idf_i² m_i d_i of each
    square: float  # Σ m_i²
    weighted_square: float  # Σ idf_i² m_i²


@per_segment
def _mean_products(segment: SegmentView, collection: CollectionStatistics) -> MeanProducts:
    lists, (plain, weighted) = segment.read(None, "image"), np.zeros((2, segment.pictures))
    word = np.arange(lists.words, dtype=np.int32)
    mean, squared_idf = _mean(collection, word), _squared(collection.idf)
    kernels.scan_product(word, mean, lists.offsets, lists.image, plain)
    kernels.scan_product(word, squared_idf * mean, lists.offsets, lists.image, weighted)
    return MeanProducts(plain, weighted, float((mean**2).sum()), float((squared_idf * mean**2).sum()))


def _mean(collection: CollectionStatistics, word: Int32) -> Float64:
    """How often a picture has each of these words, in the mean."""
    return collection.counts[word] / max(collection.pictures, 1)


def _squared(idf: Float32) -> Float64:
    return idf.astype(np.float64) ** 2


class Asymmetric(Measure[AsymmetricOptions]):
    """1 / (1 + D); D = Σ (d_i − q_i)^p where d has more, + λ Σ (q_i − d_i)^p where q has (LEARN-14 §2, Zhu et al.).

    Plain counts: weighed by idf, they do hardly better. λ depends on what the query has in common with all living
    pictures; so all are looked at, whichever are to be scored.
    """

    options = AsymmetricOptions
    looks_at_all = True

    def rounds(self, options: AsymmetricOptions) -> int:
        return 1

    def statistics(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[AsymmetricOptions], totals: Totals
    ) -> Int64:
        """What the query has in common with living pictures, and how many features they have."""
        power = scope.options.power
        return sum_of(np.array([_overlap(segment, query, power).common, segment.features]) for segment in segments)

    def score(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[AsymmetricOptions], totals: Totals
    ) -> list[Float32]:
        options, counts = scope.options, np.unique(query.words.word, return_counts=True)[1]
        in_common, features = totals[0].tolist()
        penalty = max(options.alpha * features / max(in_common, 1) - 1, 0)
        scores = []
        for segment in segments:
            shared = _overlap(segment, query, options.power)
            more = (segment.length if options.power == 1 else segment.squared) - shared.theirs
            distance = more + penalty * ((counts**options.power).sum() - shared.ours)
            scores.append((shared.ours > 0) / (1 + distance))
        return [s.astype(np.float32) for s in scores]


class Overlap(NamedTuple):
    """What a query and each picture have in common: see ``kernels.scan_overlap``."""

    common: int  # over all living pictures
    ours: Int64
    theirs: Int64


@per_segment
def _overlap(segment: SegmentView, query: Query, power: int) -> Overlap:
    word, counts = np.unique(query.words.word, return_counts=True)
    lists, (ours, theirs) = segment.read(word, "image"), np.zeros((2, segment.pictures), np.int64)
    common = kernels.scan_overlap(word, counts, power, lists.offsets, lists.image, segment.alive, ours, theirs)
    return Overlap(common, ours, theirs)
