"""What every reader of given features needs: sizes where a file has none, and places without a scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import FeatureFileError, ImageError
from ..images import read_bytes, size_of
from ..types import Bytes, Features, Float32

# A position has neither size nor direction. All get the same, in shares of the longest side, so that weak geometry,
# which compares those shares, finds all matches in agreement and says nothing.
SHARE_OF_A_POINT = 1 / 64


def points(xy: Float32, descriptors: Bytes | Float32, size: tuple[int, int]) -> Features:
    """Features that are positions alone, for an index with the detector ``given-points``."""
    scale = np.full(len(xy), SHARE_OF_A_POINT * max(size), np.float32)
    return Features(xy, scale, np.zeros(len(xy), np.float32), descriptors, *size)


def size_from(xy: Float32, picture: Path | None) -> tuple[int, int]:
    """Width and height of the picture in this file; without one, of the least picture that holds all positions."""
    if picture is None:
        width, height = np.ceil(xy.max(axis=0, initial=0)).tolist()
        return int(width) + 1, int(height) + 1
    try:
        return size_of(read_bytes(picture), name=str(picture))
    except ImageError as error:
        raise FeatureFileError(str(error)) from None
