"""A query and the segments of an index, as scoring sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..postings import GEOMETRY, Lists, cells, count, worth_cells
from ..types import Bytes, Float32, Float64, Int32, Int64, UInt32, Words
from ..vocabulary import Vocabulary
from . import kernels
from .similarity import Similarity
from .sums import HERE, Sums

ReadSimilarity = Callable[[], Similarity | None]


class ReadLists(Protocol):
    def __call__(self, words: Int32 | None, *columns: str) -> Lists:
        """The lists, once those of the given words (None: all) are known to be undamaged in these columns."""


class ReadCells(Protocol):
    def __call__(self, words: Int32) -> UInt32:
        """(K, clusters + 1): where in each list the pictures of each cluster begin, known to be right for the words."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query's quantised features."""

    words: Words
    # (features,) GEOMETRY or SHAPED codes: row i of the words is at geometry[words.feature[i]]
    geometry: npt.NDArray[Any]
    descriptors: Bytes | Float32 | None = None  # (features, d) where they are known

    @classmethod
    def of_words(cls, word: Int32) -> Query:
        """Features of which nothing is known but their words, one each."""
        feature = np.arange(len(word), dtype=np.int32)
        return cls(Words(feature, word, np.zeros(len(word), np.uint64)), np.zeros(len(word), GEOMETRY))


class Tables(NamedTuple):
    """What codes stand for: the word's centroid, plus for each piece of the descriptor an entry of its book."""

    centroids: Float32  # (K, d)
    books: Float32  # (pieces, d / pieces, 256)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Tables:
        assert vocabulary.codebooks is not None
        books = np.ascontiguousarray(vocabulary.codebooks.transpose(0, 2, 1), np.float32)
        return cls(vocabulary.centroids.astype(np.float32), books)


@dataclass
class Part:
    """Lists of some pictures, and the statistics that weigh them."""

    read: ReadLists
    squared: Int64  # (n,) Σ tf² of each picture
    alive: npt.NDArray[np.bool_]  # (n,) False for removed pictures: they neither score nor count
    idf: Float32  # (K,) of the whole collection, not of this part alone
    bounds: Int64 | None = None  # (clusters + 1,) pictures bounds[c] … bounds[c + 1] are those of cluster c
    cells: ReadCells | None = None  # only where lists are long enough to be worth it
    tables: Callable[[], Tables] | None = None  # where the lists hold codes; else they may hold descriptors
    among: Whole | None = None  # the collection; None: this part is all of it
    known_alone: Float32 | None = None  # (n,) ``alone``, where it is stored

    @classmethod
    def of(
        cls, lists: Lists, *, pictures: int, idf: Float32, bounds: Int64 | None = None, among: Whole | None = None
    ) -> Part:
        """Lists in memory, of pictures that are all alive, and in the order of clusters if their bounds are given."""
        alive = np.ones(pictures, np.bool_)
        _, _, _, squared = count(lists, alive)
        places = cells(lists, bounds) if bounds is not None and worth_cells(lists, bounds) else None
        read = None if places is None else lambda words: places
        return cls(lambda words, *columns: lists, squared, alive, idf, bounds, read, among=among)

    def within(self, span: range) -> Part:
        """The same pictures as if these words were all there are: counted from 0 on, with norms of their own."""

        def read(words: Int32 | None, *columns: str) -> Lists:
            return self.read(None if words is None else words + np.int32(span.start), *columns).within(span)

        def places(words: Int32) -> UInt32:
            assert self.cells
            return self.cells(words + np.int32(span.start))[span.start : span.stop]

        _, _, _, squared = count(read(None, "image"), np.ones(self.pictures, np.bool_))
        idf = self.idf[span.start : span.stop]
        return Part(read, squared, self.alive, idf, self.bounds, places if self.cells else None)

    @property
    def pictures(self) -> int:
        return len(self.squared)

    def find(self, word: Int32, clusters: Int64 | None, *columns: str) -> tuple[Int64 | slice, Int32, Lists]:
        """Where the words are found in these clusters (None: in all): rows of ``word``, places, lists.

        Row row[i] is to look at the postings from offsets[place[i]] to offsets[place[i] + 1] of the lists. Without
        cells there are more among them, of other clusters, whose pictures are not ``seen``.
        """
        lists = self.read(word, *columns)
        if clusters is None or self.cells is None:
            return slice(None), word, lists
        # Clusters that follow each other are looked at in one go.
        last = np.flatnonzero(np.diff(clusters, append=-1) != 1)
        first = np.concatenate([[0], last[:-1] + 1])
        room = len(word) * len(first)
        row, ends = np.empty(room, np.int64), np.empty((room, 2), np.int64)
        places, offsets = self.cells(word), lists.offsets
        found = kernels.find_cells(word, clusters[first], clusters[last] + 1, offsets, places, row, ends)
        offsets = ends[:found].reshape(-1)
        offsets.setflags(write=False)  # as those of stored lists are
        return row[:found], np.arange(0, 2 * found, 2, dtype=np.int32), replace(lists, offsets=offsets)

    def seen(self, clusters: Int64 | None) -> npt.NDArray[np.bool_]:
        """Which pictures are alive, and in one of these clusters (None: in any)."""
        if clusters is None or self.bounds is None:
            return self.alive
        chosen = np.zeros(len(self.bounds) - 1, np.bool_)
        chosen[clusters] = True
        return self.alive & np.repeat(chosen, np.diff(self.bounds))

    def clusters_of(self, pictures: Int64) -> Int64 | None:
        """The clusters that these pictures are in; None where there are no clusters."""
        return None if self.bounds is None else np.unique(np.searchsorted(self.bounds, pictures, side="right") - 1)

    def living(self, word: Int32) -> Int64:
        """How many features of living pictures have each of these words."""
        lists = self.read(word, "image")
        if self.alive.all():
            return np.diff(lists.offsets)[word]
        counts = np.zeros(len(word), np.int64)
        kernels.count_living(word, lists.offsets, lists.image, self.alive, counts)
        return counts

    @cached_property
    def whole(self) -> Whole:
        """The collection that this is a part of."""
        return self.among or Whole([self])

    @cached_property
    def alone(self) -> Float32:
        """What each picture scores against an empty query, by the collection's learnt similarity."""
        if self.known_alone is not None:
            return self.known_alone
        similarity = self.whole.similarity()
        assert similarity
        return similarity.alone(self.read(None, "image"), self.pictures)

    @cached_property
    def mean_products(self) -> tuple[Float64, Float64]:
        """Σ m_i d_i and Σ idf_i² m_i d_i of each picture d; m is the mean picture of the collection."""
        lists, word = self.read(None, "image"), np.arange(len(self.idf), dtype=np.int32)
        plain, weighted = np.zeros(self.pictures), np.zeros(self.pictures)
        kernels.scan_product(word, self.whole.mean, lists.offsets, lists.image, plain)
        kernels.scan_product(word, self.squared_idf * self.whole.mean, lists.offsets, lists.image, weighted)
        return plain, weighted

    @cached_property
    def squared_idf(self) -> Float64:
        return self.idf.astype(np.float64) ** 2

    @cached_property
    def length(self) -> Int64:
        """How many features each picture has; one that has several words counts as often."""
        return count(self.read(None, "image"), np.ones(self.pictures, np.bool_))[2]

    @cached_property
    def features(self) -> int:
        """Of all living pictures."""
        return int(self.length[self.alive].sum())

    @cached_property
    def inverse_length(self) -> Float64:
        return 1 / np.maximum(self.length, 1)

    @cached_property
    def inverse_norm(self) -> Float32:
        """1 / L2 norm of the plain word counts."""
        return _inverse(np.sqrt(self.squared))

    @cached_property
    def inverse_weighted_l1(self) -> Float32:
        """1 / Σ tf · idf."""
        return _inverse(self._weighted(1))

    @cached_property
    def inverse_weighted_l2(self) -> Float32:
        """1 / sqrt(Σ (tf · idf)²)."""
        return _inverse(np.sqrt(self._weighted(2)))

    def _weighted(self, power: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        lists, norms = self.read(None, "image"), np.zeros(self.pictures, np.float64)
        kernels.weighted_norms(lists.offsets, lists.image, self.idf, power, norms)
        return norms


@dataclass(frozen=True)
class Whole:
    """A collection: the living pictures of all its parts, counted when it is first asked for."""

    parts: Sequence[Part]  # those that are here
    similarity: ReadSimilarity = lambda: None  # learnt for it; None: nothing was
    sums: Sums = HERE

    @cached_property
    def mean(self) -> Float64:
        """(K,) how often a picture has each word, in the mean."""
        word = np.arange(len(self.parts[0].idf), dtype=np.int32)
        counted = self.sums.total("mean", (np.append(part.living(word), part.alive.sum()) for part in self.parts))
        return counted[:-1] / max(int(counted[-1]), 1)

    @cached_property
    def mean_squares(self) -> tuple[float, float]:
        """Σ m_i² and Σ idf_i² m_i² of the mean picture m."""
        squares = self.mean**2
        return float(squares.sum()), float((self.parts[0].squared_idf * squares).sum())

    @cached_property
    def roots(self) -> Float64:
        """(K,) Σ √tf of each word; 1 if no picture has it."""
        return np.maximum(self.sums.total("roots", map(_roots, self.parts)) / kernels.ROOT_UNIT, 1)


def _roots(part: Part) -> Int64:
    lists, total = part.read(None, "image"), np.zeros(len(part.idf), np.int64)
    kernels.sum_roots(lists.offsets, lists.image, part.alive, total)
    return total


def together(parts: Sequence[Part], similarity: ReadSimilarity = lambda: None, sums: Sums = HERE) -> list[Part]:
    """The same, as parts of one collection."""
    whole = Whole(parts, similarity, sums)
    return [replace(part, among=whole) for part in parts]


def _inverse(norms: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Float32:
    """1 / norm, and 0 for a picture without weight: it then scores 0 instead of NaN."""
    return np.divide(1, norms, out=np.zeros_like(norms, dtype=np.float64), where=norms > 0).astype(np.float32)
