"""Scores of several queries → the scores of a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import Float32, Float64

Scores = list[Float32]  # for each segment one score per picture


def scales(self_scores: Float64) -> Float32:
    """What brings the scores of several queries to the scale of the first that can score at all, in each vocabulary.

    self_scores: (queries, vocabularies) what a picture with a query's very features would score; 0: nothing can.
    """
    found = np.zeros(self_scores.shape, np.float32)
    for vocabulary, scores in enumerate(self_scores.T.tolist()):
        first = next((score for score in scores if score), 0.0)
        found[:, vocabulary] = [first / score if score else 0 for score in scores]
    return found


def at_one_scale(scores: Sequence[Scores], scales: Float32 | None) -> Sequence[Scores]:
    """The scores of each query, times its scale; None: there is only one."""
    if scales is None:
        return scores
    return [[s * scale for s in each] for each, scale in zip(scores, scales, strict=True)]


def mean_scores(scores: Sequence[Scores], sources: Sequence[tuple[int, int] | None] = ()) -> Scores:
    """The mean over all queries, but what a source, of which the last scores are, says of itself does not count.

    sources: segment and ordinal of each; None for one that is in none of these segments.
    """
    if len(scores) == 1:
        return scores[0]
    mean: Scores = [np.asarray(np.mean(segments, axis=0, dtype=np.float32)) for segments in zip(*scores, strict=True)]
    for number, source in enumerate(sources, len(scores) - len(sources)):
        if source is not None:
            segment, ordinal = source
            others = [s[segment][ordinal] for n, s in enumerate(scores) if n != number]
            mean[segment][ordinal] = np.mean(others)
    return mean
