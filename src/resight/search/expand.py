"""Query expansion: ask again with what the best verified results show of the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..recipes import Recipe
from ..scoring import distinct
from ..types import Features, Float64, Int32, Words
from .candidates import Candidate, Located, box
from .question import Question
from .shelf import Asking
from .shelves import Shelves, shortlist, standings

# A result that shares this much of the query's features is the same picture again: expansion learns nothing from it.
SAME_PICTURE = 0.8
# Expansion takes in what a result shows up to this share beyond the query's frame: an affine map is only nearly right.
MARGIN = 0.25


def expand(shelves: Shelves, asking: Asking, candidates: list[Candidate], count: int) -> list[Candidate]:
    """Ask again with what the best verified results show of the same thing.

    All ask in the same clusters: a picture that one of them does not look at cannot be compared by their mean.
    """
    questions, recipe = asking.questions, asking.recipe
    located = [c for c in candidates if c.located and c.inliers < SAME_PICTURE * len(questions[c.located.question])]
    if not located:
        return sorted(candidates, key=lambda c: c.by_score)
    sources = located[: recipe.expand.results]
    stored = shelves.stored([(c.part, c.row) for c in sources])
    oriented = shelves.snapshot.manifest.oriented
    seen = [_seen_in(s, questions, c.located, oriented) for s, c in zip(stored, sources, strict=True) if c.located]
    if recipe.expand.kind == "union":
        unions = [_union([q, *(s for s, of in seen if of == n)], recipe) for n, q in enumerate(questions)]
        asking = Asking(unions, recipe, asking.clusters, asking.background)
        found = standings(shelves, "standing", count=count, asking=asking)
    else:
        more, places = [s for s, _ in seen], [c.place for c in sources]
        found = standings(shelves, "again", more, places, count=count, asking=asking)
    known = {c.place: c for c in candidates if c.checked}
    expanded = shortlist(shelves, found, count, recipe)
    for candidate in expanded:
        if before := known.get(candidate.place):
            candidate.located, candidate.checked = before.located, True
    shelves.locate(asking, [c for c in expanded[: recipe.verify.shortlist] if not c.checked])
    held = {c.place for c in expanded}
    lost = [c for c in candidates if c.located and c.place not in held]  # what was verified stays in the result
    return sorted(expanded + lost, key=lambda c: c.by_score)


def _seen_in(theirs: Question, questions: Sequence[Question], located: Located, oriented: bool) -> tuple[Question, int]:
    """A result's stored features, placed in the frame of the query that found it, those near it alone; which."""
    asked = questions[located.question].features
    seen = _seen_through(_inverse(located.verified.transform), theirs.features)
    if not oriented:  # positions have the same share of any picture, and no angle
        share = np.float32(max(asked.width, asked.height) / max(theirs.features.width, theirs.features.height))
        seen = replace(seen, scale=theirs.features.scale * share, angle=theirs.features.angle)
    near = box(asked.xy).grown(MARGIN).contains(seen.xy)
    placed = replace(seen, width=asked.width, height=asked.height)
    return replace(theirs, features=placed).only(near), located.question


def _seen_through(transform: Float64, features: Features) -> Features:
    """The features where an affine map takes them, with the frames that it makes of theirs; circles stay circles."""
    linear, shape = transform[:, :2], None
    (p, q), (r, s) = linear
    area = p * s - q * r
    if features.shape is not None:
        # A shape under the map is another one, turned: the root of its square. That is a matrix P with determinant 1,
        # the root of which is (P + 1) / √(trace P + 2).
        linear = linear @ features.shape
        square = linear @ linear.transpose(0, 2, 1) / area
        shape = (square + np.eye(2)) / np.sqrt(np.trace(square, axis1=1, axis2=2) + 2)[:, None, None]
    turn = np.arctan2(linear[..., 1, 0] - linear[..., 0, 1], linear[..., 0, 0] + linear[..., 1, 1])
    return replace(
        features,
        xy=(features.xy @ transform[:, :2].T + transform[:, 2]).astype(np.float32),
        scale=features.scale * np.float32(np.sqrt(area)),
        angle=(features.angle + turn.astype(np.float32)) % np.float32(2 * np.pi),
        shape=None if shape is None else shape.astype(np.float32),
    )


def _union(questions: Sequence[Question], recipe: Recipe) -> Question:
    """One question of several in one frame: features that differ from all before them are added (Hamming expansion)."""
    starts = np.cumsum([0, *(len(q.features) for q in questions)])
    rows = [
        (q.words.feature + start, q.words.word, q.words.signature, _levels(q.words))
        for q, start in zip(questions, starts, strict=False)
    ]
    feature, word, signature, level = (np.concatenate(column) for column in zip(*rows, strict=True))
    new = distinct(word, signature, recipe.scoring.threshold // 2)
    new[: len(questions[0].words)] = True
    columns = {name: [getattr(q.features, name) for q in questions] for name in ("xy", "scale", "angle", "shape")}
    places: dict[str, Any] = {
        name: None if any(a is None for a in arrays) else np.concatenate(arrays) for name, arrays in columns.items()
    }
    descriptors: list[Any] = [q.features.descriptors for q in questions]  # bytes or floats
    if len({d.shape[1] for d in descriptors}) > 1:  # those of stored pictures are not kept
        descriptors = [np.zeros((starts[-1], 0), np.uint8)]
    features = replace(questions[0].features, **places, descriptors=np.concatenate(descriptors))
    words = Words(feature.astype(np.int32), word, signature)
    if any(q.words.level is not None for q in questions):
        words = replace(words, level=level)
    return Question(words.rows(new), features)


def _levels(words: Words) -> Int32:
    """Stored features have one word each: their own."""
    return np.zeros(len(words), np.int32) if words.level is None else words.level


def _inverse(transform: Float64) -> Float64:
    square = np.vstack([transform, [0, 0, 1]])
    return np.linalg.inv(square)[:2].astype(np.float64)
