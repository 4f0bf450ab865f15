"""From queries to hits."""

from .candidates import Candidate
from .follow import linked_to
from .group import Searchers, SegmentGroup, share_out
from .local import LocalSearcher
from .pipeline import compare, evidence, rank, search
from .prepare import prepare
from .query import quantise, stored_query
from .request import Pictures, Place, SearchId, SearchRequest
from .require import missing, require_searchable
from .searcher import Nearest, ScoreHistogram, SegmentSearcher, TopK

__all__ = [
    "Candidate",
    "LocalSearcher",
    "Nearest",
    "Pictures",
    "Place",
    "ScoreHistogram",
    "SearchId",
    "SearchRequest",
    "Searchers",
    "SegmentGroup",
    "SegmentSearcher",
    "TopK",
    "compare",
    "evidence",
    "linked_to",
    "missing",
    "prepare",
    "quantise",
    "rank",
    "require_searchable",
    "search",
    "share_out",
    "stored_query",
]
