"""Matches vote for pictures: the kernels of the Hamming measure with burst weights and weak geometry (BURST-09).

A match is a query row and a posting of its word whose signatures are close. Rows are taken one after the other, and a
list is ordered by picture, so the matches of a row in a picture follow each other: a row needs no more than room for
its own matches, and nothing needs to be transposed. Rows come sorted by word, so that a list is fetched from memory
once, however many rows look into it.

With multiple assignment each row counts as a query descriptor of its own, as in the paper (§4.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..postings import ANGLE, SCALE
from ..types import Bytes, Float32, Float64, Int32, Int64, UInt32, UInt64
from .density import vote
from .kernels import popcount

NONE, COUNT, ROOT_COUNT, ROOT_SHARE, LOG_SHARE = range(5)
INTRA = {"none": NONE, "count": COUNT, "root-count": ROOT_COUNT, "root-share": ROOT_SHARE, "log-share": LOG_SHARE}

# Sums over pictures are made of integers, so that they do not depend on how pictures are spread over segments: this
# many stand for a weight of 1. Weights are at most 1, density votes at most about 50, so there is room for their sums.
UNIT = 2.0**36

# Weak geometry: bins of turn (22.5° each) and of change of size (half an octave each, the middle one is none).
TURNS, SIZES = 16, 17
TURN_STEPS, SIZE_STEPS = 256 // TURNS, 10  # codes per bin
# How natural a transformation is: upright views above all, then quarter turns; sizes that differ little.
TURN_PRIOR = np.array([1, 0.95, 0.8, 0.8, 0.9, 0.8, 0.8, 0.8, 0.9, 0.8, 0.8, 0.8, 0.9, 0.8, 0.8, 0.95], np.float32)
# The bin of each difference of scale codes, query − picture + 255: codes of scale grow as features shrink.
SIZE_BIN = np.clip((np.arange(-255, 256) + SIZE_STEPS // 2) // SIZE_STEPS + SIZES // 2, 0, SIZES - 1).astype(np.uint64)
SIZE_PRIOR = (1 - 0.025 * np.abs(np.arange(SIZES) - SIZES // 2)).astype(np.float32)


class Rows(NamedTuple):
    """A query's rows, sorted by word: row r looks at the postings from offsets[word[r]] to offsets[word[r] + 1]."""

    word: Int32
    signature: UInt64
    weight: Float32
    angle: Bytes
    scale: Bytes
    odds: Float64 = np.zeros((0, 65))  # (rows, 65) of density.vote, by Hamming distance, if matches weigh by it


class Listed(NamedTuple):
    """The lists of a segment, and which of its pictures are looked at: begin … end."""

    offsets: Int64
    image: UInt32
    signature: UInt64
    geometry: Bytes  # (m, 6 or 8) of each posting's record
    alive: npt.NDArray[np.bool_]  # by picture
    begin: int
    end: int
    inverse_length: Float64 = np.zeros(0)  # by picture, where rows have odds


class Rule(NamedTuple):
    """What matches, and what it weighs within its picture."""

    weight_at: Float32  # by Hamming distance
    threshold: int
    closest_only: bool
    intra: int


class Found(NamedTuple):
    """The matches of one row: there must be room for one more than the longest list has."""

    posting: UInt64
    weight: Float32


@kernel
def row_matches(row: int, rows: Rows, lists: Listed, rule: Rule, found: Found) -> np.uint64:
    """Write the row's matches in living pictures, with their weights; how many."""
    mine, one = rows.signature[row], np.uint64(1)
    first, last = np.uint64(lists.offsets[rows.word[row]]), np.uint64(lists.offsets[rows.word[row] + 1])
    if lists.begin > 0:
        first = _bisect(lists.image, first, last, lists.begin)
    if lists.end < len(lists.alive):
        last = _bisect(lists.image, first, last, lists.end)
    close = _close_postings(mine, lists.signature, first, last, np.uint64(rule.threshold), found.posting)
    at, end = np.uint64(0), np.uint64(0)
    while at < close:
        run, picture, closest = end, lists.image[found.posting[at]], np.uint64(65)
        while at < close and lists.image[found.posting[at]] == picture:
            posting = found.posting[at]
            distance = popcount(mine ^ lists.signature[posting])
            at += one
            if rule.closest_only:
                if distance >= closest:
                    continue
                closest, end = distance, run
            found.posting[end] = posting
            found.weight[end] = rule.weight_at[distance]
            end += one
        if not lists.alive[picture]:
            end = run
            continue
        if len(rows.odds):
            _weigh_sets(run, end, mine, rows.odds[row], lists, found)
        if end > run + one or rule.intra != ROOT_SHARE:  # the call is too dear to be made for nothing
            _settle(run, end, first, last, lists.image, rule.intra, found)
    return end


@kernel
def _weigh_sets(run: np.uint64, end: np.uint64, mine: np.uint64, odds: Float64, lists: Listed, found: Found) -> None:
    """Matches run … end of one row in one picture that are equally far share the vote of their set (DRE-12 eq. 10)."""
    counts = np.zeros(65, np.int64)
    for match in range(run, end):
        counts[popcount(mine ^ lists.signature[found.posting[match]])] += 1
    for match in range(run, end):
        posting = found.posting[match]
        distance = popcount(mine ^ lists.signature[posting])
        length = lists.inverse_length[lists.image[posting]]
        found.weight[match] = vote(odds[distance], counts[distance], length) / counts[distance]


@kernel
def _bisect(image: UInt32, first: np.uint64, last: np.uint64, picture: int) -> np.uint64:
    """The first posting of first … last that is of this picture or a later one."""
    one = np.uint64(1)
    while first < last:
        middle = (first + last) >> one
        if image[middle] < picture:
            first = middle + one
        else:
            last = middle
    return first


@kernel
def _close_postings(
    mine: np.uint64, signature: UInt64, first: np.uint64, last: np.uint64, limit: np.uint64, close: UInt64
) -> np.uint64:
    """Write which postings of first … last are close; how many. Without a branch: guessing which are costs more."""
    found = np.uint64(0)
    for posting in range(first, last):
        close[found] = posting
        found += np.uint64(popcount(mine ^ signature[posting]) <= limit)
    return found


@kernel
def _settle(
    run: np.uint64, end: np.uint64, first: np.uint64, last: np.uint64, image: UInt32, intra: int, found: Found
) -> None:
    """Tame the matches run … end of one row in one picture, in the list first … last."""
    one, weight = np.uint64(1), found.weight
    if intra in (COUNT, ROOT_COUNT):
        left, right = found.posting[run], found.posting[run] + one
        picture = image[left]
        while left > first and image[left - one] == picture:
            left -= one
        while right < last and image[right] == picture:
            right += one
        for match in range(run, end):
            weight[match] /= right - left if intra == COUNT else np.sqrt(right - left)
    elif intra in (ROOT_SHARE, LOG_SHARE):
        total = np.float32(0)
        for match in range(run, end):
            total += weight[match]
        for match in range(run, end if total > 0 else run):
            share = weight[match] / total
            weight[match] *= np.sqrt(share) if intra == ROOT_SHARE else np.log(1 + share)


@kernel
def count_shells(
    word: Int32,
    signature: UInt64,
    offsets: Int64,
    list_image: UInt32,
    list_signature: UInt64,
    alive: npt.NDArray[np.bool_],
    threshold: int,
    shells: Int64,
) -> None:
    """shells[r, h] += how many features of living pictures lie h bits from row r, up to the threshold."""
    limit = np.uint64(threshold)
    for row in range(len(word)):
        for posting in range(np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])):
            distance = popcount(signature[row] ^ list_signature[posting])
            if distance <= limit and alive[list_image[posting]]:
                shells[row, distance] += 1


@kernel
def add_totals(rows: Rows, lists: Listed, rule: Rule, found: Found, totals: Int64) -> None:
    """totals[r] += the sum of the weights of row r's matches, in units of 1 / UNIT."""
    for row in range(len(rows.word)):
        for match in range(row_matches(row, rows, lists, rule, found)):
            totals[row] += np.int64(np.float64(found.weight[match]) * UNIT)


@kernel
def add_votes(rows: Rows, lists: Listed, rule: Rule, found: Found, totals: Float64, votes: Float32) -> None:
    """Add each match to its picture's bin of turn and to its bin of change of size; or to its only bin.

    With totals a match weighs weight · sqrt(weight / total of its row) (BURST-09 eq. 5), and always times the row's.
    """
    posting, weight, image, geometry = found.posting, found.weight, lists.image, lists.geometry
    for row in range(len(rows.word)):
        count, row_weight = row_matches(row, rows, lists, rule, found), rows.weight[row]
        for match in range(count if len(totals) else np.uint64(0)):
            if weight[match] > 0:
                # Weights that are next to nothing add up to less than one unit.
                weight[match] *= np.sqrt(weight[match] / max(totals[row], np.float64(weight[match])))
        if votes.shape[1] == 1:
            for match in range(count):
                votes[image[posting[match]], 0] += row_weight * weight[match]
            continue
        # Codes of angle go round at 256.
        angle, scale = rows.angle[row] - np.uint8(TURN_STEPS // 2), np.uint64(rows.scale[row]) + np.uint64(255)
        for match in range(count):
            place, picture, value = posting[match], image[posting[match]], row_weight * weight[match]
            turn = np.uint8(geometry[place, ANGLE] - angle) // np.uint8(TURN_STEPS)
            size = SIZE_BIN[scale - np.uint64(geometry[place, SCALE])]
            votes[picture, np.uint64(turn)] += value
            votes[picture, np.uint64(TURNS) + size] += value


@kernel
def agreeing_votes(bins: Float32, scores: Float32) -> None:
    """scores = min(best bin of turn, best bin of size), each bin with its two neighbours and weighed by its prior."""
    for picture in range(len(bins)):
        turn, size = np.float32(0), np.float32(0)
        for t in range(TURNS):
            near = bins[picture, t - 1 if t else TURNS - 1] + bins[picture, t + 1 if t + 1 < TURNS else 0]
            turn = max(turn, TURN_PRIOR[t] * (bins[picture, t] + near))
        for s in range(SIZES):
            votes = bins[picture, TURNS + s]
            if s:
                votes += bins[picture, TURNS + s - 1]
            if s + 1 < SIZES:
                votes += bins[picture, TURNS + s + 1]
            size = max(size, SIZE_PRIOR[s] * votes)
        scores[picture] = min(turn, size)
