"""How much two ellipses share, by counting points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def overlap(first: Array, second: Array, x: float, y: float, points: int = 50) -> float:
    """Shared over covered area of {first · u} and {(x, y) + second · u}, |u| ≤ 1."""
    centres = np.zeros(2), np.array([x, y])
    reaches = [np.sqrt((axes @ axes.T).diagonal()) for axes in (first, second)]
    low = np.minimum(*(centre - reach for centre, reach in zip(centres, reaches, strict=True)))
    high = np.maximum(*(centre + reach for centre, reach in zip(centres, reaches, strict=True)))
    grid = np.stack(np.meshgrid(*np.linspace(low, high, points).T), axis=-1)
    inside = [
        np.linalg.norm((grid - centre) @ np.linalg.inv(axes).T, axis=-1) <= 1
        for axes, centre in zip((first, second), centres, strict=True)
    ]
    return float((inside[0] & inside[1]).sum() / (inside[0] | inside[1]).sum())
