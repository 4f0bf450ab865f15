"""Several segments → one, without the dead. Streams list by list: memory is that of the longest list.

With clusters, that of the pictures' codes, and of a block of them, comes on top.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..clusters import Clusters, Placed
from ..postings import Lists, as_bytes
from ..types import Bytes, Int64, UInt32
from .disk import Disk
from .manifest import SegmentRecord
from .segment import CODE, Arranged, Segment, finish_folder, start_folder
from .table import Row

Mask = npt.NDArray[np.bool_]  # of a segment's postings


def choose(segments: Sequence[Segment], *, factor: int) -> list[Segment]:
    """Segments worth merging: the smallest tier with at least ``factor`` members, else any that is half dead.

    A tier holds segments whose living features differ by less than ``factor`` times, so each feature is rewritten about
    log_factor(total) times as an index grows.
    """
    tiers: dict[int, list[Segment]] = {}
    for segment in segments:
        living = segment.record.features - segment.record.dead_features
        tiers.setdefault(int(np.log(max(living, 1)) / np.log(factor)), []).append(segment)
    for _, members in sorted(tiers.items()):
        if len(members) >= factor:
            return members
    return [s for s in segments if 2 * s.record.dead_pictures >= s.record.pictures]


@dataclass(frozen=True, slots=True)
class Numbering:
    """Where the pictures of several segments go in one."""

    new: list[Int64]  # for each segment: the new ordinal of each picture, −1 for the dead
    arranged: Arranged | None  # if they are ordered by cluster

    @property
    def pictures(self) -> int:
        return sum(int((new >= 0).sum()) for new in self.new)


def renumber(segments: Sequence[Segment], placed: Sequence[Placed] | None, count: int) -> Numbering:
    """The living pictures of these segments, in this order; or by cluster, if those of each segment's are given."""
    living = [segment.alive for segment in segments]
    place = np.arange(sum(int(alive.sum()) for alive in living))
    arranged = None
    if placed is not None:
        kept = [each.rows(alive) for each, alive in zip(placed, living, strict=True)]
        together = Placed(*(np.concatenate(column) for column in zip(*kept, strict=True)))
        order, arranged = Arranged.by(together, count)
        place[order] = np.arange(len(place))
    new, begin = [], 0
    for alive in living:
        new.append(np.full(len(alive), -1, np.int64))
        new[-1][alive] = place[begin : begin + int(alive.sum())]
        begin += int(alive.sum())
    return Numbering(new, arranged)


def place(segment: Segment, clusters: Clusters, span: range) -> Placed:
    """Where the pictures of a segment are among the clusters, by their words of this vocabulary."""
    found = [clusters.place(words.word for words, _ in block) for _, block in segment.blocks(span)]
    none = Placed(np.zeros(0, np.int64), np.zeros((0, clusters.dimensions), np.int8))
    return Placed(*(np.concatenate(column) for column in zip(none, *found, strict=True)))


def merge(
    folder: Path,
    name: str,
    segments: Sequence[Segment],
    numbering: Numbering,
    disk: Disk,
    useful: Sequence[Mask] | None = None,
) -> SegmentRecord:
    """Write the living pictures of these segments as segment ``name``, with all postings or the useful ones."""
    temporary = start_folder(folder, name, disk)
    sources = [segment.all_lists() for segment in segments]
    kept = useful or [np.zeros(0, np.bool_)] * len(segments)
    counts: Int64 = np.sum(
        [_kept_counts(s.offsets, s.image, r, k) for s, r, k in zip(sources, numbering.new, kept, strict=True)], axis=0
    )
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows, codes = int(offsets[-1]), segments[0].codes
    arrays = [disk.create_array(temporary / file, kind=kind, rows=rows) for file, kind in segments[0].kinds.items()]
    code = np.zeros(0, np.uint8)
    if codes:
        code = disk.create_array(temporary / CODE, kind="|u1", rows=rows * codes)
    image, signature, geometry = arrays
    target = Lists(offsets, image, signature, geometry, code.reshape(rows, codes))
    position = offsets[:-1].copy()
    for source, renumbering, mine in zip(sources, numbering.new, kept, strict=True):
        _copy(
            source.offsets, source.image, source.signature, as_bytes(source.geometry), source.code, renumbering, mine,
            position, target.image, target.signature, as_bytes(target.geometry), target.code,
        )  # fmt: skip
    if numbering.arranged:
        _sort(target.offsets, target.image, target.signature, as_bytes(target.geometry), target.code)
    for array in (*arrays, code):
        if isinstance(array, np.memmap):
            array.flush()
    features = np.bincount(target.image, minlength=numbering.pictures)
    living, arranged = _rows(segments, numbering, features), numbering.arranged
    return finish_folder(folder, name, target, pictures=numbering.pictures, rows=living, arranged=arranged, disk=disk)


def _rows(segments: Sequence[Segment], numbering: Numbering, features: Int64) -> Iterator[Row]:
    """With these numbers of postings."""
    for segment, new in zip(segments, numbering.new, strict=True):
        for row in segment.table.all():
            if (ordinal := int(new[row.ordinal])) >= 0:
                yield replace(row, ordinal=ordinal, features=int(features[ordinal]))


@kernel
def _sort(offsets: Int64, image: UInt32, signature: Any, geometry: Any, code: Bytes) -> None:
    """Order each list by picture; a picture's own postings stay as they are."""
    for word in range(len(offsets) - 1):
        first, last = offsets[word], offsets[word + 1]
        order = first + np.argsort(image[first:last], kind="mergesort")
        image[first:last] = image[order]
        signature[first:last] = signature[order]
        geometry[first:last] = geometry[order]
        code[first:last] = code[order]


@kernel
def _kept_counts(offsets: Int64, image: UInt32, renumbering: Int64, kept: Mask) -> Int64:
    """How many postings of each word are kept (all, if ``kept`` is empty) and belong to living pictures."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    for word in range(len(counts)):
        for posting in range(offsets[word], offsets[word + 1]):
            if renumbering[image[posting]] >= 0 and (len(kept) == 0 or kept[posting]):
                counts[word] += 1
    return counts


@kernel
def _copy(
    offsets: Int64, image: UInt32, signature: Any, geometry: Any, code: Bytes, renumbering: Int64,
    kept: Mask, position: Int64, to_image: UInt32, to_signature: Any, to_geometry: Any, to_code: Bytes,
) -> None:  # fmt: skip
    """Append what ``_kept_counts`` counts of each word at position[word], which moves on."""
    for word in range(len(offsets) - 1):
        at = position[word]
        for posting in range(offsets[word], offsets[word + 1]):
            new = renumbering[image[posting]]
            if new >= 0 and (len(kept) == 0 or kept[posting]):
                to_image[at] = new
                to_signature[at] = signature[posting]
                to_geometry[at] = geometry[posting]
                to_code[at] = code[posting]
                at += 1
        position[word] = at
