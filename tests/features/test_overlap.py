"""What benchmarks/affine.py counts, against formulas and a plain twin."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .ellipses import overlap


@pytest.fixture(scope="module")
def affine() -> ModuleType:
    spec = importlib.util.spec_from_file_location("affine", Path(__file__).parents[2] / "benchmarks" / "affine.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["affine"] = module  # its dataclass looks there for its annotations
    spec.loader.exec_module(module)
    return module


def circles(module: ModuleType, *values: tuple[float, float, float]) -> Any:
    """Regions from (x, y, radius)."""
    xy, radius = np.array(values)[:, :2], np.array(values)[:, 2]
    return module.Regions(xy.copy(), radius[:, None, None] * np.eye(2), np.zeros((len(values), 1)))


@pytest.mark.parametrize(("away", "radius"), [(0, 30), (0, 24), (0, 36), (10, 30), (8, 27)])
def test_errors_of_circles(affine: ModuleType, away: float, radius: float) -> None:
    """By formula: the lens of two circles."""
    pairs, errors = affine.correspondences(circles(affine, (50, 60, 30)), circles(affine, (50 + away, 60, radius)))
    if away:
        a, b = ((away**2 + r * r - s * s) / (2 * away) for r, s in ((30, radius), (radius, 30)))
        shared = sum(r * r * math.acos(d / r) - d * math.sqrt(r * r - d * d) for r, d in ((30, a), (radius, b)))
    else:
        shared = math.pi * min(30, radius) ** 2
    assert pairs.tolist() == [[0, 0]]
    assert errors == pytest.approx(1 - shared / (math.pi * (30**2 + radius**2) - shared), abs=0.02)


def test_ellipses_are_enlarged_about_their_centres(affine: ModuleType) -> None:
    """A region of radius 6 becomes one of 30, and its distance stays: a share that its own size would not have."""
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(40):
        axes = rng.normal(0, 0.25, (2, 2, 2)) + np.eye(2)
        axes *= 6 / np.sqrt(np.abs(np.linalg.det(axes)))[:, None, None]
        x, y = rng.uniform(-4, 4, 2)
        one, other = (
            affine.Regions(np.array([at]), a[None], np.zeros((1, 1)))
            for at, a in zip(([9.0, 9.0], [9 + x, 9 + y]), axes, strict=True)
        )
        _, errors = affine.correspondences(one, other)
        expected = 1 - overlap(5 * axes[0], 5 * axes[1], x, y, points=150)
        if expected < 0.38:
            assert errors == pytest.approx([expected], abs=0.03)
            compared += 1
        elif expected > 0.42:
            assert len(errors) == 0
    assert compared > 10


def test_far_or_unlike_circles_do_not_correspond(affine: ModuleType) -> None:
    others = circles(affine, (50 + 5.3, 60, 1), (50, 60, 0.7), (50, 60, 1.4), (50 + 5.1, 60, 1))
    pairs, _ = affine.correspondences(circles(affine, (50, 60, 1)), others)
    assert pairs.tolist() == [[0, 3]]  # 3√3 = 5.196 away at most, areas 0.6 at least


def test_each_region_is_used_once(affine: ModuleType) -> None:
    pairs = np.array([[0, 0], [0, 1], [1, 0], [2, 2]])
    assert affine.one_to_one(pairs, np.array([0.1, 0.2, 0.3, 0.4])) == 2
    assert affine.one_to_one(pairs, np.array([0.3, 0.2, 0.1, 0.4])) == 3


def test_jacobians_are_the_slopes_of_the_map(affine: ModuleType) -> None:
    homography = np.array([[0.9, 0.2, 30], [-0.1, 1.1, 20], [2e-4, -1e-4, 1]])
    points = np.random.default_rng(1).uniform(0, 500, (5, 2))
    there, jacobian = affine.mapped(points, homography)
    for axis, step in enumerate(np.eye(2) * 1e-4):
        ahead, behind = (affine.mapped(points + sign * step, homography)[0] for sign in (1, -1))
        assert jacobian[:, :, axis] == pytest.approx((ahead - behind) / 2e-4, abs=1e-5)
    x = homography @ [*points[0], 1]
    assert there[0] == pytest.approx(x[:2] / x[2])


def test_a_picture_against_itself(affine: ModuleType) -> None:
    """All regions are repeated and matched; two angles at one place are one region."""
    rng = np.random.default_rng(2)
    xy = np.repeat(rng.uniform(50, 250, (20, 2)), 2, axis=0)
    regions = affine.Regions(xy, np.repeat(4.0 * np.eye(2)[None], 40, axis=0), rng.normal(size=(40, 8)))
    found = affine.scores(regions, regions, np.eye(3), ((300, 300), (300, 300)))
    assert found == {"repeatability": 1.0, "matching": 1.0, "regions": 20, "right": 40}
    shifted = affine.scores(regions, regions, np.array([[1, 0, 200], [0, 1, 0], [0, 0, 1.0]]), ((300, 300), (300, 300)))
    assert shifted["regions"] < 20
    assert shifted["right"] == 0
