"""Pairs of pictures → how often each pair of counts occurs, in each group of words (LEARN-14: Ψ)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .._numba import kernel
from ..postings import Lists
from ..scoring.kernels import after_picture
from ..types import Bytes, Float32, Float64, Int32, Int64, UInt32

FEW = 10  # less than one word in so many has counts above the truncation (§4.1)


@dataclass(frozen=True, slots=True)
class TrainingQuery:
    """A query whose answer is known."""

    word: Int32  # of each of its features
    relevant: Int64  # pictures of the collection
    ignored: Int64  # pictures that are neither: itself, and junk

    def fewer(self, count: int, rng: np.random.Generator) -> TrainingQuery:
        """With no more relevant pictures than this, drawn at random; the others are ignored."""
        relevant = rng.permutation(self.relevant)
        ignored = np.concatenate([self.ignored, relevant[count:]])
        return TrainingQuery(self.word, np.sort(relevant[:count]), np.sort(ignored))


@dataclass(frozen=True)
class Pairs:
    """Each query with its relevant pictures, then with irrelevant ones: rows first[q] … first[q + 1]."""

    counts: Float32  # (rows, groups, (n + 1)²): how many words of the group have this pair of counts
    first: Int64  # (queries + 1,)
    relevant: Int64  # (queries,) how many of each query's rows are

    @property
    def levelled(self) -> Pairs:
        """The counts of each query in units of how much it varies how many words irrelevant pictures share with it.

        A factor of the query alone changes no ranking (eq. 4: τ(q)). Without it, queries full of repeated texture,
        whose scores vary most, would drown out all others.
        """
        side = int(np.sqrt(self.counts.shape[2]))
        shared = self.counts.reshape(len(self.counts), -1, side, side)[:, :, 1:, 1:].sum(axis=(1, 2, 3))
        irrelevant = zip(self.first[:-1] + self.relevant, self.first[1:], strict=True)
        units = np.array([max(float(shared[begin:end].std()), 1) for begin, end in irrelevant], np.float32)
        return replace(self, counts=self.counts / np.repeat(units, np.diff(self.first))[:, None, None])

    def within(self, pattern: Bytes) -> Problem:
        """The counts of each bin of a pattern, added up."""
        bins = int(pattern.max()) + 1
        chosen = (pattern.ravel()[:, None] == np.arange(bins)).astype(np.float32)
        return Problem((self.counts @ chosen).reshape(len(self.counts), -1), self.first, self.relevant)


@dataclass(frozen=True)
class Problem:
    """The same rows, in numbers that weights are to be found for."""

    values: Float32  # (rows, weights)
    first: Int64
    relevant: Int64

    def of(self, queries: Int64) -> Problem:
        """Those of some queries."""
        rows = np.concatenate([np.arange(self.first[q], self.first[q + 1]) for q in queries.tolist()])
        first = np.concatenate([[0], np.cumsum(np.diff(self.first)[queries])])
        return Problem(self.values[rows], first, self.relevant[queries])

    @property
    def centred(self) -> Problem:
        """Values relative to the mean of their query's: only differences between its rows matter."""
        lengths = np.diff(self.first)
        means = np.add.reduceat(self.values, self.first[:-1], axis=0) / lengths[:, None].astype(np.float32)
        return replace(self, values=self.values - np.repeat(means, lengths, axis=0))

    def map(self, weights: Float64) -> float:
        """Mean average precision of the queries, each of which ranks its own rows by these weights."""
        return self.map_of(self.values @ weights)

    def map_of(self, scores: Float64) -> float:
        """The same, by these scores. Irrelevant pictures come first among equals."""
        found = np.zeros(len(self.relevant))
        average_precisions(scores, self.first, self.relevant, found)
        return float(found.mean())


def truncation(lists: Lists) -> int:
    """n: the smallest count that less than a tenth of the words that occur exceed, in any picture (§4.1)."""
    largest = np.zeros(lists.words, np.int64)
    largest_counts(lists.offsets, lists.image, largest)
    seen = largest[largest > 0]
    return next((n for n in range(1, int(seen.max(initial=1)) + 1) if FEW * (seen > n).sum() < len(seen)), 1)


def pair_up(
    asked: Sequence[TrainingQuery], lists: Lists, *, pictures: int, group: Bytes, most: int, candidates: Sequence[Int64]
) -> Pairs:
    """Count pairs of counts, up to ``most``, of each query with its relevant pictures and its irrelevant candidates."""
    groups, sizes = int(group.max()) + 1, np.bincount(group)
    own = np.zeros((pictures, groups, most + 1), np.int64)
    count_words(group, lists.offsets, lists.image, own)
    lengths = [len(a.relevant) + len(c) for a, c in zip(asked, candidates, strict=True)]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    counts = np.zeros((first[-1], groups, most + 1, most + 1), np.float32)
    row_of = np.full(pictures, -1, np.int64)
    for query, irrelevant, (begin, end) in zip(asked, candidates, pairwise(first.tolist()), strict=True):
        shown = np.concatenate([query.relevant, irrelevant])
        row_of[shown] = np.arange(begin, end)
        word, count = np.unique(query.word, return_counts=True)
        count = np.minimum(count, most)
        count_shared(word, count, group, lists.offsets, lists.image, row_of, counts)
        mine = np.zeros((groups, most + 1), np.int64)
        np.add.at(mine, (group[word], count), 1)
        block = counts[begin:end]
        # What one of the two lacks follows from what both have.
        block[:, :, 1:, 0] = mine[:, 1:] - block[:, :, 1:, 1:].sum(axis=3)
        block[:, :, 0, 1:] = own[shown][:, :, 1:] - block[:, :, 1:, 1:].sum(axis=2)
        block[:, :, 0, 0] = sizes - block.sum(axis=(2, 3))
        row_of[shown] = -1
    relevant = np.array([len(a.relevant) for a in asked], np.int64)
    return Pairs(counts.reshape(len(counts), groups, -1), first, relevant)


@kernel
def largest_counts(offsets: Int64, list_image: UInt32, largest: Int64) -> None:
    """largest[word] = the most often that a picture has it."""
    for word in range(len(offsets) - 1):
        posting, stop = np.uint64(offsets[word]), np.uint64(offsets[word + 1])
        while posting < stop:
            start, posting = posting, after_picture(posting, stop, list_image)
            largest[word] = max(largest[word], np.int64(posting - start))


@kernel
def count_words(group: Bytes, offsets: Int64, list_image: UInt32, own: Int64) -> None:
    """own[image, g, l] = how many words of group g the picture has l times."""
    most = own.shape[2] - 1
    for word in range(len(offsets) - 1):
        posting, stop = np.uint64(offsets[word]), np.uint64(offsets[word + 1])
        while posting < stop:
            start, posting = posting, after_picture(posting, stop, list_image)
            own[list_image[start], group[word], min(np.int64(posting - start), most)] += 1


@kernel
def count_shared(
    word: Int32, count: Int64, group: Bytes, offsets: Int64, list_image: UInt32, row_of: Int64, counts: Float32
) -> None:
    """counts[row, g, j, l] += 1 for every word of the query that a picture with a row ≥ 0 has, too."""
    most = counts.shape[3] - 1
    for i in range(len(word)):
        posting, stop = np.uint64(offsets[word[i]]), np.uint64(offsets[word[i] + 1])
        while posting < stop:
            start, posting = posting, after_picture(posting, stop, list_image)
            row = row_of[list_image[start]]
            if row >= 0:
                counts[row, group[word[i]], count[i], min(np.int64(posting - start), most)] += 1


@kernel
def average_precisions(scores: Float64, first: Int64, relevant: Int64, found: Float64) -> None:
    """found[q] = AP by trapezoids, as evaluation/measures.py has it, of the query's rows ranked by score."""
    for q in range(len(relevant)):
        begin, middle, end = first[q], first[q] + relevant[q], first[q + 1]
        good = -np.sort(-scores[begin:middle])
        for i in range(len(good)):
            above = 0
            for row in range(middle, end):
                above += scores[row] >= good[i]
            rank = above + i + 1
            before = i / (rank - 1) if rank > 1 else 1.0
            found[q] += (before + (i + 1) / rank) / 2 / len(good)
