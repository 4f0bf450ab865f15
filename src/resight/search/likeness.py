"""Pictures without evidence: how alike others are to them, as those have found, decides between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from .candidates import Candidate
from .group import SegmentGroup
from .prepare import self_scores
from .request import SearchRequest

SURE = 20  # pictures with evidence, the surest, that say which others are like them
LIKELY = 10  # pictures without evidence, the best, that do
SCALING = 0.25  # the power of local scaling: 0 would be none


def add_likeness(
    group: SegmentGroup, request: SearchRequest, candidates: dict[int, Candidate], sure: Sequence[int]
) -> None:
    """Score anew what has no evidence: by the query, and by the pictures that may show what the query shows.

    Those with evidence (``sure``, the surest first) add up. Of those without, the strongest way counts, and in it the
    weaker step: no picture may say more than it is itself like the query. Their say fades as sure ones are more.
    Pictures that are somewhat like all others count less (local scaling, as in CDM-10, by likeness). What is named so
    joins the candidates that were checked.
    """
    graph, own, sure = group.links, _own_score(group, request), sure[:SURE]
    if not own:  # no query can score
        return
    added: dict[int, float] = defaultdict(float)
    for number in sure:
        for other, likeness in graph.alike(number):
            added[other] += likeness
    open_ones = {number: each for number, each in candidates.items() if each.checked and not each.evidence}
    most = max((each.colour for each in open_ones.values()), default=1.0)
    like_query = {number: each.score / own * each.colour / most for number, each in open_ones.items()}
    strongest: dict[int, float] = defaultdict(float)
    for number in sorted(like_query, key=lambda n: (-like_query[n], int(graph.ids[n])))[:LIKELY]:
        for other, likeness in graph.alike(number):
            strongest[other] = max(strongest[other], min(likeness, like_query[number]))
    for number, least in strongest.items():
        added[number] += least / (1 + len(sure))
    candidates |= named(group, request, added.keys() - candidates.keys())
    for number, each in candidates.items():
        if not each.evidence and (each.checked or number in added):
            each.plain = each.score if each.plain is None else each.plain
            each.score = (each.score + own * added[number]) * float(graph.local_scale[number]) ** -SCALING
            each.checked = True


def _own_score(group: SegmentGroup, request: SearchRequest) -> float:
    """What a picture with the queries' very features would score: the mean over the queries, as of any picture."""
    own = self_scores(group, request)[:, 0]
    return float(np.mean(own if request.scales is None else own * request.scales[:, 0]))


def named(group: SegmentGroup, request: SearchRequest, numbers: Iterable[int]) -> dict[int, Candidate]:
    """Candidates that links name, by number."""
    numbers = list(numbers)
    places = [group.links.place(number) for number in numbers]
    found = zip(numbers, places, group.rows(places), group.scores(request, places), strict=True)
    if len(request.collections) > 1:  # where results are ordered by places in several rankings, these have none
        return {number: Candidate(segment, row, 0.0, plain=score) for number, (segment, _), row, score in found}
    return {number: Candidate(segment, row, score) for number, (segment, _), row, score in found}
