"""What is asked for: the quantised features of a picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..options import AssignOptions
from ..postings import decode, encode
from ..scoring import Query
from ..store import Row, Segment
from ..types import Features, Words
from ..vocabulary import Assigner


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

    def only(self, chosen: npt.NDArray[np.bool_]) -> Question:
        """The same, asked with these features alone."""
        return replace(self, words=self.words.rows(chosen[self.words.feature]))


def question(assigner: Assigner, features: Features, options: AssignOptions) -> Question:
    """What a picture's features ask."""
    return Question(assigner.assign_query(features.descriptors, options=options), features)


def stored_question(segment: Segment, row: Row) -> Question:
    """What an indexed picture asks: its stored features, each with the one word it has there."""
    words, codes = segment.picture(row)
    xy, scale, angle = decode(codes, max(row.width, row.height))
    nothing = np.zeros((len(words), 0), np.uint8)
    return Question(words, Features(xy, scale, angle, nothing, row.width, row.height))
