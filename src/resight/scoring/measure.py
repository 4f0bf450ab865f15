"""What a measure is: statistics of a query over all segments first, then scores that are weighed by them.

Statistics are integers, so their sums are the same however pictures are spread over segments and processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from ..options import ScoringOptions
from ..types import Float32, Int64, Words
from .query import Query
from .segment import SegmentView
from .statistics import CollectionStatistics

AnyScoring = TypeVar("AnyScoring", bound=ScoringOptions)
AnyScoring_co = TypeVar("AnyScoring_co", bound=ScoringOptions, covariant=True)
Totals = tuple[Int64, ...]  # a query's statistics, summed over all segments: one array for each round


@dataclass(frozen=True)
class Scope(Generic[AnyScoring_co]):
    """What a query is scored by."""

    options: AnyScoring_co
    collection: CollectionStatistics


class Measure(ABC, Generic[AnyScoring]):
    """How much pictures are like a query."""

    options: type[AnyScoring]  # what can be set; it has the measure's name
    in_one_place: ClassVar[bool] = False  # needs all segments at once: what it compares is no sum
    looks_at_all: ClassVar[bool] = False  # a picture's score cannot be found without looking at the others

    def count_words(self, segments: Sequence[SegmentView]) -> Int64:
        """(K,) what it needs to know of each word besides idf, over all living pictures; adds over segments.

        Empty: nothing.
        """
        return np.zeros(0, np.int64)

    def rounds(self, options: AnyScoring) -> int:
        """How many statistics of a query must be summed over all segments, one after the other, before it is scored."""
        return 0

    def statistics(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[AnyScoring], totals: Totals
    ) -> Int64:
        """The next one, for these segments; ``totals`` are those of the rounds before, over all segments."""
        raise NotImplementedError

    @abstractmethod
    def score(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[AnyScoring], totals: Totals
    ) -> list[Float32]:
        """For each segment one score per picture; ``totals`` has all rounds."""


def sum_of(counts: Iterable[Int64]) -> Int64:
    """What was counted in all segments together."""
    total: Int64 = np.sum([*counts], axis=0, dtype=np.int64)
    return total


class WordMeasure(Measure[AnyScoring]):
    """A measure that looks at words alone, one segment at a time, and needs no statistics of the query."""

    def __init__(
        self,
        options: type[AnyScoring],
        score: Callable[[Words, SegmentView, Scope[AnyScoring]], Float32],
        count: Callable[[SegmentView], Int64] | None = None,
    ) -> None:
        self.options, self._score, self._count = options, score, count

    def count_words(self, segments: Sequence[SegmentView]) -> Int64:
        if self._count is None:
            return super().count_words(segments)
        return sum_of(map(self._count, segments))

    def score(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[AnyScoring], totals: Totals
    ) -> list[Float32]:
        return [self._score(query.words, segment, scope) for segment in segments]
