"""Descriptors → visual words and Hamming signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._faiss import load
from ..errors import VocabularyError
from ..options import AssignOptions
from ..types import Bytes, Float32, Words
from .vocabulary import SIGNATURE_BITS, Vocabulary

SINGLE = AssignOptions(neighbours=1)  # what indexed pictures get

# Above this many words a graph search replaces the exact one: measured recall@1 and rates stand in docs/PERFORMANCE.md.
EXACT_UP_TO = 4096
GRAPH_LINKS, GRAPH_BUILD_EFFORT, GRAPH_SEARCH_EFFORT = 16, 64, 32


class Assigner:
    """Finds nearest words. Build one per process and keep it: the search structure is made here."""

    def __init__(self, vocabulary: Vocabulary, *, exact: bool = False) -> None:
        self.vocabulary = vocabulary
        self._projection = vocabulary.projection.astype(np.float32).T
        self._index = nearest_words_index(vocabulary.centroids, exact=exact)

    def assign(self, descriptors: Bytes | Float32, *, options: AssignOptions = SINGLE) -> Words:
        """Each descriptor's nearest words: up to ``neighbours``, within ``ratio`` times the nearest one's distance."""
        vocabulary = self.vocabulary
        if descriptors.shape[1] != vocabulary.dimension or descriptors.dtype != vocabulary.centroids.dtype:
            raise VocabularyError(
                f"descriptors are {descriptors.shape[1]} × {descriptors.dtype}, the vocabulary's words "
                f"{vocabulary.dimension} × {vocabulary.centroids.dtype}; train a vocabulary on these features"
            )
        k = min(options.neighbours, vocabulary.words)
        values = descriptors.astype(np.float32)
        squared, words = self._index.search(values, k)
        keep = np.sqrt(np.maximum(squared, 0)) <= options.ratio * np.sqrt(np.maximum(squared[:, :1], 0))
        keep[:, 0] = True
        keep &= words >= 0  # a graph search may return fewer than asked
        feature, rank = np.nonzero(keep)
        word = words[feature, rank]
        signature = signatures(values @ self._projection, feature, vocabulary.medians[word])
        return Words(feature=feature.astype(np.int32), word=word.astype(np.int32), signature=signature)


def nearest_words_index(centroids: Bytes | Float32, *, exact: bool) -> Any:
    """A faiss index over the centroids, built by one thread so that it is the same every time."""
    faiss = load()
    values = centroids.astype(np.float32)
    if exact or len(values) <= EXACT_UP_TO:
        index = faiss.IndexFlatL2(values.shape[1])
        index.add(values)
        return index
    index = faiss.IndexHNSWFlat(values.shape[1], GRAPH_LINKS)
    index.hnsw.efConstruction, index.hnsw.efSearch = GRAPH_BUILD_EFFORT, GRAPH_SEARCH_EFFORT
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        index.add(values)
    finally:
        faiss.omp_set_num_threads(threads)
    return index


def signatures(projected: Float32, feature: npt.NDArray[Any], medians: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Bit b of row i says whether component b of the projected feature exceeds the word's median (BURST-09 §2.2)."""
    bits = projected[feature] > medians
    assert bits.shape[1] == SIGNATURE_BITS
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").reshape(-1)
