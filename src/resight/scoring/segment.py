"""A segment of an index, as scoring sees it: the lists of some pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..postings import Lists, cells, count, worth_cells
from ..types import Float32, Float64, Int32, Int64, UInt32
from ..vocabulary import Vocabulary
from . import kernels

P = ParamSpec("P")
T = TypeVar("T")


class ReadLists(Protocol):
    def __call__(self, words: Int32 | None, *columns: str) -> Lists:
        """The lists, once those of the given words (None: all) are known to be undamaged in these columns."""


class ReadCells(Protocol):
    def __call__(self, words: Int32) -> UInt32:
        """(K, clusters + 1): where in each list the pictures of each cluster begin, known to be right for the words."""


class Tables(NamedTuple):
    """What codes stand for: the word's centroid, plus for each piece of the descriptor an entry of its book."""

    centroids: Float32  # (K, d)
    books: Float32  # (pieces, d / pieces, 256)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Tables:
        assert vocabulary.codebooks is not None
        books = np.ascontiguousarray(vocabulary.codebooks.transpose(0, 2, 1), np.float32)
        return cls(vocabulary.centroids.astype(np.float32), books)


@dataclass(eq=False)
class SegmentView:
    """The lists of some pictures. Knows nothing of other segments: what weighs words comes from the collection."""

    read: ReadLists
    squared: Int64  # (n,) Σ tf² of each picture
    alive: npt.NDArray[np.bool_]  # (n,) False for removed pictures: they neither score nor count
    bounds: Int64 | None = None  # (clusters + 1,) pictures bounds[c] … bounds[c + 1] are those of cluster c
    cells: ReadCells | None = None  # only where lists are long enough to be worth it
    tables: Callable[[], Tables] | None = None  # where the lists hold codes; else they may hold descriptors
    stored_alone: Float32 | None = None  # (n,) what pictures score against an empty query, by the learnt similarity

    @classmethod
    def of(cls, lists: Lists, *, pictures: int, bounds: Int64 | None = None) -> SegmentView:
        """Lists in memory, of pictures that are all alive, and in the order of clusters if their bounds are given."""
        alive = np.ones(pictures, np.bool_)
        _, _, _, squared = count(lists, alive)
        places = cells(lists, bounds) if bounds is not None and worth_cells(lists, bounds) else None
        read = None if places is None else lambda words: places
        return cls(lambda words, *columns: lists, squared, alive, bounds, read)

    def within(self, span: range) -> SegmentView:
        """The same pictures as if these words were all there are: counted from 0 on, with norms of their own."""

        def read(words: Int32 | None, *columns: str) -> Lists:
            return self.read(None if words is None else words + np.int32(span.start), *columns).within(span)

        def places(words: Int32) -> UInt32:
            assert self.cells
            return self.cells(words + np.int32(span.start))[span.start : span.stop]

        _, _, _, squared = count(read(None, "image"), np.ones(self.pictures, np.bool_))
        return SegmentView(read, squared, self.alive, self.bounds, places if self.cells else None)

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
    def length(self) -> Int64:
        """How many features each picture has; one that has several words counts as often."""
        return count(self.read(None, "image"), np.ones(self.pictures, np.bool_))[2]

    @cached_property
    def features(self) -> int:
        """Of all living pictures."""
        return int(self.length[self.alive].sum())

    @cached_property
    def inverse_norm(self) -> Float32:
        """1 / L2 norm of the plain word counts."""
        return inverse(np.sqrt(self.squared))


def inverse(norms: Float64) -> Float32:
    """1 / norm, and 0 for a picture without weight: it then scores 0 instead of NaN."""
    return np.divide(1, norms, out=np.zeros_like(norms, dtype=np.float64), where=norms > 0).astype(np.float32)


def per_segment(compute: Callable[Concatenate[SegmentView, P], T]) -> Callable[Concatenate[SegmentView, P], T]:
    """The last result for each segment is kept as long as it, and used where the other arguments are the same."""
    known: WeakKeyDictionary[SegmentView, tuple[tuple[object, ...], T]] = WeakKeyDictionary()

    @wraps(compute)
    def kept(segment: SegmentView, /, *others: P.args, **none: P.kwargs) -> T:
        found = known.get(segment)
        if found is None or found[0] != others:
            known[segment] = found = others, compute(segment, *others, **none)
        return found[1]

    return kept
