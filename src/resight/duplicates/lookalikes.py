"""Pictures that look alike as a whole, upright, turned or mirrored: candidates for copies, also where no feature is.

Each is described by the lowest frequencies of its grey values: a cosine transform, as for the perceptual hash, but kept
as numbers. To mirror a picture is to change the sign of its odd frequencies; to transpose it is to exchange the axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np

from ..types import Bytes, Float32, Float64, Int64

SIDE = 32  # pixels that a picture is reduced to
FREQUENCIES = 8  # along each axis
ALIKE = 0.9  # correlation from which two pictures are candidates
BLOCK = 1 << 22  # correlations that are computed at a time
PLAIN = 1.0  # grey levels that a picture must vary by to be like anything

# What a picture is turned into: exchange its axes, then mirror x, then y. All eight ways to lay it upon another.
Orientation = tuple[bool, bool, bool]
ORIENTATIONS: tuple[Orientation, ...] = tuple(
    (t, x, y) for t in (False, True) for x in (False, True) for y in (False, True)
)


def signature(pixels: Bytes) -> Float32:
    """(FREQUENCIES², ) of length 1, without the mean; zeros for a plain picture, which is like none."""
    small = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    low = np.array(cv2.dct(small)[:FREQUENCIES, :FREQUENCIES], np.float32)
    low[0, 0] = 0
    length = np.linalg.norm(low)
    flat: Float32 = low.ravel() / (length if length > PLAIN * SIDE else np.float32(np.inf))
    return flat


def oriented(signatures: Float32, orientation: Orientation) -> Float32:
    """(n, FREQUENCIES²) of the same pictures turned."""
    transposed, mirrored, flipped = orientation
    values = signatures.reshape(-1, FREQUENCIES, FREQUENCIES)
    if transposed:
        values = values.transpose(0, 2, 1)
    sign = np.where(np.arange(FREQUENCIES) % 2, -1, 1).astype(np.float32)
    if mirrored:
        values = values * sign
    if flipped:
        values = values * sign[:, None]
    return np.ascontiguousarray(values.reshape(signatures.shape))


def lookalikes(signatures: Float32, most: int) -> Iterator[tuple[int, int, Orientation]]:
    """Pairs (one, other) of rows that look alike, and how the first is to be turned; at most so many for each, once."""
    rows = max(1, BLOCK // max(1, len(signatures)))
    for start in range(0, len(signatures), rows):
        block = signatures[start : start + rows]
        scores = np.full((len(block), len(signatures)), -1, np.float32)
        which = np.zeros(scores.shape, np.uint8)
        for n, orientation in enumerate(ORIENTATIONS):
            found = oriented(block, orientation) @ signatures.T
            better = found > scores
            scores[better], which[better] = found[better], n
        # Each pair from its first row alone.
        scores[np.arange(start, start + len(block))[:, None] >= np.arange(len(signatures))] = -1
        for one, row in enumerate(scores):
            alike: Int64 = np.flatnonzero(row >= ALIKE)
            for other in alike[np.argsort(-row[alike], kind="stable")[:most]].tolist():
                yield start + one, other, ORIENTATIONS[which[one, other]]


def frame_map(orientation: Orientation, one: tuple[int, int], other: tuple[int, int]) -> Float64:
    """(2, 3) where pixels of one picture lie when it is turned and laid upon the whole other; sizes: width, height."""
    transposed, mirrored, flipped = orientation
    turned: Any = np.array([(0.0, 1, 0), (1, 0, 0), (0, 0, 1)]) if transposed else np.eye(3)
    if mirrored:
        turned = np.array([(-1, 0, 1), (0, 1, 0), (0, 0, 1)]) @ turned
    if flipped:
        turned = np.array([(1, 0, 0), (0, -1, 1), (0, 0, 1)]) @ turned
    to_unit = np.array([(1 / one[0], 0, 0.5 / one[0]), (0, 1 / one[1], 0.5 / one[1]), (0, 0, 1)])
    from_unit = np.array([(other[0], 0, -0.5), (0, other[1], -0.5), (0, 0, 1)])
    result: Float64 = (from_unit @ turned @ to_unit)[:2]
    return result
