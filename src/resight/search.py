"""The pipeline, from features to hits: assign → score → shortlist → verify → name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .postings import decode
from .recipes import Recipe
from .rerank import Placed, Verified, one_to_one, verify
from .scoring import best, matches, score
from .store import Row, Snapshot
from .types import Features, Float32, Hit, Region, SearchResult, Words
from .vocabulary import Assigner


@dataclass(slots=True)
class Candidate:
    """A picture on its way into the result."""

    part: int  # which segment
    row: Row
    score: float
    verified: Verified | None = None
    region: Region | None = None

    @property
    def order(self) -> tuple[int, float, str]:
        """Verified pictures first, by inliers; then by score; equal ones by key, so that ties always fall alike."""
        inliers = int(self.verified.inliers.sum()) if self.verified else 0
        return -inliers, -self.score, self.row.key


def search(snapshot: Snapshot, assigner: Assigner, features: Features, *, top: int, recipe: Recipe) -> SearchResult:
    """The ``top`` pictures that best match the features."""
    words = assigner.assign_query(features.descriptors, options=recipe.assign)
    return search_words(snapshot, words, features, top=top, recipe=recipe)


def search_words(snapshot: Snapshot, query: Words, features: Features, *, top: int, recipe: Recipe) -> SearchResult:
    """The same for features that are quantised already."""
    candidates = shortlist(snapshot, query, max(top, recipe.verify.shortlist), recipe)
    if recipe.verify.shortlist:
        verify_all(snapshot, query, features, candidates[: recipe.verify.shortlist], recipe)
        candidates.sort(key=lambda c: c.order)
    hits = tuple(_hit(candidate) for candidate in candidates[:top])
    return SearchResult(hits, query_features=len(features), width=features.width, height=features.height)


def shortlist(snapshot: Snapshot, query: Words, count: int, recipe: Recipe) -> list[Candidate]:
    """The best ``count`` living pictures by score, in order."""
    scores = [
        score(query, part, options=recipe.scoring) * segment.alive
        for part, segment in zip(snapshot.parts, snapshot.segments, strict=True)
    ]
    if not scores:
        return []
    chosen = best(np.concatenate(scores), count)
    starts = np.concatenate([[0], np.cumsum([len(s) for s in scores])])
    candidates = []
    for part, segment in enumerate(snapshot.segments):
        ordinals = chosen[(chosen >= starts[part]) & (chosen < starts[part + 1])] - starts[part]
        for row in segment.table.rows(ordinals):
            candidates.append(Candidate(part, row, float(scores[part][row.ordinal])))
    return sorted(candidates, key=lambda c: c.order)[:count]


def verify_all(
    snapshot: Snapshot, query: Words, features: Features, candidates: list[Candidate], recipe: Recipe
) -> None:
    """Find the geometry of each candidate, in place."""
    for part, segment in enumerate(snapshot.segments):
        mine = [c for c in candidates if c.part == part]
        if not mine:
            continue
        slot_of = np.full(segment.record.pictures, -1, np.int32)
        slot_of[[c.row.ordinal for c in mine]] = np.arange(len(mine))
        found = matches(query, snapshot.parts[part], slot_of, recipe.scoring)
        found = found[one_to_one(found[:, 2], found[:, 3])]
        found = found[np.argsort(found[:, 0], kind="stable")]
        sizes = np.array([(c.row.width, c.row.height) for c in mine])
        feature = query.feature[found[:, 1]]
        ours = Placed(features.xy[feature], features.scale[feature], features.angle[feature])
        theirs = Placed(*decode(segment.geometry(found[:, 2]), sizes.max(axis=1)[found[:, 0]]))
        bounds = np.searchsorted(found[:, 0], np.arange(len(mine) + 1))
        checked = verify(ours, theirs, bounds=bounds, sizes=sizes, options=recipe.verify)
        for candidate, first, verified in zip(mine, bounds, checked, strict=False):
            if verified:
                candidate.verified = verified
                candidate.region = _box(theirs.xy[first : first + len(verified.inliers)][verified.inliers])


def _box(xy: Float32) -> Region:
    (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
    return Region(left, top, right - left, bottom - top)


def _hit(candidate: Candidate) -> Hit:
    row, verified = candidate.row, candidate.verified
    return Hit(
        key=row.key,
        score=candidate.score,
        path=row.path,
        inliers=int(verified.inliers.sum()) if verified else None,
        transform=tuple(tuple(line) for line in verified.transform.tolist()) if verified else None,  # type: ignore[arg-type]
        region=candidate.region,
        metadata=row.metadata,
    )
