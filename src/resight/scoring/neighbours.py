"""k-NN voting: the descriptors nearest to each feature of the query vote for their pictures (DRE-12 §3.3 and §3.4).

Distances to product-quantised descriptors are looked up in tables, in the lists of a feature's words alone (IVFADC,
Jégou et al. 2011); those to descriptors that are kept as they are, are computed, in all lists. Descriptors that are
equally far from a feature are one of its sets D_t: their order among themselves says nothing, and a score does not
depend on the order in which pictures were added. Where all distances differ, that is eq. 13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..errors import UsageError
from ..machine import processors
from ..options import KnnOptions
from ..types import Bytes, Float32, Float64, Int32, Int64, UInt32
from .density import inverse_length, prior, vote_in_order
from .measure import Measure, Scope, Totals
from .query import Query
from .segment import SegmentView, Tables

COMPARED = 2**23  # pairs of descriptors at a time
FEW = 64  # features that are not worth a thread of their own


class Asked(NamedTuple):
    """A query's descriptors, the words of each: rows first[f] … first[f + 1], and how many neighbours each wants."""

    values: Float32
    first: Int64
    word: Int32
    most: Int64  # 0 for those without words

    @property
    def named(self) -> npt.NDArray[np.bool_]:
        """Which have any words."""
        return np.diff(self.first) > 0

    @property
    def nearest(self) -> Int32:
        """The first word of each that has any."""
        return self.word[self.first[:-1][self.named]]


class Near(NamedTuple):
    """Descriptors near to features of the query: whose, how far (squared), and the number of their picture."""

    feature: Int64
    distance: Float32
    picture: UInt32

    def rows(self, chosen: slice | Int64) -> Near:
        return Near(self.feature[chosen], self.distance[chosen], self.picture[chosen])


class NearestVote(Measure[KnnOptions]):
    """Each feature's nearest descriptors give their pictures eq. 13's votes; or 1 each, or the idf of its word.

    All pictures are looked at, whichever are to be scored, because who is nearest depends on all.
    """

    options = KnnOptions
    in_one_place = True
    looks_at_all = True

    def score(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[KnnOptions], totals: Totals
    ) -> list[Float32]:
        options, asked = scope.options, _asked(query, segments, scope.options)
        starts = np.cumsum([0, *(segment.pictures for segment in segments)])
        found = [_room(0)]
        for segment, start in zip(segments, starts, strict=False):
            found += [near._replace(picture=near.picture + np.uint32(start)) for near in _near(asked, segment)]
        near = Near(
            np.concatenate([n.feature for n in found]),
            np.concatenate([n.distance for n in found]),
            np.concatenate([n.picture for n in found]),
        )
        # Distances are not negative, so their bits are ordered as they are.
        ordered = near.rows(np.argsort((near.feature << 32) | near.distance.view(np.uint32), kind="stable"))
        scores, lengths = np.zeros(starts[-1]), np.concatenate([inverse_length(segment) for segment in segments])
        weights = _weights(asked, scope.collection.idf, options)
        scale = prior(sum(segment.features for segment in segments), options.mixture)
        vote_in_order(*ordered, asked.most, scale, weights, lengths, scores)
        pieces = zip(np.split(scores, starts[1:-1]), segments, strict=True)
        return [piece.astype(np.float32) * segment.alive for piece, segment in pieces]


def _asked(query: Query, segments: Sequence[SegmentView], options: KnnOptions) -> Asked:
    descriptors, words = query.descriptors, query.words
    lists = [segment.read(words.word[:0], "image") for segment in segments]
    if descriptors is None or any(len(some.image) and not some.code.shape[1] for some in lists):
        raise UsageError("k-NN voting compares descriptors, which are not kept here; index with --recipe knn")
    first = np.searchsorted(words.feature, np.arange(len(descriptors) + 1))
    asked = Asked(descriptors.astype(np.float32), first, words.word, np.zeros(len(descriptors), np.int64))
    asked.most[asked.named] = options.nearest or _adaptive(asked.nearest, segments)
    return asked


def _adaptive(word: Int32, segments: Sequence[SegmentView]) -> Int64:
    """√n of the n descriptors that have the word (§3.4)."""
    living: Int64 = np.sum([segment.living(word) for segment in segments], axis=0)
    return np.maximum(np.rint(np.sqrt(living)), 1).astype(np.int64)


def _weights(asked: Asked, idf: Float32, options: KnnOptions) -> Float64:
    """What each feature's neighbours give, where that is fixed; nothing where it is a density ratio."""
    if options.weights == "density":
        return np.zeros(0)
    weights = np.ones(len(asked.most))
    if options.weights == "idf":
        weights[asked.named] = idf[asked.nearest]
    return weights


def _near(asked: Asked, segment: SegmentView) -> Iterator[Near]:
    """The segment's living descriptors nearest to each feature, and perhaps more, in blocks; by feature in each."""
    if segment.tables is None:
        yield _by_descriptors(asked, segment)
    else:
        yield from _by_codes(asked, segment, segment.tables())


def _by_codes(asked: Asked, segment: SegmentView, tables: Tables) -> Iterator[Near]:
    lists = segment.read(asked.word, "image", "code")
    coded = Coded(lists.offsets, lists.image, lists.code, segment.alive, bool(segment.alive.all()))
    ends = np.concatenate([[0], np.cumsum(np.diff(lists.offsets)[asked.word])])[asked.first]
    seen = np.diff(ends)  # by each feature
    wanted, longest = np.minimum(asked.most, seen), int(seen.max(initial=0))
    pieces = max(min(len(seen) // FEW, 4 * processors()), 1)

    def scan(piece: tuple[int, int]) -> Near:
        found = _room(int(1.5 * wanted[slice(*piece)].sum()) + FEW)  # those equally far come on top
        while (count := scan_codes(*piece, asked, tables, coded, _held(longest), found)) > len(found.feature):
            found = _room(count)
        return found.rows(slice(count))

    with ThreadPoolExecutor(processors()) as pool:
        yield from pool.map(scan, pairwise((np.arange(pieces + 1) * len(seen) // pieces).tolist()))


def _by_descriptors(asked: Asked, segment: SegmentView) -> Near:
    lists = segment.read(None, "image", "code")
    mine = slice(lists.offsets[0], lists.offsets[-1])
    image, stored, near = lists.image[mine], lists.code[mine], _room(0)
    whole = stored.shape[1] == asked.values.shape[1]  # bytes, whose distances are whole numbers however they are added
    size = max(COMPARED // max(len(asked.most), 1), 1)
    for begin in range(0, len(stored), size):
        shown = image[begin : begin + size]
        living = segment.alive[shown]
        block = stored[begin : begin + size][living]
        values = block.astype(np.float32) if whole else block.view(np.float32)
        compared = _products(asked.values, values) if whole else squared_distances(asked.values, values)
        held, found = _held(len(values) + len(near.feature)), _room(2 * len(near.feature) + len(asked.most))
        while (count := keep_nearest(compared, shown[living], asked.most, near, held, found)) > len(found.feature):
            found = _room(count)
        near = found.rows(slice(count))
    return near


def _products(a: Float32, b: Float32) -> Float32:
    """Squared distances, all rows to all rows, where they are whole numbers."""
    squares = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b)
    distances: Float32 = squares - 2 * (a @ b.T)
    return distances


@kernel
def squared_distances(a: Float32, b: Float32) -> Float32:
    """The same for any numbers, always added in the same order: equal descriptors are equally far."""
    found, columns = np.zeros((len(a), len(b)), np.float32), b.T.copy()
    for i in range(len(a)):
        row = found[i]
        for d in range(len(columns)):
            mine, theirs = a[i, d], columns[d]
            for j in range(len(b)):
                row[j] += (mine - theirs[j]) * (mine - theirs[j])
    return found


def _room(count: int) -> Near:
    return Near(np.empty(count, np.int64), np.empty(count, np.float32), np.empty(count, np.uint32))


class Coded(NamedTuple):
    """The lists of a segment."""

    offsets: Int64
    image: UInt32
    code: Bytes
    alive: npt.NDArray[np.bool_]  # by picture
    whole: bool  # all are


class Held(NamedTuple):
    """One feature's neighbours so far: there must be room for one more than it can have."""

    distance: Float32
    picture: UInt32


def _held(most: int) -> Held:
    return Held(np.empty(most + 1, np.float32), np.empty(most + 1, np.uint32))


@kernel
def scan_codes(begin: int, end: int, asked: Asked, tables: Tables, lists: Coded, held: Held, found: Near) -> int:
    """Write the nearest descriptors in the lists of the words of features begin … end, while there is room; count."""
    pieces = len(tables.books)
    table = np.empty(pieces * 256, np.float32)
    written, one = 0, np.uint64(1)
    for feature in range(begin, end):
        most, count, limit = asked.most[feature], np.uint64(0), np.float32(np.inf)
        full = np.uint64(4 * most + FEW)
        for row in range(asked.first[feature], asked.first[feature + 1]):
            word = asked.word[row]
            _fill(asked.values[feature], tables.centroids[word], tables.books, table)
            for posting in range(np.uint64(lists.offsets[word]), np.uint64(lists.offsets[word + 1])):
                if not (lists.whole or lists.alive[lists.image[posting]]):
                    continue
                distance = np.float32(0)
                for piece in range(pieces):
                    distance += table[256 * piece + lists.code[posting, piece]]
                held.distance[count], held.picture[count] = distance, lists.image[posting]
                count += np.uint64(distance <= limit)
                if count == full:
                    count, limit = _cut(held, count, most)
                    full = max(full, count << one)
        count, limit = _cut(held, count, most)
        written = _write(feature, held, count, written, found)
    return written


@kernel
def _fill(value: Float32, centroid: Float32, books: Float32, table: Float32) -> None:
    """table[256 i + c] = the squared distance of piece i of the residual to centroid c of its book."""
    pieces, size, _ = books.shape
    for piece in range(pieces):
        mine = table[256 * piece : 256 * (piece + 1)]
        mine[:] = 0
        for d in range(size):
            residual, book = value[piece * size + d] - centroid[piece * size + d], books[piece, d]
            for c in range(256):
                mine[c] += (residual - book[c]) * (residual - book[c])


@kernel
def keep_nearest(distances: Float32, picture: UInt32, most: Int64, known: Near, held: Held, found: Near) -> int:
    """Write which descriptors are near to each feature, while there is room: of those known and of the columns; count.

    ``distances`` has a row for each feature.
    """
    written, at = 0, 0
    for feature in range(len(most)):
        count, farthest = np.uint64(0), np.float32(0)
        while at < len(known.feature) and known.feature[at] == feature:
            held.distance[count], held.picture[count] = known.distance[at], known.picture[at]
            farthest = max(farthest, known.distance[at])
            count += np.uint64(1)
            at += 1
        limit = farthest if count >= np.uint64(most[feature]) else np.float32(np.inf)
        for column in range(len(picture)):
            held.distance[count], held.picture[count] = distances[feature, column], picture[column]
            count += np.uint64(distances[feature, column] <= limit)
        count, limit = _cut(held, count, most[feature])
        written = _write(feature, held, count, written, found)
    return written


@kernel
def _cut(held: Held, count: np.uint64, most: int) -> tuple[np.uint64, np.float32]:
    """Keep the ``most`` nearest, and those as far as the last of them; how many, and how far that is."""
    if count <= np.uint64(most):
        return count, np.float32(np.inf)
    limit = np.partition(held.distance[:count], most - 1)[most - 1] if most else np.float32(-1)
    kept = np.uint64(0)
    for i in range(count):
        held.distance[kept], held.picture[kept] = held.distance[i], held.picture[i]
        kept += np.uint64(held.distance[i] <= limit)
    return kept, limit


@kernel
def _write(feature: int, held: Held, count: np.uint64, written: int, found: Near) -> int:
    for i in range(count):
        if written < len(found.feature):
            found.feature[written] = feature
            found.distance[written], found.picture[written] = held.distance[i], held.picture[i]
        written += 1
    return written
