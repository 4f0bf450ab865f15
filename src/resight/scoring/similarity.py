"""Learnt histogram similarity (LEARN-14): weights for pairs of word counts, instead of a formula.

s(q, d) = Σ_i w[g(i), q̂_i, d̂_i], where q̂ and d̂ are the counts of word i, truncated at n, and g(i) is the group of words
about as frequent as it. Most counts are 0 on both sides, so the sum is taken as eq. 12 has it: what d scores against an
empty query, known beforehand, plus a term of the query alone, left out here, plus terms of the words that both have.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._numba import kernel
from ..arrays import arrays_of
from ..errors import UsageError
from ..postings import Lists
from ..types import Bytes, Float32, Float64, Int64, UInt32
from .kernels import after_picture


@dataclass(frozen=True)
class Similarity:
    """The weights, and which of them a pair of counts has."""

    pattern: Bytes  # (n + 1, n + 1): the bin of a pair of counts, the query's first
    weights: Float32  # (groups, bins)
    group: Bytes  # (K,) of each word

    @property
    def most(self) -> int:
        """n: larger counts are taken for this one."""
        return len(self.pattern) - 1

    @property
    def table(self) -> Float32:
        """(groups, n + 1, n + 1): w[g, j, l]."""
        return self.weights[:, self.pattern]

    @cached_property
    def against_nothing(self) -> Float64:
        """(groups, n + 1): w[g, 0, l] − w[g, 0, 0]."""
        table = self.table.astype(np.float64)
        return table[:, 0] - table[:, 0, :1]

    @cached_property
    def steps(self) -> Float32:
        """(groups, n + 1, n + 1): by how much w̄[g, j, l] exceeds w̄[g, j, l − 1].

        w̄[g, j, l] = w[g, j, l] − w[g, j, 0] − w[g, 0, l] + w[g, 0, 0] (eq. 12).
        """
        table = self.table.astype(np.float64)
        shared = table - table[:, :, :1] - table[:, :1] + table[:, :1, :1]
        return np.diff(shared, axis=2, prepend=0).astype(np.float32)

    def alone(self, lists: Lists, pictures: int) -> Float32:
        """s(0, d) − s(0, 0) of each picture: what it scores against an empty query, more than an empty one does."""
        found = np.zeros(pictures)
        add_alone(self.group, self.against_nothing, lists.offsets, lists.image, found)
        return found.astype(np.float32)

    def require_fit(self, words: int) -> None:
        """Raise UsageError unless there is a weight for any counts of so many words: kernels do not look twice."""
        if self.group.shape != (words,):
            raise UsageError(
                f"a similarity of {self.group.size} words does not fit the {words} of this vocabulary; "
                "learn one with it: `resight learn`"
            )
        if not self._fits_together():
            raise UsageError("the arrays of this similarity do not fit together; learn it again with `resight learn`")

    def _fits_together(self) -> bool:
        kinds = [array.dtype.name for array in (self.pattern, self.weights, self.group)]
        if kinds != ["uint8", "float32", "uint8"] or self.pattern.ndim != 2 or self.weights.ndim != 2:
            return False
        (rows, columns), (groups, bins) = self.pattern.shape, self.weights.shape
        return (
            rows == columns > 1
            and int(self.pattern.max()) < bins
            and int(self.group.max(initial=0)) < groups
            and bool(np.isfinite(self.weights).all())
        )

    @property
    def fingerprint(self) -> str:
        """A short name: other weights have another."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.pattern, self.weights, self.group):
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, pattern=self.pattern, weights=self.weights, group=self.group)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Similarity:
        with arrays_of(data) as arrays:
            return cls(arrays["pattern"], arrays["weights"], arrays["group"])


def groups_by_frequency(counts: Int64, groups: int) -> Bytes:
    """Groups of equally many words, from rare to frequent; counts: how often each word occurs (§3.3.1)."""
    order = np.argsort(counts, kind="stable")
    found = np.empty(len(counts), np.uint8)
    found[order] = np.arange(len(counts)) * groups // len(counts)
    return found


@kernel
def add_alone(group: Bytes, weights: Float64, offsets: Int64, list_image: UInt32, found: Float64) -> None:
    """found[image] += weights[group of the word, tf] for each word that it has; counts beyond the last are the last."""
    most = weights.shape[1] - 1
    for word in range(len(offsets) - 1):
        posting, stop = np.uint64(offsets[word]), np.uint64(offsets[word + 1])
        while posting < stop:
            start, posting = posting, after_picture(posting, stop, list_image)
            found[list_image[start]] += weights[group[word], min(np.int64(posting - start), most)]
