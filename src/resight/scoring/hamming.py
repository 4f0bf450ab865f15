"""Hamming embedding: features match when they share a word and their signatures are close (BURST-09 §2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from ..machine import processors
from ..options import HammingOptions
from ..postings import SCALE_STEPS_PER_OCTAVE, Lists, as_bytes
from ..types import Float32, Float64, Int32, Int64, UInt64, Words
from . import kernels, voting
from .density import inverse_length, prior
from .measure import Measure, Scope, Totals, sum_of
from .query import Query
from .segment import SegmentView

SMALL = 4096  # pictures that are not worth a thread of their own
FEW = 4096  # rows of a query that are not worth a thread of their own
ROOM = 600  # matches per picture that are made room for at first; few queries have more, and look twice
Piece = tuple[voting.Rows, voting.Listed, voting.Rule]


def match_weights(options: HammingOptions) -> Float32:
    """exp(−h² / σ²) for h = 0 … 64; 1 where all matches weigh alike."""
    if options.weights == "fixed":
        return np.ones(65, np.float32)
    return np.exp(-(np.arange(65.0) ** 2) / options.sigma**2).astype(np.float32)


def size_weights(options: HammingOptions) -> Float32:
    """(Size relative to 1/32 of the picture's longest side) ^ size_power, for every code of scale."""
    octaves = 5 - np.arange(256) / SCALE_STEPS_PER_OCTAVE
    return np.exp2(options.size_power * octaves).astype(np.float32)


class Hamming(Measure[HammingOptions]):
    """Σ over matches of their weights, divided by the L2 norm of the picture's word counts (BURST-09 eq. 1–6).

    With weights by density ratio, a feature's sets are those equally many bits away, whichever of its words they have;
    a picture's descriptors in a set are counted for each word by itself. Nothing is divided, because a picture's length
    is part of the ratio.
    """

    options = HammingOptions

    def rounds(self, options: HammingOptions) -> int:
        return (options.weights == "density") + options.inter

    def statistics(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[HammingOptions], totals: Totals
    ) -> Int64:
        """With weights by density ratio ``_shells`` first; with inter-image weights ``_row_totals`` last."""
        if scope.options.weights == "density" and not totals:
            return sum_of(_shells(query.words, segment, scope.options) for segment in segments)
        return _row_totals(_pieces(query, segments, scope, totals), len(query.words))

    def score(
        self, query: Query, segments: Sequence[SegmentView], scope: Scope[HammingOptions], totals: Totals
    ) -> list[Float32]:
        options, pieces = scope.options, _pieces(query, segments, scope, totals)
        bins = voting.TURNS + voting.SIZES if options.weak_geometry else 1
        votes = [np.zeros((segment.pictures, bins), np.float32) for segment in segments]
        # A match's weight depends on what its row matches in all segments (BURST-09 eq. 5).
        of_rows = totals[-1] / voting.UNIT if options.inter else np.zeros(0)

        def vote(job: tuple[Piece, Float32]) -> None:
            piece, into = job
            voting.add_votes(*piece, _room(*piece[:2]), of_rows, into)

        jobs = [(piece, into) for mine, into in zip(pieces, votes, strict=True) for piece in mine]
        if len(jobs) == len(segments):  # none is large
            for job in jobs:
                vote(job)
        else:
            with ThreadPoolExecutor(processors()) as pool:
                list(pool.map(vote, jobs))
        scores = [_agreeing(v) for v in votes] if options.weak_geometry else [v[:, 0] for v in votes]
        if options.weights == "density":
            return scores
        return [s * segment.inverse_norm for s, segment in zip(scores, segments, strict=True)]


def _pieces(
    query: Query, segments: Sequence[SegmentView], scope: Scope[HammingOptions], totals: Totals
) -> list[list[Piece]]:
    """For each segment what the kernels need, cut up by pictures; rows are sorted by word."""
    options, by_density = scope.options, scope.options.weights == "density"
    order = np.argsort(query.words.word, kind="stable")
    word, signature = query.words.word[order], query.words.signature[order]
    codes = query.geometry[query.words.feature[order]]
    angle, scale = (np.ascontiguousarray(codes[name]) for name in ("angle", "scale"))
    size = size_weights(options)[scale]
    weight = scope.collection.idf[word] ** options.idf_power * size if options.weights == "idf" else size
    odds = _odds(query.words.feature[order], totals[0], options.mixture) if by_density else np.zeros((0, 65))
    rule = voting.Rule(match_weights(options), options.threshold, options.closest_only, voting.INTRA[options.intra])
    columns = ("image", "signature", "geometry") if options.weak_geometry else ("image", "signature")
    pieces = []
    for segment in segments:
        place, lists = segment.find(word, *columns)
        rows = voting.Rows(place, signature, weight, angle, scale, odds)
        geometry = as_bytes(lists.geometry)
        length = segment.own(inverse_length(segment.whole)) if by_density else np.zeros(0)
        cuts = [
            voting.Listed(lists.offsets, lists.image, lists.signature, geometry, segment.alive, begin, end, length)
            for begin, end in _cut(segment.pictures)
        ]
        pieces.append([(rows, listed, rule) for listed in cuts])
    return pieces


def _shells(words: Words, segment: SegmentView, options: HammingOptions) -> Int64:
    """For each feature of the query how many living ones are at each distance; last, how many there are."""
    found, lists = np.zeros((len(words), 65), np.int64), segment.read(words.word, "image", "signature")
    columns = lists.offsets, lists.image, lists.signature
    voting.count_shells(words.word, words.signature, *columns, segment.alive, options.threshold, found)
    of_feature = np.zeros((int(words.feature.max(initial=-1)) + 1, 65), np.int64)
    np.add.at(of_feature, words.feature, found)
    return np.append(of_feature, segment.features)


def _odds(feature: Int32, shells: Int64, mixture: float) -> Float64:
    """(rows, 65) of density.vote for a match at each distance; feature: that of each row."""
    within = np.cumsum(shells[:-1].reshape(-1, 65), axis=1)[feature]
    return prior(int(shells[-1]), mixture) / np.maximum(within, 1)


def _row_totals(pieces: Sequence[Sequence[Piece]], rows: int) -> Int64:
    """The sum of the weights of each row's matches, in units of 1 / UNIT."""
    totals = np.zeros(rows, np.int64)
    for piece in chain(*pieces):
        voting.add_totals(*piece, _room(*piece[:2]), totals)
    return totals


def _cut(pictures: int) -> list[tuple[int, int]]:
    """As many pieces as there are processors, but no small ones: finding its part of a list costs a piece time, too."""
    count = max(min(pictures // SMALL, processors()), 1)
    return list(pairwise((np.arange(count + 1) * pictures // count).tolist()))


def _room(rows: voting.Rows, lists: voting.Listed) -> voting.Found:
    room = int((lists.offsets[rows.word + 1] - lists.offsets[rows.word]).max(initial=0)) + 1
    return voting.Found(np.empty(room, np.uint64), np.empty(room, np.float32))


def _agreeing(bins: Float32) -> Float32:
    scores = np.zeros(len(bins), np.float32)
    voting.agreeing_votes(bins, scores)
    return scores


def matches(query: Words, place: Int32, lists: Lists, slot_of: Int32, threshold: int) -> Int64:
    """(m, 4) rows (slot, query row, posting, bits apart): each feature's closest match in each picture with a slot ≥ 0.

    Keeping the closest alone (multiple match removal, BURST-09) also bounds memory: a checkerboard matches itself in
    millions of ways. The list of the query's row i is at place[i].
    """
    slots = int(slot_of.max(initial=-1)) + 1

    def collect(part: slice) -> Int64:
        room = ROOM * slots * (part.stop - part.start) // max(len(query), 1)
        while True:
            found = np.empty((room, 4), np.int64)
            count = kernels.collect_hamming(
                query.feature[part],
                place[part],
                query.signature[part],
                lists.offsets,
                lists.image,
                lists.signature,
                slot_of,
                threshold,
                np.full(slots, -1, np.int64),
                found,
            )
            if count <= room:
                found = found[:count]
                found[:, 1] += part.start
                return found
            room = count

    parts = _whole_features(query.feature, min(processors(), 1 + len(query) // FEW))
    if len(parts) == 1:
        return collect(parts[0])
    with ThreadPoolExecutor(len(parts)) as pool:
        return np.concatenate([*pool.map(collect, parts)])


def _whole_features(feature: Int32, parts: int) -> list[slice]:
    """About as many rows in each part, all rows of a feature, which follow each other, in the same."""
    begins = np.flatnonzero(np.diff(feature, prepend=-1))
    cuts = begins[np.arange(1, parts) * len(begins) // parts].tolist() if len(begins) else []
    return [slice(first, last) for first, last in pairwise([0, *cuts, len(feature)])]


def distinct(word: Int32, signature: UInt64, bits: int) -> npt.NDArray[np.bool_]:
    """Which rows differ by more than ``bits`` from every such row of their word before them."""
    marked = np.zeros(len(word), np.bool_)
    kernels.mark_distinct(np.argsort(word, kind="stable"), word, signature, bits, marked)
    return marked
