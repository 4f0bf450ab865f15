"""Scores → a shortlist of pictures, and where in them the question was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..context import contextual
from ..options import ScoringOptions
from ..postings import build, decode
from ..recipes import Recipe
from ..rerank import Placed, Verified, aggregate, one_to_one, verify
from ..scoring import Part, best, matches, score
from ..store import Row, Snapshot
from ..types import Float32, Int64, Region
from .question import Question


@dataclass(frozen=True, slots=True)
class Located:
    """Where a question was found in a picture."""

    verified: Verified
    places: Float32  # (inliers, 4) x, y in the query and x, y in the picture
    question: int  # which of several


@dataclass(slots=True)
class Candidate:
    """A picture on its way into the result."""

    part: int  # which segment
    row: Row
    score: float
    checked: bool = False  # whether geometry was asked
    located: Located | None = None  # what it said
    plain: float | None = None  # where the score is made of ranks: that which the first vocabulary gives

    @property
    def place(self) -> tuple[int, int]:
        return self.part, self.row.ordinal

    @property
    def inliers(self) -> int:
        return len(self.located.places) if self.located else 0

    @property
    def by_inliers(self) -> tuple[int, float, str]:
        """Verified pictures first, by inliers; then by score; equal ones by key, so that ties always fall alike."""
        return -self.inliers, -self.score, self.row.key

    @property
    def by_score(self) -> tuple[bool, float, str]:
        """Verified pictures first, but by score within."""
        return self.located is None, -self.score, self.row.key


Scores = list[Float32]  # for each part one score per picture


@dataclass(frozen=True)
class Opinion:
    """What a question says of every picture, in one vocabulary."""

    scores: Scores
    asked: Question
    parts: Sequence[Part]
    options: ScoringOptions

    @cached_property
    def most(self) -> float:
        """The most it could say: what a picture with its very features, each with its nearest word, would score."""
        words, idf, whole = self.asked.words, self.parts[0].idf, self.parts[0].whole
        nearest = words.rows(np.unique(words.feature, return_index=True)[1])
        query = replace(self.asked, words=nearest).query
        if query.descriptors is not None:
            kept = np.ascontiguousarray(query.descriptors[nearest.feature]).view(np.uint8)
            nearest = replace(nearest, code=kept)
        alone = Part.of(build([(nearest, query.geometry)], words=len(idf)), pictures=1, idf=idf, among=whole)
        # A density ratio depends on all that there is.
        others = self.parts if self.options.uses_mixture else []
        return float(score(query, [*others, alone], options=self.options)[-1][0])


def opinion(
    snapshot: Snapshot, asked: Question, recipe: Recipe, vocabulary: int = 0, clusters: Int64 | None = None
) -> Opinion:
    parts, mine, scoring = snapshot.views[vocabulary], asked.within(snapshot.spans[vocabulary]), recipe.scoring
    scores = score(mine.query, parts, options=scoring, clusters=clusters)
    if recipe.context.method != "none":
        terms = snapshot.terms(scoring, recipe.context)[vocabulary]
        scores = [contextual(scoring.measure, s, t) for s, t in zip(scores, terms, strict=True)]
    return Opinion(scores, mine, parts, scoring)


def opinions_of(
    snapshot: Snapshot, questions: Sequence[Question], recipe: Recipe, clusters: Int64 | None
) -> list[list[Opinion]]:
    """For each vocabulary what all questions say of the pictures in these clusters (None: in all)."""
    vocabularies = range(snapshot.manifest.vocabularies)
    return [[opinion(snapshot, q, recipe, v, clusters) for q in questions] for v in vocabularies]


def at_one_scale(opinions: Sequence[Opinion]) -> list[Scores]:
    """Their scores, brought to the scale of the first that can say anything."""
    if len(opinions) == 1 or not opinions[0].scores:
        return [o.scores for o in opinions]
    most = next((o.most for o in opinions if o.most), 0.0)
    scales = [np.float32(most / o.most if o.most else 0) for o in opinions]
    return [[s * scale for s in o.scores] for o, scale in zip(opinions, scales, strict=True)]


def mean_scores(scores: Sequence[Scores]) -> Scores:
    return (
        scores[0]
        if len(scores) == 1
        else [np.mean(parts, axis=0, dtype=np.float32) for parts in zip(*scores, strict=True)]
    )


def shortlist(snapshot: Snapshot, scores: Scores, count: int) -> list[Candidate]:
    """The best ``count`` living pictures by score, in order."""
    if not scores:
        return []
    chosen = best(np.concatenate(scores), count)
    starts = np.concatenate([[0], np.cumsum([len(s) for s in scores])])
    candidates = []
    for part, segment in enumerate(snapshot.segments):
        ordinals = chosen[(chosen >= starts[part]) & (chosen < starts[part + 1])] - starts[part]
        for row in segment.table.rows(ordinals):
            candidates.append(Candidate(part, row, float(scores[part][row.ordinal])))
    return sorted(candidates, key=lambda c: c.by_score)[:count]


def agreed(snapshot: Snapshot, totals: Sequence[Scores], count: int, recipe: Recipe) -> list[Candidate]:
    """The best ``count`` living pictures by each vocabulary's scores; by the ranks there, if there are several."""
    if len(totals) == 1 or not totals[0]:
        return shortlist(snapshot, totals[0], count)
    options = recipe.aggregate
    together = [np.concatenate(scores) for scores in totals]
    combined = aggregate(together, quantile=options.quantile, depth=max(options.depth, count))
    candidates = shortlist(snapshot, np.split(combined, np.cumsum([len(s) for s in totals[0]])[:-1]), count)
    for candidate in candidates:
        candidate.plain = float(totals[0][candidate.part][candidate.row.ordinal])
    return candidates


def verify_all(
    snapshot: Snapshot, questions: Sequence[Question], candidates: Sequence[Candidate], recipe: Recipe
) -> None:
    """Locate each candidate, in place; with several questions, by the one that most matches agree on."""
    for number, asked in enumerate(questions):
        for part in range(len(snapshot.segments)):
            _verify_part(snapshot, part, asked, number, [c for c in candidates if c.part == part], recipe)


def _verify_part(
    snapshot: Snapshot, part: int, asked: Question, number: int, candidates: Sequence[Candidate], recipe: Recipe
) -> None:
    if not candidates:
        return
    segment, features = snapshot.segments[part], asked.features
    words = asked.words.within(snapshot.spans[0])  # in several vocabularies a match would count as often
    slot_of = np.full(segment.record.pictures, -1, np.int32)
    slot_of[[c.row.ordinal for c in candidates]] = np.arange(len(candidates))
    view = snapshot.views[0][part]
    clusters = view.clusters_of(np.array([c.row.ordinal for c in candidates]))
    found = matches(words, view, slot_of, recipe.scoring, clusters)
    found = found[one_to_one(found[:, 2], found[:, 3])]
    found = found[np.argsort(found[:, 0], kind="stable")]
    sizes = np.array([(c.row.width, c.row.height) for c in candidates])
    feature = words.feature[found[:, 1]]
    shape = None if features.shape is None else features.shape[feature]
    ours = Placed(features.xy[feature], features.scale[feature], features.angle[feature], shape)
    theirs = Placed(*decode(segment.geometry(found[:, 2]), sizes.max(axis=1)[found[:, 0]]))
    bounds = np.searchsorted(found[:, 0], np.arange(len(candidates) + 1))
    places = np.concatenate([ours.xy, theirs.xy], axis=1)
    oriented = snapshot.manifest.oriented
    checked = verify(ours, theirs, bounds=bounds, sizes=sizes, options=recipe.verify, oriented=oriented)
    for slot, (candidate, verified) in enumerate(zip(candidates, checked, strict=True)):
        candidate.checked = True
        if verified and verified.inliers.sum() > candidate.inliers:
            agreeing = places[bounds[slot] : bounds[slot + 1]][verified.inliers]
            candidate.located = Located(verified, agreeing, number)


def box(xy: Float32) -> Region:
    (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
    return Region(left, top, right - left, bottom - top)
