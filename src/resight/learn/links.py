"""An index → which of its pictures show the same thing: each asks once, with its stored features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..machine import processors
from ..recipes import RECIPES
from ..search import Candidate, Place, SegmentGroup, rank
from ..store import LINK, Row, SegmentLinks, Snapshot, Writer, picture_id, set_confirmed
from ..timing import Stopwatch

T = TypeVar("T")
NEAREST = 10  # best results that are kept of each picture, though geometry does not confirm them
LEAST_BATCH, BATCHES = 1000, 20  # what was found is committed so often: an interruption costs one batch
Grouped = Callable[[Snapshot], SegmentGroup]
AFFORDABLE = 50_000  # pictures of an index up to which links are found as pictures are added


def link_pictures(
    writer: Writer,
    *,
    again: bool = False,
    grouped: Grouped = SegmentGroup.local,
    done: Callable[[int], None] = lambda count: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Commit, then let every picture that has not asked yet (again: every one) ask which others show the same thing.

    How many have asked. ``grouped`` says where segments are searched. ``done`` hears of each; ``stop`` is looked at now
    and then: what was found by then is kept.
    """
    writer.commit()
    places = to_ask(writer.snapshot, again=again)
    size = max(LEAST_BATCH, -(-len(places) // BATCHES))
    for start in range(0, len(places), size):
        if stop():
            return start
        _ask_and_keep(writer, places[start : start + size], grouped, done)
    return len(places)


def keeps_links(snapshot: Snapshot) -> bool:
    """Whether pictures that are added shall ask at once: what asking takes grows with the index."""
    return snapshot.manifest.linked or snapshot.pictures <= AFFORDABLE


def forget_links(writer: Writer) -> bool:
    """Commit, then drop all links; False if there were none."""
    writer.commit()
    linked = writer.manifest.linked
    if linked:
        writer.keep_links(dict.fromkeys(range(len(writer.manifest.segments))))
    return linked


def to_ask(snapshot: Snapshot, *, again: bool) -> list[Place]:
    """The living pictures that have not asked (again: all)."""
    places: list[Place] = []
    for number, segment in enumerate(snapshot.segments):
        asked = segment.links.asked if segment.links and not again else np.zeros(segment.record.pictures, np.bool_)
        places += [(number, ordinal) for ordinal in np.flatnonzero(segment.alive & ~asked).tolist()]
    return places


def ask(
    group: SegmentGroup,
    places: Sequence[Place],
    told: Callable[[Place, Row, Sequence[Candidate]], T],
    done: Callable[[int], None],
) -> list[T]:
    """Let these pictures ask, in several threads; what ``told`` makes of each one's candidates, itself among them."""
    recipe = RECIPES["verified"]

    def answer(picture: tuple[Place, Row]) -> T:
        place, row = picture
        (query,) = group.stored_queries([(place[0], row)])
        candidates, _ = rank(group, [query], count=NEAREST, recipe=recipe, watch=Stopwatch())
        done(1)
        return told(place, row, candidates)

    with threadpool_limits(1), ThreadPoolExecutor(processors()) as pool:
        return list(pool.map(answer, zip(places, group.rows(places), strict=True)))


def _ask_and_keep(writer: Writer, places: Sequence[Place], grouped: Grouped, done: Callable[[int], None]) -> None:
    """Let these pictures ask, and keep what they find."""
    snapshot = writer.snapshot
    found = ask(grouped(snapshot), places, _links, done)
    kept: dict[int, SegmentLinks | None] = {}
    for number, segment in enumerate(snapshot.segments):
        mine = {place[1]: links for place, links in zip(places, found, strict=True) if place[0] == number}
        if mine or not segment.links:  # pictures without links must have names, too
            kept[number] = (segment.links or SegmentLinks.none(segment.table.all())).with_found(mine)
    writer.keep_links(kept)


def _links(asking: Place, row: Row, candidates: Sequence[Candidate]) -> npt.NDArray[Any]:
    """Of all that geometry confirms, and of the best others."""
    own = max((candidate.score for candidate in candidates), default=1.0)
    others = [candidate for candidate in candidates if candidate.place != asking]
    confirmed = [candidate for candidate in others if candidate.located]
    kept = confirmed + [candidate for candidate in others if not candidate.located][:NEAREST]
    links = np.zeros(len(kept), LINK)
    for number, candidate in enumerate(kept):
        links["other"][number], links["likeness"][number] = picture_id(candidate.row), candidate.score / own
        if found := candidate.located:
            transform, near = found.verified.transform, found.places[:, :2]
            set_confirmed(links[number], candidate.inliers, transform, near, (row.width, row.height))
    return links
