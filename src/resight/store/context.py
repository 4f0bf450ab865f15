"""Context terms of all pictures of an index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..context import Reference
from ..options import ContextOptions, ScoringOptions
from ..postings import build
from ..scoring import Part, Query
from ..types import Float32
from .snapshot import Snapshot


def learn(
    snapshot: Snapshot, scoring: ScoringOptions, context: ContextOptions, done: Callable[[int], None]
) -> tuple[Reference, list[Float32]]:
    """The reference set, and the terms of each segment's pictures (1 for removed ones). ``done`` hears of progress."""
    chosen = _references(snapshot, context)
    pictures = [
        features
        for segment, mine in zip(snapshot.segments, chosen, strict=True)
        for begin, block in segment.blocks()
        for ordinal, features in enumerate(block, begin)
        if mine[ordinal]
    ]
    idf = snapshot.parts[0].idf
    part = Part.of(build(pictures, words=len(idf)), pictures=len(pictures), idf=idf)
    reference = Reference.learn(part, scoring=scoring, context=context, done=done)
    terms, used = [], 0
    for segment, mine in zip(snapshot.segments, chosen, strict=True):
        found = np.ones(segment.record.pictures, np.float32)
        found[mine] = reference.terms.delta[used : used + mine.sum()]
        used += int(mine.sum())
        others = segment.alive & ~mine
        for begin, block in segment.blocks() if others.any() else ():
            later = [ordinal for ordinal in range(begin, begin + len(block)) if others[ordinal]]
            found[later] = reference.terms_of([Query(*block[ordinal - begin]) for ordinal in later])
            done(len(later))
        terms.append(found)
    return reference, terms


def _references(snapshot: Snapshot, context: ContextOptions) -> list[npt.NDArray[np.bool_]]:
    """Which pictures of each segment are drawn: the same ones however pictures are spread over segments."""
    chosen = [segment.alive.copy() for segment in snapshot.segments]
    if snapshot.pictures > context.references:
        living = [
            (row.key, number, row.ordinal)
            for number, segment in enumerate(snapshot.segments)
            for row in segment.table.all()
            if segment.alive[row.ordinal]
        ]
        left_out = np.random.default_rng(context.seed).permutation(len(living))[context.references :]
        living.sort()
        for i in left_out:
            _, number, ordinal = living[i]
            chosen[number][ordinal] = False
    return chosen
