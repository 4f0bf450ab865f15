"""Lists × query → scores. One file per family of measures; ``measures`` has them by name."""

from .hamming import distinct, matches
from .learnt import require_similarity
from .measure import Measure, Scope, Totals
from .measures import MEASURES, collection_statistics, measure_of, query_totals, score, score_all
from .query import Query
from .segment import SegmentView, Tables
from .similarity import Similarity
from .statistics import CollectionStatistics, idf_weights
from .top import best, largest

__all__ = [
    "MEASURES",
    "CollectionStatistics",
    "Measure",
    "Query",
    "Scope",
    "SegmentView",
    "Similarity",
    "Tables",
    "Totals",
    "best",
    "collection_statistics",
    "distinct",
    "idf_weights",
    "largest",
    "matches",
    "measure_of",
    "query_totals",
    "require_similarity",
    "score",
    "score_all",
]
