"""A query: the quantised features of a picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..postings import GEOMETRY, encode
from ..types import Bytes, Features, Float32, Int32, Words


@dataclass(frozen=True, eq=False)
class Query:
    """One picture of what is looked for."""

    words: Words
    # (features,) GEOMETRY or SHAPED codes: row i of the words is at geometry[words.feature[i]]
    geometry: npt.NDArray[Any]
    features: Features | None = None  # what verification and k-NN voting need

    @classmethod
    def of_words(cls, word: Int32) -> Query:
        """Features of which nothing is known but their words, one each."""
        feature = np.arange(len(word), dtype=np.int32)
        return cls(Words(feature, word, np.zeros(len(word), np.uint64)), np.zeros(len(word), GEOMETRY))

    @classmethod
    def of_features(cls, words: Words, features: Features) -> Query:
        """Features with the words that they were assigned to."""
        return cls(words, encode(features), features)

    def __len__(self) -> int:
        """How many features have words."""
        return self._with_words

    @cached_property
    def _with_words(self) -> int:
        return len(np.unique(self.words.feature))

    @property
    def known_features(self) -> Features:
        """The features, where a search needs them."""
        assert self.features is not None, "this query has words alone"
        return self.features

    @property
    def descriptors(self) -> Bytes | Float32 | None:
        """(features, d), where they are known."""
        if self.features is None or not self.features.descriptors.shape[1]:
            return None
        return self.features.descriptors

    @property
    def without_descriptors(self) -> Query:
        if self.descriptors is None:
            return self
        none = np.zeros((len(self.known_features), 0), np.uint8)
        return replace(self, features=replace(self.known_features, descriptors=none))

    def within(self, span: range) -> Query:
        """The same with these words alone, which are counted from 0 on."""
        if span.start == 0 and self.words.word.max(initial=-1) < span.stop:
            return self
        return replace(self, words=self.words.within(span))

    def only(self, chosen: npt.NDArray[np.bool_]) -> Query:
        """The same with these features alone."""
        return replace(self, words=self.words.rows(chosen[self.words.feature]))
