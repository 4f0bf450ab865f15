"""The nearest pictures of every picture of a segment, by the segment's own lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..machine import processors
from ..options import ScoringOptions
from ..postings import forward
from ..scoring import CollectionStatistics, Query, Scope, SegmentView, score_all
from ..types import Float32, Int32, Int64, Words
from .distance import SAME, distances

BLOCK = 1024  # pictures whose features are gathered from the lists at a time


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Of each picture the nearest others, nearest first; −1 and an infinite distance where there are no more."""

    picture: Int32  # (n, kept)
    distance: Float32  # (n, kept)


Visit = Callable[[Words], Int64]  # a picture's words → the clusters in which its neighbours are looked for


def nearest(
    segment: SegmentView,
    collection: CollectionStatistics,
    *,
    kept: int,
    scoring: ScoringOptions,
    visit: Visit | None = None,
    done: Callable[[int], None] | None = None,
) -> Neighbours:
    """Compare all with all, or with those in some clusters.

    Memory: 8 bytes for each neighbour kept, and one row of scores for each thread. ``done`` hears how many more
    pictures were compared.
    """
    kept, scope = min(kept, segment.pictures - 1), Scope(scoring, collection)
    found = Neighbours(
        np.full((segment.pictures, kept), -1, np.int32), np.full((segment.pictures, kept), np.inf, np.float32)
    )

    def ask(numbered: tuple[int, Query]) -> None:
        number, query = numbered
        if visit:
            pictures = segment.pictures_in(np.union1d(visit(query.words), segment.cluster_of(number)))
        else:
            pictures = np.arange(segment.pictures)
        (row,) = distances_of(query, [segment.only(pictures) if visit else segment], scope)
        row = without_copies(row, float(row[np.searchsorted(pictures, number)]), scoring)
        chosen = smallest(row, kept)
        chosen = chosen[np.isfinite(row[chosen])]
        found.picture[number, : len(chosen)], found.distance[number, : len(chosen)] = pictures[chosen], row[chosen]

    lists = segment.read(None, "image", "signature", "geometry")
    with ThreadPoolExecutor(processors()) as pool:
        for begin, block in forward(lists, pictures=segment.pictures, size=BLOCK):
            queries = (Query(words, codes) for words, codes in block.pictures())
            compared = len(list(pool.map(ask, enumerate(queries, begin))))
            if done:
                done(compared)
    return found


def distances_of(query: Query, segments: Sequence[SegmentView], scope: Scope[ScoringOptions]) -> list[Float32]:
    """The distance of a picture, each of whose features has one word, to all pictures of each segment."""
    scores, norm = score_all(query, segments, scope), _norm(query.words, scope.options)
    return [distances(scope.options.measure, s, norm=norm) for s in scores]


def _norm(words: Words, scoring: ScoringOptions) -> float:
    """What of the query a measure does not divide by, though it does by the like of the picture."""
    if scoring.ratio_mixture is not None:
        return len(words)
    _, counts = np.unique(words.word, return_counts=True)
    return float(np.linalg.norm(counts)) if scoring.measure == "hamming" else 1.0


def without_copies(row: Float32, own: float, scoring: ScoringOptions) -> Float32:
    """Distances, infinite to the picture itself and to its exact copies, which are as near as ``own``, it to itself.

    Copies are one point, not a crowd: counted as neighbours they would push each other out of every result. By density
    ratio pictures with few features may be nearer, by burst those with many.
    """
    copies = row <= 1.001 * own + (SAME if scoring.measure in ("l1", "l2") else 0)
    if scoring.ratio_mixture is not None or scoring.measure == "burst":
        copies &= row >= 0.999 * own
    return np.where(copies, np.inf, row).astype(np.float32)


def smallest(values: Float32, count: int) -> Int32:
    """Where the smallest ``count`` are, smallest first; equal ones by number."""
    chosen = np.argpartition(values, count - 1)[:count] if count < len(values) else np.arange(len(values))
    if count < len(values):  # of those equal to the last, argpartition takes any
        limit = values[chosen].max(initial=-np.inf)
        chosen = np.concatenate([np.flatnonzero(values < limit), np.flatnonzero(values == limit)])
    return chosen[np.argsort(values[chosen], kind="stable")][:count].astype(np.int32)
