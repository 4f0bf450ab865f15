"""The pipeline, from questions to hits: score (→ aggregate) → shortlist → verify → expand → name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import KeyMissingError, UsageError
from ..recipes import Recipe
from ..rerank import confidence
from ..scoring import insist_on_similarity
from ..store import Snapshot
from ..timing import Stopwatch
from ..types import Hit, Int64, SearchResult
from .candidates import Candidate, Scores, agreed, at_one_scale, box, mean_scores, opinion, opinions_of, verify_all
from .expand import expand
from .question import Question


def search(
    snapshot: Snapshot,
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
    candidates, background = rank(snapshot, questions, count=top + bool(without), recipe=recipe, watch=watch)
    kept = [candidate for candidate in candidates if candidate.row.key != without]
    hits = [_hit(candidate, background if recipe.verify.shortlist else None) for candidate in kept[:top]]
    return _result(hits, questions, watch)


def compare(snapshot: Snapshot, asked: Question, key: str, *, recipe: Recipe) -> SearchResult:
    """One hit: what geometry says of the picture with this key, whatever its rank."""
    located = snapshot.locate(key)
    if located is None:
        raise missing(key)
    segment, row = located
    part = snapshot.segments.index(segment)
    scores = opinion(snapshot, asked, recipe).scores  # of the first vocabulary, as geometry and confidence are
    candidate = Candidate(part, row, float(scores[part][row.ordinal]))
    verify_all(snapshot, [asked], [candidate], recipe)
    return _result([_hit(candidate, _background(scores, snapshot, None))], [asked], Stopwatch())


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


def insist_on_searchable(snapshot: Snapshot, recipe: Recipe) -> None:
    """Raise UsageError, which names the remedy, where an index lacks what a recipe needs."""
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


def rank(
    snapshot: Snapshot, questions: Sequence[Question], *, count: int, recipe: Recipe, watch: Stopwatch
) -> tuple[list[Candidate], float]:
    """At least ``count`` candidates, if so many share anything with the questions, and the score of the background."""
    insist_on_searchable(snapshot, recipe)
    count = max(count, recipe.verify.shortlist)
    with watch.stage("score"):
        clusters = snapshot.visit([q.words for q in questions], recipe.clusters.probe)
        others = None
        if clusters is not None and recipe.verify.shortlist:
            others = snapshot.spread
            clusters = np.union1d(clusters, others)
        opinions = opinions_of(snapshot, questions, recipe, clusters)
        totals = [mean_scores(at_one_scale(o)) for o in opinions]
        candidates = agreed(snapshot, totals, count, recipe)
    if recipe.verify.shortlist:
        with watch.stage("verify"):
            verify_all(snapshot, questions, candidates[: recipe.verify.shortlist], recipe)
            candidates.sort(key=lambda c: c.by_inliers)
        if recipe.expand.results and candidates:
            with watch.stage("expand"):
                candidates = expand(snapshot, questions, opinions, candidates, count, recipe, clusters)
    return candidates, _background(totals[0], snapshot, others)


def _background(scores: Scores, snapshot: Snapshot, clusters: Int64 | None) -> float:
    """The median score of pictures that share anything with the query.

    Clusters near the query are no background, so where only some are visited, others are too: see ``spread``.
    """
    seen = [s[(s > 0) & part.seen(clusters)] for s, part in zip(scores, snapshot.parts, strict=True)]
    positive = np.concatenate([np.zeros(0), *seen])
    return float(np.median(positive)) if len(positive) else 0.0


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
