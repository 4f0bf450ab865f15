"""Some pictures of an index, drawn at random to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Words
from .snapshot import Snapshot

Picture = tuple[Words, npt.NDArray[Any]]


def drawn(
    snapshot: Snapshot, count: int, seed: int, span: range, *, also: frozenset[str] = frozenset()
) -> list[tuple[str, tuple[int, int], Picture]]:
    """Pictures drawn at random, as these words see them, with key and (segment, ordinal) of each; also: keys on top.

    They are the same ones in the same order, by key, however pictures are spread over segments.
    """
    living = sorted(
        (row.key, number, row.ordinal)
        for number, segment in enumerate(snapshot.segments)
        for row in segment.table.all()
        if segment.alive[row.ordinal]
    )
    others = [each for each in living if each[0] not in also]
    chosen = np.random.default_rng(seed).permutation(len(others))[:count].tolist()
    wanted = [*(others[i] for i in chosen), *(each for each in living if each[0] in also)]
    key_of = {(number, ordinal): key for key, number, ordinal in wanted}
    pictures: dict[str, tuple[str, tuple[int, int], Picture]] = {}
    for number, segment in enumerate(snapshot.segments):
        for begin, block in segment.blocks(span):
            for ordinal, (words, codes) in enumerate(block, begin):
                if (key := key_of.get((number, ordinal))) is not None:
                    # Copied, since what a block yields keeps all of the block in memory.
                    pictures[key] = key, (number, ordinal), (words.rows(np.arange(len(words))), codes.copy())
    return [pictures[key] for key in sorted(pictures)]
