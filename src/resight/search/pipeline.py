"""The pipeline, from questions to hits: score (→ aggregate) → shortlist → verify → expand → name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import KeyMissingError, UsageError
from ..recipes import Recipe
from ..rerank import confidence
from ..scoring import insist_on_similarity, known_measure
from ..timing import Stopwatch
from ..types import Hit, SearchResult
from .candidates import Candidate, box
from .expand import expand
from .question import Question
from .shelf import Asking
from .shelves import Shelves, background, insist_on_spreadable, shortlist, standings


def search(
    shelves: Shelves,
    questions: Sequence[Question],
    *,
    top: int,
    recipe: Recipe,
    without: str | None = None,
    watch: Stopwatch | None = None,
) -> SearchResult:
    """The ``top`` pictures that best match the questions, all of which ask for the same thing.

    without: the key of a picture to leave out: the query itself, where it is an indexed one.
    """
    watch = watch or Stopwatch()
    candidates, usual = rank(shelves, questions, count=top + bool(without), recipe=recipe, watch=watch)
    kept = [candidate for candidate in candidates if candidate.row.key != without]
    hits = [_hit(candidate, usual if recipe.verify.shortlist else None) for candidate in kept[:top]]
    return _result(hits, questions, watch)


def compare(shelves: Shelves, asked: Question, key: str, *, recipe: Recipe) -> SearchResult:
    """One hit: what geometry says of the picture with this key, whatever its rank."""
    located = shelves.snapshot.locate(key)
    if located is None:
        raise missing(key)
    segment, row = located
    part, asking = shelves.snapshot.segments.index(segment), Asking(_sent(shelves, [asked]), recipe)
    usual = background(shelves, asking)
    (score,) = shelves.ask_of("scores", [(part, row)], asking=asking)
    candidate = Candidate(part, row, score)
    shelves.locate(asking, [candidate])
    return _result([_hit(candidate, usual)], [asked], Stopwatch())


def missing(key: str) -> KeyMissingError:
    return KeyMissingError(f"no picture with the key {key!r} is indexed; a key is the path under which one was")


def _result(hits: Sequence[Hit], questions: Sequence[Question], watch: Stopwatch) -> SearchResult:
    return SearchResult(
        tuple(hits),
        query_features=sum(len(q) for q in questions),
        width=questions[0].features.width,
        height=questions[0].features.height,
        timings=watch.seconds,
    )


def insist_on_searchable(shelves: Shelves, recipe: Recipe) -> None:
    """Raise UsageError, which names the remedy, where an index lacks what a recipe needs."""
    known_measure(recipe.scoring)
    if not shelves.in_one_place:
        insist_on_spreadable(recipe)
    snapshot = shelves.snapshot
    kept, wanted = snapshot.manifest.keep, recipe.indexing.keep
    if recipe.scoring.measure == "knn" and wanted != kept:
        raise UsageError(
            f"this recipe compares descriptors as {wanted}, {snapshot.folder} keeps {kept}; "
            "search with another recipe, or make an index for this one with `resight index --recipe`"
        )
    if recipe.scoring.measure == "learnt" and snapshot.segments:
        insist_on_similarity(snapshot.similarity)
    if recipe.context.method != "none":
        snapshot.terms(recipe.scoring, recipe.context)
    snapshot.insist_on_clusters(recipe.clusters.probe)


def rank(
    shelves: Shelves, questions: Sequence[Question], *, count: int, recipe: Recipe, watch: Stopwatch
) -> tuple[list[Candidate], float]:
    """At least ``count`` candidates, if so many share anything with the questions, and the score of the background.

    That is 0 where nothing is verified: only confidence is judged by it.
    """
    snapshot = shelves.snapshot
    insist_on_searchable(shelves, recipe)
    count = max(count, recipe.verify.shortlist)
    with watch.stage("score"):
        clusters = snapshot.visit([q.words for q in questions], recipe.clusters.probe)
        others = None
        if clusters is not None and recipe.verify.shortlist:
            others = snapshot.spread
            clusters = np.union1d(clusters, others)
        asking = Asking(_sent(shelves, questions), recipe, clusters, others)
        found = standings(shelves, "standing", count=count, asking=asking)
        candidates = shortlist(shelves, found, count, recipe)
    if not recipe.verify.shortlist:
        return candidates, 0.0
    with watch.stage("verify"):
        shelves.locate(asking, candidates[: recipe.verify.shortlist])
        candidates.sort(key=lambda c: c.by_inliers)
    if recipe.expand.results and candidates:
        with watch.stage("expand"):
            candidates = expand(shelves, asking, candidates, count)
    return candidates, background(shelves, asking)


def _sent(shelves: Shelves, questions: Sequence[Question]) -> Sequence[Question]:
    """The questions without what only searches in one place compare."""
    return questions if shelves.in_one_place else [q.without_descriptors for q in questions]


def evidence(candidate: Candidate, background: float) -> tuple[int, float]:
    """What confidence is judged by: matches that agree, and the score relative to that of the background.

    Places in a ranking do not tell how much pictures have in common, so the score is that of one vocabulary.
    """
    score = candidate.score if candidate.plain is None else candidate.plain
    return candidate.inliers, score / background if background else 0.0


def _hit(candidate: Candidate, background: float | None) -> Hit:
    """Without geometry (no background) there is no saying how likely the hit is right."""
    row, located = candidate.row, candidate.located
    verified = located.verified if located else None
    return Hit(
        key=row.key,
        score=candidate.score,
        confidence=None if background is None else confidence(*evidence(candidate, background)),
        path=row.path,
        inliers=candidate.inliers or None,
        transform=tuple(tuple(line) for line in verified.transform.tolist()) if verified else None,  # type: ignore[arg-type]
        region=box(located.places[:, 2:]) if located else None,
        query_region=box(located.places[:, :2]) if located else None,
        matches=located.places if located else None,
        metadata=row.metadata,
        width=row.width,
        height=row.height,
    )
