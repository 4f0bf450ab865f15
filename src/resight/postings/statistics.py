"""What scoring needs to know of the lists: integers that add and subtract as pictures come and go."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..types import Int64, UInt32
from .lists import Lists


@kernel
def _count(
    offsets: Int64, image: UInt32, chosen: npt.NDArray[np.bool_], df: Int64, tf: Int64, length: Int64, squared: Int64
) -> None:
    for word in range(len(offsets) - 1):
        posting, stop = offsets[word], offsets[word + 1]
        while posting < stop:
            ordinal, start = image[posting], posting
            while posting < stop and image[posting] == ordinal:
                posting += 1
            if chosen[ordinal]:
                count = posting - start
                df[word] += 1
                tf[word] += count
                length[ordinal] += count
                squared[ordinal] += count * count


def count(lists: Lists, chosen: npt.NDArray[np.bool_]) -> tuple[Int64, Int64, Int64, Int64]:
    """Over the chosen pictures: (df per word, tf per word, postings per picture, Σ tf² per picture)."""
    df, tf = np.zeros(lists.words, np.int64), np.zeros(lists.words, np.int64)
    length, squared = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    _count(lists.offsets, lists.image, chosen, df, tf, length, squared)
    return df, tf, length, squared
