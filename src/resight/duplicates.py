"""Which pictures of an index are copies of one another, and which show the same thing?

Every picture is searched for with its own features, and two that geometry confirms are linked. A picture of two things
is linked to pictures of either, so links alone would chain groups together: a picture must be linked to a good part of
a group to be put into it. Memory: keys, links of sixteen bytes, at most ``LOOKED_AT`` for each picture, and what it
takes to sort them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Any, Literal

import cv2
import numpy as np

from .errors import UsageError
from .options import GIVEN, GIVEN_POINTS
from .recipes import RECIPES
from .search import SegmentGroup, missing, search, stored_query
from .store import Snapshot
from .types import Int32, Int64

Kind = Literal["copy", "scene"]
KINDS: tuple[Kind, ...] = ("copy", "scene")
LOOKED_AT = 20  # best results of each picture
SURE = 0.95  # confidence from which two pictures are linked
SHARE = 3  # of how many pictures of a group one must be linked to a new one …
ENOUGH = LOOKED_AT // 2  # … unless so many are: more can hardly be, in a large group
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

    kind: Kind
    pictures: tuple[Member, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "pictures": [asdict(picture) for picture in self.pictures]}


def confirmed_pairs(
    snapshot: Snapshot, keys: Iterable[str], done: Callable[[int], None] = lambda count: None
) -> Iterator[Pair]:
    """For each key the pictures that geometry confirms; a pair may come from both sides. ``done`` hears of each key."""
    recipe, group = RECIPES["verified"], SegmentGroup.local(snapshot)
    for key in keys:
        located = snapshot.locate(key)
        if located is None:
            raise missing(key)
        mine = located[1]
        result = search(group, [stored_query(snapshot, *located)], top=LOOKED_AT, recipe=recipe, without=key)
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
    wanted = _known(kind)
    # The same content is one thing, also where no feature was found in it; but of given features, none are no content.
    given = snapshot.settings.features.detector in (GIVEN, GIVEN_POINTS)
    contents = {row.key: row.key if given and not row.features else row.content for row in snapshot.rows()}
    numbers: dict[bytes | str, int] = {}
    number = {key: numbers.setdefault(contents[key], len(numbers)) for key in sorted(contents)}
    ends, confidences = array("i"), array("d")
    least = COPY if wanted == "copy" else 0.0
    for pair in confirmed_pairs(snapshot, number, done):
        one, other = number[pair.one], number[pair.other]
        if one != other and pair.confidence >= min_confidence and pair.overlap >= least:
            ends.extend((one, other))
            confidences.append(pair.confidence)
    links = np.frombuffer(ends, np.int32).reshape(-1, 2) if ends else np.zeros((0, 2), np.int32)
    group = grown(links, len(numbers))
    inside = group[links[:, 0]] == group[links[:, 1]]
    sure = np.zeros(len(numbers))
    sure[np.bincount(list(number.values()), minlength=len(numbers)) > 1] = 1
    for end in links[inside].T:
        np.maximum.at(sure, end, np.array(confidences)[inside])
    members = defaultdict(list)
    for key, of in number.items():
        members[group[of]].append(key)
    found = [
        _group(snapshot, wanted, {key: float(sure[number[key]]) for key in keys})
        for keys in members.values()
        if len(keys) > 1
    ]
    return sorted(found, key=lambda group: (-len(group.pictures), group.pictures[0].key))


def _known(kind: str) -> Kind:
    for known in KINDS:
        if kind == known:
            return known
    raise UsageError(f"there are no groups of kind {kind!r}; take one of {', '.join(KINDS)}")


def grown(links: Int32, count: int) -> Int64:
    """For each of ``count`` things the number of its group; links are pairs of things, in any order, perhaps repeated.

    One group is grown after the other, beginning with the thing that has the fewest links: it is the least ambiguous.
    Among those that are in no group yet, the one that is linked to most of the group is next, as long as it is linked
    to one in ``SHARE`` of it, or to ``ENOUGH``. Of equals the first one is taken.
    """
    both = np.unique(np.concatenate([links, links[:, ::-1]]).astype(np.int64) @ (count, 1))
    linked, starts = both % count, np.searchsorted(both, np.arange(count + 1) * count)
    group = np.full(count, -1, np.int64)
    for first in np.argsort(np.diff(starts), kind="stable").tolist():
        waiting, times, size = [(0, first)], dict[int, int](), 0  # those linked to the group; how often each is
        while waiting:
            missing, one = heappop(waiting)
            if group[one] >= 0 or -missing < times.get(one, 0):
                continue  # it has joined, or stands further ahead by now
            if -missing < min(size / SHARE, ENOUGH):
                break
            group[one], size = first, size + 1
            for other in linked[starts[one] : starts[one + 1]].tolist():
                if group[other] < 0:
                    times[other] = times.get(other, 0) + 1
                    heappush(waiting, (-times[other], other))
    return group


def _group(snapshot: Snapshot, kind: Kind, sure: dict[str, float]) -> Group:
    rows = [row for key in sure if (row := snapshot.find(key))]
    rows.sort(key=lambda row: (-row.width * row.height, row.key))
    return Group(kind, tuple(Member(r.key, r.path, r.width, r.height, sure[r.key]) for r in rows))
