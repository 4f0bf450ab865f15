"""Scores → a shortlist of pictures, and where in them the question was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..postings import decode
from ..recipes import Recipe
from ..rerank import Placed, Verified, one_to_one, verify
from ..scoring import best, matches
from ..store import Row, Snapshot
from ..types import Float32, Region
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
        candidate.checked = True
        if verified and verified.inliers.sum() > candidate.inliers:
            agreeing = places[bounds[slot] : bounds[slot + 1]][verified.inliers]
            candidate.located = Located(verified, agreeing, number)


def box(xy: Float32) -> Region:
    (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
    return Region(left, top, right - left, bottom - top)
