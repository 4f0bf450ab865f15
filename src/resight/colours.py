"""The colours of a picture, in 256 bytes: where local features say too little, they tell look-alikes apart."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from .types import Bytes, Float32

HUES, SATURATIONS, VALUES = 16, 4, 4  # bins of the histogram
BINS = HUES * SATURATIONS * VALUES
KIND = f"hsv-{HUES}-{SATURATIONS}-{VALUES}"  # part of what evaluations name their caches by
# A pixel has a colour if neither its saturation nor its value is below this, of 255. A picture is grey in which fewer
# than this share of the pixels have one.
COLOURED, SHARE = 32, 0.05


def describe(thumbnail: Bytes) -> bytes | None:
    """Of (rows, columns, 3) RGB: the roots of a histogram's shares, in 1/255. None if the picture is grey."""
    hsv = cv2.cvtColor(np.ascontiguousarray(thumbnail), cv2.COLOR_RGB2HSV).reshape(-1, 3).astype(np.int64)
    if np.mean((hsv[:, 1] >= COLOURED) & (hsv[:, 2] >= COLOURED)) < SHARE:
        return None
    hue, saturation, value = hsv[:, 0] * HUES // 180, hsv[:, 1] * SATURATIONS // 256, hsv[:, 2] * VALUES // 256
    counts = np.bincount((hue * SATURATIONS + saturation) * VALUES + value, minlength=BINS)
    roots: Bytes = np.rint(255 * np.sqrt(counts / len(hsv))).astype(np.uint8)
    return roots.tobytes()


def likeness(one: bytes, others: Sequence[bytes]) -> Float32:
    """How alike the colours are: Bhattacharyya's coefficient, 1 for the same ones and 0 for none in common."""
    rows = np.frombuffer(b"".join([one, *others]), np.uint8).reshape(-1, BINS).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    alike: Float32 = rows[1:] @ rows[0]
    return alike
