"""What is asked for: the quantised features of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..options import AssignOptions
from ..postings import decode, encode
from ..scoring import Query
from ..store import Row, Segment
from ..types import Features, Words
from ..vocabulary import Assigner, spans


@dataclass(frozen=True, slots=True)
class Question:
    """One picture of what is looked for."""

    words: Words
    features: Features  # their descriptors are not looked at any more

    def __len__(self) -> int:
        return len(np.unique(self.words.feature))

    @property
    def query(self) -> Query:
        return Query(self.words, encode(self.features))

    def within(self, span: range) -> Question:
        """The same, asked with these words alone, which are counted from 0 on."""
        return replace(self, words=self.words.within(span))

    def only(self, chosen: npt.NDArray[np.bool_]) -> Question:
        """The same, asked with these features alone."""
        return replace(self, words=self.words.rows(chosen[self.words.feature]))


def question(assigner: Assigner, features: Features, options: AssignOptions) -> Question:
    """What a picture's features ask."""
    return Question(assigner.assign_query(features.descriptors, options=options), features)


def stored_question(segment: Segment, row: Row, *, vocabularies: int = 1) -> Question:
    """What an indexed picture asks: its stored features, each with the one word it has there, in each vocabulary."""
    words, codes = segment.picture(row)
    if vocabularies > 1:
        words, codes = _joined(words, codes, spans(segment.words, vocabularies))
    xy, scale, angle = decode(codes, max(row.width, row.height))
    nothing = np.zeros((len(codes), 0), np.uint8)
    return Question(words, Features(xy, scale, angle, nothing, row.width, row.height))


def _joined(words: Words, codes: npt.NDArray[Any], spans: Sequence[range]) -> tuple[Words, npt.NDArray[Any]]:
    """Rows of the same place are one feature, which has a row in each vocabulary: all have equally many, by word."""
    by_place = np.lexsort([*(codes[name] for name in codes.dtype.names or ()), words.word // len(spans[0])])
    rows = by_place.reshape(len(spans), -1)  # of each vocabulary, all in the same order of places
    rows = rows[:, np.argsort(rows[0])].T  # of each feature
    feature = np.repeat(np.arange(len(rows), dtype=np.int32), len(spans))
    return Words(feature, words.word[rows.ravel()], words.signature[rows.ravel()]), codes[: len(rows)]
