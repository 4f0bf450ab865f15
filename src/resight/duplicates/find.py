"""Which pictures of an index are identical, which are copies of one photograph, and which show the same scene?

identical: files with the same content, or with the same pixels.
copy: candidates are pictures that share features, and pictures that look alike as a whole; whether they are the same
photograph is decided by their pixels, which are read from their files.
scene: geometry confirms that they show the same thing.

Memory: keys, 256 bytes for each picture, links of sixteen bytes, at most ``2 · LOOKED_AT`` for each picture, and what
it takes to sort them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..errors import UsageError
from ..ingest import content_hash
from ..store import Row, Snapshot
from ..types import Float32, Float64
from .dismissed import dismissed_groups, is_dismissed
from .files import Finder, PictureFiles, stored_path
from .groups import KINDS, Group, Kind, Member, content_numbers, grown
from .keep import suggested
from .lookalikes import frame_map, lookalikes, signature
from .pairs import LOOKED_AT, SURE, confirmed_pairs
from .pixels import copy_correlation, frame_areas, tilt

Done = Callable[[int], None]
MOSTLY = 0.8  # of the smaller frame that must lie within the other for pixels to be compared
LARGEST_TILT = 0.1  # of the map between the features of two copies, which pixels make exact


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What was found, the largest groups first."""

    groups: tuple[Group, ...]
    dismissed: int = 0  # groups that are left out, since they were called no duplicates
    unread: int = 0  # pictures whose pixels could not be compared: their files are gone or have changed

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)


def steps(kind: str, pictures: int) -> int:
    """How much ``done`` hears of in all: copies are first read, then searched for."""
    return pictures * (2 if kind == "copy" else 1)


def duplicates(
    snapshot: Snapshot,
    *,
    kind: str = "copy",
    min_confidence: float | None = None,
    find: Finder = stored_path,
    done: Done = lambda count: None,
) -> Duplicates:
    """Groups of one kind.

    min_confidence: scene: how sure geometry must be of two pictures, by default ``SURE``.
    find: where the file of a picture is.
    """
    wanted = known_kind(kind)
    require_for_scenes(wanted, min_confidence)
    search = _Search(snapshot, PictureFiles(find), done)
    if wanted == "scene":
        search.link_scenes(SURE if min_confidence is None else min_confidence)
    else:
        search.join_same_pixels(every=wanted == "copy")
        if wanted == "copy":
            search.link_copies()
    dismissed = dismissed_groups(snapshot, wanted)
    found = list(search.groups(wanted))
    shown = sorted(
        (g for g in found if not is_dismissed(g, dismissed)), key=lambda g: (-len(g.pictures), g.pictures[0].key)
    )
    return Duplicates(tuple(shown), len(found) - len(shown), len(search.files.unread))


def require_for_scenes(kind: Kind, min_confidence: float | None) -> None:
    if min_confidence is not None and kind != "scene":
        raise UsageError("min_confidence is for scenes: pixels alone decide about copies; leave it out")


def known_kind(kind: str) -> Kind:
    for known in KINDS:
        if kind == known:
            return known
    raise UsageError(f"there are no groups of kind {kind!r}; take one of {', '.join(KINDS)}")


class _Search:
    """Numbers for pictures that differ, and links between them."""

    def __init__(self, snapshot: Snapshot, files: PictureFiles, done: Done) -> None:
        self.snapshot, self.files, self.done = snapshot, files, done
        rows = sorted((replace(row, colours=None) for row in snapshot.rows()), key=lambda row: row.key)
        numbers = content_numbers(rows, snapshot.settings)
        self.number = {row.key: number for row, number in zip(rows, numbers, strict=True)}
        self.rows = rows
        self.ends, self.strengths = array("i"), array("d")

    def representatives(self) -> dict[int, Row]:
        """The first picture of each number."""
        found: dict[int, Row] = {}
        for row in self.rows:
            found.setdefault(self.number[row.key], row)
        return found

    def join_same_pixels(self, *, every: bool) -> None:
        """Give pictures with the same pixels one number. ``every``: read all, and keep what they look like."""
        sizes: dict[tuple[int, int], int] = defaultdict(int)
        ones = self.representatives()
        for row in ones.values():
            sizes[row.width, row.height] += 1
        alike: dict[tuple[int, int, bytes], list[int]] = defaultdict(list)
        self.signatures: dict[int, Float32] = {}
        for row in self.rows:
            one = self.number[row.key]
            if ones[one] is row and (every or sizes[row.width, row.height] > 1) and (picture := self.files.grey(row)):
                alike[row.width, row.height, content_hash(picture.pixels.tobytes())].append(one)
                self.signatures[one] = signature(picture.pixels)
            self.done(1)
        joined: dict[int, int] = {}
        for some in alike.values():
            hashes: dict[bytes, int] = {}
            for one in some if len(some) > 1 else ():
                if found := self.files.pixel_hash(ones[one]):
                    joined[one] = hashes.setdefault(found, one)
        self.number = {key: joined.get(one, one) for key, one in self.number.items()}

    def link_scenes(self, least: float) -> None:
        for pair in confirmed_pairs(self.snapshot, self.number, self.done):
            if pair.confidence >= least:
                self._link(self.number[pair.one], self.number[pair.other], pair.confidence)

    def link_copies(self) -> None:
        """Compare the pixels of all candidates."""
        ones, linked = self.representatives(), set[tuple[int, int]]()
        sizes = {one: (row.width, row.height) for one, row in ones.items()}

        def attempt(one: int, other: int, transform: Float64) -> None:
            if one == other or (one, other) in linked or (other, one) in linked:
                return
            both, mine, theirs = frame_areas(transform, sizes[one], sizes[other])
            if both < MOSTLY * min(mine, theirs) or tilt(transform) > LARGEST_TILT:
                return
            pictures = self.files.grey(ones[one]), self.files.grey(ones[other])
            if pictures[0] is None or pictures[1] is None:
                return
            correlation = copy_correlation(pictures[0], pictures[1], transform)
            if correlation is not None:
                linked.add((one, other))
                self._link(one, other, correlation)

        read = [one for one in ones if one in self.signatures]
        if read:
            table = np.array([self.signatures[one] for one in read], np.float32)
            for a, b, orientation in lookalikes(table, LOOKED_AT):
                attempt(read[a], read[b], frame_map(orientation, sizes[read[a]], sizes[read[b]]))
        keys = {row.key: one for one, row in ones.items()}
        for pair in confirmed_pairs(self.snapshot, keys, self.done):
            if pair.other in keys:  # what has the same pixels as another one stands for both
                attempt(keys[pair.one], keys[pair.other], pair.transform)
        self.done(len(self.rows) - len(keys))

    def _link(self, one: int, other: int, strength: float) -> None:
        if one != other:
            self.ends.extend((one, other))
            self.strengths.append(strength)

    def groups(self, kind: Kind) -> Iterator[Group]:
        count = len(self.rows)
        links = np.frombuffer(self.ends, np.int32).reshape(-1, 2) if self.ends else np.zeros((0, 2), np.int32)
        first = None
        if kind == "copy":  # what has the most copies is the original, or as good; of equals the largest
            known, sizes = np.bincount(links.ravel(), minlength=count), self.representatives()
            first = sorted(sizes, key=lambda one: (-known[one], -sizes[one].width * sizes[one].height, one))
        group = grown(links, count, first)
        strongest = np.zeros(count)
        inside = group[links[:, 0]] == group[links[:, 1]]
        for end in links[inside].T:
            np.maximum.at(strongest, end, np.array(self.strengths)[inside])
        members: dict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            members[group[self.number[row.key]]].append(row)
        shared = np.bincount([self.number[row.key] for row in self.rows], minlength=count) > 1
        for rows in members.values():
            if len(rows) > 1:
                rows.sort(key=lambda row: (-row.width * row.height, row.key))
                numbers = [self.number[row.key] for row in rows]
                pictures = tuple(
                    _member(row, kind, 1.0 if shared[one] else float(strongest[one]))
                    for row, one in zip(rows, numbers, strict=True)
                )
                level: Kind = kind if kind == "scene" or len(set(numbers)) > 1 else "identical"
                yield Group(level, pictures, None if kind == "scene" else suggested(rows, self.files))


def _member(row: Row, kind: Kind, strength: float) -> Member:
    confidence, correlation = (strength, None) if kind == "scene" else (None, strength)
    return Member(row.key, row.path, row.width, row.height, row.content.hex(), confidence, correlation)
