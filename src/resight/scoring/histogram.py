"""Bag-of-words measures: tf-idf vectors compared through the words that two pictures share."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..postings import Lists, count
from ..types import Float32, Float64, Int32, Int64, Words
from . import kernels
from .part import Part

AnyFloat = TypeVar("AnyFloat", Float32, Float64)


def idf_weights(df: npt.NDArray[np.int64], pictures: int) -> Float32:
    """log((n + 1) / n_i), n_i ≥ 1: LEARN-14 eq. 2 but for the + 1, which keeps an index of one picture searchable."""
    return np.log((pictures + 1) / np.maximum(df, 1)).astype(np.float32)


def only_part(lists: Lists, pictures: int) -> Part:
    """A collection that is all in these lists, with its own idf."""
    df = count(lists, np.ones(pictures, np.bool_))[0]
    return Part.of(lists, pictures=pictures, idf=idf_weights(df, pictures))


def l1(query: Words, part: Part, clusters: Int64 | None) -> Float32:
    """Σ min(q_i, d_i) of the unit-L1 tf-idf vectors = 1 − ‖q − d‖₁ / 2."""
    word, value = _weighted(query, part)
    value /= max(float(value.sum()), 1e-30)
    scores = np.zeros(part.pictures, np.float32)
    row, place, lists = part.find(word, clusters, "image")
    norm, idf = part.inverse_weighted_l1, part.idf[word]
    kernels.scan_minimum(place, value[row], idf[row], norm, lists.offsets, lists.image, scores)
    return scores


def l2(query: Words, part: Part, clusters: Int64 | None) -> Float32:
    """Σ q_i d_i of the unit-L2 tf-idf vectors = 1 − ‖q − d‖₂² / 2."""
    word, value = _weighted(query, part)
    value *= part.idf[word] / max(float(np.linalg.norm(value)), 1e-30)
    return product(word, value, part, clusters) * part.inverse_weighted_l2


def cosine(query: Words, part: Part, clusters: Int64 | None) -> Float32:
    """Σ idf_i² q_i d_i / (‖q‖ ‖d‖) with plain counts and their L2 norms (LEARN-14 eq. 1)."""
    word, counts = np.unique(query.word, return_counts=True)
    value = (counts / max(float(np.linalg.norm(counts)), 1e-30) * part.idf[word] ** 2).astype(np.float32)
    return product(word, value, part, clusters) * part.inverse_norm


def votes(query: Words, part: Part, clusters: Int64 | None) -> Float32:
    """Σ q_i d_i of plain counts: every feature of the picture that has the word of one of the query's is a vote."""
    word, counts = np.unique(query.word, return_counts=True)
    return product(word, counts.astype(np.float32), part, clusters)


def weighted_votes(query: Words, part: Part, clusters: Int64 | None) -> Float32:
    """Σ idf_i q_i d_i of plain counts: the same, each vote weighed by its word's idf."""
    return product(*_weighted(query, part), part, clusters)


def _weighted(query: Words, part: Part) -> tuple[Int32, Float32]:
    """The query's distinct words and their tf · idf."""
    word, counts = np.unique(query.word, return_counts=True)
    return word, counts.astype(np.float32) * part.idf[word]


def product(word: Int32, value: AnyFloat, part: Part, clusters: Int64 | None) -> AnyFloat:
    """Σ value_i d_i of plain counts, as precise as the values."""
    scores = np.zeros(part.pictures, value.dtype)
    row, place, lists = part.find(word, clusters, "image")
    kernels.scan_product(place, value[row], lists.offsets, lists.image, scores)
    return scores
