"""The numba kernels of resight.scoring once more, in plain numpy: slow, obvious, and with no loop over postings.

Each twin takes what its kernel takes and gives what the kernel writes; sums are made in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from resight.scoring.voting import COUNT, LOG_SHARE, NONE, ROOT_COUNT, ROOT_SHARE, SIZE_PRIOR, TURN_PRIOR, UNIT

Array = npt.NDArray[Any]


def popcount(values: Array) -> Array:
    """Set bits of each 64-bit integer."""
    octets = np.ascontiguousarray(values, dtype="<u8").view(np.uint8).reshape(*values.shape, 8)
    result: Array = np.unpackbits(octets, axis=-1).sum(axis=-1)
    return result


def counts(offsets: Array, list_image: Array, pictures: int) -> Array:
    """(K, n): how often each word occurs in each picture."""
    word_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    table = np.zeros((len(offsets) - 1, pictures))
    np.add.at(table, (word_of, list_image), 1)
    return table


def _close(word: Array, signature: Array, offsets: Array, list_signature: Array, threshold: int) -> tuple[Array, Array]:
    """(rows, postings): which postings match each row; and the distances of all to all."""
    word_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    distance = popcount(signature[:, None] ^ list_signature[None, :])
    return (word[:, None] == word_of[None, :]) & (distance <= threshold), distance


# --- kernels.py


def collect_hamming(
    feature: Array,
    word: Array,
    signature: Array,
    offsets: Array,
    list_image: Array,
    list_signature: Array,
    slot_of: Array,
    threshold: int,
) -> Array:
    close, distance = _close(word, signature, offsets, list_signature, threshold)
    closest: dict[tuple[int, int], list[int]] = {}  # (feature, slot) → match
    for row, posting in np.argwhere(close & (slot_of[list_image] >= 0)[None, :]):
        match = [int(slot_of[list_image[posting]]), int(row), int(posting), int(distance[row, posting])]
        known = closest.setdefault((int(feature[row]), match[0]), match)
        if match[3] < known[3]:
            closest[int(feature[row]), match[0]] = match
    return np.array(list(closest.values()), np.int64).reshape(-1, 4)


def mark_distinct(word: Array, signature: Array, bits: int) -> Array:
    """Takes rows as they come instead of by word."""
    near = (word[:, None] == word[None, :]) & (popcount(signature[:, None] ^ signature[None, :]) <= bits)
    marked = np.zeros(len(word), np.bool_)
    for row in range(len(word)):
        marked[row] = not (near[row, :row] & marked[:row]).any()
    return marked


def scan_product(word: Array, value: Array, offsets: Array, list_image: Array, pictures: int) -> Array:
    result: Array = value.astype(float) @ counts(offsets, list_image, pictures)[word]
    return result


def scan_minimum(
    word: Array, value: Array, idf: Array, inverse_norm: Array, offsets: Array, list_image: Array, pictures: int
) -> Array:
    theirs = counts(offsets, list_image, pictures)[word] * idf.astype(float)[:, None] * inverse_norm.astype(float)
    result: Array = np.minimum(value.astype(float)[:, None], theirs).sum(axis=0)
    return result


def sum_roots(offsets: Array, list_image: Array, alive: Array) -> Array:
    result: Array = np.sqrt(counts(offsets, list_image, len(alive)))[:, alive].sum(axis=1)
    return result


def scan_roots(word: Array, value: Array, offsets: Array, list_image: Array, pictures: int) -> Array:
    result: Array = value.astype(float) @ counts(offsets, list_image, pictures)[word] ** 0.25
    return result


def scan_overlap(
    word: Array, count: Array, power: int, offsets: Array, list_image: Array, alive: Array
) -> tuple[Array, Array, int]:
    """(ours, theirs, total)"""
    q, d = count[:, None], counts(offsets, list_image, len(alive))[word]
    more, less = np.maximum(q - d, 0), np.maximum(d - q, 0)
    total = int(np.minimum(q, d)[:, alive].sum())
    return (q**power - more**power).sum(axis=0), (d**power - less**power).sum(axis=0), total


def weighted_norms(offsets: Array, list_image: Array, idf: Array, power: int, pictures: int) -> Array:
    weighted = counts(offsets, list_image, pictures) * idf.astype(float)[:, None]
    result: Array = (weighted**power).sum(axis=0)
    return result


# --- voting.py


def row_matches(
    word: Array,
    signature: Array,
    offsets: Array,
    list_image: Array,
    list_signature: Array,
    alive: Array,
    weight_at: Array,
    threshold: int,
    closest_only: bool,
    intra: int,
) -> tuple[Array, Array, Array]:
    """(row, posting, weight) of all rows' matches, one after the other."""
    close, distance = _close(word, signature, offsets, list_signature, threshold)
    close &= alive[list_image]
    if closest_only:
        order = np.where(close, distance * len(list_image) + np.arange(len(list_image)), 2**62)
        first = np.full((len(alive), len(word)), 2**62)
        np.minimum.at(first, list_image, order.T)
        close &= order == first[list_image].T
    weight = close * weight_at.astype(float)[distance]
    total = np.zeros((len(alive), len(word)))
    np.add.at(total, list_image, weight.T)
    share = weight / np.where(close, total[list_image].T, 1)
    occurrences = np.maximum(counts(offsets, list_image, len(alive))[word][:, list_image], 1)
    factor = {
        NONE: np.ones_like(weight),
        COUNT: 1 / occurrences,
        ROOT_COUNT: 1 / np.sqrt(occurrences),
        ROOT_SHARE: np.sqrt(share),
        LOG_SHARE: np.log(1 + share),
    }[intra]
    return *np.nonzero(close), (weight * factor)[close]


def add_totals(row: Array, weight: Array, rows: int) -> Array:
    totals = np.zeros(rows)
    np.add.at(totals, row, weight * UNIT)
    return totals


def add_votes(row: Array, image: Array, weight: Array, row_weight: Array, totals: Array, pictures: int) -> Array:
    """One bin for each picture."""
    share = weight / np.maximum(totals[row], weight) if len(totals) else 1.0
    return np.bincount(image, row_weight[row] * weight * np.sqrt(share), pictures)


def bins(angle: Array, scale: Array, their_angle: Array, their_scale: Array) -> tuple[Array, Array]:
    """The bins of turn and of change of size that matches of these codes fall into."""
    turn = (their_angle.astype(float) - angle) * 360 / 256
    octaves = (scale - their_scale.astype(float)) / 20
    size = 24 + np.clip(np.floor(octaves / 0.5 + 0.5), -8, 8)
    return np.floor(turn / 22.5 + 0.5).astype(int) % 16, size.astype(int)


def agreeing_votes(bins: Array) -> Array:
    turns, sizes = bins[:, :16].astype(float), np.pad(bins[:, 16:].astype(float), ((0, 0), (1, 1)))
    turns = np.roll(turns, 1, axis=1) + turns + np.roll(turns, -1, axis=1)
    sizes = sizes[:, :-2] + sizes[:, 1:-1] + sizes[:, 2:]
    result: Array = np.minimum((TURN_PRIOR * turns).max(axis=1), (SIZE_PRIOR * sizes).max(axis=1))
    return result


# --- density.py and neighbours.py


def density_score(feature: Array, order: Array, image: Array, alive: Array, length: Array, mixture: float) -> Array:
    """DRE-12 eq. 10 over (feature, order, picture) of descriptors: those alike in the first two are a set."""
    scores = np.zeros(len(alive))
    everything = length[alive].sum()
    for f in np.unique(feature):
        living = (feature == f) & alive[image]
        near, shown = order[living], image[living]
        for t in np.unique(near):
            as_near = (near <= t).sum()
            for j, count in zip(*np.unique(shown[near == t], return_counts=True), strict=True):
                ratio = count * everything / (as_near * length[j])
                scores[j] += np.log(mixture / (1 - mixture) * ratio + 1)
    return scores
