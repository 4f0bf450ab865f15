"""Queries → a request that every searcher can work on by itself: statistics of all segments are summed up first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..postings import build
from ..recipes import Recipe
from ..scoring import Query, SegmentView, Totals, measure_of, query_totals, score
from ..types import Float64
from .group import SegmentGroup
from .request import Pictures, Place, SearchRequest
from .scores import scales


def choose_pictures(
    group: SegmentGroup, queries: Sequence[Query], recipe: Recipe
) -> tuple[Pictures | None, Pictures | None]:
    """Which pictures to score, and which of these stand for all; None: all are scored, all do."""
    options = recipe.clusters
    if group.empty or not options.probe:
        return None, None
    visits = group.snapshot.visits([query.words for query in queries], options.probe)
    nearest = group.nearest(visits, options.scored, recipe)
    if not recipe.verify.shortlist:
        return nearest, None
    both, none = nearest.keys() | group.sample.keys(), np.zeros(0, np.int64)
    scored = {number: np.union1d(nearest.get(number, none), group.sample.get(number, none)) for number in both}
    return scored, group.sample


def prepare(
    group: SegmentGroup,
    queries: Sequence[Query],
    recipe: Recipe,
    *,
    pictures: Pictures | None = None,
    background: Pictures | None = None,
) -> SearchRequest:
    """Sum up what the queries' scores depend on, over all segments."""
    request = SearchRequest(
        queries=queries if group.in_one_place else [query.without_descriptors for query in queries],
        recipe=recipe,
        collections=group.collections(recipe.scoring),
        pictures=pictures,
        background=background,
        totals=[],
    )
    return _with_scales(group, replace(request, totals=_totals(group, request)))


def extend(
    group: SegmentGroup, request: SearchRequest, queries: Sequence[Query], sources: Sequence[Place]
) -> SearchRequest:
    """The same search with more queries: those of indexed pictures, the sources. Scores that are kept stay valid."""
    more = _totals(group, replace(request, queries=queries))
    extended = replace(request, queries=[*request.queries, *queries], totals=[*request.totals, *more], sources=sources)
    return _with_scales(group, extended)


def _totals(
    group: SegmentGroup, request: SearchRequest, own: Sequence[Sequence[SegmentView]] | None = None
) -> list[list[Totals]]:
    """The statistics of each query, in each vocabulary; own: a segment for each that counts as if it were one more."""
    measure, rounds = measure_of(request.recipe.scoring), 0
    if request.collections:
        rounds = measure.rounds(request.recipe.scoring)
    totals: list[list[Totals]] = [[() for _ in request.collections] for _ in request.queries]
    for _ in range(rounds):
        counted = group.statistics(replace(request, totals=totals))
        for number, query in enumerate(request.queries):
            for v, span in enumerate(group.snapshot.spans):
                total, before = counted[number][v], totals[number][v]
                if own:
                    mine = query.within(span), [own[number][v]]
                    total = total + measure.statistics(*mine, request.scope(v), before)
                totals[number][v] = (*before, total)
    return totals


def _with_scales(group: SegmentGroup, request: SearchRequest) -> SearchRequest:
    """With what brings the scores of several queries to one scale."""
    if len(request.queries) == 1 or not request.collections:
        return request
    return replace(request, scales=scales(self_scores(group, request)))


def self_scores(group: SegmentGroup, request: SearchRequest) -> Float64:
    """(queries, vocabularies) what a picture with a query's very features, each with its nearest word, would score."""
    snapshot, options = group.snapshot, request.recipe.scoring
    queries = [_nearest_words(query, snapshot.spans) for query in request.queries]
    own = [[_only_picture(query.within(span), len(span)) for span in snapshot.spans] for query in queries]
    nearest = replace(request, queries=queries)
    by_ratio = options.ratio_mixture is not None  # which depends on all that there is
    totals = _totals(group, nearest, own) if by_ratio else None
    others = snapshot.views if by_ratio and measure_of(options).in_one_place else [[]] * len(snapshot.spans)
    scores = np.zeros((len(queries), len(snapshot.spans)))
    for number, query in enumerate(queries):
        for v, span in enumerate(snapshot.spans):
            mine, segments, scope = query.within(span), [*others[v], own[number][v]], nearest.scope(v)
            known = totals[number][v] if totals else query_totals(mine, segments, scope)
            scores[number, v] = score(mine, segments, scope, known)[-1][0]
    return scores


def _nearest_words(query: Query, spans: Sequence[range]) -> Query:
    """With one word for each feature, in each vocabulary."""
    words, kept = query.words, np.zeros(len(query.words), np.bool_)
    for span in spans:
        mine = np.flatnonzero((words.word >= span.start) & (words.word < span.stop))
        kept[mine[np.unique(words.feature[mine], return_index=True)[1]]] = True
    return replace(query, words=words.rows(kept))


def _only_picture(query: Query, words: int) -> SegmentView:
    """A segment of one picture, which has the query's features."""
    stored = query.words
    if query.descriptors is not None:
        kept = np.ascontiguousarray(query.descriptors[stored.feature]).view(np.uint8)
        stored = replace(stored, code=kept)
    return SegmentView.of(build([(stored, query.geometry)], words=words), pictures=1)
