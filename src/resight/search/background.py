"""The score that pictures get by chance: confidence is judged by it."""

from __future__ import annotations

import numpy as np

from .group import SegmentGroup
from .request import SearchRequest


def background_score(group: SegmentGroup, request: SearchRequest) -> float:
    """The median score of pictures that share anything with the queries.

    Those near the query are no background, so where only these are scored, others are too: see ``SegmentGroup.sample``.
    Exact without sending all scores: they are counted by bins first, then those in the middle bins are fetched.
    """
    filled, count = group.score_histogram(request)
    if not len(filled):
        return 0.0
    below = np.concatenate([[0], np.cumsum(count)])  # how many scores are in the bins before each
    middle = np.array([(below[-1] - 1) // 2, below[-1] // 2])
    bins = np.unique(np.searchsorted(below, middle, side="right") - 1)
    scores = np.sort(group.scores_in(request, filled[bins]))
    return float(scores[middle - below[bins[0]]].mean(dtype=np.float64))
