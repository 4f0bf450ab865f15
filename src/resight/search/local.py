"""Searches segments in this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ..clusters import Visit, compared
from ..context import contextual
from ..options import ScoringOptions
from ..recipes import Recipe
from ..scoring import Query, best, largest, measure_of, score
from ..store import Row, Snapshot
from ..types import Float32, Int64
from .candidates import Located, locate
from .query import stored_query
from .request import Pictures, Place, SearchId, SearchRequest
from .scores import Scores, at_one_scale, mean_scores
from .searcher import Nearest, ScoreHistogram, TopK

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

    def nearest(self, visits: Sequence[Visit], count: int, recipe: Recipe | None) -> list[Nearest]:
        terms = None
        if recipe and recipe.context.method != "none":
            terms = self.snapshot.terms(recipe.scoring, recipe.context)[0]
        return [self._nearest(visit, count, terms) for visit in visits]

    def _nearest(self, visit: Visit, count: int, terms: Sequence[Float32] | None) -> Nearest:
        found = []
        for place, segment in enumerate(self.snapshot.segments):
            assert segment.placed
            assert segment.bounds is not None
            picture, distance = compared(segment.placed.code, segment.bounds, visit)
            if len(segment.dead.ordinals):
                alive = segment.alive[picture]
                picture, distance = picture[alive], distance[alive]
            if terms:
                distance *= terms[place][picture] ** 2
            chosen = largest(-distance, count)
            found.append((np.full(len(chosen), self._numbers[place]), picture[chosen], distance[chosen]))
        return Nearest(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def top_k(self, request: SearchRequest, count: int) -> TopK:
        by_vocabulary = [self._scores(request, v) for v in range(len(request.collections))]
        together = np.stack([np.concatenate(scores) for scores in by_vocabulary])
        chosen = np.unique(np.concatenate([best(scores, count) for scores in together]))
        starts = np.cumsum([0, *(len(scores) for scores in by_vocabulary[0])])
        segment = np.searchsorted(starts, chosen, side="right") - 1
        ordinal = chosen - starts[segment]
        if request.pictures is not None:
            ordinal = np.concatenate(self._chosen(request))[chosen]
        return TopK(self._numbers[segment], ordinal, together[:, chosen])

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
        if request.pictures is not None:  # these may not be among them
            here = _by_segment(places)
            pictures = {number: np.unique(ordinals) for number, ordinals in here.items()}
            request = replace(request, pictures=pictures, id=SearchId())
        scores = self._scores(request, 0)
        rows = [self._row(request, place) for place in places]
        return [float(scores[row[0]][row[1]]) for row in rows if row]

    def score_histogram(self, request: SearchRequest) -> ScoreHistogram:
        count = np.bincount(self._background(request).view(np.uint32) >> BIN_SHIFT)
        filled = np.flatnonzero(count)
        return ScoreHistogram(filled, count[filled])

    def scores_in(self, request: SearchRequest, bins: Int64) -> Float32:
        scores = self._background(request)
        return scores[np.isin(scores.view(np.uint32) >> BIN_SHIFT, bins)]

    def _background(self, request: SearchRequest) -> Float32:
        """The positive scores of pictures that stand for all."""
        kept, known = self._kept_for(request), len(request.queries)
        if known not in kept.background:
            scores = np.concatenate(self._scores(request, 0))
            if request.background is not None:
                chosen = zip(self._chosen(request), self._of_segments(request.background), strict=True)
                scores = scores[np.concatenate([np.isin(*pair) for pair in chosen])]
            kept.background[known] = scores[scores > 0]
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
            sources = [self._row(request, place) for place in request.sources]
            kept.mean[known] = mean_scores(at_one_scale(each, scales), sources)
        return kept.mean[known]

    def _scores_of(self, request: SearchRequest, number: int, vocabulary: int, kept: Kept) -> Scores:
        """Of one query, in one vocabulary."""
        if (number, vocabulary) not in kept.of_query:
            snapshot, scoring, context = self.snapshot, request.recipe.scoring, request.recipe.context
            query, totals = request.queries[number].within(snapshot.spans[vocabulary]), request.totals[number]
            views = snapshot.views[vocabulary]
            if request.pictures is not None:
                views = [view.only(chosen) for view, chosen in zip(views, self._chosen(request), strict=True)]
            scores = score(query, views, request.scope(vocabulary), totals[vocabulary])
            if context.method != "none":
                found = zip(views, snapshot.terms(scoring, context)[vocabulary], strict=True)
                terms = [view.own(of_all) for view, of_all in found]
                scores = [contextual(scoring.measure, s, t) for s, t in zip(scores, terms, strict=True)]
            kept.of_query[number, vocabulary] = scores
        return kept.of_query[number, vocabulary]

    def _chosen(self, request: SearchRequest) -> list[Int64]:
        """The pictures of each segment that are scored."""
        assert request.pictures is not None
        return self._of_segments(request.pictures)

    def _of_segments(self, pictures: Pictures) -> list[Int64]:
        return [pictures.get(number, np.zeros(0, np.int64)) for number in self._numbers.tolist()]

    def _row(self, request: SearchRequest, place: Place) -> tuple[int, int] | None:
        """Where in the scores a picture is: its segment here and its row there; None if it is not scored here."""
        number, ordinal = place
        if number not in self._here:
            return None
        if request.pictures is None:
            return self._here[number], ordinal
        chosen = request.pictures.get(number, np.zeros(0, np.int64))
        row = int(np.searchsorted(chosen, ordinal))
        return (self._here[number], row) if row < len(chosen) and chosen[row] == ordinal else None

    def close(self) -> None:
        """Let the files go."""
        self._kept.clear()
        self.snapshot.close()


def _by_segment(items: Sequence[tuple[int, T]]) -> dict[int, list[T]]:
    found: dict[int, list[T]] = {}
    for number, item in items:
        found.setdefault(number, []).append(item)
    return found
