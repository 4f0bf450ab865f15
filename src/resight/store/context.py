"""Context terms of all pictures of an index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..clusters import by_cluster
from ..context import Reference, Visit
from ..errors import UsageError
from ..options import ContextOptions, ScoringOptions
from ..postings import build
from ..scoring import Query, SegmentView, collection_statistics
from ..types import Float32
from .drawn import drawn
from .merge import clusters_of
from .segment import Segment
from .snapshot import Snapshot

SEED = 1  # of the draw of reference pictures


def learn(
    snapshot: Snapshot,
    scoring: ScoringOptions,
    context: ContextOptions,
    done: Callable[[int], None],
    *,
    vocabulary: int = 0,
) -> tuple[Reference, list[Float32]]:
    """The reference set, and the terms of each segment's pictures (1 for removed ones). ``done`` hears of progress.

    They are of one vocabulary and know its words alone.
    """
    span = snapshot.spans[vocabulary]
    pictures = drawn(snapshot, context.references, SEED, span)
    idf, visit, bounds = snapshot.idf[span.start : span.stop], visiting(snapshot, context), None
    if visit:
        cluster_of = [clusters_of(segment) for segment in snapshot.segments]
        cluster = np.array([cluster_of[number][ordinal] for _, (number, ordinal), _ in pictures])
        order, bounds = by_cluster(cluster, snapshot.cluster_count)
        pictures = [pictures[i] for i in order.tolist()]
    lists = build([picture for *_, picture in pictures], words=len(idf))
    view = SegmentView.of(lists, pictures=len(pictures), bounds=bounds)
    collection = collection_statistics([view], scoring, idf=idf)
    reference = Reference.learn(view, collection, scoring=scoring, context=context, visit=visit, done=done)
    known = {place: float(d) for (_, place, _), d in zip(pictures, reference.terms.delta, strict=True)}
    terms = []
    for number, segment in enumerate(snapshot.segments):
        found, later = np.ones(segment.record.pictures, np.float32), set()
        for ordinal in np.flatnonzero(segment.alive).tolist():
            if (number, ordinal) in known:
                found[ordinal] = known[number, ordinal]
            else:
                later.add(ordinal)
        if later:
            _measure(segment, span, later, reference, visit, found, done)
        terms.append(found)
    return reference, terms


def _measure(
    segment: Segment,
    span: range,
    later: set[int],
    reference: Reference,
    visit: Visit | None,
    terms: Float32,
    done: Callable[[int], None],
) -> None:
    """Fill in the terms of pictures that are not in the reference set."""
    for begin, block in segment.blocks(span):
        mine = [ordinal for ordinal in range(begin, begin + len(block)) if ordinal in later]
        terms[mine] = reference.terms_of([Query(*block[ordinal - begin]) for ordinal in mine], visit)
        done(len(mine))


def visiting(snapshot: Snapshot, context: ContextOptions) -> Visit | None:
    """The clusters in which a picture's neighbours are looked for; None: in all."""
    if not context.probe:
        return None
    clusters = snapshot.clusters
    if clusters is None or snapshot.manifest.vocabularies > 1:
        raise UsageError(
            "context.probe looks for neighbours in the clusters of an index with one vocabulary; "
            "make them with `resight index --clusters`, or leave context.probe at 0"
        )
    return lambda words: np.sort(clusters.visit(words.word)[: context.probe])
