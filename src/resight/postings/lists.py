"""Words → inverted lists at feature level: flat arrays with offsets. Word counts are runs of equal images in a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..types import Bytes, Int64, UInt32, UInt64, Words
from .geometry import GEOMETRY


@dataclass(frozen=True, slots=True)
class Lists:
    """Postings of word w are rows offsets[w]:offsets[w+1], ordered by image, then by feature within the image."""

    offsets: Int64  # (K + 1,)
    image: UInt32  # (m,) ordinal of the picture
    signature: UInt64  # (m,)
    geometry: npt.NDArray[Any]  # (m,) GEOMETRY or SHAPED records
    code: Bytes  # (m, c) what is kept of each feature's descriptor; c = 0 where nothing is

    @property
    def words(self) -> int:
        return len(self.offsets) - 1

    def within(self, span: range) -> Lists:
        """The lists of these words, which are counted from 0 on. Postings keep their numbers."""
        return replace(self, offsets=self.offsets[span.start : span.stop + 1])


def build(pictures: Sequence[tuple[Words, npt.NDArray[Any]]], *, words: int) -> Lists:
    """Lists over pictures 0, 1, …, each given by its words and the geometry codes of its features.

    Of descriptors as much is kept as the words have, and shape if the codes have it: the same for all pictures.
    """
    word = np.concatenate([np.zeros(0, np.int32), *(w.word for w, _ in pictures)])
    image = np.repeat(np.arange(len(pictures), dtype=np.uint32), [len(w) for w, _ in pictures])
    signature = np.concatenate([np.zeros(0, np.uint64), *(w.signature for w, _ in pictures)])
    geometry = np.concatenate([g[w.feature] for w, g in pictures] or [np.zeros(0, GEOMETRY)])
    kept = [w.code for w, _ in pictures if w.code is not None]
    code = np.concatenate(kept) if kept else np.zeros((len(word), 0), np.uint8)
    order = np.argsort(word, kind="stable")  # rows come in image order, so lists are ordered by image
    offsets = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=words))]).astype(np.int64)
    return frozen(offsets, image[order], signature[order], geometry[order], code[order])


def frozen(
    offsets: Int64, image: UInt32, signature: UInt64, geometry: npt.NDArray[Any], code: Bytes | None = None
) -> Lists:
    """Read-only lists, as those that an index maps are: to numba that is a type, and kernels are compiled for one."""
    code = np.zeros((len(image), 0), np.uint8) if code is None else code
    for array in (offsets, image, signature, geometry, code):
        array.setflags(write=False)
    return Lists(offsets, image, signature, geometry, code)


@kernel
def _find_picture(offsets: Int64, image: UInt32, ordinal: int, word: Int64, posting: Int64) -> int:
    """Write the words and postings of a picture while there is room; how many there are."""
    found = 0
    for w in range(len(offsets) - 1):
        low, high = offsets[w], offsets[w + 1]
        stop = high
        while low < high:
            middle = (low + high) // 2
            if image[middle] < ordinal:
                low = middle + 1
            else:
                high = middle
        while low < stop and image[low] == ordinal:
            if found < len(posting):
                word[found], posting[found] = w, low
            low, found = low + 1, found + 1
    return found


def of_picture(lists: Lists, ordinal: int, features: int) -> tuple[Int64, Int64]:
    """(words, postings) of one picture, which has this many, by word: a binary search in every list."""
    word, posting = np.zeros(features, np.int64), np.zeros(features, np.int64)
    found = _find_picture(lists.offsets, lists.image, ordinal, word, posting)
    if found != features:
        raise ValueError(f"picture {ordinal} has {found} postings, not {features}")
    return word, posting
