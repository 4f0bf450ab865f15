"""Links → groups. A picture of two things is linked to pictures of either, so links alone would make chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Any, Literal

import numpy as np

from ..options import GIVEN, GIVEN_POINTS
from ..store import Row, Settings
from ..types import Int32, Int64
from .keep import Kept

Kind = Literal["identical", "copy", "scene"]
KINDS: tuple[Kind, ...] = ("identical", "copy", "scene")
SHARE = 3  # of how many pictures of a group one must be linked to a new one …
ENOUGH = 10  # … unless so many are: more can hardly be, in a large group


@dataclass(frozen=True, slots=True)
class Member:
    """A picture of a group."""

    key: str
    path: str | None
    width: int
    height: int
    content: str  # hash of its file
    confidence: float | None = None  # scene: with which it shows the same thing as another one of the group
    correlation: float | None = None  # copy: of its pixels with those of another one, laid upon one another


@dataclass(frozen=True, slots=True)
class Group:
    """Pictures that belong together, the one with the most pixels first."""

    kind: Kind  # identical: all have the same pixels; copy: all are one photograph; scene: all show the same thing
    pictures: tuple[Member, ...]
    keep: Kept | None = None  # a suggestion; none where pictures are different photographs

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def content_numbers(rows: Sequence[Row], settings: Settings) -> list[int]:
    """A number for each picture, from 0 on: pictures with the same content have the same.

    Also where no feature was found; but of given features, none are no content.
    """
    given = settings.features.detector in (GIVEN, GIVEN_POINTS)
    numbers: dict[bytes | str, int] = {}
    return [numbers.setdefault(row.key if given and not row.features else row.content, len(numbers)) for row in rows]


def grown(links: Int32, count: int, first: Sequence[int] | None = None) -> Int64:
    """For each of ``count`` things the number of its group; links are pairs of things, in any order, perhaps repeated.

    One group is grown after the other. Among those that are in no group yet, the one that is linked to most of the
    group is next, as long as it is linked to one in ``SHARE`` of it, or to ``ENOUGH``. Of equals the first is taken.

    first: the order in which groups begin. Then a thing that is linked to the one that its group began with is in it:
        parts of a photograph belong to the whole, though not to each other. Without, groups begin with the thing that
        has the fewest links, which is the least ambiguous.
    """
    both = np.unique(np.concatenate([links, links[:, ::-1]]).astype(np.int64) @ (count, 1))
    linked, starts = both % count, np.searchsorted(both, np.arange(count + 1) * count)
    group = np.full(count, -1, np.int64)
    for root in np.argsort(np.diff(starts), kind="stable").tolist() if first is None else first:
        waiting, times, size = [(0, root)], dict[int, int](), 0  # those linked to the group; how often each is
        parts = set() if first is None else set(linked[starts[root] : starts[root + 1]].tolist())
        while waiting:
            missing, one = heappop(waiting)
            if group[one] >= 0 or -missing < times.get(one, 0):
                continue  # it has joined, or stands further ahead by now
            if -missing < min(size / SHARE, ENOUGH) and one not in parts:
                if not parts:
                    break
                continue
            group[one], size = root, size + 1
            parts.discard(one)
            for other in linked[starts[one] : starts[one + 1]].tolist():
                if group[other] < 0:
                    times[other] = times.get(other, 0) + 1
                    heappush(waiting, (-times[other], other))
    return group
