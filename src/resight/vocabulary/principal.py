"""Principal components of words: the few numbers of a descriptor that say most about how near it is to each word.

Thirty of the 128 dimensions of RootSIFT, turned the right way, hold 95 % of the words' variance. Products of those find
the words that are worth an exact comparison, at a quarter of the cost. Of byte descriptors the components are whole
numbers, so that products are exact in float32, and do not depend on threads, batches or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..types import Bytes, Float32

SHARE = 0.95  # of the variance that is kept
LEARNT_FROM = 4096  # words, at most
GRID = 1024  # axes are whole multiples of 1 / GRID where descriptors are bytes
WIDTH = 8  # columns come in multiples of it: matrix products are quicker


@dataclass(frozen=True)
class Principal:
    """Descriptors → rows whose product with a word's row is ‖x − m‖²/2 − ‖x − w‖²/2, nearly; m is the words' mean."""

    mean: Float32  # (d)
    axes: Float32  # (d, k)
    whole: bool  # descriptors are bytes

    @classmethod
    def of(cls, words: Bytes | Float32) -> Principal:
        whole = words.dtype == np.uint8
        values = words[:: -(-len(words) // LEARNT_FROM)].astype(np.float64)
        mean = values.mean(axis=0)
        if whole:
            mean = np.rint(mean)
        values -= mean
        variances, axes = np.linalg.eigh(values.T @ values)
        kept = np.cumsum(variances[::-1])
        count = int(np.argmax(kept >= SHARE * kept[-1])) + 1
        # One more column holds the words' norms.
        count = min(-(-(count + 1) // WIDTH) * WIDTH - 1, len(axes))
        axes = axes[:, ::-1][:, :count]
        axes = np.rint(axes * GRID) if whole else axes
        return cls(mean.astype(np.float32), np.ascontiguousarray(axes, np.float32), whole)

    def of_words(self, words: Bytes | Float32) -> Float32:
        """(n, k + 1) of words, or of centres of cells."""
        values = words.astype(np.float32) - self.mean
        squares: Float32 = np.einsum("ij,ij->i", values, values)
        return self._rows(values, -self._rounded((squares / 2).astype(np.float32)))

    def of_descriptors(self, values: Float32) -> Float32:
        """(n, k + 1)"""
        return self._rows(values - self.mean, np.ones(len(values), np.float32))

    def _rows(self, values: Float32, last: Float32) -> Float32:
        rows = np.empty((len(values), self.axes.shape[1] + 1), np.float32)
        rows[:, :-1] = self._rounded(values @ self.axes / np.float32(GRID if self.whole else 1))
        rows[:, -1] = last
        return rows

    def _rounded(self, values: Float32) -> Float32:
        return np.rint(values) if self.whole else values
