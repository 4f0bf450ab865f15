"""Where a feature sits in its picture, in 6 bytes. Lengths are relative to the picture's longest side.

Position: 1/65535 of the longest side. Scale: 20 steps per octave below the longest side (±1.7 %), over 12.75 octaves.
Angle: 256 steps (±0.7°).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Features, Float32

GEOMETRY = np.dtype([("x", "<u2"), ("y", "<u2"), ("scale", "u1"), ("angle", "u1")])
SCALE_STEPS_PER_OCTAVE = 20


def encode(features: Features) -> npt.NDArray[np.void]:
    """(n,) records of dtype GEOMETRY."""
    longest = max(features.width, features.height)
    codes = np.zeros(len(features), dtype=GEOMETRY)
    codes["x"], codes["y"] = np.clip(np.rint(features.xy.T / longest * 65535), 0, 65535)
    octaves_below = -np.log2(np.maximum(features.scale, 1e-6) / longest)
    codes["scale"] = np.clip(np.rint(octaves_below * SCALE_STEPS_PER_OCTAVE), 0, 255)
    codes["angle"] = np.rint(features.angle / (2 * np.pi) * 256) % 256
    return codes


def decode(codes: npt.NDArray[Any], longest: npt.ArrayLike) -> tuple[Float32, Float32, Float32]:
    """(xy, scale, angle) in full-size pixels and radians; ``longest`` is one side for all codes, or one for each."""
    side = np.asarray(longest, dtype=np.float32)
    xy = np.stack([codes["x"], codes["y"]], axis=1) * (np.atleast_1d(side)[:, None] / np.float32(65535))
    scale = side * np.exp2(-codes["scale"].astype(np.float32) / SCALE_STEPS_PER_OCTAVE)
    return xy.astype(np.float32), scale.astype(np.float32), codes["angle"] * np.float32(2 * np.pi / 256)
