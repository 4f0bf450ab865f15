"""The pipeline, from questions to hits: score → shortlist → verify → expand → name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .options import AssignOptions
from .postings import decode, encode
from .recipes import Recipe
from .rerank import Placed, Verified, confidence, one_to_one, verify
from .scoring import Query, best, matches, score
from .store import Row, Segment, Snapshot
from .types import Features, Float32, Float64, Hit, Region, SearchResult, Words
from .vocabulary import Assigner

# A result that shares this much of the query's features is the same picture again: expansion learns nothing from it.
SAME_PICTURE = 0.8
# Expansion takes in what a result shows up to this share beyond the query's frame: an affine map is only nearly right.
MARGIN = 0.25


@dataclass(frozen=True, slots=True)
class Question:
    """One picture of what is looked for."""

    words: Words
    features: Features  # their descriptors are not looked at any more

    @property
    def query(self) -> Query:
        return Query(self.words, encode(self.features))


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
    located: Located | None = None

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


def question(assigner: Assigner, features: Features, options: AssignOptions) -> Question:
    """What a picture's features ask."""
    return Question(assigner.assign_query(features.descriptors, options=options), features)


def stored_question(segment: Segment, row: Row) -> Question:
    """What an indexed picture asks: its stored features, each with the one word it has there."""
    words, codes = segment.picture(row)
    xy, scale, angle = decode(codes, max(row.width, row.height))
    nothing = np.zeros((len(words), 0), np.uint8)
    return Question(words, Features(xy, scale, angle, nothing, row.width, row.height))


def search(snapshot: Snapshot, questions: Sequence[Question], *, top: int, recipe: Recipe) -> SearchResult:
    """The ``top`` pictures that best match the questions, all of which ask for the same thing."""
    count = max(top, recipe.verify.shortlist)
    scores = [score(q.query, snapshot.parts, options=recipe.scoring) for q in questions]
    total = mean_scores(scores)
    candidates = shortlist(snapshot, total, count)
    if recipe.verify.shortlist:
        verify_all(snapshot, questions, candidates[: recipe.verify.shortlist], recipe)
        candidates.sort(key=lambda c: c.by_inliers)
        if recipe.expand.results and candidates:
            candidates = _expand(snapshot, questions, scores, candidates, count, recipe)
    first = questions[0].features
    background = _background(total)
    return SearchResult(
        tuple(_hit(candidate, background) for candidate in candidates[:top]),
        query_features=sum(len(q.features) for q in questions),
        width=first.width,
        height=first.height,
    )


def mean_scores(scores: Sequence[Scores]) -> Scores:
    """The mean over several questions, each brought to the scale of the first by its best score."""
    if len(scores) == 1:
        return scores[0]
    peaks = [max((float(s.max(initial=0)) for s in parts), default=0) for parts in scores]
    scales = [np.float32(peaks[0] / peak / len(scores)) if peak else np.float32(0) for peak in peaks]
    return [
        np.sum([s * scale for s, scale in zip(parts, scales, strict=True)], axis=0)
        for parts in zip(*scores, strict=True)
    ]


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
    slot_of = np.full(segment.record.pictures, -1, np.int32)
    slot_of[[c.row.ordinal for c in candidates]] = np.arange(len(candidates))
    found = matches(asked.words, snapshot.parts[part], slot_of, recipe.scoring)
    found = found[one_to_one(found[:, 2], found[:, 3])]
    found = found[np.argsort(found[:, 0], kind="stable")]
    sizes = np.array([(c.row.width, c.row.height) for c in candidates])
    feature = asked.words.feature[found[:, 1]]
    ours = Placed(features.xy[feature], features.scale[feature], features.angle[feature])
    theirs = Placed(*decode(segment.geometry(found[:, 2]), sizes.max(axis=1)[found[:, 0]]))
    bounds = np.searchsorted(found[:, 0], np.arange(len(candidates) + 1))
    places = np.concatenate([ours.xy, theirs.xy], axis=1)
    checked = verify(ours, theirs, bounds=bounds, sizes=sizes, options=recipe.verify)
    for slot, (candidate, verified) in enumerate(zip(candidates, checked, strict=True)):
        if verified and verified.inliers.sum() > candidate.inliers:
            agreeing = places[bounds[slot] : bounds[slot + 1]][verified.inliers]
            candidate.located = Located(verified, agreeing, number)


def _expand(
    snapshot: Snapshot,
    questions: Sequence[Question],
    scores: list[Scores],
    candidates: list[Candidate],
    count: int,
    recipe: Recipe,
) -> list[Candidate]:
    """Ask again with what the best verified results show of the same thing (average query expansion)."""
    more = [
        _seen_in(snapshot, questions[c.located.question], c)
        for c in candidates
        if c.located and c.inliers < SAME_PICTURE * len(questions[c.located.question].features)
    ][: recipe.expand.results]
    scores += [score(q.query, snapshot.parts, options=recipe.scoring) for q in more]
    known = {(c.part, c.row.ordinal): c for c in candidates}
    expanded = [
        replace(c, located=known[place].located if (place := (c.part, c.row.ordinal)) in known else None)
        for c in shortlist(snapshot, mean_scores(scores), count)
    ]
    unseen = [c for c in expanded[: recipe.verify.shortlist] if (c.part, c.row.ordinal) not in known]
    verify_all(snapshot, questions, unseen, recipe)
    return sorted(expanded, key=lambda c: c.by_score)


def _seen_in(snapshot: Snapshot, asked: Question, candidate: Candidate) -> Question:
    """The candidate's stored features that lie in the query's frame, as a question of its own."""
    assert candidate.located
    theirs = stored_question(snapshot.segments[candidate.part], candidate.row)
    to_query = _inverse(candidate.located.verified.transform)
    xy = theirs.features.xy @ to_query[:, :2].T + to_query[:, 2]
    low, high = asked.features.xy.min(axis=0), asked.features.xy.max(axis=0)
    margin = MARGIN * (high - low)
    inside = ((xy >= low - margin) & (xy <= high + margin)).all(axis=1)
    rows = inside[theirs.words.feature]
    words = Words(theirs.words.feature[rows], theirs.words.word[rows], theirs.words.signature[rows])
    return Question(words, theirs.features)


def _inverse(transform: Float64) -> Float64:
    square = np.vstack([transform, [0, 0, 1]])
    return np.linalg.inv(square)[:2].astype(np.float64)


def _background(scores: Scores) -> float:
    """The median score of pictures that share anything with the query."""
    positive = np.concatenate([s[s > 0] for s in scores]) if scores else np.zeros(0)
    return float(np.median(positive)) if len(positive) else 0.0


def _hit(candidate: Candidate, background: float) -> Hit:
    row, located = candidate.row, candidate.located
    verified = located.verified if located else None
    return Hit(
        key=row.key,
        score=candidate.score,
        confidence=confidence(candidate.inliers, verified, candidate.score, background),
        path=row.path,
        inliers=candidate.inliers or None,
        transform=tuple(tuple(line) for line in verified.transform.tolist()) if verified else None,  # type: ignore[arg-type]
        region=_box(located.places[:, 2:]) if located else None,
        query_region=_box(located.places[:, :2]) if located else None,
        matches=located.places if located else None,
        metadata=row.metadata,
    )


def _box(xy: Float32) -> Region:
    (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
    return Region(left, top, right - left, bottom - top)
