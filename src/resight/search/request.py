"""What every searcher is told of a search."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..options import ScoringOptions
from ..recipes import Recipe
from ..scoring import CollectionStatistics, Query, Scope, Totals
from ..types import Float32, Int64

Place = tuple[int, int]  # the number of a segment in its commit, and of a picture in it
Pictures = Mapping[int, Int64]  # by the number of their segment, sorted


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SearchId:
    """Tells searches apart. What searchers keep for a search they keep as long as this."""

    name: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchRequest:
    """Queries, all of which look for the same thing, and all that depends on more than one searcher's segments."""

    queries: Sequence[Query]
    recipe: Recipe
    collections: Sequence[CollectionStatistics]  # of each vocabulary
    pictures: Pictures | None = None  # to be scored; None: all
    background: Pictures | None = None  # of those, the ones that stand for all; None: all do
    totals: Sequence[Sequence[Totals]]  # of each query, in each vocabulary
    scales: Float32 | None = None  # (queries, vocabularies) what brings scores to one scale; None: there is one query
    sources: Sequence[Place] = ()  # the indexed pictures that the last queries are: their own scores do not count
    id: SearchId = field(default_factory=SearchId)

    def scope(self, vocabulary: int) -> Scope[ScoringOptions]:
        return Scope(self.recipe.scoring, self.collections[vocabulary])
