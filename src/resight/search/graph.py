"""The links of a commit, from either end. Pictures have numbers here, segment after segment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..store import BOX_STEPS, GRID, LINK, Segment
from ..types import Bytes, Float32, Float64, Int32, Int64, UInt64
from .request import Place


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Some links of one picture: a row each."""

    other: Int64  # numbers of the pictures at the other end
    inliers: Int64
    transform: Float64  # (n, 2, 3) from pixels of the picture to those of the other
    box: Float64  # (n, 4) around the agreeing matches in the picture: left, top, right, bottom
    cells: Bytes  # (n, 16) bits: which cells of a grid around the agreeing matches hold some
    grid: Float64  # (n, 2, 3) from that grid, whose cells have sides of 1, to pixels of the picture


def no_links() -> Links:
    none, maps = np.zeros(0, np.int64), np.zeros((0, 2, 3))
    return Links(none, none, maps, np.zeros((0, 4)), np.zeros((0, LINK["cells"].shape[0]), np.uint8), maps)


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Memory: about 310 bytes for each link that geometry confirms, 12 for each of the others."""

    starts: Int64  # where the pictures of each segment begin
    ids: UInt64  # name of each picture; 0 where its segment has no links
    sizes: Int32  # (pictures, 2) width, height
    local_scale: Float64  # how alike a picture is to others that do not show the same, as a share of the usual
    _confirmed: Links  # of all pictures, by the first of them
    _first: Int64  # where those of each picture begin
    _alike: Int64  # pictures that others have found, by those
    _likeness: Float32
    _first_alike: Int64

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Self:
        parts = [segment.links for segment in segments]
        counts = [segment.record.pictures for segment in segments]
        starts = np.cumsum([0, *counts])
        ids, sizes = np.zeros(starts[-1], np.uint64), np.zeros((starts[-1], 2), np.int32)
        alive = np.zeros(starts[-1], np.bool_)
        rows, owners = [np.zeros(0, LINK)], [np.zeros(0, np.int64)]
        for start, segment, part in zip(starts.tolist(), segments, parts, strict=False):
            if part:
                mine = slice(start, start + segment.record.pictures)
                ids[mine], sizes[mine], alive[mine] = part.ids, part.sizes, segment.alive
                rows.append(part.links)
                owners.append(start + np.repeat(np.arange(segment.record.pictures), part.counts))
        links, one = np.concatenate(rows), np.concatenate(owners)
        other = _numbers(links["other"], ids, np.flatnonzero(alive))
        known = (other >= 0) & (other != one) & alive[one]
        links, one, other = links[known], one[known], other[known]
        count = len(ids)
        confirmed, first = _both_ways(links, one, other, sizes)
        likeness = links["likeness"].astype(np.float32)
        scale = _local_scale(one, likeness, links["inliers"] == 0, count)
        return cls(starts, ids, sizes, scale, confirmed, first, other, likeness, _firsts(one, count))

    def number(self, place: Place) -> int:
        return int(self.starts[place[0]]) + place[1]

    def place(self, number: int) -> Place:
        segment = int(np.searchsorted(self.starts, number, side="right")) - 1
        return segment, number - int(self.starts[segment])

    def of_picture(self, number: int) -> Links:
        """Those that geometry confirms, whichever picture has found the other."""
        mine, of_all = slice(self._first[number], self._first[number + 1]), self._confirmed
        columns: list[Any] = [getattr(of_all, column.name)[mine] for column in fields(Links)]
        return Links(*columns)

    def confirmed(self) -> tuple[Int64, Int64, Int64]:
        """Each link that geometry confirms, from either end: two pictures, and how many matches agree."""
        one = np.repeat(np.arange(len(self.ids)), np.diff(self._first))
        return one, self._confirmed.other, self._confirmed.inliers

    def alike(self, number: int) -> Iterator[tuple[int, float]]:
        """What the picture has found, confirmed or not, and how alike: scores as shares of its own."""
        mine = slice(self._first_alike[number], self._first_alike[number + 1])
        return zip(self._alike[mine].tolist(), self._likeness[mine].tolist(), strict=True)


def inverse(transform: Float64) -> Float64:
    """(n, 2, 3) affine maps the other way."""
    linear = np.linalg.inv(transform[:, :, :2])
    return np.concatenate([linear, -linear @ transform[:, :, 2:]], axis=2)


def frame(transform: Float64, box: Float64) -> Float64:
    """(n, 4) boxes around what affine maps make of boxes; of one box, if there is only one."""
    left, top, right, bottom = np.moveaxis(box, -1, 0)
    corners = np.stack([np.stack([x, y], axis=-1) for x in (left, right) for y in (top, bottom)], axis=-2)
    laid = corners @ np.swapaxes(transform[..., :2], -1, -2) + transform[..., None, :, 2]
    return np.concatenate([laid.min(axis=-2), laid.max(axis=-2)], axis=-1)


def _numbers(wanted: UInt64, ids: UInt64, living: Int64) -> Int64:
    """Of the living pictures with these names; −1 where there is none."""
    if not len(living):
        return np.full(len(wanted), -1, np.int64)
    order = living[np.argsort(ids[living])]
    at = np.minimum(np.searchsorted(ids[order], wanted), len(order) - 1)
    return np.where(ids[order[at]] == wanted, order[at], -1)


def _both_ways(links: npt.NDArray[Any], one: Int64, other: Int64, sizes: Int32) -> tuple[Links, Int64]:
    """Every confirmed link from both ends. Of two between the same pictures that with more inliers, or the own one."""
    sure = links["inliers"] > 0
    links, one, other = links[sure], one[sure], other[sure]
    there = np.concatenate([links["linear"], links["shift"][:, :, None]], axis=2, dtype=np.float64)
    near = links["box"] * (np.tile(sizes[one], 2) / BOX_STEPS)
    far = np.maximum(frame(there, near), 0)
    far = np.minimum(far, np.tile(sizes[other], 2))
    grid = np.zeros_like(there)
    grid[:, :, 2], grid[:, [0, 1], [0, 1]] = near[:, :2], np.maximum(near[:, 2:] - near[:, :2], 1) / GRID
    ends = np.concatenate([one, other]), np.concatenate([other, one])
    inliers = np.tile(links["inliers"].astype(np.int64), 2)
    own = np.repeat([0, 1], len(links))
    order = np.lexsort([own, -inliers, ends[1], ends[0]])
    same = np.zeros(len(order), np.bool_)
    same[1:] = (np.diff(ends[0][order]) == 0) & (np.diff(ends[1][order]) == 0)
    kept = order[~same]
    transform, box = np.concatenate([there, inverse(there)]), np.concatenate([near, far])
    grids, cells = np.concatenate([grid, composed(grid, there)]), np.tile(links["cells"], (2, 1))
    columns: list[Any] = [ends[1], inliers, transform, box, cells, grids]
    return Links(*(column[kept] for column in columns)), _firsts(ends[0][kept], len(sizes))


def composed(first: Float64, second: Float64) -> Float64:
    """(…, 2, 3) affine maps, one after the other."""
    linear = second[..., :2]
    shift = linear @ first[..., 2:] + second[..., 2:]
    return np.concatenate([linear @ first[..., :2], shift], axis=-1)


def _local_scale(one: Int64, likeness: Float32, unconfirmed: npt.NDArray[np.bool_], count: int) -> Float64:
    """(count,) the mean likeness of what each picture has found and geometry does not confirm; 1 is the median."""
    sums = np.bincount(one[unconfirmed], likeness[unconfirmed], count)
    known = sums > 0
    scale = np.ones(count)
    if known.any():
        means = sums[known] / np.bincount(one[unconfirmed], minlength=count)[known]
        scale[known] = means / np.median(means)
    return scale


def _firsts(owner: Int64, count: int) -> Int64:
    return np.searchsorted(owner, np.arange(count + 1))
