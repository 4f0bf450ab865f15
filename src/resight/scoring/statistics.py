"""What scoring knows of a whole collection, however its pictures are spread over segments."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..types import Float32, Int64
from .similarity import Similarity


@dataclass(frozen=True, eq=False)
class CollectionStatistics:
    """Of all living pictures of a commit, as one measure needs them."""

    pictures: int
    idf: Float32  # (K,)
    counts: Int64 = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )  # of ``Measure.count_words``, over all segments
    similarity: Similarity | None = None  # learnt for this collection
    id: str = field(default_factory=lambda: uuid.uuid4().hex)  # the same for copies in other processes


def idf_weights(df: npt.NDArray[np.int64], pictures: int) -> Float32:
    """log((n + 1) / n_i), n_i ≥ 1: LEARN-14 eq. 2 but for the + 1, which keeps an index of one picture searchable."""
    return np.log((pictures + 1) / np.maximum(df, 1)).astype(np.float32)
