"""The measure of a learnt similarity (LEARN-14 §3.4)."""

from __future__ import annotations

import numpy as np

from .._numba import kernel
from ..errors import UsageError
from ..options import LearntOptions
from ..types import Float32, Int32, Int64, UInt32, Words
from .measure import Scope
from .segment import SegmentView, per_segment
from .similarity import Similarity
from .statistics import CollectionStatistics

NOBODY = np.uint32(2**32 - 1)  # the number of no picture


def learnt(query: Words, segment: SegmentView, scope: Scope[LearntOptions]) -> Float32:
    """How much more similar than an empty picture, as a positive number; 0 where what is shared adds up to nothing.

    Eq. 12, less s̄(q, 0) and s(0, 0), which are the same for all pictures.
    """
    similarity = require_similarity(scope.collection.similarity)
    word, counts = np.unique(query.word, return_counts=True)
    steps = similarity.steps[similarity.group[word], np.minimum(counts, similarity.most)]
    shared = np.zeros(segment.pictures, np.float32)
    place, lists = segment.find(word, "image")
    scan_steps(place, steps, lists.offsets, lists.image, shared)
    return np.where(shared != 0, positive(shared + segment.own(_alone(segment.whole, scope.collection))), np.float32(0))


@per_segment
def _alone(segment: SegmentView, collection: CollectionStatistics) -> Float32:
    """What each picture scores against an empty query."""
    if segment.stored_alone is not None:
        return segment.stored_alone
    return require_similarity(collection.similarity).alone(segment.read(None, "image"), segment.pictures)


def require_similarity(known: Similarity | None) -> Similarity:
    if known is None:
        raise UsageError("there is no learnt similarity here; learn one with `resight learn`, or use another recipe")
    return known


def positive(similarity: Float32) -> Float32:
    """Numbers above 0 in the same order: 1 + x for positive x, 1 / (1 − x) for others."""
    return np.where(similarity > 0, 1 + similarity, 1 / (1 - np.minimum(similarity, 0))).astype(np.float32)


@kernel
def scan_steps(word: Int32, steps: Float32, offsets: Int64, list_image: UInt32, scores: Float32) -> None:
    """scores[image] += steps[row, 1] + … + steps[row, tf], where those beyond the last column are 0."""
    one, nothing, longest = np.uint64(1), np.uint64(0), 0
    for row in range(len(word)):
        longest = max(longest, offsets[word[row] + 1] - offsets[word[row]])
    # As long as any count can be, and 0 beyond the last step: a lookup is cheaper than a comparison with the last.
    added = np.zeros(longest + steps.shape[1], np.float32)
    for row in range(len(word)):
        added[: steps.shape[1]] = steps[row]
        before, count = NOBODY, nothing
        for posting in range(np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])):
            image = list_image[posting]
            # Without a branch, which would often be mispredicted: count + 1 for the same picture, else 1.
            count = (count & (nothing - np.uint64(image == before))) + one
            scores[image] += added[count]
            before = image
