"""Searches segments in this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ..context import contextual
from ..options import ScoringOptions
from ..scoring import Query, best, measure_of, score
from ..store import Row, Snapshot
from ..types import Float32, Int64
from .candidates import Located, locate
from .query import stored_query
from .request import Place, SearchId, SearchRequest
from .scores import Scores, at_one_scale, mean_scores
from .searcher import ScoreHistogram, TopK

T = TypeVar("T")
BIN_SHIFT = 16  # of a float's 32 bits, those that are left out where scores are counted


@dataclass
class Kept:
    """Scores of one search."""

    of_query: dict[tuple[int, int], Scores] = field(default_factory=dict)  # by query and vocabulary
    mean: dict[tuple[int, int], Scores] = field(default_factory=dict)  # by how many queries and vocabulary
    background: dict[int, Float32] = field(default_factory=dict)  # by how many queries


class LocalSearcher:
    """A ``SegmentSearcher`` of an opened snapshot, whose segments have these numbers in the commit."""

    def __init__(self, snapshot: Snapshot, numbers: Sequence[int]) -> None:
        self.snapshot, self._numbers = snapshot, np.array(numbers, np.int64)
        self._here = {number: segment for segment, number in enumerate(numbers)}
        self._kept: WeakKeyDictionary[SearchId, Kept] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def count_words(self, scoring: ScoringOptions) -> list[Int64]:
        return [measure_of(scoring).count_words(views) for views in self.snapshot.views]

    def statistics(self, request: SearchRequest) -> list[list[Int64]]:
        measure = measure_of(request.recipe.scoring)
        return [
            [
                measure.statistics(query.within(span), self.snapshot.views[v], request.scope(v), totals[v])
                for v, span in enumerate(self.snapshot.spans)
            ]
            for query, totals in zip(request.queries, request.totals, strict=True)
        ]

    def top_k(self, request: SearchRequest, count: int) -> TopK:
        by_vocabulary = [self._scores(request, v) for v in range(len(request.collections))]
        together = np.stack([np.concatenate(scores) for scores in by_vocabulary])
        chosen = np.unique(np.concatenate([best(scores, count) for scores in together]))
        starts = np.cumsum([0, *(len(scores) for scores in by_vocabulary[0])])
        segment = np.searchsorted(starts, chosen, side="right") - 1
        return TopK(self._numbers[segment], chosen - starts[segment], together[:, chosen])

    def rows(self, places: Sequence[Place]) -> list[Row]:
        found = {
            (number, row.ordinal): row
            for number, ordinals in _by_segment(places).items()
            for row in self.snapshot.segments[self._here[number]].table.rows(ordinals)
        }
        return [found[place] for place in places]

    def stored_queries(self, pictures: Sequence[tuple[int, Row]], *, descriptors: bool) -> list[Query]:
        segments = self.snapshot.segments
        found = [stored_query(self.snapshot, segments[self._here[number]], row) for number, row in pictures]
        return found if descriptors else [query.without_descriptors for query in found]

    def verify(self, request: SearchRequest, pictures: Sequence[tuple[int, Row]]) -> list[Located | None]:
        found: dict[Place, Located | None] = {}
        for number, rows in _by_segment(pictures).items():
            located = locate(self.snapshot, self._here[number], request.queries, rows, request.recipe)
            found |= {(number, row.ordinal): one for row, one in zip(rows, located, strict=True)}
        return [found[number, row.ordinal] for number, row in pictures]

    def scores(self, request: SearchRequest, places: Sequence[Place]) -> list[float]:
        scores = self._scores(request, 0)
        return [float(scores[self._here[number]][ordinal]) for number, ordinal in places]

    def score_histogram(self, request: SearchRequest) -> ScoreHistogram:
        count = np.bincount(self._background(request).view(np.uint32) >> BIN_SHIFT)
        filled = np.flatnonzero(count)
        return ScoreHistogram(filled, count[filled])

    def scores_in(self, request: SearchRequest, bins: Int64) -> Float32:
        scores = self._background(request)
        return scores[np.isin(scores.view(np.uint32) >> BIN_SHIFT, bins)]

    def _background(self, request: SearchRequest) -> Float32:
        """The positive scores of pictures in the clusters that stand for all."""
        kept, known = self._kept_for(request), len(request.queries)
        if known not in kept.background:
            views = zip(self._scores(request, 0), self.snapshot.views[0], strict=True)
            positive = [scores[(scores > 0) & view.seen(request.background)] for scores, view in views]
            kept.background[known] = np.concatenate(positive)
        return kept.background[known]

    def _kept_for(self, request: SearchRequest) -> Kept:
        with self._lock:
            return self._kept.setdefault(request.id, Kept())

    def _scores(self, request: SearchRequest, vocabulary: int) -> Scores:
        """Of all queries together, in one vocabulary."""
        kept, known = self._kept_for(request), (len(request.queries), vocabulary)
        if known not in kept.mean:
            each = [self._scores_of(request, number, vocabulary, kept) for number in range(len(request.queries))]
            scales = None if request.scales is None else request.scales[:, vocabulary]
            sources = [(self._here[n], ordinal) if n in self._here else None for n, ordinal in request.sources]
            kept.mean[known] = mean_scores(at_one_scale(each, scales), sources)
        return kept.mean[known]

    def _scores_of(self, request: SearchRequest, number: int, vocabulary: int, kept: Kept) -> Scores:
        """Of one query, in one vocabulary."""
        if (number, vocabulary) not in kept.of_query:
            snapshot, scoring, context = self.snapshot, request.recipe.scoring, request.recipe.context
            query, totals = request.queries[number].within(snapshot.spans[vocabulary]), request.totals[number]
            scores = score(query, snapshot.views[vocabulary], request.scope(vocabulary), totals[vocabulary])
            if context.method != "none":
                terms = snapshot.terms(scoring, context)[vocabulary]
                scores = [contextual(scoring.measure, s, t) for s, t in zip(scores, terms, strict=True)]
            kept.of_query[number, vocabulary] = scores
        return kept.of_query[number, vocabulary]

    def close(self) -> None:
        """Let the files go."""
        self._kept.clear()
        self.snapshot.close()


def _by_segment(items: Sequence[tuple[int, T]]) -> dict[int, list[T]]:
    found: dict[int, list[T]] = {}
    for number, item in items:
        found.setdefault(number, []).append(item)
    return found
