"""Pictures on their way into the result, and where in them a query was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..postings import decode
from ..recipes import Recipe
from ..rerank import Placed, Verified, one_to_one, verify
from ..scoring import Query, matches
from ..store import Row, Snapshot
from ..types import Float32, Float64, Int64, Region

# The query's own picture, or a copy of it, shares this much of the query's features.
SHARED = 0.8
# Or the query is a part of it, as it is: the map between them is a shift, but for this much.
SHIFTED = 0.01


@dataclass(frozen=True, slots=True)
class Located:
    """Where a query was found in a picture."""

    verified: Verified
    places: Float32  # (inliers, 4) x, y in the query and x, y in the picture
    query: int  # which of several
    agreed: Int64  # (inliers, 2) the query's feature and the picture's posting, in the lists that were read


@dataclass(frozen=True, slots=True)
class Linked:
    """What links from verified results tell of a picture."""

    evidence: float  # agreeing matches, the fewest on the way; less where a link carries on only a part of the query
    transform: Float64  # (2, 3) query → picture, composed
    region: Region  # where the query's frame comes to lie in the picture
    via: tuple[Row, ...]  # the pictures on the way; the first is a verified result


@dataclass(slots=True)
class Candidate:
    """A picture on its way into the result."""

    segment: int  # its number in the commit
    row: Row
    score: float
    checked: bool = False  # whether geometry was asked
    located: Located | None = None  # what it said
    linked: Linked | None = None  # what links say
    colour: float = 1.0  # how much more it counts for its colours
    plain: float | None = None  # where the score is made of ranks, or links added to it: that which words alone give

    @property
    def place(self) -> tuple[int, int]:
        return self.segment, self.row.ordinal

    @property
    def inliers(self) -> int:
        return len(self.located.places) if self.located else 0

    @property
    def evidence(self) -> int:
        """Matches that agree, with the query or along links."""
        return max(self.inliers, int(self.linked.evidence) if self.linked else 0)

    @property
    def by_evidence(self) -> tuple[int, float, str]:
        """By how often the number of agreeing matches doubles, within by score and colours; equal ones by key.

        A few matches more or less say less than the score does. But no score, least of all one of expansion, may put a
        picture that hardly shows what the query shows before one that shows it beyond doubt.
        """
        return -self.evidence.bit_length(), -self.score * self.colour, self.row.key


def locate(
    snapshot: Snapshot, number: int, queries: Sequence[Query], rows: Sequence[Row], recipe: Recipe
) -> list[Located | None]:
    """Where in these pictures of a segment the queries are found; each by the one that most matches agree on."""
    found: list[Located | None] = [None] * len(rows)
    for which, query in enumerate(queries):
        for slot, located in _located(snapshot, number, query, which, rows, recipe):
            before = found[slot]
            if before is None or len(located.places) > len(before.places):
                found[slot] = located
    return found


def _located(
    snapshot: Snapshot, number: int, query: Query, which: int, rows: Sequence[Row], recipe: Recipe
) -> Iterator[tuple[int, Located]]:
    """What geometry says of those of the pictures that it confirms."""
    segment, features, view = snapshot.segments[number], query.known_features, snapshot.views[0][number]
    words = query.words.within(snapshot.spans[0])  # in several vocabularies a match would count as often
    ordinals = np.array([row.ordinal for row in rows])
    slot_of = np.full(segment.record.pictures, -1, np.int32)
    slot_of[ordinals] = np.arange(len(rows))
    if view.forward:
        view, slot_of = view.only(ordinals), np.arange(len(rows), dtype=np.int32)
    columns = ("image", "signature", *(["geometry"] if view.part else []))
    place, lists = view.find(words.word, *columns)
    found = matches(words, place, lists, slot_of, recipe.verify.threshold)
    bounds = np.empty(len(rows) + 1, np.int64)
    slots, postings, distances = (np.ascontiguousarray(found[:, column]) for column in (0, 2, 3))
    found = found[one_to_one(slots, postings, distances, bounds)]
    # Of the matches alone: few blocks of stored lists must be checked for them.
    geometry = lists.geometry[found[:, 2]] if view.part else segment.geometry(found[:, 2])
    sizes = np.array([(row.width, row.height) for row in rows])
    feature = words.feature[found[:, 1]]
    shape = None if features.shape is None else features.shape[feature]
    ours = Placed(features.xy[feature], features.scale[feature], features.angle[feature], shape)
    theirs = Placed(*decode(geometry, sizes.max(axis=1)[found[:, 0]]))
    oriented = snapshot.settings.oriented
    checked = verify(ours, theirs, bounds=bounds, sizes=sizes, options=recipe.verify, oriented=oriented)
    for slot, verified in enumerate(checked):
        if verified:
            mine = slice(bounds[slot], bounds[slot + 1])
            places = np.concatenate([ours.xy[mine], theirs.xy[mine]], axis=1)
            agreed = np.stack([feature[mine], found[mine, 2]], axis=1)
            yield slot, Located(verified, places[verified.inliers], which, agreed[verified.inliers])


def is_own_picture(query: Query, candidate: Candidate, located: Located) -> bool:
    """Whether the candidate is the query's own picture, or a copy of it: that tells nothing new."""
    if candidate.inliers >= SHARED * len(query):
        return True
    if np.abs(located.verified.transform[:, :2] - np.eye(2)).max() > SHIFTED:
        return False
    laid = moved(located.verified.transform, query.known_features.xy)
    return bool(Region(0, 0, candidate.row.width, candidate.row.height).contains(laid).all())


def moved(transform: Float64, xy: Float32) -> Float32:
    return (xy @ transform[:, :2].T + transform[:, 2]).astype(np.float32)


def box(xy: Float32) -> Region:
    (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
    return Region(left, top, right - left, bottom - top)
