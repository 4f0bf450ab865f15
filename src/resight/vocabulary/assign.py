"""Descriptors → visual words and Hamming signatures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..errors import VocabularyError
from ..options import AssignOptions, IndexingOptions
from ..types import Bytes, Float32, Int64, Words
from .codes import kept, kept_bytes
from .nearest import CellSearch, flat_index
from .tree import Relatives, TreeSearch
from .vocabulary import Vocabulary

Search = Callable[[Float32, int], tuple[Float32, Int64]]  # rows, neighbours → squared distances, words


class Assigner:
    """Quantises the features of pictures (one word each, as a rule) and of queries (several words each).

    With several vocabularies a feature has such words in each; its rows follow each other.
    Build one per process and keep it: the search structures are made at first use.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._projection = vocabulary.projection.astype(np.float32).T
        self._searches: list[Search] = []
        self._making = threading.Lock()

    def assign(self, descriptors: Bytes | Float32, *, options: IndexingOptions | None = None) -> Words:
        """The nearest word or words of each descriptor, and what is kept of it, as indexed pictures are stored."""
        options = options or IndexingOptions()
        values = self._values(descriptors)
        wanted = kept_bytes(self.vocabulary, options.keep)
        with self._in_order():
            squared, words = self._nearest(values, options.words)
            known = np.isfinite(squared)  # the cells looked into may hold fewer words
            found = self._words(values, np.nonzero(known)[0], words[known])
        if not wanted:
            return found
        return replace(found, code=kept(self.vocabulary, descriptors[found.feature], found.word, keep=options.keep))

    def assign_query(self, descriptors: Bytes | Float32, *, options: AssignOptions) -> Words:
        """The nearest ``neighbours`` words, where within ``ratio`` times the nearest one's distance."""
        values = self._values(descriptors)
        with self._in_order():
            if options.climb:
                return self._climb(values, self._nearest(values, 1)[1][:, 0, 0], options.climb)
            squared, words = self._nearest(values, options.neighbours)
            distance = np.sqrt(np.maximum(squared, 0))
            near = distance <= options.ratio * distance[:, :, :1]
            return self._words(values, np.nonzero(near)[0], words[near])

    def _in_order(self) -> AbstractContextManager[Any]:
        """Sums of bytes are exact in any order; those of floats are the same if one thread adds them up."""
        return nullcontext() if self.vocabulary.centroids.dtype == np.uint8 else threadpool_limits(1)

    def _climb(self, values: Float32, words: Int64, climb: int) -> Words:
        """The words that are related to each feature's, this many levels up the tree; nearest relatives first."""
        if self._relatives is None:
            raise VocabularyError(
                "'assign.climb' needs a vocabulary tree; train one with `resight train --set vocabulary.branching=10`, "
                "or set it to 0"
            )
        found = [self._relatives.of(word, climb) for word in words.tolist()]
        feature = np.repeat(np.arange(len(found)), [len(word) for word, _ in found])
        word, level = (np.concatenate([words[:0], *(pair[i] for pair in found)]) for i in (0, 1))
        return replace(self._words(values, feature, word), level=level.astype(np.int32))

    @cached_property
    def _relatives(self) -> Relatives | None:
        return None if self.vocabulary.tree is None else Relatives(self.vocabulary.tree)

    def _values(self, descriptors: Bytes | Float32) -> Float32:
        self.vocabulary.require_descriptors(descriptors.shape[1], descriptors.dtype)
        return descriptors.astype(np.float32)

    def _nearest(self, values: Float32, neighbours: int) -> tuple[Float32, Int64]:
        """Squared distances and words (n, vocabularies, neighbours), nearest first."""
        vocabulary = self.vocabulary
        with self._making:
            self._searches = self._searches or list(_searches(vocabulary))
        if vocabulary.reduction is not None:
            values = values @ vocabulary.reduction.T
        each = vocabulary.words // vocabulary.vocabularies
        found = [search(values, min(neighbours, each)) for search in self._searches]
        squared, words = (np.stack(arrays, axis=1) for arrays in zip(*found, strict=True))
        return squared, words + each * np.arange(vocabulary.vocabularies)[:, None]

    def _words(self, values: Float32, feature: Int64, word: Int64) -> Words:
        signature = signatures((values @ self._projection)[feature], self.vocabulary.medians[word])
        return Words(feature=feature.astype(np.int32), word=word.astype(np.int32), signature=signature)


def _searches(vocabulary: Vocabulary) -> Iterator[Search]:
    """One for each vocabulary: down its tree, in its cells, or else exact."""
    if vocabulary.tree is not None:
        yield TreeSearch(vocabulary.centroids, vocabulary.tree).search
        return
    count, cells = vocabulary.vocabularies, vocabulary.cells
    each: list[Any] = np.split(vocabulary.centroids, count)
    if cells is None:
        yield from (flat_index(centroids).search for centroids in each)
    else:
        yield from (CellSearch(*mine).search for mine in zip(each, cells.split(count), strict=True))


def signatures(projected: Float32, medians: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Bit b of row i says whether component b of the projected feature exceeds the word's median (BURST-09 §2.2)."""
    return np.packbits(projected > medians, axis=1, bitorder="little").view("<u8").reshape(-1)
