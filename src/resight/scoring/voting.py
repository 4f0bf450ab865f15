"""Matches vote for pictures: the kernels of the Hamming measure with burst weights and weak geometry (BURST-09).

A match is a query row and a posting of its word whose signatures are close. Rows are scanned one after the other and a
list is ordered by picture, so the matches of a row in a picture follow each other, and those of a row in all pictures
too: both sums of the burst weights are over stretches of the same arrays, and nothing needs to be transposed.

With multiple assignment each row counts as a query descriptor of its own, as in the paper (§4.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._numba import kernel
from ..types import Bytes, Float32, Float64, Int64, UInt32, UInt64
from .kernels import popcount

NONE, COUNT, ROOT_COUNT, ROOT_SHARE, LOG_SHARE = range(5)
INTRA = {"none": NONE, "count": COUNT, "root-count": ROOT_COUNT, "root-share": ROOT_SHARE, "log-share": LOG_SHARE}

# Sums over pictures are made of integers, so that they do not depend on how pictures are spread over segments:
# this many stand for the largest of the weights that are added up.
UNIT = 2.0**30

# Weak geometry: bins of turn (22.5° each) and of change of size (half an octave each, the middle one is none).
TURNS, SIZES = 16, 17
TURN_STEPS, SIZE_STEPS = 256 // TURNS, 10  # codes per bin
# How natural a transformation is: upright views above all, then quarter turns; sizes that differ little.
TURN_PRIOR = np.array([1, 0.95, 0.8, 0.8, 0.9, 0.8, 0.8, 0.8, 0.9, 0.8, 0.8, 0.8, 0.9, 0.8, 0.8, 0.95], np.float32)
SIZE_PRIOR = (1 - 0.025 * np.abs(np.arange(SIZES) - SIZES // 2)).astype(np.float32)


@kernel
def find_matches(
    word: npt.NDArray[np.int32],
    signature: UInt64,
    offsets: Int64,
    list_image: UInt32,
    list_signature: UInt64,
    alive: npt.NDArray[np.bool_],
    weight_at: Float32,
    threshold: int,
    closest_only: bool,
    intra: int,
    image: UInt32,
    posting: Int64,
    weight: Float32,
    ends: Int64,
) -> None:
    """Write the matches of all rows, one after the other, with their weights; row r's end at ends[r].

    ``image``, ``weight`` and, unless it is empty, ``posting`` must have room for all postings of the rows' words.
    """
    limit, found = np.uint64(threshold), np.int64(0)
    for row in range(len(word)):
        mine, run, closest = signature[row], found, np.uint64(0)
        first, last = np.uint64(offsets[word[row]]), np.uint64(offsets[word[row] + 1])
        before = first
        for at in range(first, last):
            distance = popcount(mine ^ list_signature[at])
            if distance > limit:
                continue
            picture = list_image[at]
            if not alive[picture]:
                continue
            if found > run and picture != image[run]:
                _settle(run, found, before, first, last, list_image, intra, weight)
                run = found
            before = np.uint64(at)
            if closest_only and found > run:
                if distance >= closest:
                    continue
                found = run
            closest = distance
            image[found], weight[found] = picture, weight_at[distance]
            if len(posting):
                posting[found] = at
            found += 1
        if found > run:
            _settle(run, found, before, first, last, list_image, intra, weight)
        ends[row] = found


@kernel
def _settle(
    run: np.int64,
    end: np.int64,
    at: np.uint64,
    first: np.uint64,
    last: np.uint64,
    list_image: UInt32,
    intra: int,
    weight: Float32,
) -> None:
    """Tame the matches run … end of one row in one picture, the last of them at posting ``at``."""
    if intra in (COUNT, ROOT_COUNT):
        occurrences, one = 1, np.uint64(1)
        left, right = at, at + one
        while left > first and list_image[left - one] == list_image[at]:
            left, occurrences = left - one, occurrences + 1
        while right < last and list_image[right] == list_image[at]:
            right, occurrences = right + one, occurrences + 1
        for match in range(run, end):
            weight[match] /= occurrences if intra == COUNT else np.sqrt(occurrences)
    elif intra == LOG_SHARE or (intra == ROOT_SHARE and end > run + 1):
        total = np.float32(0)
        for match in range(run, end):
            total += weight[match]
        for match in range(run, end if total > 0 else run):
            share = weight[match] / total
            weight[match] *= np.sqrt(share) if intra == ROOT_SHARE else np.log(1 + share)


@kernel
def raise_peaks(weight: Float32, ends: Int64, peaks: Float32) -> None:
    """peaks[r] = the largest weight of row r, if it is larger."""
    match = 0
    for row in range(len(ends)):
        while match < ends[row]:
            peaks[row] = max(peaks[row], weight[match])
            match += 1


@kernel
def add_totals(weight: Float32, ends: Int64, peaks: Float32, totals: Int64) -> None:
    """totals[r] += the sum of row r's weights, in units of peaks[r] / UNIT."""
    match = 0
    for row in range(len(ends)):
        while match < ends[row]:
            if weight[match] > 0:
                totals[row] += np.int64(np.float64(weight[match]) / peaks[row] * UNIT)
            match += 1


@kernel
def weigh_rows(weight: Float32, ends: Int64, row_weight: Float32, totals: Float64) -> None:
    """weight ← row_weight · weight · sqrt(weight / total of the row); without totals, row_weight · weight."""
    match = 0
    for row in range(len(ends)):
        while match < ends[row]:
            value = weight[match]
            if len(totals) and value > 0:
                value *= np.sqrt(value / totals[row])
            weight[match] = row_weight[row] * value
            match += 1


@kernel
def add_votes(image: UInt32, weight: Float32, scores: Float32) -> None:
    """scores[image] += weight."""
    for match in range(len(weight)):
        scores[image[match]] += weight[match]


@kernel
def add_to_bins(
    image: UInt32,
    weight: Float32,
    ends: Int64,
    row_angle: Bytes,
    row_scale: Bytes,
    geometry: npt.NDArray[Any],
    bins: Float32,
) -> None:
    """Add each match to its picture's bin of turn and to its bin of change of size."""
    match = 0
    for row in range(len(ends)):
        while match < ends[row]:
            # Codes of angle go round at 256; codes of scale grow as features shrink.
            turn = np.uint8(geometry[match].angle - row_angle[row] + TURN_STEPS // 2) // TURN_STEPS
            steps = np.int64(row_scale[row]) - np.int64(geometry[match].scale) + SIZE_STEPS // 2
            size = TURNS + min(max(steps // SIZE_STEPS + SIZES // 2, np.int64(0)), np.int64(SIZES - 1))
            bins[image[match], turn] += weight[match]
            bins[image[match], size] += weight[match]
            match += 1


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
