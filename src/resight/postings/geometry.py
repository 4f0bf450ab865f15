"""Where a feature sits in its picture, in 6 bytes, and in 8 with its affine shape. Lengths: of the longest side.

Position: 1/65535 of the longest side. Scale: 20 steps per octave below the longest side (±1.7 %), over 12.75 octaves.
Angle: 256 steps (±0.7°).

Shape: symmetric with determinant 1, so its logarithm is symmetric with trace 0. That is two numbers: by how many
octaves the region is longer along x, and along the diagonal x = y, than a circle of its area. A circle is (0, 0), and
near it no direction is asked for. 80 steps per octave: each axis ±0.7 %; a point of the border moves by up to 0.8 % of
its distance from the centre where the region is nearly round, 2.2 % where it is 9 times as long as wide. As much can be
said in every direction; what is longer keeps its direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Bytes, Features, Float32, Float64

GEOMETRY = np.dtype([("x", "<u2"), ("y", "<u2"), ("scale", "u1"), ("angle", "u1")])
SHAPED = np.dtype([*GEOMETRY.descr, ("along", "i1"), ("across", "i1")])  # longer along x; along the diagonal
SCALE, ANGLE = 4, 5  # their bytes in a record of either kind
SCALE_STEPS_PER_OCTAVE = 20
SHAPE_STEPS_PER_OCTAVE = 80
LARGEST_CODE = 127


def encode(features: Features) -> npt.NDArray[np.void]:
    """(n,) records of dtype GEOMETRY, or SHAPED if the features have shape."""
    longest = max(features.width, features.height)
    codes = np.zeros(len(features), dtype=GEOMETRY if features.shape is None else SHAPED)
    codes["x"], codes["y"] = np.clip(np.rint(features.xy.T / longest * 65535), 0, 65535)
    octaves_below = -np.log2(np.maximum(features.scale, 1e-6) / longest)
    codes["scale"] = np.clip(np.rint(octaves_below * SCALE_STEPS_PER_OCTAVE), 0, 255)
    codes["angle"] = np.rint(features.angle / (2 * np.pi) * 256) % 256
    if features.shape is not None:
        codes["along"], codes["across"] = np.rint(_logarithm(features.shape) * SHAPE_STEPS_PER_OCTAVE)
    return codes


def _logarithm(shape: Float32) -> Float64:
    """(2, n) octaves along x and along the diagonal, within what codes can say.

    A shape whose longest radius is e^t times that of the circle is cosh t plus a part of trace 0, as large as sinh t.
    """
    along, across = (shape[:, 0, 0] - shape[:, 1, 1]) / 2.0, (shape[:, 0, 1] + shape[:, 1, 0]) / 2.0
    size = np.hypot(along, across)
    octaves = np.stack([along, across]) * (np.arcsinh(size) / np.log(2) / np.maximum(size, 1e-12))
    beyond = np.abs(octaves).max(axis=0) / (LARGEST_CODE / SHAPE_STEPS_PER_OCTAVE)
    within: Float64 = octaves / np.maximum(beyond, 1)
    return within


def decode(codes: npt.NDArray[Any], longest: npt.ArrayLike) -> tuple[Float32, Float32, Float32, Float32 | None]:
    """(xy, scale, angle, shape) in full-size pixels and radians; no shape where the codes have none.

    ``longest`` is one side for all codes, or one for each.
    """
    side = np.asarray(longest, dtype=np.float32)
    xy = np.stack([codes["x"], codes["y"]], axis=1) * (np.atleast_1d(side)[:, None] / np.float32(65535))
    scale = side * np.exp2(-codes["scale"].astype(np.float32) / SCALE_STEPS_PER_OCTAVE)
    angle = codes["angle"] * np.float32(2 * np.pi / 256)
    return xy.astype(np.float32), scale.astype(np.float32), angle, _shape(codes) if codes.dtype == SHAPED else None


def _shape(codes: npt.NDArray[Any]) -> Float32:
    along, across = (codes[name] * (np.log(2) / SHAPE_STEPS_PER_OCTAVE) for name in ("along", "across"))
    stretch = np.hypot(along, across)
    part = np.sinh(stretch) / np.maximum(stretch, 1e-12)
    rows = [[np.cosh(stretch) + part * along, part * across], [part * across, np.cosh(stretch) - part * along]]
    return np.array(rows, np.float32).transpose(2, 0, 1)


def as_bytes(codes: npt.NDArray[Any]) -> Bytes:
    """(n, 6 or 8) bytes of the records: one type for kernels, which copy them faster, too."""
    return codes.view(np.uint8).reshape(len(codes), codes.dtype.itemsize)
