"""The colours of a picture, in 256 bytes: where local features say too little, they tell look-alikes apart."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from .images import THUMBNAIL
from .types import Bytes, Float64

HUES, SATURATIONS, VALUES = 16, 4, 4  # bins of the histogram
BINS = HUES * SATURATIONS * VALUES
# A pixel has a colour if neither its saturation nor its value is below this, of 255. A picture is grey in which fewer
# than this share of the pixels have one.
COLOURED, SHARE = 32, 0.05
# All that decides a histogram: part of what evaluations name their caches by.
KIND = f"hsv {HUES} {SATURATIONS} {VALUES} {COLOURED} {SHARE} {THUMBNAIL}"


def describe(thumbnail: Bytes) -> bytes | None:
    """Of (rows, columns, 3) RGB: the roots of a histogram's shares, in 1/255. None if the picture is grey."""
    hsv = cv2.cvtColor(np.ascontiguousarray(thumbnail), cv2.COLOR_RGB2HSV).reshape(-1, 3).astype(np.int64)
    if np.mean((hsv[:, 1] >= COLOURED) & (hsv[:, 2] >= COLOURED)) < SHARE:
        return None
    hue, saturation, value = hsv[:, 0] * HUES // 180, hsv[:, 1] * SATURATIONS // 256, hsv[:, 2] * VALUES // 256
    counts = np.bincount((hue * SATURATIONS + saturation) * VALUES + value, minlength=BINS)
    roots: Bytes = np.rint(255 * np.sqrt(counts / len(hsv))).astype(np.uint8)
    return roots.tobytes()


def likeness(one: bytes, others: Sequence[bytes]) -> Float64:
    """How alike the colours are: Bhattacharyya's coefficient, 1 for the same ones and 0 for none in common."""
    rows = np.frombuffer(b"".join([one, *others]), np.uint8).reshape(-1, BINS).astype(np.float64)
    # Sums of whole numbers are exact in any order, so pictures of the same colours are equally alike wherever they are.
    length = np.sqrt((rows**2).sum(axis=1))
    alike: Float64 = rows[1:] @ rows[0] / (length[1:] * length[0])
    return alike
