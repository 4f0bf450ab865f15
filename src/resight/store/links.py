"""Which indexed pictures show the same thing: found once, kept beside the segment of the picture that asked.

A picture that was linked to is named by a hash of its key and content, which neither merging nor adding it again
changes. Links to a picture that is gone mean nothing, unless it comes back; those of a picture go with it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..arrays import arrays_of
from ..types import Float32, Float64, Int32, Int64, UInt64
from .entry import encode_text
from .table import Row

GRID = 11  # cells to each side of the box around the agreeing matches
MOST = np.iinfo(np.uint16).max  # inliers: more are not told apart
BOX_STEPS = 255  # places of that box are counted so, from 0 to the picture's width, and height
# 48 bytes. Without inliers, geometry does not confirm it: then there are neither map, box nor cells.
LINK = np.dtype(
    [
        ("other", "<u8"),  # the picture that was found
        ("inliers", "<u2"),  # matches that agree
        ("likeness", "<f2"),  # its score as a share of what the asking picture scores itself
        ("linear", "<f2", (2, 2)),  # from pixels of the asking picture to those of the other
        ("shift", "<f4", (2,)),
        ("box", "u1", (4,)),  # around the agreeing matches in the asking picture: left, top, right, bottom
        ("cells", "u1", (16,)),  # a bit for each cell, row by row: whether a match that agrees lies in it
    ]
)


def picture_id(row: Row) -> int:
    """What a picture is called by the links to it."""
    return int.from_bytes(blake2b(encode_text(row.key) + b"\0" + row.content, digest_size=8).digest(), "little")


@dataclass(frozen=True, eq=False)
class SegmentLinks:
    """What the pictures of a segment have found. All arrays but the last have a row for each picture."""

    ids: UInt64
    sizes: Int32  # (pictures, 2) width, height
    asked: npt.NDArray[np.bool_]  # whether the picture has looked for others
    counts: Int64  # how many links each has
    links: npt.NDArray[Any]  # LINK, picture by picture

    @classmethod
    def none(cls, rows: Iterable[Row]) -> Self:
        """Of pictures that have not asked."""
        facts = [(picture_id(row), row.width, row.height) for row in rows]
        ids, sizes = np.array([fact[0] for fact in facts], np.uint64), np.array([fact[1:] for fact in facts], np.int32)
        nothing = np.zeros(len(facts), np.bool_)
        return cls(ids, sizes.reshape(-1, 2), nothing, nothing.astype(np.int64), np.zeros(0, LINK))

    def each(self) -> list[npt.NDArray[Any]]:
        """Of every picture."""
        return np.split(self.links, np.cumsum(self.counts)[:-1]) if len(self.counts) else []

    def with_found(self, found: dict[int, npt.NDArray[Any]]) -> SegmentLinks:
        """After the pictures with these ordinals have asked, and found this."""
        links, asked = self.each(), self.asked.copy()
        for ordinal, new in found.items():
            links[ordinal], asked[ordinal] = new, True
        counts = np.array([len(each) for each in links], np.int64)
        return SegmentLinks(self.ids, self.sizes, asked, counts, np.concatenate([np.zeros(0, LINK), *links]))

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        columns = {"ids": self.ids, "sizes": self.sizes, "asked": self.asked, "counts": self.counts.astype(np.uint32)}
        np.savez(buffer, **columns, links=self.links.view(np.uint8))  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        with arrays_of(data) as arrays:
            counts, links = arrays["counts"].astype(np.int64), arrays["links"].view(LINK)
            return cls(arrays["ids"], arrays["sizes"], arrays["asked"], counts, links)


def merged(parts: Sequence[SegmentLinks], new: Sequence[Int64]) -> SegmentLinks:
    """Those of several segments, whose pictures get these ordinals (−1: none)."""
    count = sum(int((ordinals >= 0).sum()) for ordinals in new)
    ids, sizes, asked = np.zeros(count, np.uint64), np.zeros((count, 2), np.int32), np.zeros(count, np.bool_)
    links, owners = [np.zeros(0, LINK)], [np.zeros(0, np.int64)]
    for part, ordinals in zip(parts, new, strict=True):
        kept = ordinals >= 0
        ids[ordinals[kept]], sizes[ordinals[kept]] = part.ids[kept], part.sizes[kept]
        asked[ordinals[kept]] = part.asked[kept]
        owner = np.repeat(ordinals, part.counts)
        links.append(part.links[owner >= 0])
        owners.append(owner[owner >= 0])
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return SegmentLinks(ids, sizes, asked, np.bincount(owner, minlength=count), np.concatenate(links)[order])


def set_confirmed(link: Any, inliers: int, transform: Float64, xy: Float32, size: tuple[int, int]) -> None:
    """Note in a record of LINK the map, and where in the asking picture, of this size, the agreeing matches lie."""
    places = xy / np.array(size) * BOX_STEPS
    first, last = np.floor(places.min(axis=0)).clip(0, BOX_STEPS - 1), np.ceil(places.max(axis=0)).clip(1, BOX_STEPS)
    column, row = ((places - first) / np.maximum(last - first, 1) * GRID).astype(np.int64).clip(0, GRID - 1).T
    cells = np.zeros(8 * 16, np.bool_)
    cells[row * GRID + column] = True
    link["inliers"], link["linear"], link["shift"] = min(inliers, MOST), transform[:, :2], transform[:, 2]
    link["box"], link["cells"] = np.concatenate([first, last]), np.packbits(cells, bitorder="little")
