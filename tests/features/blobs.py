"""Pictures of blobs of all sizes."""

from __future__ import annotations

from functools import cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from resight.features import extract
from resight.options import FeatureOptions
from resight.types import Features, Picture

Array = npt.NDArray[Any]


@cache
def texture(height: int = 300, width: int = 400, seed: int = 0) -> Array:
    """Blobs of all sizes: smoothed noise of several octaves, stretched to the full range."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width))
    for sigma in (1.5, 3, 6, 12):
        layer = cv2.GaussianBlur(rng.standard_normal((height, width)), (0, 0), sigma)
        total += layer / layer.std()
    pixels: Array = np.rint((total - total.min()) / np.ptp(total) * 255).astype(np.uint8)
    pixels.setflags(write=False)
    return pixels


@cache
def features(options: FeatureOptions, height: int = 300, width: int = 400, seed: int = 0) -> Features:
    """Of a texture; extracted once for all tests, which must not write to them."""
    found = extract(picture(texture(height, width, seed)), options=options)
    for array in (found.xy, found.scale, found.angle, found.descriptors):
        array.setflags(write=False)
    return found


def picture(pixels: Array, width: int = 0, height: int = 0) -> Picture:
    return Picture(pixels, width or pixels.shape[1], height or pixels.shape[0])
