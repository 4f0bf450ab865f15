"""Hamming embedding: features match when they share a word and their signatures are close (BURST-09 §2.2)."""

from __future__ import annotations

import numpy as np

from ..options import ScoringOptions
from ..types import Float32, Int32, Int64, Words
from . import kernels
from .part import Part

ROOM = 100  # matches per picture that are made room for at first


def match_weights(options: ScoringOptions) -> Float32:
    """exp(−h² / σ²) for h = 0 … 64."""
    return np.exp(-(np.arange(65.0) ** 2) / options.sigma**2).astype(np.float32)


def hamming_score(query: Words, part: Part, options: ScoringOptions) -> Float32:
    """Σ over matches of idf² · exp(−h²/σ²), divided by the L2 norm of the picture's word counts (BURST-09 eq. 4–6)."""
    lists, scores = part.read(query.word), np.zeros(part.pictures, np.float32)
    kernels.scan_hamming(
        query.word,
        query.signature,
        part.idf[query.word] ** 2,
        lists.offsets,
        lists.image,
        lists.signature,
        match_weights(options),
        options.threshold,
        scores,
    )
    return scores * part.inverse_norm


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
