"""Gaussian scale space: octaves of levels, each octave at half the size of the one before."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from ..._numba import kernel
from ...types import Bytes, Float32, Int64

SCALES = 3  # levels per octave after which the blur has doubled
LEVELS = SCALES + 2  # two more, so that every level that extrema are looked for in has neighbours
FIRST = 1.6  # blur of an octave's first level, in pixels of the octave
CAMERA = 0.5  # blur that a picture is taken to have
LEAST = 12  # pixels that an octave's shorter side must have
SIGMAS = FIRST * 2 ** (np.arange(LEVELS) / SCALES)  # blur of an octave's levels, in its pixels


@dataclass(frozen=True, slots=True)
class Pyramid:
    """Pixel x of octave i is pixel 2^i · x of the picture."""

    values: Float32  # LEVELS levels of each octave, in one array for all, since a kernel cannot take a list
    octaves: Int64  # (octaves, 3): where it begins, its rows and columns

    def octave(self, number: int) -> Float32:
        """(LEVELS, rows, columns)"""
        start, rows, columns = self.octaves[number].tolist()
        return self.values[start : start + LEVELS * rows * columns].reshape(LEVELS, rows, columns)


def build(pixels: Bytes) -> Pyramid:
    """All octaves of a picture, with values in [0, 1]: 27 bytes per pixel."""
    octaves = []
    start, (rows, columns) = 0, pixels.shape
    while min(rows, columns) >= LEAST:
        octaves.append((start, rows, columns))
        start += LEVELS * rows * columns
        rows, columns = (rows + 1) // 2, (columns + 1) // 2
    pyramid = Pyramid(np.empty(start, np.float32), np.array(octaves, np.int64).reshape(-1, 3))
    for number in range(len(octaves)):
        octave = pyramid.octave(number)
        if number == 0:
            _blur(pixels.astype(np.float32) / np.float32(255), CAMERA, FIRST, octave[0])
        else:
            octave[0] = pyramid.octave(number - 1)[SCALES, ::2, ::2]
        for k in range(1, LEVELS):
            _blur(octave[k - 1], SIGMAS[k - 1], SIGMAS[k], octave[k])
    return pyramid


def _blur(image: Float32, has: float, gets: float, to: Float32) -> None:
    cv2.GaussianBlur(image, (0, 0), (gets**2 - has**2) ** 0.5, dst=to, borderType=cv2.BORDER_REPLICATE)


@kernel
def level_of(values: Float32, octaves: Int64, sigma: float) -> tuple[Float32, float]:
    """The level whose blur is nearest to sigma, and the side of its pixels, both in pixels of the picture."""
    number = int(np.rint(SCALES * np.log2(sigma / FIRST)))
    number = min(max(number, 0), len(octaves) * SCALES - 1)
    start, rows, columns = octaves[number // SCALES]
    start += number % SCALES * rows * columns
    return values[start : start + rows * columns].reshape(rows, columns), 2.0 ** (number // SCALES)
