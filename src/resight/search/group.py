"""All segments of a commit, shared out among searchers: what they say is put together here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Protocol, TypeVar

import numpy as np

from ..clusters import Visit
from ..options import ScoringOptions
from ..recipes import Recipe
from ..scoring import CollectionStatistics, Query, largest
from ..store import Manifest, Row, Snapshot
from ..types import Float32, Int64
from .candidates import Located
from .graph import LinkGraph
from .local import LocalSearcher
from .request import Pictures, Place, SearchRequest
from .searcher import ScoreHistogram, SegmentSearcher, TopK

T = TypeVar("T")
SAMPLED = 16  # pictures of each cluster that stands for all
ItemT = TypeVar("ItemT")


class Searchers(Protocol):
    """Where segments can be searched."""

    def group(self, snapshot: Snapshot) -> SegmentGroup:
        """The segments of a commit, each with one of the searchers."""
        ...


class SegmentGroup:
    """The searchers of one commit. May be called by several threads at once."""

    def __init__(
        self,
        snapshot: Snapshot,
        searchers: Sequence[SegmentSearcher],
        shards: Sequence[Sequence[int]],
        *,
        in_one_place: bool = False,
    ) -> None:
        """shards: the numbers of each searcher's segments; in_one_place: there is one, and it is in this process."""
        self.snapshot, self.in_one_place = snapshot, in_one_place
        self._searchers = searchers
        self._searcher_of = {number: n for n, numbers in enumerate(shards) for number in numbers}
        self._collections: dict[str, list[CollectionStatistics]] = {}  # by measure
        self._lock = threading.Lock()

    @classmethod
    def local(cls, snapshot: Snapshot) -> SegmentGroup:
        """One searcher in this process; none, if there are no segments."""
        shards = [range(len(snapshot.segments))] if snapshot.segments else []
        return cls(snapshot, [LocalSearcher(snapshot, numbers) for numbers in shards], shards, in_one_place=True)

    def collections(self, scoring: ScoringOptions) -> Sequence[CollectionStatistics]:
        """Statistics of the whole commit, in each vocabulary; none, if there are no segments. Counted once."""
        with self._lock:
            if scoring.measure not in self._collections:
                self._collections[scoring.measure] = self._count(scoring) if self._searchers else []
            return self._collections[scoring.measure]

    def _count(self, scoring: ScoringOptions) -> list[CollectionStatistics]:
        snapshot, spans = self.snapshot, self.snapshot.spans
        counts = [sum(each) for each in zip(*self._each(lambda s: s.count_words(scoring)), strict=True)]
        similarity = snapshot.similarity if scoring.measure == "learnt" and len(spans) == 1 else None
        return [
            CollectionStatistics(snapshot.pictures, snapshot.idf[span.start : span.stop], np.asarray(count), similarity)
            for span, count in zip(spans, counts, strict=True)
        ]

    def statistics(self, request: SearchRequest) -> list[list[Int64]]:
        """The next statistics of each query, in each vocabulary, over all segments."""
        of_searchers = self._each(lambda searcher: searcher.statistics(request))
        return [
            [np.asarray(sum(counts)) for counts in zip(*of_query, strict=True)]
            for of_query in zip(*of_searchers, strict=True)
        ]

    def nearest(self, visits: Sequence[Visit], count: int, recipe: Recipe | None = None) -> Pictures:
        """The nearest ``count`` living pictures of each visit, and all that tie with the last: of all segments.

        recipe: whose context terms widen or narrow distances, if it has any.
        """
        found: dict[int, list[Int64]] = {}
        for of_searchers in zip(*self._each(lambda searcher: searcher.nearest(visits, count, recipe)), strict=True):
            segment, ordinal, distance = (np.concatenate(column) for column in zip(*of_searchers, strict=True))
            chosen = largest(-distance, count)
            for number in np.unique(segment[chosen]).tolist():
                found.setdefault(number, []).append(ordinal[chosen][segment[chosen] == number])
        return {number: np.unique(np.concatenate(ordinals)) for number, ordinals in found.items()}

    @cached_property
    def sample(self) -> Pictures:
        """Some pictures that stand for all, the same ones however pictures are spread over segments."""
        assert self.snapshot.clusters
        return self.nearest(self.snapshot.clusters.spread(), SAMPLED)

    def top_k(self, request: SearchRequest, count: int) -> TopK:
        """The best pictures of each searcher: among them the best ``count`` of all, by each vocabulary."""
        found = self._each(lambda searcher: searcher.top_k(request, count))
        segment, ordinal, scores = (np.concatenate(column, axis=-1) for column in zip(*found, strict=True))
        return TopK(segment, ordinal, scores)

    def rows(self, places: Sequence[Place]) -> list[Row]:
        return self._routed(places, lambda searcher, mine: searcher.rows(mine))

    def stored_queries(self, pictures: Sequence[tuple[int, Row]]) -> list[Query]:
        kept = self.in_one_place
        return self._routed(pictures, lambda searcher, mine: searcher.stored_queries(mine, descriptors=kept))

    def verify(self, request: SearchRequest, pictures: Sequence[tuple[int, Row]]) -> list[Located | None]:
        return self._routed(pictures, lambda searcher, mine: searcher.verify(request, mine))

    def scores(self, request: SearchRequest, places: Sequence[Place]) -> list[float]:
        return self._routed(places, lambda searcher, mine: searcher.scores(request, mine))

    def score_histogram(self, request: SearchRequest) -> ScoreHistogram:
        found = self._each(lambda searcher: searcher.score_histogram(request))
        none = np.zeros(0, np.int64)
        filled, place = np.unique(np.concatenate([none, *(each.bins for each in found)]), return_inverse=True)
        count = np.zeros(len(filled), np.int64)
        np.add.at(count, place, np.concatenate([none, *(each.counts for each in found)]))
        return ScoreHistogram(filled, count)

    def scores_in(self, request: SearchRequest, bins: Int64) -> Float32:
        return np.concatenate(self._each(lambda searcher: searcher.scores_in(request, bins)))

    @cached_property
    def links(self) -> LinkGraph:
        """Between the pictures of the commit; put together when they are first asked for."""
        return LinkGraph.of(self.snapshot.segments)

    @property
    def empty(self) -> bool:
        return not self._searchers

    def _each(self, call: Callable[[SegmentSearcher], T]) -> list[T]:
        """What each searcher returns, in order; several work at once."""
        return _at_once([partial(call, searcher) for searcher in self._searchers])

    def _routed(
        self, items: Sequence[tuple[int, ItemT]], call: Callable[[SegmentSearcher, list[tuple[int, ItemT]]], list[T]]
    ) -> list[T]:
        """What the searcher that has an item's segment, whose number comes first in it, returns for each item."""
        mine: dict[int, list[int]] = {}
        for place, (number, _) in enumerate(items):
            mine.setdefault(self._searcher_of[number], []).append(place)
        calls = [partial(call, self._searchers[n], [items[i] for i in some]) for n, some in mine.items()]
        found = _at_once(calls)
        by_place = {
            place: one
            for places, each in zip(mine.values(), found, strict=True)
            for place, one in zip(places, each, strict=True)
        }
        return [by_place[place] for place in range(len(items))]


def _at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    if len(calls) < 2:
        return [call() for call in calls]
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


def share_out(manifest: Manifest, searchers: int) -> list[list[int]]:
    """The numbers of the segments for each of so many searchers: about equally many features; none has no segment.

    The largest first, each to the searcher that has least; of equal ones to that with fewer segments, or to the first.
    """
    shards: list[list[int]] = [[] for _ in range(min(searchers, len(manifest.segments)))]
    load = [0] * len(shards)
    sizes = [segment.features for segment in manifest.segments]
    for number in sorted(range(len(sizes)), key=lambda n: (-sizes[n], n)):
        least = min(range(len(shards)), key=lambda n: (load[n], len(shards[n])))
        shards[least].append(number)
        load[least] += sizes[number]
    return [sorted(numbers) for numbers in shards]
