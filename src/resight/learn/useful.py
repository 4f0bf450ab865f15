"""An index → the same with fewer features: those that links confirm (Turcot and Lowe 2009), and a floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import UsageError
from ..options import LEAST_FEATURES
from ..search import Candidate, Place, SegmentGroup
from ..store import Mask, Row, Segment, Snapshot, Writer, index_size
from ..store.manifest import CLUSTERS, CONTEXT, SIMILARITY
from ..wording import count
from .links import ask, to_ask

BATCH = 1000  # pictures whose rows are read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """What ``shrink`` has done, or would do."""

    pictures: int
    features_before: int  # of all pictures, in one vocabulary
    features: int
    size_before: int  # bytes on disk
    size: int  # of a dry run: at most, as everything but lists may shrink, too
    dropped: tuple[str, ...]  # what was learnt from all features, by the names of its files


def shrink(
    writer: Writer,
    *,
    floor: int = LEAST_FEATURES,
    dry_run: bool = False,
    done: Callable[[int], None] = lambda count: None,
) -> Shrunk:
    """Commit, then rewrite the index with useful features alone, in one commit; dry_run: only say what that would do.

    All pictures must have asked for links. ``done`` hears of each that asks again. Clusters, context terms and a learnt
    similarity, which come from the features that go, are dropped. Memory: two bytes for each feature of the index.
    """
    if floor < 0:
        raise UsageError(f"a picture cannot keep {floor} features; take a floor of 0 or more")
    writer.commit()
    snapshot, before = writer.snapshot, writer.manifest
    if snapshot.unlinked:
        raise UsageError(
            f"{count(snapshot.unlinked)} of {writer.folder} have not looked for others of the same thing, and would "
            "find fewer afterwards; run `resight link` first"
        )
    useful = with_floor(snapshot, agreeing(snapshot, done), floor)
    dropped = [name for name in before.optional if name in (CLUSTERS, SIMILARITY) or name.startswith(CONTEXT)]
    if not dry_run:
        writer.arrange(None, dict.fromkeys(dropped), useful=useful)
    return Shrunk(
        pictures=snapshot.pictures,
        features_before=before.features,
        features=sum(int(mask.sum()) for mask in useful) // before.settings.vocabularies,
        size_before=index_size(before),
        size=index_size(before) - _freed(snapshot, useful) if dry_run else index_size(writer.manifest),
        dropped=tuple(dropped),
    )


def agreeing(snapshot: Snapshot, done: Callable[[int], None] = lambda count: None) -> list[Mask]:
    """Which postings of each segment agree with another picture's where geometry confirms a match, whoever asks."""
    found = [np.zeros(segment.record.features, np.bool_) for segment in snapshot.segments]

    def mark(asking: Place, row: Row, candidates: Sequence[Candidate]) -> None:
        _, own = snapshot.segments[asking[0]].postings(row)
        for candidate in candidates:
            if candidate.located and candidate.place != asking:
                feature, posting = candidate.located.agreed.T
                found[asking[0]][own[feature]] = True  # threads write the same, in whichever order
                found[candidate.segment][posting] = True

    places, group = to_ask(snapshot, again=True), SegmentGroup.local(snapshot.without_forward())
    for start in range(0, len(places), BATCH):
        ask(group, places[start : start + BATCH], mark, done)
    return found


def with_floor(snapshot: Snapshot, agreed: Sequence[Mask], floor: int) -> list[Mask]:
    """These postings, and of each picture as many of the largest other features as it takes to have ``floor``."""
    useful = [mask.copy() for mask in agreed]
    for segment, mask in zip(snapshot.segments, useful, strict=True):
        for row in segment.table.all():
            if segment.alive[row.ordinal]:
                _complete(segment, row, mask, floor)
    return useful


def _complete(segment: Segment, row: Row, useful: Mask, floor: int) -> None:
    """Of one picture: mark all postings of the features that have a marked one, and the largest others up to the floor.

    Postings of one place are those of one feature, in several vocabularies or of several words. Of features of equal
    size the order of their places decides, which is the same wherever the picture is stored.
    """
    _, posting = segment.postings(row)
    places, place = np.unique(segment.geometry(posting), return_inverse=True)
    marked = np.bincount(place, useful[posting], minlength=len(places)) > 0
    order = np.lexsort([places["scale"], ~marked])  # codes of scale count from the largest
    kept = np.zeros(len(places), np.bool_)
    kept[order[: max(floor, int(marked.sum()))]] = True
    useful[posting] = kept[place]


def _freed(snapshot: Snapshot, useful: Sequence[Mask]) -> int:
    """Bytes of the postings that go."""
    return sum(
        int((~mask).sum()) * (segment.codes + sum(np.dtype(kind).itemsize for kind in segment.kinds.values()))
        for segment, mask in zip(snapshot.segments, useful, strict=True)
    )
