"""Pictures with many corners, made from a seed, and walls of which several pictures show parts."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
SIZE = 360  # of a part of a wall


def texture(seed: int, size: int = 240, grain: int = 12) -> Pixels:
    """A picture with many corners, unlike that of any other seed; the finer the grain, the more."""
    coarse = np.random.default_rng(seed).integers(0, 256, (size // grain, size // grain), dtype=np.uint8)
    return np.asarray(cv2.resize(coarse, (size, size), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)


def write(path: Path, pixels: Pixels) -> Path:
    ok, data = cv2.imencode(".png", pixels)
    assert ok
    path.write_bytes(data.tobytes())
    return path


def panorama(seed: int) -> Pixels:
    """A long wall, of which pictures show parts."""
    coarse = np.random.default_rng(seed).integers(0, 256, (SIZE // 8, 3 * SIZE // 8), dtype=np.uint8)
    return np.asarray(cv2.resize(coarse, (3 * SIZE, SIZE), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)


def part(wall: Pixels, start: int) -> Pixels:
    return np.ascontiguousarray(wall[:, start : start + SIZE])


def wall_in_parts() -> dict[str, Pixels]:
    """Wall 1 in three parts that overlap by half, by their keys."""
    wall = panorama(1)
    return {f"wall {number}": part(wall, start) for number, start in enumerate((0, SIZE // 2, SIZE))}


def striped() -> dict[str, Pixels]:
    """Two pictures that share nothing, and one, turned, that shares narrow stripes with each: ``a`` – ``b`` – ``c``."""
    odd = np.arange(480) // 40 % 2 == 1
    pairs = {"a.png": (300, 302), "b.png": (300, 301), "c.png": (303, 301)}
    made = {key: np.where(odd, *(texture(seed, 480, grain=5) for seed in seeds[::-1])) for key, seeds in pairs.items()}
    return {**made, "b.png": np.ascontiguousarray(np.rot90(made["b.png"]))}
