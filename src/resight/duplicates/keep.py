"""Which picture of a group of copies is worth keeping: the one that shows the most, least compressed, oldest."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..store import Row
from ..types import Bytes
from ..urls import Place, is_url
from .files import PictureFiles

PLAIN = 24  # grey levels between the darkest and the brightest pixel of a line that may belong to a border
ROUGHLY = 0.03  # how far what lies within a border is known


@dataclass(frozen=True, slots=True)
class Kept:
    """The picture to keep, and why."""

    key: str
    reason: str


def suggested(rows: Sequence[Row], files: PictureFiles) -> Kept:
    """The best of several copies; one whose file is gone only if all are. Facts of files elsewhere decide nothing."""
    facts = {row.key: fact for row in rows if (fact := _facts(row, files))}
    rows = [row for row in rows if row.key in facts or _is_elsewhere(files.find(row))] or rows
    within = _without_borders(rows, files)
    bordered = {row.content for row in rows if within[row.content] < _area(row)}
    least = max(within.values()) * ((1 - ROUGHLY) ** 2 if bordered else 1)
    best = [row for row in rows if within[row.content] >= least]
    if bare := [row for row in best if row.content not in bordered]:
        best = [row for row in bare if _area(row) == max(map(_area, bare))]
    if len(best) == 1 < len(rows):
        border = "" if not bordered else " without a border" if bare else " within its border"
        return Kept(best[0].key, f"most pixels{border} ({best[0].width} × {best[0].height})")
    known = [row for row in best if row.key in facts]
    if known:
        size = max(facts[row.key].st_size for row in known)
        largest = [row for row in known if facts[row.key].st_size == size]
        if len(largest) == 1 < len(known):
            return Kept(largest[0].key, f"least compressed of those with the most pixels ({_bytes(size)})")
        oldest = min(largest, key=lambda row: (facts[row.key].st_mtime, row.key))
        when = facts[oldest.key].st_mtime
        if any(facts[row.key].st_mtime > when for row in largest):
            return Kept(oldest.key, f"oldest of the best ({time.strftime('%Y-%m-%d', time.localtime(when))})")
    return Kept(min(row.key for row in known or best), "as good as the others, and first by name")


def _area(row: Row) -> int:
    return row.width * row.height


def _without_borders(rows: Sequence[Row], files: PictureFiles) -> dict[bytes, float]:
    """By content, the pixels of each picture, without a border.

    A clear sky is as plain as a border. So it is one only if what lies within has the proportions of another picture.
    """
    found: dict[bytes, float] = {}
    ones = {row.content: row for row in rows}
    for content, row in ones.items():
        found[content] = _area(row)
        picture = files.grey(row) if len(ones) > 1 else None
        x, y = _within_plain_lines(picture.pixels) if picture else (1.0, 1.0)
        width, height = x * row.width, y * row.height
        others = (other.width / other.height for other in ones.values() if other is not row)
        if x * y < (1 - ROUGHLY) ** 2 and any(abs(width / height / proportion - 1) <= ROUGHLY for proportion in others):
            found[content] = width * height
    return found


def _within_plain_lines(pixels: Bytes) -> tuple[float, float]:
    """The shares of width and height that are left when plain lines are taken off all sides, until there are none."""
    left = pixels
    while left.size:
        sides = left[0], left[-1], left[:, 0], left[:, -1]
        top, bottom, first, last = (int(np.ptp(line)) <= PLAIN for line in sides)
        if not (top or bottom or first or last):
            return left.shape[1] / pixels.shape[1], left.shape[0] / pixels.shape[0]
        left = left[int(top) : len(left) - int(bottom), int(first) : left.shape[1] - int(last)]
    return 1.0, 1.0  # a plain picture is no border


def _is_elsewhere(place: Place | None) -> bool:
    """Whether a picture came from a URL, or not from a file at all."""
    return place is None or is_url(place)


def _facts(row: Row, files: PictureFiles) -> os.stat_result | None:
    place = files.find(row)
    if place is None or _is_elsewhere(place):
        return None
    try:
        return os.stat(place)
    except (OSError, ValueError):
        return None


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
