"""The best pictures of all segments: candidates for the result."""

from __future__ import annotations

from collections.abc import Sequence

from ..rerank import aggregate
from ..scoring import best
from .candidates import Candidate
from .group import SegmentGroup
from .request import SearchRequest


def shortlist(group: SegmentGroup, request: SearchRequest, count: int) -> list[Candidate]:
    """The best ``count`` living pictures by score, in order; by the ranks in each vocabulary, if there are several."""
    if group.empty:
        return []
    options, several = request.recipe.aggregate, len(request.collections) > 1
    depth = max(options.depth, count) if several else count
    segment, ordinal, scores = group.top_k(request, depth)
    total = aggregate([*scores], quantile=options.quantile, depth=depth) if several else scores[0]
    chosen = best(total, count)
    rows = group.rows(list(zip(segment[chosen].tolist(), ordinal[chosen].tolist(), strict=True)))
    candidates = [
        Candidate(int(segment[i]), row, float(total[i]), plain=float(scores[0][i]) if several else None)
        for i, row in zip(chosen, rows, strict=True)
    ]
    return sorted(candidates, key=lambda c: c.by_evidence)[:count]


def verify(group: SegmentGroup, request: SearchRequest, candidates: Sequence[Candidate]) -> None:
    """Note in each candidate where the queries are found in it."""
    found = group.verify(request, [(c.segment, c.row) for c in candidates])
    for candidate, located in zip(candidates, found, strict=True):
        candidate.checked, candidate.located = True, located
