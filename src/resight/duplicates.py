"""Which pictures of an index are copies of one another, and which show the same thing?

Every picture is searched for with its own features. Two that geometry confirms are a pair; pictures that are connected
by pairs, directly or through others, are a group. No list of pairs is kept: memory is that of the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import cv2
import numpy as np

from .connected import Connected
from .errors import UsageError
from .recipes import RECIPES
from .search import OneShelf, missing, search, stored_question
from .store import Row, Snapshot

KINDS = ("copy", "scene")
LOOKED_AT = 20  # best results of each picture
SURE = 0.95  # confidence from which two pictures belong together
COPY = 0.7  # and overlap from which they are copies: resized, compressed, retouched, a little cropped


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pictures that show the same thing, as far as geometry can tell."""

    one: str
    other: str
    confidence: float
    overlap: float  # of the whole pictures, one laid upon the other: what both cover, as a share of what either does


@dataclass(frozen=True, slots=True)
class Member:
    """A picture of a group."""

    key: str
    path: str | None
    width: int
    height: int
    confidence: float  # with which it belongs to another picture of the group


@dataclass(frozen=True, slots=True)
class Group:
    """Pictures that belong together, the one with the most pixels first."""

    kind: str
    pictures: tuple[Member, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "pictures": [asdict(picture) for picture in self.pictures]}


def confirmed_pairs(
    snapshot: Snapshot, keys: Iterable[str], done: Callable[[int], None] = lambda count: None
) -> Iterator[Pair]:
    """For each key the pictures that geometry confirms; a pair may come from both sides. ``done`` hears of each key."""
    recipe, shelves = RECIPES["verified"], OneShelf(snapshot)
    for key in keys:
        located = snapshot.locate(key)
        if located is None:
            raise missing(key)
        mine = located[1]
        result = search(shelves, [stored_question(snapshot, *located)], top=LOOKED_AT, recipe=recipe, without=key)
        for hit in result.hits:
            if hit.confidence is not None and hit.transform is not None:
                other = snapshot.find(hit.key)
                assert other
                sizes = (mine.width, mine.height), (other.width, other.height)
                yield Pair(key, hit.key, hit.confidence, overlap(np.array(hit.transform), *sizes))
        done(1)


def overlap(transform: np.ndarray[Any, np.dtype[np.float64]], one: tuple[int, int], other: tuple[int, int]) -> float:
    """What two pictures of these sizes both cover, as a share of what either does; the map takes one to the other."""
    frames = [np.array([(0, 0), (w, 0), (w, h), (0, h)], np.float32) for w, h in (one, other)]
    laid = (frames[0] @ transform[:, :2].T + transform[:, 2]).astype(np.float32)
    both, _ = cv2.intersectConvexConvex(laid, frames[1])
    return float(both / (cv2.contourArea(laid) + cv2.contourArea(frames[1]) - both))


def duplicates(
    snapshot: Snapshot,
    *,
    kind: str = "copy",
    min_confidence: float = SURE,
    done: Callable[[int], None] = lambda count: None,
) -> list[Group]:
    """Groups of copies, or of pictures of the same scene; the largest first. ``done`` hears of each picture."""
    if kind not in KINDS:
        raise UsageError(f"there are no groups of kind {kind!r}; take one of {', '.join(KINDS)}")
    together, sure = Connected(), dict[str, float]()

    def join(one: str, other: str, confidence: float) -> None:
        together.connect(one, other)
        for key in (one, other):
            sure[key] = max(sure.get(key, 0.0), confidence)

    for one, other in _same_content(snapshot.rows()):
        join(one, other, 1.0)
    keys = sorted(row.key for row in snapshot.rows())
    least = COPY if kind == "copy" else 0.0
    for pair in confirmed_pairs(snapshot, keys, done):
        if pair.confidence >= min_confidence and pair.overlap >= least:
            join(pair.one, pair.other, pair.confidence)
    found = [_group(snapshot, kind, members, sure) for members in together.groups().values()]
    return sorted(found, key=lambda group: (-len(group.pictures), group.pictures[0].key))


def _same_content(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Also of pictures in which no feature was found."""
    first: dict[bytes, str] = {}
    for row in rows:
        if (known := first.setdefault(row.content, row.key)) != row.key:
            yield known, row.key


def _group(snapshot: Snapshot, kind: str, keys: list[str], sure: dict[str, float]) -> Group:
    rows = [row for key in keys if (row := snapshot.find(key))]
    rows.sort(key=lambda row: (-row.width * row.height, row.key))
    return Group(kind, tuple(Member(r.key, r.path, r.width, r.height, sure[r.key]) for r in rows))
