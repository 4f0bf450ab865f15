"""Which pictures to look at: the first level of a two-level inverted file (CDM-07 §4).

Pictures that are alike are put into one cluster, and a query looks into the clusters nearest to it alone. In the paper
pictures are compared with the clusters' medoids by L1. With thousands of words and a few hundred features two pictures
of one thing have little in common with a third, and are often put into clusters far apart. So they are compared by the
directions in which they vary most: square roots of unit-L1 tf-idf vectors, which have unit L2 norm, on their principal
axes. A cluster's entry is a mean in that space (k-means) or a picture (k-medoids, random); pictures have context terms.

On the same axes, in bytes, a query is then compared with the pictures of those clusters, so that only the nearest need
be scored.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._numba import kernel
from .arrays import arrays_of
from .context import METHODS, Neighbours
from .errors import UsageError
from .options import ClusterOptions, ContextOptions, VocabularyOptions, from_dict, to_dict
from .types import Float32, Float64, Int8, Int32, Int64
from .vocabulary import k_means
from .wording import count

ARRAYS = ("idf", "axes", "mean", "entries", "delta")
SEED = 1  # of what is drawn at random: pictures to learn from, and where that starts
ROUNDS = 6  # of subspace iteration: axes need not be exact
MOST = 127  # the last step of a code, up and down
RANGE = 6.0  # what it stands for: so many times the root mean square of a unit vector's components, but no more than 1
SPREAD = 16  # clusters that stand for all


class Placed(NamedTuple):
    """Where pictures are among the clusters."""

    cluster: Int64  # (n,)
    code: Int8  # (n, d) on the principal axes

    def rows(self, chosen: Int64 | npt.NDArray[np.bool_]) -> Placed:
        return Placed(self.cluster[chosen], self.code[chosen])


class Visit(NamedTuple):
    """Where a query looks: into these clusters, for what is near to it."""

    clusters: Int64  # sorted
    code: Int8  # (d,)


@dataclass(frozen=True)
class Clusters:
    """Entries, and what it takes to compare pictures with them. Learnt once; later pictures change nothing."""

    idf: Float32  # (K,)
    axes: Float32  # (K, d)
    mean: Float32  # (d,) what all pictures have in common, on these axes
    entries: Float32  # (clusters, d) of unit length
    delta: Float32  # (clusters,) context terms of the entries, 1 for means
    options: ClusterOptions

    @classmethod
    def learn(cls, pictures: Sequence[Int32], *, idf: Float32, options: ClusterOptions) -> Clusters:
        """From some pictures, each given by the words of its features."""
        if len(pictures) < options.count:
            raise UsageError(
                f"{count(len(pictures))} cannot make {options.count} clusters; take fewer, or add pictures first"
            )
        options = options.learnt
        axes, mean = _principal_axes(pictures, idf, options)
        empty = np.zeros((0, len(mean)), np.float32)
        blank = cls(idf, axes, mean, empty, np.zeros(0, np.float32), options)
        entries = _in_a_row(ENTRIES[options.kind](blank.vectors(pictures), options))
        pictured = options.kind != "k-means"
        return replace(blank, entries=entries, delta=_terms(entries) if pictured else np.ones(len(entries), np.float32))

    def vectors(self, pictures: Iterable[Int32]) -> Float32:
        """(n, d) of unit length."""
        found = []
        for words in pictures:
            found.append(np.zeros(self.dimensions, np.float32))
            add_rows(self.axes, *_weighted(words, self.idf), found[-1])
        return _unit(np.array(found, np.float32).reshape(-1, self.dimensions) - self.mean)

    def place(self, pictures: Iterable[Int32]) -> Placed:
        """The cluster and the code of each picture."""
        vectors = self.vectors(pictures)
        return Placed(self._distances(vectors).argmin(axis=1), self._codes(vectors))

    def visit(self, words: Int32, probe: int) -> Visit:
        """The ``probe`` clusters nearest to a query with these words."""
        vectors = self.vectors([words])
        (distance,) = self._distances(vectors)
        return Visit(np.sort(np.argsort(distance, kind="stable")[:probe]), self._codes(vectors)[0])

    @property
    def dimensions(self) -> int:
        return len(self.mean)

    def spread(self) -> list[Visit]:
        """Some clusters, evenly spread, each to be visited for pictures that it takes no query to choose."""
        numbers = np.unique(np.linspace(0, len(self.entries) - 1, SPREAD).astype(np.int64))
        codes = np.random.default_rng(SEED).integers(-MOST, MOST, (len(numbers), self.dimensions), np.int8)
        return [Visit(np.array([number]), code) for number, code in zip(numbers.tolist(), codes, strict=True)]

    def _codes(self, vectors: Float32) -> Int8:
        """In steps; what lies beyond the last, which is rare, becomes the last."""
        steps: Float32 = np.clip(np.rint(vectors / np.float32(_step(self.dimensions))), -MOST, MOST)
        return steps.astype(np.int8)

    def _distances(self, vectors: Float32) -> Float32:
        """d(q, entry) · δ of the entry."""
        return _apart(vectors, self.entries) * self.delta

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        description = np.frombuffer(json.dumps(to_dict(self.options)).encode(), np.uint8)
        arrays = {name: getattr(self, name) for name in ARRAYS}
        np.savez(buffer, **arrays, description=description)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Clusters:
        with arrays_of(data) as arrays:
            options = from_dict(ClusterOptions, json.loads(arrays["description"].tobytes()))
            stored = {name: arrays[name] for name in ARRAYS}
        return cls(**stored, options=options)


def by_cluster(cluster: Int64, count: int) -> tuple[Int64, Int64]:
    """The pictures in the order of their clusters, and where in it each of ``count`` clusters begins, (count + 1,)."""
    order = np.argsort(cluster, kind="stable")
    return order, np.searchsorted(cluster[order], np.arange(count + 1))


def compared(code: Int8, bounds: Int64, visit: Visit) -> tuple[Int64, Float32]:
    """The pictures of the visited clusters, and the squared distance of each to the query, as their codes have it.

    code: (n, d) of pictures in the order of clusters, which bounds[c] … bounds[c + 1] are those of.
    """
    room = int((bounds[visit.clusters + 1] - bounds[visit.clusters]).sum())
    picture, product = np.empty(room, np.int64), np.empty(room, np.int32)
    compare_codes(code, bounds, visit.clusters, visit.code, picture, product)
    return picture, np.float32(2) - product.astype(np.float32) * np.float32(2 * _step(code.shape[1]) ** 2)


def _step(dimensions: int) -> float:
    """What a unit of a code stands for."""
    return float(min(1.0, RANGE / np.sqrt(dimensions)) / MOST)


@kernel
def add_rows(axes: Float32, word: Int32, value: Float32, total: Float32) -> None:
    """total += Σ value · the word's row. In order, so that codes are the same wherever they are made."""
    for i in range(len(word)):
        row, share = axes[word[i]], value[i]
        for axis in range(len(total)):
            total[axis] += share * row[axis]


@kernel
def compare_codes(code: Int8, bounds: Int64, clusters: Int64, query: Int8, picture: Int64, product: Int32) -> None:
    """Write the pictures of some clusters, and the product of each one's code and the query's."""
    at = 0
    for cluster in clusters:
        for i in range(bounds[cluster], bounds[cluster + 1]):
            total = np.int32(0)
            for axis in range(len(query)):
                total += np.int32(code[i, axis]) * np.int32(query[axis])
            picture[at], product[at] = i, total
            at += 1


def _weighted(words: Int32, idf: Float32) -> tuple[Int32, Float32]:
    """The distinct words, and the square roots of the unit-L1 tf-idf vector."""
    word, counts = np.unique(words, return_counts=True)
    value = counts * idf[word]
    return word, np.sqrt(value / max(float(value.sum()), 1e-30)).astype(np.float32)


def _principal_axes(pictures: Sequence[Int32], idf: Float32, options: ClusterOptions) -> tuple[Float32, Float32]:
    """Orthonormal (K, d) axes along which the pictures' vectors vary most, by subspace iteration; their mean there.

    Memory: a few arrays of K × d; vectors stay sparse.
    """
    vectors = [_weighted(word, idf) for word in pictures]
    mean = np.zeros(len(idf))
    for word, value in vectors:
        mean[word] += value / len(vectors)
    columns = min(options.dimensions, len(vectors), len(idf))
    axes = np.linalg.qr(np.random.default_rng(SEED).standard_normal((len(idf), columns)))[0].astype(np.float32)
    for _ in range(ROUNDS):
        grown = np.zeros(axes.shape, np.float32)
        common = (mean @ axes).astype(np.float32)
        for word, value in vectors:  # taking the mean from one factor is enough: the others' sum is 0
            grown[word] += value[:, None] * (value @ axes[word] - common)
        axes = np.linalg.qr(grown)[0]
    return axes, (mean @ axes).astype(np.float32)


def _unit(vectors: Float32) -> Float32:
    norms: Float32 = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Float32 = np.divide(vectors, np.maximum(norms, 1e-9), dtype=np.float32)
    return unit


def _apart(a: Float32, b: Float32) -> Float32:
    """Distances (n, m) of vectors of unit length."""
    squared = np.asarray(2 - 2 * (a @ b.T), np.float32)
    return np.sqrt(np.maximum(squared, np.float32(0)))


def _in_a_row(entries: Float32) -> Float32:
    """The same, each followed by the nearest that is left: clusters that are visited together lie together."""
    left, order = np.ones(len(entries), np.bool_), [0]
    for _ in range(len(entries) - 1):
        left[order[-1]] = False
        order.append(int(np.where(left, entries @ entries[order[-1]], -np.inf).argmax()))
    return entries[order]


def _terms(entries: Float32) -> Float32:
    """CDM among the entries. Memory: some 14 bytes for each pair."""
    apart = _apart(entries, entries)
    np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, :-1].astype(np.int32)
    near = Neighbours(order, np.take_along_axis(apart, order.astype(np.int64), axis=1))
    delta: Float64 = METHODS["cdm"](near, ContextOptions(method="cdm")).delta
    return delta.astype(np.float32)


def _means(vectors: Float32, options: ClusterOptions) -> Float32:
    means = k_means(vectors, options.count, options=VocabularyOptions(seed=SEED), whole=False)
    return _unit(means.astype(np.float32))


def _medoids(vectors: Float32, options: ClusterOptions) -> Float32:
    """By FasterPAM. Memory: some 12 bytes for each pair of pictures of the sample."""
    try:
        import kmedoids
    except ImportError:
        raise UsageError(
            "k-medoids needs the package kmedoids: `pip install resight[medoids]`, or take clusters.kind=k-means"
        ) from None
    found = kmedoids.fasterpam(_apart(vectors, vectors), options.count, random_state=SEED, n_cpu=1)
    medoids: Int64 = found.medoids.astype(np.int64)
    return vectors[medoids]


def _drawn(vectors: Float32, options: ClusterOptions) -> Float32:
    chosen = np.random.default_rng(SEED).choice(len(vectors), options.count, replace=False)
    return vectors[chosen]


ENTRIES = {"k-means": _means, "k-medoids": _medoids, "random": _drawn}
