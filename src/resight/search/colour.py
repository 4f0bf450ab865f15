"""Candidates whose colours are like the query's count more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..rerank import colour_factors
from .candidates import Candidate
from .request import SearchRequest


def weigh_colours(request: SearchRequest, candidates: Sequence[Candidate]) -> None:
    """Note in each candidate how much its colours count; of several queries the one that it is most like decides.

    A query without colours, such as a region or a grey picture, changes nothing.
    """
    weight, queries = request.recipe.colours.weight, [query.known_features.colours for query in request.queries]
    if not weight or not candidates or None in queries:
        return
    inliers = np.array([candidate.inliers for candidate in candidates])
    rows = [candidate.row.colours for candidate in candidates]
    factors = np.max([colour_factors(query, rows, inliers, weight=weight) for query in queries if query], axis=0)
    for candidate, factor in zip(candidates, factors.tolist(), strict=True):
        candidate.colour = factor
