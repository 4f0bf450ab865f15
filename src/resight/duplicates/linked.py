"""The collection by thing shown: groups of pictures, read from the links that `resight link` has stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..rerank import confidence
from ..search import SegmentGroup
from ..store import Row
from ..types import Int64
from .groups import content_numbers, grown
from .pairs import LOOKED_AT, SURE


@dataclass(frozen=True, slots=True)
class LinkedMember:
    """A picture of a group."""

    key: str
    path: str | None
    width: int
    height: int
    metadata: dict[str, Any]
    inliers: int  # matches that agree with another picture of the group, at most; 0: it is only the same file


@dataclass(frozen=True, slots=True)
class LinkedGroup:
    """Pictures that show the same thing: the representative, then the others, the strongest links first."""

    pictures: tuple[LinkedMember, ...]

    @property
    def representative(self) -> LinkedMember:
        """The picture with the most links in the group; of equals, that with the most matches in all of them."""
        return self.pictures[0]

    def as_dict(self) -> dict[str, Any]:
        return {"representative": self.representative.key, "size": len(self.pictures), **asdict(self)}


@dataclass(frozen=True, slots=True)
class LinkedGroups:
    """All groups of two pictures or more, the largest first."""

    groups: tuple[LinkedGroup, ...]
    unlinked: int = 0  # pictures that have not looked for others yet

    def __iter__(self) -> Iterator[LinkedGroup]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)


def linked_groups(group: SegmentGroup) -> LinkedGroups:
    """Those of ``duplicates(kind="scene")``, once all pictures have asked, dismissed or not; nothing is searched.

    Memory: rows, and 24 bytes for each link, at most ``LOOKED_AT`` for each picture.
    """
    snapshot = group.snapshot
    rows = sorted(snapshot.rows(), key=lambda row: row.key)
    content = np.array(content_numbers(rows, snapshot.settings), np.int64)
    one, other, inliers = _strongest_links(group, {row.key: n for n, row in enumerate(rows)})
    sure = np.array([confidence(count, 0.0) >= SURE for count in range(int(inliers.max(initial=0)) + 1)])[inliers]
    one, other, inliers = one[sure], other[sure], inliers[sure]
    ends = np.stack([content[one], content[other]], axis=1)
    grouped = grown(ends[ends[:, 0] != ends[:, 1]].astype(np.int32), len(rows))[content]

    inside = grouped[one] == grouped[other]
    _, once = np.unique(np.minimum(one, other)[inside] * len(rows) + np.maximum(one, other)[inside], return_index=True)
    strongest, links, matches = (np.zeros(len(rows), np.int64) for _ in range(3))
    for end in (one[inside][once], other[inside][once]):
        np.maximum.at(strongest, end, inliers[inside][once])
        np.add.at(links, end, 1)
        np.add.at(matches, end, inliers[inside][once])

    members: dict[int, list[int]] = defaultdict(list)
    for number, its in enumerate(grouped.tolist()):
        members[its].append(number)
    found = []
    for numbers in members.values():
        if len(numbers) > 1:
            head = max(numbers, key=lambda n: (links[n], matches[n], -n))
            numbers.sort(key=lambda n: (n != head, -strongest[n], n))
            found.append(LinkedGroup(tuple(_member(rows[n], int(strongest[n])) for n in numbers)))
    found.sort(key=lambda each: (-len(each.pictures), each.representative.key))
    return LinkedGroups(tuple(found), snapshot.unlinked)


def _strongest_links(group: SegmentGroup, order: dict[str, int]) -> tuple[Int64, Int64, Int64]:
    """Of each picture the ``LOOKED_AT`` strongest: the places of both pictures, and how many matches agree.

    order: the place of each key. Of equal links the first by place are taken. A pair may come from both sides.
    """
    graph = group.links
    place = np.zeros(int(graph.starts[-1]), np.int64)
    for number, segment in enumerate(group.snapshot.segments):
        for row in segment.table.all():
            if segment.alive[row.ordinal]:
                place[graph.number((number, row.ordinal))] = order[row.key]
    one, other, inliers = graph.confirmed()
    one, other = place[one], place[other]
    by_strength = np.lexsort([other, -inliers, one])
    one, other, inliers = one[by_strength], other[by_strength], inliers[by_strength]
    kept = np.arange(len(one)) - np.searchsorted(one, one) < LOOKED_AT
    return one[kept], other[kept], inliers[kept]


def _member(row: Row, inliers: int) -> LinkedMember:
    return LinkedMember(row.key, row.path, row.width, row.height, row.metadata, inliers)
