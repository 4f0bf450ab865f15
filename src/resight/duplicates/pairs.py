"""Pairs of indexed pictures that show the same thing, as far as geometry can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..recipes import RECIPES
from ..search import SegmentGroup, linked_to, missing, search, stored_query
from ..store import Snapshot
from ..types import Float64, Hit
from .pixels import frame_areas

LOOKED_AT = 20  # best results of each picture
SURE = 0.92  # confidence from which two pictures are linked: twelve matches agree


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pictures that show the same thing, as far as geometry can tell."""

    one: str
    other: str
    confidence: float
    overlap: float  # of the whole pictures, one laid upon the other: what both cover, as a share of what either does
    transform: Float64 = field(compare=False, repr=False)  # (2, 3) from pixels of one to those of the other


def confirmed_pairs(
    snapshot: Snapshot, keys: Iterable[str], done: Callable[[int], None] = lambda count: None
) -> Iterator[Pair]:
    """For each key the pictures that geometry confirms; a pair may come from both sides. ``done`` hears of each key.

    Links are read, if all pictures have any; else each is searched for.
    """
    recipe, group, linked = RECIPES["verified"], SegmentGroup.local(snapshot), not snapshot.unlinked
    for key in keys:
        located = snapshot.locate(key)
        if located is None:
            raise missing(key)
        mine = located[1]
        if linked:
            hits: Sequence[Hit] = linked_to(group, key)[:LOOKED_AT]
        else:
            query = stored_query(snapshot, *located)
            hits = search(group, [query], top=LOOKED_AT, recipe=recipe, without=key).hits
        for hit in hits:
            if hit.confidence is not None and hit.transform is not None:
                other = snapshot.find(hit.key)
                assert other
                transform = np.array(hit.transform)
                sizes = (mine.width, mine.height), (other.width, other.height)
                yield Pair(key, hit.key, hit.confidence, overlap(transform, *sizes), transform)
        done(1)


def overlap(transform: Float64, one: tuple[int, int], other: tuple[int, int]) -> float:
    """What two pictures of these sizes both cover, as a share of what either does; the map takes one to the other."""
    both, mine, theirs = frame_areas(transform, one, other)
    return both / (mine + theirs - both)
