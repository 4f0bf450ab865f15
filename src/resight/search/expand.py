"""Query expansion: search again with what the best verified results show of the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import products
from ..recipes import Recipe
from ..scoring import Query, distinct
from ..types import Features, Float64, Int32, Words
from .candidates import Candidate, Located, box, is_own_picture, moved
from .group import SegmentGroup
from .prepare import extend, prepare
from .request import SearchRequest
from .shortlist import shortlist, verify

# Expansion takes in what a result shows up to this share beyond the query's frame: an affine map is only nearly right.
MARGIN = 0.25


def expand(group: SegmentGroup, request: SearchRequest, candidates: list[Candidate], count: int) -> list[Candidate]:
    """Search again with what the best verified results show of the same thing; in no order.

    All queries score the same pictures: one that is not scored by one of them cannot be compared by their mean.
    """
    queries, recipe = request.queries, request.recipe
    sources = [c for c in candidates if c.located and not is_own_picture(queries[c.located.query], c, c.located)]
    if not sources:
        return candidates
    sources = sources[: recipe.expand.results]
    stored = group.stored_queries([(c.segment, c.row) for c in sources])
    oriented = group.snapshot.settings.oriented
    seen = [_seen_in(s, queries, c.located, oriented) for s, c in zip(stored, sources, strict=True) if c.located]
    if recipe.expand.kind == "union":
        unions = [_union([q, *(s for s, of in seen if of == n)], recipe) for n, q in enumerate(queries)]
        request = again = prepare(group, unions, recipe, pictures=request.pictures, background=request.background)
    else:
        again = extend(group, request, [s for s, _ in seen], [c.place for c in sources])
    expanded = shortlist(group, again, count)
    known = {c.place: c for c in candidates if c.checked}
    for rank, candidate in enumerate(expanded):
        before = known.get(candidate.place)
        if before and (before.located or rank < recipe.verify.shortlist):  # whatever the count
            candidate.located, candidate.checked = before.located, True
    verify(group, request, [c for c in expanded[: recipe.verify.shortlist] if not c.checked])
    held = {c.place for c in expanded}
    lost = [c for c in candidates if c.located and c.place not in held]  # what was verified stays in the result
    if len(again.collections) == 1:  # ranks in several vocabularies have no scores beyond those listed
        for candidate, score in zip(lost, group.scores(again, [c.place for c in lost]), strict=True):
            candidate.score = score
    return expanded + lost


def _seen_in(stored: Query, queries: Sequence[Query], located: Located, oriented: bool) -> tuple[Query, int]:
    """A result's stored features, placed in the frame of the query that found it, those near it alone; which query."""
    ours, whole = queries[located.query].known_features, stored.known_features
    back = _inverse(located.verified.transform)
    near = box(ours.xy).grown(MARGIN).contains(moved(back, whole.xy))
    theirs = whole.rows(near)
    seen = _seen_through(back, theirs)
    if not oriented:  # positions have the same share of any picture, and no angle
        share = np.float32(max(ours.width, ours.height) / max(whole.width, whole.height))
        seen = replace(seen, scale=theirs.scale * share, angle=theirs.angle)
    words = stored.words.rows(near[stored.words.feature])
    words = replace(words, feature=(np.cumsum(near, dtype=np.int32) - np.int32(1))[words.feature])
    return Query.of_features(words, replace(seen, width=ours.width, height=ours.height)), located.query


def _seen_through(transform: Float64, features: Features) -> Features:
    """The features where an affine map takes them, with the frames that it makes of theirs; circles stay circles."""
    linear, shape = transform[:, :2], None
    (p, q), (r, s) = linear
    area = p * s - q * r
    if features.shape is not None:
        # A shape under the map is another one, turned: the root of its square. That is a matrix P with determinant 1,
        # the root of which is (P + 1) / √(trace P + 2).
        linear = products(linear, features.shape)
        square = products(linear, linear.transpose(0, 2, 1)) / area
        shape = (square + np.eye(2)) / np.sqrt(np.trace(square, axis1=1, axis2=2) + 2)[:, None, None]
    turn = np.arctan2(linear[..., 1, 0] - linear[..., 0, 1], linear[..., 0, 0] + linear[..., 1, 1])
    return replace(
        features,
        xy=moved(transform, features.xy),
        scale=features.scale * np.float32(np.sqrt(area)),
        angle=(features.angle + turn.astype(np.float32)) % np.float32(2 * np.pi),
        shape=None if shape is None else shape.astype(np.float32),
    )


def _union(queries: Sequence[Query], recipe: Recipe) -> Query:
    """One query of several in one frame: features that differ from all before them are added (Hamming expansion)."""
    features = [query.known_features for query in queries]
    starts = np.cumsum([0, *(len(each) for each in features)])
    rows = [
        (q.words.feature + start, q.words.word, q.words.signature, _levels(q.words))
        for q, start in zip(queries, starts, strict=False)
    ]
    feature, word, signature, level = (np.concatenate(column) for column in zip(*rows, strict=True))
    new = distinct(word, signature, recipe.verify.threshold // 2)
    new[: len(queries[0].words)] = True
    columns = {name: [getattr(each, name) for each in features] for name in ("xy", "scale", "angle", "shape")}
    places: dict[str, Any] = {
        name: None if any(a is None for a in arrays) else np.concatenate(arrays) for name, arrays in columns.items()
    }
    descriptors: list[Any] = [each.descriptors for each in features]  # bytes or floats
    if len({d.shape[1] for d in descriptors}) > 1:  # those of stored pictures are not kept
        descriptors = [np.zeros((starts[-1], 0), np.uint8)]
    union = replace(features[0], **places, descriptors=np.concatenate(descriptors))
    words = Words(feature.astype(np.int32), word, signature)
    if any(q.words.level is not None for q in queries):
        words = replace(words, level=level)
    return Query.of_features(words.rows(new), union)


def _levels(words: Words) -> Int32:
    """Stored features have one word each: their own."""
    return np.zeros(len(words), np.int32) if words.level is None else words.level


def _inverse(transform: Float64) -> Float64:
    square = np.vstack([transform, [0, 0, 1]])
    return np.linalg.inv(square)[:2].astype(np.float64)
