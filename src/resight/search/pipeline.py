"""The pipeline, from queries to hits: score → shortlist → verify → order → follow links or expand → order → name."""

from __future__ import annotations

from collections.abc import Sequence

from ..recipes import Recipe
from ..rerank import confidence, linked_confidence
from ..scoring import Query
from ..timing import Stopwatch
from ..types import Hit, SearchResult
from .background import background_score
from .candidates import Candidate, box, is_own_picture
from .colour import weigh_colours
from .expand import expand
from .follow import follow
from .group import SegmentGroup
from .prepare import choose_pictures, prepare
from .request import SearchRequest
from .require import missing, require_searchable
from .shortlist import shortlist, verify


def search(
    group: SegmentGroup,
    queries: Sequence[Query],
    *,
    top: int,
    recipe: Recipe,
    without: str | None = None,
    watch: Stopwatch | None = None,
) -> SearchResult:
    """The ``top`` pictures that best match the queries, all of which look for the same thing.

    without: the key of a picture to leave out: the query itself, where it is an indexed one.
    """
    watch = watch or Stopwatch()
    candidates, background = rank(group, queries, count=top + (without is not None), recipe=recipe, watch=watch)
    kept = [candidate for candidate in candidates if candidate.row.key != without]
    hits = [_hit(candidate, background) for candidate in kept[:top]]
    return _result(hits, queries, watch)


def rank(
    group: SegmentGroup, queries: Sequence[Query], *, count: int, recipe: Recipe, watch: Stopwatch
) -> tuple[list[Candidate], float | None]:
    """At least ``count`` candidates, if so many share anything with the queries, and the score of the background.

    That is None where nothing is verified: only confidence is judged by it.
    """
    require_searchable(group, recipe)
    count = max(count, recipe.verify.shortlist)
    with watch.stage("score"):
        pictures, background = choose_pictures(group, queries, recipe)
        request = prepare(group, queries, recipe, pictures=pictures, background=background)
        candidates = shortlist(group, request, count)
    if not recipe.verify.shortlist:
        return candidates, None
    linked = bool(recipe.links.steps) and group.snapshot.linked
    checked = recipe.links.shortlist if linked else recipe.verify.shortlist
    with watch.stage("verify"):
        verify(group, request, candidates[:checked])
        candidates.sort(key=lambda c: c.by_evidence)  # before colours: they do not decide who searches again
        found = order(request, candidates)
    first = leading(request, found)
    if candidates and linked:
        with watch.stage("links"):
            found = order(request, follow(group, request, found), first=first)
    elif candidates and recipe.expand.results:
        with watch.stage("expand"):
            found = order(request, expand(group, request, candidates, count), first=first)
    return found, background_score(group, request)


def order(
    request: SearchRequest, candidates: Sequence[Candidate], *, first: Sequence[Candidate] = ()
) -> list[Candidate]:
    """The ``first`` ones, then by evidence, colours included; what geometry was not asked about comes last."""
    weigh_colours(request, [candidate for candidate in candidates if candidate.checked])
    rank = {candidate.place: number for number, candidate in enumerate(first)}
    return sorted(candidates, key=lambda c: (rank.get(c.place, len(rank)), not c.checked, *c.by_evidence))


def leading(request: SearchRequest, found: Sequence[Candidate]) -> Sequence[Candidate]:
    """The results whose places others cannot take: the first, or the query's own picture and copies and the next."""
    for count, candidate in enumerate(found, 1):
        located = candidate.located
        if not located or not is_own_picture(request.queries[located.query], candidate, located):
            return found[:count]
    return found


def compare(group: SegmentGroup, query: Query, key: str, *, recipe: Recipe) -> SearchResult:
    """One hit: what geometry says of the picture with this key, whatever its rank."""
    located = group.snapshot.locate(key)
    if located is None:
        raise missing(key)
    segment, row = located
    request, number = prepare(group, [query], recipe), group.snapshot.segments.index(segment)
    (score,) = group.scores(request, [(number, row.ordinal)])
    candidate = Candidate(number, row, score)
    verify(group, request, [candidate])
    return _result([_hit(candidate, background_score(group, request))], [query], Stopwatch())


def _result(hits: Sequence[Hit], queries: Sequence[Query], watch: Stopwatch) -> SearchResult:
    return SearchResult(
        tuple(hits),
        query_features=sum(len(query) for query in queries),
        width=queries[0].known_features.width,
        height=queries[0].known_features.height,
        timings=watch.seconds,
    )


def evidence(candidate: Candidate, background: float) -> tuple[int, float]:
    """What confidence is judged by: matches that agree, and the score relative to that of the background.

    Places in a ranking do not tell how much pictures have in common, so the score is that of one vocabulary.
    """
    score = candidate.score if candidate.plain is None else candidate.plain
    return candidate.inliers, score / background if background else 0.0


def _confidence(candidate: Candidate, background: float) -> float:
    direct = confidence(*evidence(candidate, background))
    return max(direct, linked_confidence(candidate.linked.evidence)) if candidate.linked else direct


def _hit(candidate: Candidate, background: float | None) -> Hit:
    """Without geometry (no background) there is no saying how likely the hit is right."""
    row, located = candidate.row, candidate.located
    linked = None if located else candidate.linked
    transform = located.verified.transform if located else linked.transform if linked else None
    return Hit(
        key=row.key,
        score=candidate.score,
        confidence=None if background is None else _confidence(candidate, background),
        path=row.path,
        inliers=candidate.inliers or None,
        transform=None if transform is None else tuple(tuple(line) for line in transform.tolist()),  # type: ignore[arg-type]
        region=box(located.places[:, 2:]) if located else linked.region if linked else None,
        query_region=box(located.places[:, :2]) if located else None,
        matches=located.places if located else None,
        via=tuple(row.key for row in linked.via) if linked else (),
        metadata=row.metadata,
        width=row.width,
        height=row.height,
    )
