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
from ..store import Row, Segment, Snapshot
from ..types import Bytes, Features, Float32, Words
from ..vocabulary import Assigner, codes, spans


@dataclass(frozen=True, slots=True)
class Question:
    """One picture of what is looked for."""

    words: Words
    features: Features

    def __len__(self) -> int:
        return len(np.unique(self.words.feature))

    @property
    def query(self) -> Query:
        descriptors = self.features.descriptors
        return Query(self.words, encode(self.features), descriptors if descriptors.shape[1] else None)

    @property
    def without_descriptors(self) -> Question:
        none = np.zeros((len(self.features), 0), np.uint8)
        return replace(self, features=replace(self.features, descriptors=none))

    def within(self, span: range) -> Question:
        """The same, asked with these words alone, which are counted from 0 on."""
        return replace(self, words=self.words.within(span))

    def only(self, chosen: npt.NDArray[np.bool_]) -> Question:
        """The same, asked with these features alone."""
        return replace(self, words=self.words.rows(chosen[self.words.feature]))


def question(assigner: Assigner, features: Features, options: AssignOptions) -> Question:
    """What a picture's features ask."""
    return Question(assigner.assign_query(features.descriptors, options=options), features)


def stored_question(snapshot: Snapshot, segment: Segment, row: Row) -> Question:
    """What an indexed picture asks: its stored features, each with the one word it has there, in each vocabulary.

    With their descriptors, or what codes say of them, if the index keeps any.
    """
    words, geometry = segment.picture(row)
    if (vocabularies := snapshot.manifest.vocabularies) > 1:
        words, geometry = _joined(words, geometry, spans(segment.words, vocabularies))
    descriptors: Bytes | Float32 = np.zeros((len(geometry), 0), np.uint8)
    if words.code is not None:
        first = np.unique(words.feature, return_index=True)[1]
        code, word = words.code[first], words.word[first]
        descriptors = codes.restored(snapshot.vocabulary, code, word, keep=snapshot.manifest.keep)
    xy, scale, angle, shape = decode(geometry, max(row.width, row.height))
    return Question(replace(words, code=None), Features(xy, scale, angle, descriptors, row.width, row.height, shape))


def _joined(words: Words, geometry: npt.NDArray[Any], spans: Sequence[range]) -> tuple[Words, npt.NDArray[Any]]:
    """Rows of the same place are one feature, which has a row in each vocabulary: all have equally many, by word."""
    kept = [] if words.code is None else list(words.code.T)  # tells features of one place apart
    places = [*kept, *(geometry[name] for name in geometry.dtype.names or ())]
    by_place = np.lexsort([*places, words.word // len(spans[0])])
    rows = by_place.reshape(len(spans), -1)  # of each vocabulary, all in the same order of places
    rows = rows[:, np.argsort(rows[0])].T  # of each feature
    feature = np.repeat(np.arange(len(rows), dtype=np.int32), len(spans))
    return replace(words.rows(rows.ravel()), feature=feature), geometry[: len(rows)]
