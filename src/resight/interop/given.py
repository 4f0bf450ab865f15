"""What every reader of given features needs: sizes where a file has none, places without a scale, and checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
        width, height = np.ceil(xy.max(axis=0, initial=0)).astype(int) + 1
        return int(width), int(height)
    try:
        return size_of(read_bytes(picture), name=str(picture))
    except ImageError as error:
        raise FeatureFileError(str(error)) from None


def insist_on_finite(where: str, **columns: Any) -> None:
    """Raise FeatureFileError unless all columns have a row for each keypoint and every value is finite."""
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise FeatureFileError(f"{where} has {counts}, which should be equally many; extract its features again")
    if bad := [name for name, values in columns.items() if not np.isfinite(values).all()]:
        raise FeatureFileError(f"{where} has {bad[0]} that are no finite numbers; extract its features again")


def checked(features: Features, where: str) -> Features:
    """The same, or FeatureFileError where scales or the picture's size are not positive."""
    if not (features.scale > 0).all():
        raise FeatureFileError(f"{where} has scales that are not positive; extract its features again")
    if features.width < 1 or features.height < 1:
        raise FeatureFileError(
            f"{where} has a size of {features.width} × {features.height} pixels; extract features again"
        )
    return features
