"""What searches some segments of a commit, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..clusters import Visit
from ..options import ScoringOptions
from ..recipes import Recipe
from ..scoring import Query
from ..store import Row
from ..types import Float32, Int64
from .candidates import Located
from .request import Place, SearchRequest


class TopK(NamedTuple):
    """The best pictures of some segments, and all that tie with the last: by each vocabulary's scores."""

    segment: Int64  # its number in the commit
    ordinal: Int64  # of the picture in its segment
    scores: Float32  # (vocabularies, pictures)


class Nearest(NamedTuple):
    """The pictures nearest to a visit, and all that tie with the last."""

    segment: Int64
    ordinal: Int64
    distance: Float32  # squared, with context terms


class ScoreHistogram(NamedTuple):
    """How many scores are in each bin. A bin is the upper half of a float's bits, so bins are ordered as scores are."""

    bins: Int64
    counts: Int64


class SegmentSearcher(Protocol):
    """Some segments of a commit, which are called by their numbers in it. May be called by several threads at once.

    What it keeps between calls saves time, and no more: it can always be computed again.
    """

    def count_words(self, scoring: ScoringOptions) -> list[Int64]:
        """What the measure must know of each word besides idf, in each vocabulary; adds over searchers."""
        ...

    def statistics(self, request: SearchRequest) -> list[list[Int64]]:
        """The next statistics of each query, in each vocabulary, after those in the request's totals; they add up."""
        ...

    def nearest(self, visits: Sequence[Visit], count: int, recipe: Recipe | None) -> list[Nearest]:
        """For each visit the nearest ``count`` living pictures, and perhaps more; by a recipe's context terms, too."""
        ...

    def top_k(self, request: SearchRequest, count: int) -> TopK:
        """The best ``count`` pictures by each vocabulary."""
        ...

    def rows(self, places: Sequence[Place]) -> list[Row]:
        """What is stored about these pictures."""
        ...

    def stored_queries(self, pictures: Sequence[tuple[int, Row]], *, descriptors: bool) -> list[Query]:
        """The queries that these indexed pictures are; with what is kept of descriptors, or without."""
        ...

    def verify(self, request: SearchRequest, pictures: Sequence[tuple[int, Row]]) -> list[Located | None]:
        """Where in these pictures the queries are found."""
        ...

    def scores(self, request: SearchRequest, places: Sequence[Place]) -> list[float]:
        """Of these pictures, in the first vocabulary."""
        ...

    def score_histogram(self, request: SearchRequest) -> ScoreHistogram:
        """Of the scores, in the first vocabulary, of pictures that share anything with the queries."""
        ...

    def scores_in(self, request: SearchRequest, bins: Int64) -> Float32:
        """Those scores that are in these bins."""
        ...
