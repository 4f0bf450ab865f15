"""Bag-of-words measures: tf-idf vectors compared through the words that two pictures share."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..options import ScoringOptions
from ..types import Float32, Float64, Int32, Words
from . import kernels
from .measure import Scope
from .segment import SegmentView, inverse, per_segment
from .statistics import CollectionStatistics

AnyFloat = TypeVar("AnyFloat", Float32, Float64)


def l1(query: Words, segment: SegmentView, scope: Scope[ScoringOptions]) -> Float32:
    """Σ min(q_i, d_i) of the unit-L1 tf-idf vectors = 1 − ‖q − d‖₁ / 2."""
    word, value = _weighted(query, scope)
    value /= max(float(value.sum()), 1e-30)
    scores = np.zeros(segment.pictures, np.float32)
    place, lists = segment.find(word, "image")
    norm, idf = segment.own(_inverse_l1(segment.whole, scope.collection)), scope.collection.idf[word]
    kernels.scan_minimum(place, value, idf, norm, lists.offsets, lists.image, scores)
    return scores


def l2(query: Words, segment: SegmentView, scope: Scope[ScoringOptions]) -> Float32:
    """Σ q_i d_i of the unit-L2 tf-idf vectors = 1 − ‖q − d‖₂² / 2."""
    word, value = _weighted(query, scope)
    value *= scope.collection.idf[word] / max(float(np.linalg.norm(value)), 1e-30)
    return product(word, value, segment) * segment.own(_inverse_l2(segment.whole, scope.collection))


def cosine(query: Words, segment: SegmentView, scope: Scope[ScoringOptions]) -> Float32:
    """Σ idf_i² q_i d_i / (‖q‖ ‖d‖) with plain counts and their L2 norms (LEARN-14 eq. 1)."""
    word, counts = np.unique(query.word, return_counts=True)
    value = (counts / max(float(np.linalg.norm(counts)), 1e-30) * scope.collection.idf[word] ** 2).astype(np.float32)
    return product(word, value, segment) * segment.inverse_norm


def votes(query: Words, segment: SegmentView, scope: Scope[ScoringOptions]) -> Float32:
    """Σ q_i d_i of plain counts: every feature of the picture that has the word of one of the query's is a vote."""
    word, counts = np.unique(query.word, return_counts=True)
    return product(word, counts.astype(np.float32), segment)


def weighted_votes(query: Words, segment: SegmentView, scope: Scope[ScoringOptions]) -> Float32:
    """Σ idf_i q_i d_i of plain counts: the same, each vote weighed by its word's idf."""
    return product(*_weighted(query, scope), segment)


def _weighted(query: Words, scope: Scope[ScoringOptions]) -> tuple[Int32, Float32]:
    """The query's distinct words and their tf · idf."""
    word, counts = np.unique(query.word, return_counts=True)
    return word, counts.astype(np.float32) * scope.collection.idf[word]


def product(word: Int32, value: AnyFloat, segment: SegmentView) -> AnyFloat:
    """Σ value_i d_i of plain counts, as precise as the values."""
    scores = np.zeros(segment.pictures, value.dtype)
    place, lists = segment.find(word, "image")
    kernels.scan_product(place, value, lists.offsets, lists.image, scores)
    return scores


@per_segment
def _inverse_l1(segment: SegmentView, collection: CollectionStatistics) -> Float32:
    """1 / Σ tf · idf of each picture."""
    return inverse(_weighted_norms(segment, collection, 1))


@per_segment
def _inverse_l2(segment: SegmentView, collection: CollectionStatistics) -> Float32:
    """1 / sqrt(Σ (tf · idf)²) of each picture."""
    return inverse(np.sqrt(_weighted_norms(segment, collection, 2)))


def _weighted_norms(segment: SegmentView, collection: CollectionStatistics, power: int) -> Float64:
    lists, norms = segment.read(None, "image"), np.zeros(segment.pictures, np.float64)
    kernels.weighted_norms(lists.offsets, lists.image, collection.idf, power, norms)
    return norms
