"""Density-ratio scores: how much likelier a query's features are in a picture than anywhere (DRE-12).

The descriptors near a feature q are ordered sets D_1, D_2, …, nearest first. A picture with n descriptors in D_t gets
log(λ / (1 − λ) · n |R_all| / ((|D_1| + … + |D_t|) |R_j|) + 1) for it (eq. 10), where |R_j| descriptors are of the
picture and |R_all| of all living ones. Nothing of this is kept: it is counted as a query needs it, so that scores are
right however pictures come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p

import numpy as np

from .._numba import kernel
from ..options import DensityOptions
from ..types import Float32, Float64, Int32, Int64, UInt32, Words
from .measure import Measure, Scope, Totals, sum_of
from .query import Query
from .segment import SegmentView, per_segment


@kernel
def vote(odds: float, count: float, inverse_length: float) -> float:
    """Eq. 10 with odds = λ / (1 − λ) · |R_all| / (|D_1| + … + |D_t|)."""
    return log1p(odds * count * inverse_length)


def prior(features: int, mixture: float) -> float:
    """λ / (1 − λ) · |R_all|."""
    return mixture / (1 - mixture) * features


@per_segment
def inverse_length(segment: SegmentView) -> Float64:
    """1 / |R_j| of each picture."""
    return 1 / np.maximum(segment.length, 1)


class Density(Measure[DensityOptions]):
    """The sets are lists of words: of a feature's nearest word, of the next, … (eq. 12); or of a tree's levels."""

    options = DensityOptions

    def rounds(self, options: DensityOptions) -> int:
        return 1

    def statistics(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[DensityOptions], totals: Totals
    ) -> Int64:
        """How many living features have the word of each row; last, how many there are."""
        return sum_of(np.append(segment.living(query.words.word), segment.features) for segment in segments)

    def score(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[DensityOptions], totals: Totals
    ) -> list[Float32]:
        words = query.words
        ordered, sizes, features = _sets(words), totals[0][:-1], int(totals[0][-1])
        total = np.concatenate([[0], np.cumsum(sizes)])
        # |D_1| + … + |D_t|: up to a set's last row, from its feature's first.
        before = total[np.searchsorted(words.feature, words.feature)]
        within = total[np.searchsorted(ordered, ordered, side="right")] - before
        odds = prior(features, scope.options.mixture) / np.maximum(within, 1)
        scores = []
        for segment in segments:
            place, lists = segment.find(words.word, "image")
            found, length = np.zeros(segment.pictures), segment.own(inverse_length(segment.whole))
            counts, touched = np.zeros(segment.pictures, np.int32), np.zeros(segment.pictures, np.uint32)
            scan_sets(ordered, place, odds, lists.offsets, lists.image, length, counts, touched, found)
            scores.append(found.astype(np.float32))
        return scores


def _sets(words: Words) -> Int64:
    """The set of each row, counted over all features. Rows of a feature, and of a level, follow each other."""
    if words.level is None:
        return np.arange(len(words))
    new = (np.diff(words.feature) != 0) | (np.diff(words.level) != 0)
    return np.concatenate([[0], np.cumsum(new)])[: len(words)]


@kernel
def scan_sets(
    ordered: Int64,
    word: Int32,
    odds: Float64,
    offsets: Int64,
    list_image: UInt32,
    inverse_length: Float64,
    counts: Int32,
    touched: UInt32,
    scores: Float64,
) -> None:
    """Add each set's votes to the scores. ``counts``, all 0, and ``touched`` have room for every picture."""
    row = 0
    while row < len(word):
        first, held = row, 0
        while row < len(word) and ordered[row] == ordered[first]:
            for posting in range(np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])):
                picture = list_image[posting]
                if counts[picture] == 0:
                    touched[held] = picture
                    held += 1
                counts[picture] += 1
            row += 1
        for i in range(held):
            picture = touched[i]
            scores[picture] += vote(odds[first], counts[picture], inverse_length[picture])
            counts[picture] = 0


@kernel
def vote_in_order(
    feature: Int64,
    distance: Float32,
    picture: UInt32,
    most: Int64,
    scale: float,
    weight: Float64,
    inverse_length: Float64,
    scores: Float64,
) -> None:
    """Votes of descriptors, by feature and distance: those that are equally far from a feature are one set.

    Sets count until most[feature] descriptors are in them. With weights, each descriptor gives its feature's instead.
    ``scale`` is the prior; the pictures of a set become sorted.
    """
    at, end = 0, len(feature)
    while at < end:
        mine, begin = feature[at], at
        while at < end and feature[at] == mine:
            first = at
            while at < end and feature[at] == mine and distance[at] == distance[first]:
                at += 1
            if first - begin >= most[mine]:
                continue
            picture[first:at].sort()
            run = first
            for i in range(first, at):
                if i + 1 == at or picture[i + 1] != picture[i]:
                    count, run = i + 1 - run, i + 1
                    if len(weight):
                        scores[picture[i]] += weight[mine] * count
                    else:
                        scores[picture[i]] += vote(scale / (at - begin), count, inverse_length[picture[i]])
