"""Some pictures of an index, drawn at random to learn from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..store import Snapshot
from ..types import Words


class SampledPicture(NamedTuple):
    """A picture, and where it is."""

    key: str
    segment: int
    ordinal: int
    words: Words
    geometry: npt.NDArray[Any]


def sample_pictures(
    snapshot: Snapshot, count: int, seed: int, span: range, *, also: frozenset[str] = frozenset()
) -> list[SampledPicture]:
    """Pictures drawn at random, with the words of one vocabulary; also: keys of others on top.

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
    pictures = []
    for number, segment in enumerate(snapshot.segments):
        for begin, block in segment.blocks(span):
            for ordinal, (words, geometry) in enumerate(block, begin):
                if (key := key_of.get((number, ordinal))) is not None:
                    # Copied, since what a block yields keeps all of the block in memory.
                    own = words.rows(np.arange(len(words))), geometry.copy()
                    pictures.append(SampledPicture(key, number, ordinal, *own))
    return sorted(pictures, key=lambda picture: picture.key)


def sample_keys(snapshot: Snapshot, count: int, seed: int) -> list[str]:
    """Keys of pictures drawn at random, in order."""
    keys = sorted(row.key for row in snapshot.rows())
    return [keys[i] for i in sorted(np.random.default_rng(seed).permutation(len(keys))[:count].tolist())]
