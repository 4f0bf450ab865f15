"""Hamming embedding: features match when they share a word and their signatures are close (BURST-09 §2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from ..machine import processors
from ..options import ScoringOptions
from ..postings import SCALE_STEPS_PER_OCTAVE, as_bytes
from ..types import Float32, Float64, Int32, Int64, UInt64, Words
from . import kernels, voting
from .density import prior
from .part import Part, Query
from .sums import Sums

SMALL = 4096  # pictures that are not worth a thread of their own
ROOM = 100  # matches per picture that are made room for at first
Piece = tuple[voting.Rows, voting.Listed, voting.Rule]


def match_weights(options: ScoringOptions) -> Float32:
    """exp(−h² / σ²) for h = 0 … 64; 1 where all matches weigh alike."""
    if options.weights == "fixed":
        return np.ones(65, np.float32)
    return np.exp(-(np.arange(65.0) ** 2) / options.sigma**2).astype(np.float32)


def size_weights(options: ScoringOptions) -> Float32:
    """(Size relative to 1/32 of the picture's longest side) ^ size_power, for every code of scale."""
    octaves = 5 - np.arange(256) / SCALE_STEPS_PER_OCTAVE
    return np.exp2(options.size_power * octaves).astype(np.float32)


def hamming_score(
    query: Query, parts: Sequence[Part], options: ScoringOptions, clusters: Int64 | None, sums: Sums
) -> list[Float32]:
    """Σ over matches of their weights, divided by the L2 norm of the picture's word counts (BURST-09 eq. 1–6).

    With weights by density ratio, a feature's sets are those equally many bits away, whichever of its words they have;
    a picture's descriptors in a set are counted for each word by itself. Nothing is divided, because a picture's length
    is part of the ratio.
    """
    order = np.argsort(query.words.word, kind="stable")
    word, signature = query.words.word[order], query.words.signature[order]
    codes = query.geometry[query.words.feature[order]]
    angle, scale = (np.ascontiguousarray(codes[name]) for name in ("angle", "scale"))
    size = size_weights(options)[scale]
    # Where a match's weight depends on all that its row matches, in the pictures seen, rows must not be cut up.
    by_density = options.weights == "density"
    cut = None if options.inter else clusters
    odds = _odds(query.words.rows(order), parts, options, sums) if by_density else np.zeros((0, 65))
    rule = voting.Rule(match_weights(options), options.threshold, options.closest_only, voting.INTRA[options.intra])
    columns = ("image", "signature", "geometry") if options.weak_geometry else ("image", "signature")
    votes: list[Float32] = []
    pieces: list[list[Piece]] = []  # of each part
    for part in parts:
        row, place, lists = part.find(word, cut, *columns)
        weight = part.idf[word] ** 2 * size if options.weights == "idf" else size
        rows = voting.Rows(
            place, signature[row], weight[row], angle[row], scale[row], odds[row] if by_density else odds
        )
        alive = part.seen(clusters)
        length = part.inverse_length if by_density else np.zeros(0)
        bins = voting.TURNS + voting.SIZES if options.weak_geometry else 1
        votes.append(np.zeros((part.pictures, bins), np.float32))
        geometry = as_bytes(lists.geometry)
        cuts = [
            voting.Listed(lists.offsets, lists.image, lists.signature, geometry, alive, begin, end, length)
            for begin, end in _cut(part.pictures)
        ]
        pieces.append([(rows, listed, rule) for listed in cuts])
    # A match's weight depends on what its row matches in all parts.
    totals = _totals(pieces, len(word), sums) if options.inter else np.zeros(0)

    def vote(job: tuple[Piece, Float32]) -> None:
        piece, into = job
        voting.add_votes(*piece, _room(*piece[:2]), totals, into)

    jobs = [(piece, into) for mine, into in zip(pieces, votes, strict=True) for piece in mine]
    if len(jobs) == len(parts):  # none is large
        for job in jobs:
            vote(job)
    else:
        with ThreadPoolExecutor(processors()) as pool:
            list(pool.map(vote, jobs))
    scores = [_agreeing(v) for v in votes] if options.weak_geometry else [v[:, 0] for v in votes]
    return scores if by_density else [s * part.inverse_norm for s, part in zip(scores, parts, strict=True)]


def _odds(words: Words, parts: Sequence[Part], options: ScoringOptions, sums: Sums) -> Float64:
    """(rows, 65) of density.vote for a match at each distance."""

    def shells(part: Part) -> Int64:
        """For each feature how many are at each distance; last, how many there are."""
        found, lists = np.zeros((len(words), 65), np.int64), part.read(words.word, "image", "signature")
        voting.count_shells(
            words.word,
            words.signature,
            lists.offsets,
            lists.image,
            lists.signature,
            part.alive,
            options.threshold,
            found,
        )
        of_feature = np.zeros((int(words.feature.max(initial=-1)) + 1, 65), np.int64)
        np.add.at(of_feature, words.feature, found)
        return np.append(of_feature, part.features)

    counted = sums.total("shells", map(shells, parts))
    within = np.cumsum(counted[:-1].reshape(-1, 65), axis=1)[words.feature]
    return prior(int(counted[-1]), options) / np.maximum(within, 1)


def _cut(pictures: int) -> list[tuple[int, int]]:
    """As many pieces as there are processors, but no small ones: finding its part of a list costs a piece time, too."""
    count = max(min(pictures // SMALL, processors()), 1)
    return list(pairwise((np.arange(count + 1) * pictures // count).tolist()))


def _room(rows: voting.Rows, lists: voting.Listed) -> voting.Found:
    room = int((lists.offsets[rows.word + 1] - lists.offsets[rows.word]).max(initial=0)) + 1
    return voting.Found(np.empty(room, np.uint64), np.empty(room, np.float32))


def _totals(pieces: Sequence[Sequence[Piece]], rows: int, sums: Sums) -> Float64:
    """The sum of the weights of each row's matches over all parts (BURST-09 eq. 5); pieces: of each part."""
    peaks, totals = np.zeros(rows, np.float32), np.zeros((len(pieces), rows), np.int64)
    for piece in chain(*pieces):
        voting.raise_peaks(*piece, _room(*piece[:2]), peaks)
    peaks = sums.peak("peaks", peaks)
    for mine, total in zip(pieces, totals, strict=True):
        for piece in mine:
            voting.add_totals(*piece, _room(*piece[:2]), peaks, total)
    return sums.total("totals", totals) / voting.UNIT * peaks


def _agreeing(bins: Float32) -> Float32:
    scores = np.zeros(len(bins), np.float32)
    voting.agreeing_votes(bins, scores)
    return scores


def matches(query: Words, part: Part, slot_of: Int32, options: ScoringOptions, clusters: Int64 | None = None) -> Int64:
    """(m, 4) rows (slot, query row, posting, bits apart): each feature's closest match in each picture with a slot ≥ 0.

    Keeping the closest alone (multiple match removal, BURST-09) also bounds memory: a checkerboard matches itself in
    millions of ways. All such pictures must be in the clusters.
    """
    row, place, lists = part.find(query.word, clusters, "image", "signature")
    feature, signature = query.feature[row], query.signature[row]
    slots = int(slot_of.max(initial=-1)) + 1
    found = np.zeros((ROOM * slots, 4), np.int64)
    while True:
        count = kernels.collect_hamming(
            feature,
            place,
            signature,
            lists.offsets,
            lists.image,
            lists.signature,
            slot_of,
            options.threshold,
            np.full(slots, -1, np.int64),
            found,
        )
        if count <= len(found):
            found = found[:count]
            found[:, 1] = np.arange(len(query))[row][found[:, 1]]
            return found
        found = np.zeros((count, 4), np.int64)


def distinct(word: Int32, signature: UInt64, bits: int) -> npt.NDArray[np.bool_]:
    """Which rows differ by more than ``bits`` from every such row of their word before them."""
    marked = np.zeros(len(word), np.bool_)
    kernels.mark_distinct(np.argsort(word, kind="stable"), word, signature, bits, marked)
    return marked
