"""Descriptors → visual words and Hamming signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VocabularyError
from ..options import AssignOptions, IndexingOptions
from ..types import Bytes, Float32, Int64, Words
from .nearest import SMALL, CellSearch, flat_index
from .vocabulary import Vocabulary

Search = Callable[[Float32, int], tuple[Float32, Int64]]  # rows, neighbours → squared distances, words


class Assigner:
    """Quantises the features of pictures (one word each, as a rule) and of queries (several words each).

    Build one per process and keep it: the search structure is made at first use.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._projection = vocabulary.projection.astype(np.float32).T
        self._search: Search | None = None

    def assign(self, descriptors: Bytes | Float32, *, options: IndexingOptions | None = None) -> Words:
        """The nearest word or words of each descriptor, as indexed pictures are stored."""
        values = self._values(descriptors)
        count = min((options or IndexingOptions()).words, self.vocabulary.words)
        _, words = self._nearest(values, count)
        return self._words(values, np.repeat(np.arange(len(values)), count), words.ravel())

    def assign_query(self, descriptors: Bytes | Float32, *, options: AssignOptions) -> Words:
        """The nearest ``neighbours`` words, where within ``ratio`` times the nearest one's distance."""
        values = self._values(descriptors)
        squared, words = self._nearest(values, min(options.neighbours, self.vocabulary.words))
        distance = np.sqrt(np.maximum(squared, 0))
        near = distance <= options.ratio * distance[:, :1]
        feature, rank = np.nonzero(near)
        return self._words(values, feature, words[feature, rank])

    def _values(self, descriptors: Bytes | Float32) -> Float32:
        vocabulary = self.vocabulary
        if descriptors.shape[1] != vocabulary.dimension or descriptors.dtype != vocabulary.centroids.dtype:
            raise VocabularyError(
                f"descriptors are {descriptors.shape[1]} × {descriptors.dtype}, the vocabulary's words "
                f"{vocabulary.dimension} × {vocabulary.centroids.dtype}; train a vocabulary on these features"
            )
        return descriptors.astype(np.float32)

    def _nearest(self, values: Float32, neighbours: int) -> tuple[Float32, Int64]:
        """Squared distances and words, nearest first. Approximate above SMALL words."""
        if self._search is None:
            centroids = self.vocabulary.centroids
            small = self.vocabulary.words <= SMALL
            self._search = flat_index(centroids).search if small else CellSearch(centroids).search
        squared, words = self._search(values, neighbours)
        return squared, words

    def _words(self, values: Float32, feature: Int64, word: Int64) -> Words:
        signature = signatures((values @ self._projection)[feature], self.vocabulary.medians[word])
        return Words(feature=feature.astype(np.int32), word=word.astype(np.int32), signature=signature)


def signatures(projected: Float32, medians: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Bit b of row i says whether component b of the projected feature exceeds the word's median (BURST-09 §2.2)."""
    return np.packbits(projected > medians, axis=1, bitorder="little").view("<u8").reshape(-1)
