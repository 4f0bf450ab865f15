"""Verified results → the pictures that are linked to them, as far as links carry on what the query shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..rerank import confidence
from ..store import Row
from ..types import Float64, Hit, Region
from .candidates import Candidate, Linked, box, is_own_picture
from .carried import Seen, carried, seen_at, still_seen
from .graph import LinkGraph, composed, frame
from .group import SegmentGroup
from .likeness import add_likeness, named
from .request import SearchRequest
from .require import missing


@dataclass(frozen=True, slots=True, eq=False)
class _Reached:
    """A picture on the way."""

    evidence: float
    transform: Float64  # (2, 3) query → picture
    query_box: Float64  # (4,) around the query's features
    seen: Seen  # where in the query the details lie that were seen all the way
    via: tuple[int, ...]  # numbers of the pictures before it


def follow(group: SegmentGroup, request: SearchRequest, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, and what links from the verified ones lead to; in no order.

    A picture that links lead to has as much evidence as the weakest step of the strongest way: as many agreeing matches
    as there are, but of a link only those where the query was seen.
    """
    graph, known = group.links, {group.links.number(c.place): c for c in candidates}
    sources: dict[int, _Reached] = {}
    inliers: dict[int, float] = {}
    for number, candidate in known.items():
        if found := candidate.located:
            query = request.queries[found.query]
            inliers[number] = candidate.inliers
            if not is_own_picture(query, candidate, found):
                seen = box(query.known_features.xy)
                around = np.array([seen.x, seen.y, seen.x + seen.width, seen.y + seen.height])
                places = seen_at(found.places[:, :2], around)
                sources[number] = _Reached(candidate.inliers, found.verified.transform, around, places, ())
    reached = _reached(graph, sources, inliers, request.recipe.links.steps)
    known |= named(group, request, [number for number in reached if number not in known])
    row_of = {number: candidate.row for number, candidate in known.items()}
    for number, end in reached.items():
        known[number].linked, known[number].checked = _linked(end, row_of, row_of[number]), True
    if len(request.collections) == 1:  # places in several rankings are no scores
        showing = {**sources, **reached}
        add_likeness(group, request, known, sorted(showing, key=lambda n: (-showing[n].evidence, int(graph.ids[n]))))
    return list(known.values())


def linked_to(group: SegmentGroup, key: str) -> list[Hit]:
    """The pictures that geometry links to this one, surest first; the score is the number of agreeing matches."""
    located = group.snapshot.locate(key)
    if located is None:
        raise missing(key)
    graph = group.links
    links = graph.of_picture(graph.number((group.snapshot.segments.index(located[0]), located[1].ordinal)))
    rows = group.rows([graph.place(number) for number in links.other.tolist()])
    hits = [
        Hit(
            key=row.key,
            score=float(inliers),
            confidence=confidence(inliers, 0.0),
            path=row.path,
            inliers=inliers,
            transform=tuple(tuple(line) for line in transform.tolist()),  # type: ignore[arg-type]
            query_region=Region(left, top, right - left, bottom - top),
            metadata=row.metadata,
            width=row.width,
            height=row.height,
        )
        for row, inliers, transform, (left, top, right, bottom) in zip(
            rows, links.inliers.tolist(), links.transform, links.box.tolist(), strict=True
        )
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.key))


def _reached(
    graph: LinkGraph, sources: dict[int, _Reached], inliers: dict[int, float], steps: int
) -> dict[int, _Reached]:
    """Pictures that more evidence leads to than there is without links."""
    best, found, current = dict(inliers), dict[int, _Reached](), sources
    for _ in range(steps):
        following: dict[int, _Reached] = {}
        for number in sorted(current, key=lambda n: int(graph.ids[n])):  # so that segments decide nothing
            here, links = current[number], graph.of_picture(number)
            of_query = here.transform, here.query_box, here.seen
            evidence = np.minimum(here.evidence, links.inliers * carried(links, *of_query))
            for row in np.flatnonzero(evidence >= 1).tolist():
                other, much = int(links.other[row]), float(evidence[row])
                if much > best.get(other, 0.0):
                    best[other] = much
                    onward, seen = composed(here.transform, links.transform[row]), still_seen(links, row, *of_query)
                    following[other] = _Reached(much, onward, here.query_box, seen, (*here.via, number))
        found |= following
        current = following
    return found


def _linked(end: _Reached, rows: dict[int, Row], row: Row) -> Linked:
    left, top, right, bottom = frame(end.transform, end.query_box).tolist()
    left, top = max(left, 0.0), max(top, 0.0)
    region = Region(left, top, max(min(right, row.width) - left, 0.0), max(min(bottom, row.height) - top, 0.0))
    return Linked(end.evidence, end.transform, region, tuple(rows[number] for number in end.via))
