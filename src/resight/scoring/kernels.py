"""The inner loops over inverted lists, in numba. Each has a plain numpy twin in tests/scoring/twins.py.

Those that weigh Hamming matches are in voting.py. Sums run in the order of words for each picture by itself, so a
picture's score does not depend on which other pictures or segments exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from .._numba import kernel
from ..types import Float32, Float64, Int32, Int64, UInt32, UInt64


def _popcount(typing_context: Any, value: Any) -> Any:
    """Number of set bits of a 64-bit integer: one machine instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_popcount)

# Roots are added up as integers, so that their sum does not depend on how pictures are spread over segments.
ROOT_UNIT = 2.0**30


@kernel
def collect_hamming(
    feature: Int32,
    word: Int32,
    signature: UInt64,
    offsets: Int64,
    list_image: UInt32,
    list_signature: UInt64,
    slot_of: Int32,
    threshold: int,
    last: Int64,
    matches: Int64,
) -> int:
    """Write (slot, row, posting, h) of the closest match of each feature in each picture that has a slot ≥ 0; count.

    Of equally close ones the first counts. Where ``matches`` has no room left it only counts. ``last``, one per slot,
    must hold −1: the slot's newest match, so that rows of one feature, which follow each other, share it.
    """
    limit = np.uint64(threshold)
    newest_feature = np.full(len(last), -1, np.int64)
    found = 0
    for row in range(len(word)):
        mine = signature[row]
        for posting in range(np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])):
            distance = popcount(mine ^ list_signature[posting])
            if distance <= limit:
                slot = slot_of[list_image[posting]]
                if slot < 0:
                    continue
                closer = True
                if newest_feature[slot] != feature[row]:
                    newest_feature[slot], last[slot] = feature[row], found
                    found += 1
                elif last[slot] < len(matches):
                    closer = distance < np.uint64(matches[last[slot], 3])
                at = last[slot]
                if closer and at < len(matches):
                    matches[at, 0], matches[at, 1], matches[at, 2], matches[at, 3] = slot, row, posting, distance
    return found


@kernel
def mark_distinct(order: Int64, word: Int32, signature: UInt64, bits: int, marked: npt.NDArray[np.bool_]) -> None:
    """Mark rows that differ by more than ``bits`` from all marked rows of their word before them; ``order`` by word."""
    limit, start = np.uint64(bits), 0
    for i in range(len(order)):
        row = order[i]
        if word[row] != word[order[start]]:
            start = i
        marked[row] = True
        for j in range(start, i):
            other = order[j]
            if marked[other] and popcount(signature[row] ^ signature[other]) <= limit:
                marked[row] = False
                break


@kernel
def count_living(word: Int32, offsets: Int64, list_image: UInt32, alive: npt.NDArray[np.bool_], counts: Int64) -> None:
    """counts[row] = how many postings of its word are of living pictures."""
    for row in range(len(word)):
        for posting in range(np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])):
            counts[row] += alive[list_image[posting]]


@kernel
def after_picture(posting: np.uint64, stop: np.uint64, list_image: UInt32) -> np.uint64:
    """Where, before ``stop``, the postings of this one's picture end."""
    image = list_image[posting]
    while posting < stop and list_image[posting] == image:
        posting += np.uint64(1)
    return posting


@kernel
def sum_roots(offsets: Int64, list_image: UInt32, alive: npt.NDArray[np.bool_], roots: Int64) -> None:
    """roots[word] += Σ √tf over living pictures, in units of 1 / ROOT_UNIT."""
    for word in range(len(offsets) - 1):
        posting, stop = np.uint64(offsets[word]), np.uint64(offsets[word + 1])
        while posting < stop:
            start, posting = posting, after_picture(posting, stop, list_image)
            if alive[list_image[start]]:
                roots[word] += np.int64(np.sqrt(np.float64(posting - start)) * ROOT_UNIT)


@kernel
def scan_product(
    word: Int32,
    value: Float32 | Float64,
    offsets: Int64,
    list_image: UInt32,
    scores: Float32 | Float64,
) -> None:
    """scores[image] += value for every posting: Σ value · tf without looking at counts."""
    for row in range(len(word)):
        add = value[row]
        for posting in range(np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])):
            scores[list_image[posting]] += add


@kernel
def scan_minimum(
    word: Int32,
    value: Float32,
    idf: Float32,
    inverse_norm: Float32,
    offsets: Int64,
    list_image: UInt32,
    scores: Float32,
) -> None:
    """scores[image] += min(value, tf · idf / norm) for every picture that has the word."""
    for row in range(len(word)):
        mine, weight = value[row], idf[row]
        posting, stop = np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])
        while posting < stop:
            image, start = list_image[posting], posting
            posting = after_picture(posting, stop, list_image)
            theirs = np.float32(posting - start) * weight * inverse_norm[image]
            scores[image] += min(mine, theirs)


@kernel
def scan_roots(word: Int32, value: Float32, offsets: Int64, list_image: UInt32, scores: Float32) -> None:
    """scores[image] += value · tf^(1/4) for every picture that has the word."""
    for row in range(len(word)):
        posting, stop = np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])
        while posting < stop:
            start, posting = posting, after_picture(posting, stop, list_image)
            scores[list_image[start]] += value[row] * np.sqrt(np.sqrt(np.float32(posting - start)))


@kernel
def scan_overlap(
    word: Int32,
    count: Int64,
    power: int,
    offsets: Int64,
    list_image: UInt32,
    alive: npt.NDArray[np.bool_],
    ours: Int64,
    theirs: Int64,
) -> int:
    """What q and each picture d have in common, m = min(q, d) of each word: Σ m over all living pictures.

    ours[image] += q^p − (q − m)^p and theirs[image] += d^p − (d − m)^p, power p 1 or 2, for every picture that has
    the word.
    """
    total = 0
    for row in range(len(word)):
        q = count[row]
        posting, stop = np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])
        while posting < stop:
            image, start = list_image[posting], posting
            posting = after_picture(posting, stop, list_image)
            d = np.int64(posting - start)
            m = min(q, d)
            ours[image] += m if power == 1 else m * (2 * q - m)
            theirs[image] += m if power == 1 else m * (2 * d - m)
            total += m * alive[image]
    return total


@kernel
def weighted_norms(offsets: Int64, list_image: UInt32, idf: Float32, power: int, norms: Float64) -> None:
    """norms[image] += Σ over its words of (tf · idf)^power, power 1 or 2."""
    for word in range(len(offsets) - 1):
        posting, stop = np.uint64(offsets[word]), np.uint64(offsets[word + 1])
        while posting < stop:
            image, start = list_image[posting], posting
            posting = after_picture(posting, stop, list_image)
            value = np.float64(posting - start) * idf[word]
            norms[image] += value if power == 1 else value * value
