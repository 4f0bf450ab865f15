"""Bag-of-words measures that see a picture's counts against those of the whole collection (LEARN-14 §2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..options import ScoringOptions
from ..types import Float32, Int64, Words
from . import kernels
from .histogram import product
from .part import Part, Query
from .sums import Sums

LEAST = 1e-6  # what a picture scores that has a word in common with the query, and is as unlike it as can be


def burst(query: Words, part: Part, clusters: Int64 | None) -> Float32:
    """Σ idf_i² q_i d_i^(1/4) / √(Σ_j √d_i^j), j over all living pictures (LEARN-14 eq. 3)."""
    word, counts = np.unique(query.word, return_counts=True)
    value = (part.squared_idf[word] * counts / np.sqrt(part.whole.roots[word])).astype(np.float32)
    scores = np.zeros(part.pictures, np.float32)
    row, place, lists = part.find(word, clusters, "image")
    kernels.scan_roots(place, value[row], lists.offsets, lists.image, scores)
    return scores


def negative(
    query: Query, parts: Sequence[Part], options: ScoringOptions, clusters: Int64 | None, sums: Sums
) -> list[Float32]:
    """(1 + s) / 2, where s is LEARN-14 eq. 1 of q − β m and d − β m, m the mean picture: what both lack counts, too.

    The products are multiplied out, so that lists are read of the query's words alone. Weighed by idf², s may lie
    below −1.
    """
    word, counts = np.unique(query.words.word, return_counts=True)
    beta, scores = options.beta, []
    for part in parts:
        value, mean = part.squared_idf[word] * counts, part.whole.mean[word]
        shared = product(word, value, part, clusters)
        (plain, weighted), (square, weighted_square) = part.mean_products, part.whole.mean_squares
        inner = shared - beta * ((value * mean).sum() + weighted) + beta**2 * weighted_square
        ours = (counts**2).sum() - 2 * beta * (counts * mean).sum() + beta**2 * square
        theirs = part.squared - 2 * beta * plain + beta**2 * square
        norms = np.sqrt(np.maximum(ours, 0) * np.maximum(theirs, 0))
        cosine = np.divide(inner, norms, out=np.zeros_like(norms), where=norms > 0)
        scores.append((np.maximum((1 + cosine) / 2, LEAST) * (shared > 0)).astype(np.float32))
    return scores


def asymmetric(
    query: Query, parts: Sequence[Part], options: ScoringOptions, clusters: Int64 | None, sums: Sums
) -> list[Float32]:
    """1 / (1 + D); D = Σ (d_i − q_i)^p where d has more, + λ Σ (q_i − d_i)^p where q has (LEARN-14 §2, Zhu et al.).

    Plain counts: weighed by idf, they do hardly better. λ depends on what the query has in common with all living
    pictures; so clusters, which say whose scores are wanted, save no time.
    """
    (word, counts), power = np.unique(query.words.word, return_counts=True), options.power
    counted, overlaps = [], []
    for part in parts:
        lists, overlap = part.read(word, "image"), np.zeros((2, part.pictures), np.int64)
        common = kernels.scan_overlap(word, counts, power, lists.offsets, lists.image, part.alive, *overlap)
        counted.append(np.array([common, part.features]))
        overlaps.append(overlap)
    in_common, features = sums.total("in common", counted).tolist()
    penalty = max(options.alpha * features / max(in_common, 1) - 1, 0)
    scores = []
    for part, (ours, theirs) in zip(parts, overlaps, strict=True):
        more = (part.length if power == 1 else part.squared) - theirs
        distance = more + penalty * ((counts**power).sum() - ours)
        scores.append(((ours > 0) & part.seen(clusters)) / (1 + distance))
    return [s.astype(np.float32) for s in scores]
