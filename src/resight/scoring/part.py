"""A query and the segments of an index, as scoring sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..postings import Lists, count
from ..types import Float32, Int32, Int64, Words
from . import kernels


class ReadLists(Protocol):
    def __call__(self, words: Int32 | None, *columns: str) -> Lists:
        """The lists, once those of the given words (None: all) are known to be undamaged in these columns."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query's quantised features."""

    words: Words
    geometry: npt.NDArray[Any]  # (features,) GEOMETRY codes: row i of the words is at geometry[words.feature[i]]


@dataclass
class Part:
    """Lists of some pictures, and the statistics that weigh them."""

    read: ReadLists
    squared: Int64  # (n,) Σ tf² of each picture
    alive: npt.NDArray[np.bool_]  # (n,) False for removed pictures: they neither score nor count
    idf: Float32  # (K,) of the whole collection, not of this part alone

    @classmethod
    def of(cls, lists: Lists, *, pictures: int, idf: Float32) -> Part:
        """Lists in memory, of pictures that are all alive."""
        alive = np.ones(pictures, np.bool_)
        _, _, _, squared = count(lists, alive)
        return cls(read=lambda words, *columns: lists, squared=squared, alive=alive, idf=idf)

    def within(self, span: range) -> Part:
        """The same pictures as if these words were all there are: counted from 0 on, with norms of their own."""

        def read(words: Int32 | None, *columns: str) -> Lists:
            return self.read(None if words is None else words + np.int32(span.start), *columns).within(span)

        _, _, _, squared = count(read(None, "image"), np.ones(self.pictures, np.bool_))
        return Part(read=read, squared=squared, alive=self.alive, idf=self.idf[span.start : span.stop])

    @property
    def pictures(self) -> int:
        return len(self.squared)

    @cached_property
    def inverse_norm(self) -> Float32:
        """1 / L2 norm of the plain word counts."""
        return _inverse(np.sqrt(self.squared))

    @cached_property
    def inverse_weighted_l1(self) -> Float32:
        """1 / Σ tf · idf."""
        return _inverse(self._weighted(1))

    @cached_property
    def inverse_weighted_l2(self) -> Float32:
        """1 / sqrt(Σ (tf · idf)²)."""
        return _inverse(np.sqrt(self._weighted(2)))

    def _weighted(self, power: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        lists, norms = self.read(None, "image"), np.zeros(self.pictures, np.float64)
        kernels.weighted_norms(lists.offsets, lists.image, self.idf, power, norms)
        return norms


def _inverse(norms: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Float32:
    """1 / norm, and 0 for a picture without weight: it then scores 0 instead of NaN."""
    return np.divide(1, norms, out=np.zeros_like(norms, dtype=np.float64), where=norms > 0).astype(np.float32)
