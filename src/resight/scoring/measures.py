"""The measures by name, and how a query is scored by one. A new measure is a class or a function, and a line here.

Each names the class of its options, which has its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..options import (
    BurstOptions,
    CosineOptions,
    L1Options,
    L2Options,
    LearntOptions,
    NegativeOptions,
    ScoringOptions,
    TfIdfOptions,
    TfOptions,
)
from ..postings import count
from ..types import Float32, Int64
from .collection import Asymmetric, burst, negative, root_sums, word_totals
from .density import Density
from .hamming import Hamming
from .histogram import cosine, l1, l2, votes, weighted_votes
from .learnt import learnt
from .measure import AnyScoring, Measure, Scope, Totals, WordMeasure
from .neighbours import NearestVote
from .query import Query
from .segment import SegmentView
from .similarity import Similarity
from .statistics import CollectionStatistics, idf_weights

# Any: each takes its own options, and ``measure_of`` gives it no others.
EVERY_MEASURE: tuple[Measure[Any], ...] = (
    WordMeasure(L1Options, l1),
    WordMeasure(L2Options, l2),
    WordMeasure(CosineOptions, cosine),
    WordMeasure(BurstOptions, burst, root_sums),
    WordMeasure(NegativeOptions, negative, word_totals),
    Asymmetric(),
    WordMeasure(LearntOptions, learnt),
    WordMeasure(TfOptions, votes),
    WordMeasure(TfIdfOptions, weighted_votes),
    Density(),
    Hamming(),
    NearestVote(),
)
MEASURES = {measure.options.measure: measure for measure in EVERY_MEASURE}


def measure_of(options: AnyScoring) -> Measure[AnyScoring]:
    return MEASURES[options.measure]


def collection_statistics(
    segments: Sequence[SegmentView],
    options: ScoringOptions,
    *,
    idf: Float32 | None = None,
    similarity: Similarity | None = None,
) -> CollectionStatistics:
    """Of a collection that is all in these segments, of which there is at least one; idf: instead of their own."""
    pictures = int(sum(segment.alive.sum() for segment in segments))
    if idf is None:
        df: Int64 = np.sum([count(s.read(None, "image"), s.alive)[0] for s in segments], axis=0)
        idf = idf_weights(df, pictures)
    return CollectionStatistics(pictures, idf, measure_of(options).count_words(segments), similarity)


def query_totals(query: Query, segments: Sequence[SegmentView], scope: Scope[ScoringOptions]) -> Totals:
    """The statistics of a query, where all segments are here."""
    measure, totals, all_pictures = measure_of(scope.options), Totals(), [segment.whole for segment in segments]
    for _ in range(measure.rounds(scope.options)):
        totals += (measure.statistics(query, all_pictures, scope, totals),)
    return totals


def score(query: Query, segments: Sequence[SegmentView], scope: Scope[ScoringOptions], totals: Totals) -> list[Float32]:
    """For each segment one score per picture; 0 means nothing in common, or removed."""
    if not segments:
        return []
    measure = measure_of(scope.options)
    if measure.looks_at_all:
        found = measure.score(query, [segment.whole for segment in segments], scope, totals)
        scores = [segment.own(each) for each, segment in zip(found, segments, strict=True)]
    else:
        scores = measure.score(query, segments, scope, totals)
    return [each * segment.alive for each, segment in zip(scores, segments, strict=True)]


def score_all(query: Query, segments: Sequence[SegmentView], scope: Scope[ScoringOptions]) -> list[Float32]:
    """The same, where all segments are here."""
    return score(query, segments, scope, query_totals(query, segments, scope))
