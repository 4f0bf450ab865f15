"""Which picture of a group of copies is worth keeping: the one with the most pixels, least compressed, oldest."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..store import Row
from ..urls import is_url
from .files import Finder


@dataclass(frozen=True, slots=True)
class Kept:
    """The picture to keep, and why."""

    key: str
    reason: str


def suggested(rows: Sequence[Row], find: Finder) -> Kept:
    """The best of several copies. Facts of files that are not at hand decide nothing."""
    most = max(row.width * row.height for row in rows)
    best = [row for row in rows if row.width * row.height == most]
    if len(best) < len(rows) and len(best) == 1:
        return Kept(best[0].key, f"most pixels ({best[0].width} × {best[0].height})")
    facts = {row.key: fact for row in best if (fact := _facts(row, find))}
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


def _facts(row: Row, find: Finder) -> os.stat_result | None:
    place = find(row)
    if place is None or is_url(place):
        return None
    try:
        return os.stat(place)
    except (OSError, ValueError):
        return None


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
