"""A segment of an index, as scoring sees it: the lists of some pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..postings import Forward, Lists, count, whole_forward
from ..types import Float32, Float64, Int32, Int64
from ..vocabulary import Vocabulary
from . import kernels

P = ParamSpec("P")
T = TypeVar("T")
AnyArray = TypeVar("AnyArray", bound=npt.NDArray[Any])


class ReadLists(Protocol):
    def __call__(self, words: Int32 | None, *columns: str) -> Lists:
        """The lists, once those of the given words (None: all) are known to be undamaged in these columns."""


class ReadForward(Protocol):
    def __call__(self, pictures: Int64, *columns: str) -> Forward:
        """The forward index of all pictures, once these are known to be undamaged in these columns, and in words."""


class Tables(NamedTuple):
    """What codes stand for: the word's centroid, plus for each piece of the descriptor an entry of its book."""

    centroids: Float32  # (K, d)
    books: Float32  # (pieces, d / pieces, 256)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Tables:
        assert vocabulary.codebooks is not None
        books = np.ascontiguousarray(vocabulary.codebooks.transpose(0, 2, 1), np.float32)
        return cls(vocabulary.centroids.astype(np.float32), books)


class Part(NamedTuple):
    """Some pictures of a segment."""

    whole: SegmentView
    pictures: Int64


@dataclass(eq=False)
class SegmentView:
    """The lists of some pictures. Knows nothing of other segments: what weighs words comes from the collection."""

    read: ReadLists
    squared: Int64  # (n,) Σ tf² of each picture
    alive: npt.NDArray[np.bool_]  # (n,) False for removed pictures: they neither score nor count
    bounds: Int64 | None = None  # (clusters + 1,) pictures bounds[c] … bounds[c + 1] are those of cluster c
    forward: ReadForward | None = None  # what ``only`` needs
    first_word: int = 0  # of those that the forward index counts
    tables: Callable[[], Tables] | None = None  # where the lists hold codes; else they may hold descriptors
    stored_alone: Float32 | None = None  # (n,) what pictures score against an empty query, by the learnt similarity
    part: Part | None = None  # if these are not all pictures of a segment

    @classmethod
    def of(cls, lists: Lists, *, pictures: int, bounds: Int64 | None = None) -> SegmentView:
        """Lists in memory, of pictures that are all alive, and in the order of clusters if their bounds are given."""
        alive = np.ones(pictures, np.bool_)
        _, _, _, squared = count(lists, alive)
        forward = cache(lambda: whole_forward(lists, pictures=pictures))
        return cls(lambda words, *columns: lists, squared, alive, bounds, lambda chosen, *columns: forward())

    def within(self, span: range) -> SegmentView:
        """The same pictures as if these words were all there are: counted from 0 on, with norms of their own."""

        def read(words: Int32 | None, *columns: str) -> Lists:
            return self.read(None if words is None else words + np.int32(span.start), *columns).within(span)

        _, _, _, squared = count(read(None, "image"), np.ones(self.pictures, np.bool_))
        return SegmentView(read, squared, self.alive, self.bounds, self.forward, self.first_word + span.start)

    def only(self, pictures: Int64) -> SegmentView:
        """These pictures alone, counted as they are given; their scores are those that they have among all."""
        return replace(self, squared=self.squared[pictures], alive=self.alive[pictures], part=Part(self, pictures))

    @property
    def whole(self) -> SegmentView:
        """All pictures of the segment."""
        return self.part.whole if self.part else self

    def own(self, values: AnyArray) -> AnyArray:
        """Of the values of all pictures, along the last axis, those of these."""
        return values[..., self.part.pictures] if self.part else values  # type: ignore[return-value]

    @property
    def pictures(self) -> int:
        return len(self.squared)

    def find(self, word: Int32, *columns: str) -> tuple[Int32, Lists]:
        """Where the lists of the words are: those of word[i] are offsets[place[i]] … offsets[place[i] + 1]."""
        if self.part is None:
            return word, self.read(word, *columns)
        assert self.forward
        pictures = self.part.pictures
        return self.forward(pictures, *columns).lists(pictures, word + np.int32(self.first_word), *columns)

    def pictures_in(self, clusters: Int64) -> Int64:
        """The pictures of these clusters, which are sorted."""
        assert self.bounds is not None
        spans = zip(self.bounds[clusters].tolist(), self.bounds[clusters + 1].tolist(), strict=True)
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(begin, end) for begin, end in spans)])

    def cluster_of(self, picture: int) -> int:
        assert self.bounds is not None
        return int(np.searchsorted(self.bounds, picture, side="right")) - 1

    def living(self, word: Int32) -> Int64:
        """How many features of living pictures have each of these words."""
        assert self.part is None, "lists are those of all pictures"
        lists = self.read(word, "image")
        if self.alive.all():
            return np.diff(lists.offsets)[word]
        counts = np.zeros(len(word), np.int64)
        kernels.count_living(word, lists.offsets, lists.image, self.alive, counts)
        return counts

    @cached_property
    def length(self) -> Int64:
        """How many features each picture has; one that has several words counts as often."""
        if self.part:
            return self.own(self.whole.length)
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
