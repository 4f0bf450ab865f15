"""The numba kernels of resight.scoring once more, in plain numpy: slow, obvious, and with no loop over postings.

Each twin takes what its kernel takes and gives what the kernel writes; sums are made in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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


def scan_hamming(
    word: Array,
    signature: Array,
    row_weight: Array,
    offsets: Array,
    list_image: Array,
    list_signature: Array,
    weight_at: Array,
    threshold: int,
    pictures: int,
) -> Array:
    close, distance = _close(word, signature, offsets, list_signature, threshold)
    weights = close * row_weight.astype(float)[:, None] * weight_at.astype(float)[distance]
    return np.bincount(list_image, weights.sum(axis=0), pictures)


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


def scan_product(word: Array, value: Array, offsets: Array, list_image: Array, pictures: int) -> Array:
    result: Array = value.astype(float) @ counts(offsets, list_image, pictures)[word]
    return result


def scan_minimum(
    word: Array, value: Array, idf: Array, inverse_norm: Array, offsets: Array, list_image: Array, pictures: int
) -> Array:
    theirs = counts(offsets, list_image, pictures)[word] * idf.astype(float)[:, None] * inverse_norm.astype(float)
    result: Array = np.minimum(value.astype(float)[:, None], theirs).sum(axis=0)
    return result


def weighted_norms(offsets: Array, list_image: Array, idf: Array, power: int, pictures: int) -> Array:
    weighted = counts(offsets, list_image, pictures) * idf.astype(float)[:, None]
    result: Array = (weighted**power).sum(axis=0)
    return result
