"""Context terms of all pictures of an index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..context import Reference
from ..options import ContextOptions, ScoringOptions
from ..postings import build
from ..scoring import Part, Query
from ..types import Float32
from .segment import Segment
from .snapshot import Snapshot


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
    chosen, span = _references(snapshot, context), snapshot.spans[vocabulary]
    pictures = {}
    for number, segment in enumerate(snapshot.segments):
        for begin, block in segment.blocks(span):
            for ordinal, (words, codes) in enumerate(block, begin):
                if (number, ordinal) in chosen:
                    # Copied, since what a block yields keeps all of the block in memory.
                    pictures[chosen[number, ordinal]] = words.rows(np.arange(len(words))), codes.copy()
    order = sorted(pictures)  # so that terms do not depend on how pictures are spread over segments
    idf = snapshot.views[vocabulary][0].idf
    part = Part.of(build([pictures[key] for key in order], words=len(idf)), pictures=len(order), idf=idf)
    reference = Reference.learn(part, scoring=scoring, context=context, done=done)
    known = dict(zip(order, reference.terms.delta.tolist(), strict=True))
    terms = []
    for number, segment in enumerate(snapshot.segments):
        found, later = np.ones(segment.record.pictures, np.float32), set()
        for ordinal in np.flatnonzero(segment.alive).tolist():
            if (number, ordinal) in chosen:
                found[ordinal] = known[chosen[number, ordinal]]
            else:
                later.add(ordinal)
        if later:
            _measure(segment, span, later, reference, found, done)
        terms.append(found)
    return reference, terms


def _measure(
    segment: Segment,
    span: range,
    later: set[int],
    reference: Reference,
    terms: Float32,
    done: Callable[[int], None],
) -> None:
    """Fill in the terms of pictures that are not in the reference set."""
    for begin, block in segment.blocks(span):
        mine = [ordinal for ordinal in range(begin, begin + len(block)) if ordinal in later]
        terms[mine] = reference.terms_of([Query(*block[ordinal - begin]) for ordinal in mine])
        done(len(mine))


def _references(snapshot: Snapshot, context: ContextOptions) -> dict[tuple[int, int], str]:
    """(segment, ordinal) of the pictures that are drawn, with their keys: the same ones whatever the segments are."""
    living = sorted(
        (row.key, number, row.ordinal)
        for number, segment in enumerate(snapshot.segments)
        for row in segment.table.all()
        if segment.alive[row.ordinal]
    )
    drawn = np.random.default_rng(context.seed).permutation(len(living))[: context.references]
    return {(number, ordinal): key for key, number, ordinal in (living[i] for i in drawn.tolist())}
