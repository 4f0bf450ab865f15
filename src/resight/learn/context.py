"""An index → context terms of its pictures (CDM-07, CDM-10)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..clusters import by_cluster
from ..context import Reference, Visit, context_name, name_of, require_context, stored_names
from ..errors import UsageError
from ..options import ContextOptions, ScoringOptions
from ..postings import build
from ..scoring import Query, SegmentView, collection_statistics
from ..store import Segment, Snapshot, Writer, clusters_to_visit
from ..store.manifest import CONTEXT
from ..types import Float32
from .sample import sample_pictures

SEED = 1  # of the draw of reference pictures


def learn_context(
    writer: Writer,
    scoring: ScoringOptions,
    context: ContextOptions,
    *,
    done: Callable[[int], None] = lambda count: None,
) -> list[Reference]:
    """Commit, then give every picture its context term; those added later get theirs as they are added.

    With several vocabularies, for each: a picture has a term, and there is a reference set, in each of them. ``done``
    hears how many more pictures were compared.
    """
    require_context(scoring)
    writer.commit()
    snapshot = writer.snapshot
    if not snapshot.pictures:
        raise UsageError(f"{writer.folder} has no pictures yet, so there is no context to learn; add some first")
    names = stored_names(context_name(scoring, context), snapshot.settings.vocabularies)
    learnt = {
        name: context_terms(snapshot, scoring, context, span, done=done)
        for name, span in zip(names, snapshot.spans, strict=True)
    }
    writer.attach(
        {f"{CONTEXT}{name}": reference.to_bytes() for name, (reference, _) in learnt.items()},
        terms={name: terms for name, (_, terms) in learnt.items()},
    )
    return [reference for reference, _ in learnt.values()]


def forget_context(writer: Writer, name: str) -> bool:
    """Commit, then drop the context terms of this name, in all vocabularies; False if there were none."""
    writer.commit()
    stored = {other for other in writer.manifest.contexts if name_of(other)[0] == name}
    if stored:
        writer.attach({f"{CONTEXT}{other}": None for other in stored})
    return bool(stored)


def context_terms(
    snapshot: Snapshot,
    scoring: ScoringOptions,
    context: ContextOptions,
    span: range,
    *,
    done: Callable[[int], None] = lambda count: None,
) -> tuple[Reference, list[Float32]]:
    """The reference set, and the terms of each segment's pictures (1 for removed ones), by one vocabulary's words."""
    pictures = sample_pictures(snapshot, context.references, SEED, span)
    idf, visit, bounds = snapshot.idf[span.start : span.stop], clusters_to_visit(snapshot, context), None
    if visit:
        cluster_of = [segment.cluster for segment in snapshot.segments]
        order, bounds = by_cluster(
            np.array([cluster_of[p.segment][p.ordinal] for p in pictures]), snapshot.cluster_count
        )
        pictures = [pictures[i] for i in order.tolist()]
    lists = build([(p.words, p.geometry) for p in pictures], words=len(idf))
    view = SegmentView.of(lists, pictures=len(pictures), bounds=bounds)
    collection = collection_statistics([view], scoring, idf=idf)
    reference = Reference.learn(view, collection, scoring=scoring, context=context, visit=visit, done=done)
    known = {(p.segment, p.ordinal): float(d) for p, d in zip(pictures, reference.terms.delta, strict=True)}
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
