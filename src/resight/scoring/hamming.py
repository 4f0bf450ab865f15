"""Hamming embedding: features match when they share a word and their signatures are close (BURST-09 §2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..options import ScoringOptions
from ..postings import SCALE_STEPS_PER_OCTAVE
from ..types import Float32, Float64, Int32, Int64, UInt32, UInt64, Words
from . import kernels, voting
from .part import Part, Query

BLOCK = 1 << 22  # postings that are scanned before their matches are weighed: at most 70 MB of matches
ROOM = 100  # matches per picture that are made room for at first


def match_weights(options: ScoringOptions) -> Float32:
    """exp(−h² / σ²) for h = 0 … 64."""
    return np.exp(-(np.arange(65.0) ** 2) / options.sigma**2).astype(np.float32)


def size_weights(options: ScoringOptions) -> Float32:
    """(Size relative to 1/32 of the picture's longest side) ^ size_power, for every code of scale."""
    octaves = 5 - np.arange(256) / SCALE_STEPS_PER_OCTAVE
    return np.exp2(options.size_power * octaves).astype(np.float32)


def hamming_score(query: Query, parts: Sequence[Part], options: ScoringOptions) -> list[Float32]:
    """Σ over matches of their weights, divided by the L2 norm of the picture's word counts (BURST-09 eq. 1–6).

    Rows are taken a few at a time, so that memory is bounded by their longest lists, whatever the query.
    """
    words = query.words
    sizes = [part.read(words.word).offsets for part in parts]
    lengths = sum((offsets[words.word + 1] - offsets[words.word] for offsets in sizes), np.zeros(len(words), np.int64))
    tally: list[Float32] = [
        np.zeros((part.pictures, voting.TURNS + voting.SIZES) if options.weak_geometry else part.pictures, np.float32)
        for part in parts
    ]
    for rows in _blocks(lengths):
        _vote(query, rows, parts, tally, options)
    scores = [_agreeing(bins) for bins in tally] if options.weak_geometry else tally
    return [s * part.inverse_norm for s, part in zip(scores, parts, strict=True)]


def _blocks(lengths: Int64) -> Iterator[slice]:
    """Consecutive rows whose lists have at most BLOCK postings together; a longer list is a block by itself."""
    start, held = 0, 0
    for row, length in enumerate(lengths.tolist()):
        if held and held + length > BLOCK:
            yield slice(start, row)
            start, held = row, 0
        held += length
    if len(lengths):
        yield slice(start, len(lengths))


def _vote(query: Query, rows: slice, parts: Sequence[Part], tally: list[Float32], options: ScoringOptions) -> None:
    """Add the votes of these rows, in all parts: the weight of a match depends on what its row matches elsewhere."""
    word, feature = query.words.word[rows], query.words.feature[rows]
    found = [_find(query, rows, part, options) for part in parts]
    totals = _totals([(weight, ends) for _, _, weight, ends in found], len(word)) if options.inter else np.zeros(0)
    codes = query.geometry[feature]
    for part, (image, posting, weight, ends), votes in zip(parts, found, tally, strict=True):
        row_weight = part.idf[word] ** 2 * size_weights(options)[codes["scale"]]
        voting.weigh_rows(weight, ends, row_weight, totals)
        if options.weak_geometry:
            angle, scale = (np.ascontiguousarray(codes[name]) for name in ("angle", "scale"))
            voting.add_to_bins(image, weight, ends, angle, scale, part.geometry(posting), votes)
        else:
            voting.add_votes(image, weight, votes)


def _totals(found: list[tuple[Float32, Int64]], rows: int) -> Float64:
    """The sum of each row's weights over all parts (BURST-09 eq. 5)."""
    peaks, totals = np.zeros(rows, np.float32), np.zeros(rows, np.int64)
    for weight, ends in found:
        voting.raise_peaks(weight, ends, peaks)
    for weight, ends in found:
        voting.add_totals(weight, ends, peaks, totals)
    return totals / voting.UNIT * peaks


def _find(query: Query, rows: slice, part: Part, options: ScoringOptions) -> tuple[UInt32, Int64, Float32, Int64]:
    """Pictures, postings (with weak geometry), weights and row ends of the matches."""
    word = query.words.word[rows]
    lists = part.read(word)
    room = int((lists.offsets[word + 1] - lists.offsets[word]).sum())
    image, weight, ends = np.empty(room, np.uint32), np.empty(room, np.float32), np.zeros(len(word), np.int64)
    posting = np.empty(room if options.weak_geometry else 0, np.int64)
    voting.find_matches(
        word,
        query.words.signature[rows],
        lists.offsets,
        lists.image,
        lists.signature,
        part.alive,
        match_weights(options),
        options.threshold,
        options.closest_only,
        voting.INTRA[options.intra],
        image,
        posting,
        weight,
        ends,
    )
    count = ends[-1] if len(ends) else 0
    return image[:count], posting[:count], weight[:count], ends


def _agreeing(bins: Float32) -> Float32:
    scores = np.zeros(len(bins), np.float32)
    voting.agreeing_votes(bins, scores)
    return scores


def matches(query: Words, part: Part, slot_of: Int32, options: ScoringOptions) -> Int64:
    """(m, 4) rows (slot, query row, posting, bits apart): each feature's closest match in each picture with a slot ≥ 0.

    Keeping the closest alone (multiple match removal, BURST-09) also bounds memory: a checkerboard matches itself in
    millions of ways.
    """
    lists = part.read(query.word)
    slots = int(slot_of.max(initial=-1)) + 1
    found = np.zeros((ROOM * slots, 4), np.int64)
    while True:
        count = kernels.collect_hamming(
            query.feature,
            query.word,
            query.signature,
            lists.offsets,
            lists.image,
            lists.signature,
            slot_of,
            options.threshold,
            np.full(slots, -1, np.int64),
            found,
        )
        if count <= len(found):
            return found[:count]
        found = np.zeros((count, 4), np.int64)


def distinct(word: Int32, signature: UInt64, bits: int) -> npt.NDArray[np.bool_]:
    """Which rows differ by more than ``bits`` from every such row of their word before them."""
    marked = np.zeros(len(word), np.bool_)
    kernels.mark_distinct(np.argsort(word, kind="stable"), word, signature, bits, marked)
    return marked
