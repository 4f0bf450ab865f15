"""Candidates whose colours are like the query's count more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..rerank import colour_factors
from .candidates import Candidate
from .request import SearchRequest


def weigh_colours(request: SearchRequest, candidates: Sequence[Candidate]) -> None:
    """Note in each candidate how much more it counts for its colours; of several queries the largest factor counts.

    Queries without colours, such as regions and grey pictures, have no say. Nor have colours where scores are made of
    ranks in several vocabularies: a score there tells nothing about how much pictures have in common.
    """
    weight = request.recipe.colours.weight
    queries = [colours for query in request.queries if (colours := query.known_features.colours)]
    if not (weight and candidates and queries) or len(request.collections) > 1:
        return
    inliers = np.array([candidate.evidence for candidate in candidates])
    rows = [candidate.row.colours for candidate in candidates]
    factors = np.max([colour_factors(query, rows, inliers, weight=weight) for query in queries], axis=0)
    for candidate, factor in zip(candidates, factors.tolist(), strict=True):
        candidate.colour = factor
