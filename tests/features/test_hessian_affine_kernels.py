"""Each kernel of the Hessian-Affine detector against a plain twin or a known answer."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from resight.features.hessian_affine import describe, shape
from resight.features.hessian_affine.detect import BORDER, EDGE, FARTHEST, extrema, fit, is_peak, response_row
from resight.features.hessian_affine.patch import COLUMNS, HALF, SIZE, gauss, sample
from resight.features.hessian_affine.pyramid import LEVELS, SIGMAS, build, level_of

from .blobs import texture

Array = npt.NDArray[Any]


def noise(*size: int, seed: int = 0) -> Array:
    """Smooth enough to have gradients in all directions, of all lengths."""
    rng = np.random.default_rng(seed)
    return cv2.GaussianBlur(rng.random(size[-2:]), (0, 0), 1.5).astype(np.float32)


# Pyramid


def test_octaves_are_every_second_pixel_and_twice_the_blur() -> None:
    pixels = np.zeros((101, 120), np.uint8)
    pixels[50, 60] = 255
    pyramid = build(pixels)
    assert pyramid.octaves[:, 1:].tolist() == [[101, 120], [51, 60], [26, 30], [13, 15]]
    for number, (_, rows, columns) in enumerate(pyramid.octaves.tolist()[:2]):
        octave = pyramid.octave(number)
        assert octave.shape == (LEVELS, rows, columns)
        y, x = np.mgrid[:rows, :columns] * 2.0**number
        for level, sigma in zip(octave, SIGMAS * 2**number, strict=True):
            weight = level / level.sum()
            assert [(weight * x).sum(), (weight * y).sum()] == pytest.approx([60, 50], abs=0.01)
            # A single pixel is taken to have a blur of 0.5 already.
            assert (weight * (x - 60) ** 2).sum() == pytest.approx(sigma**2 - 0.5**2, rel=0.03)


@pytest.mark.parametrize(
    ("sigma", "octave", "level"),
    [(0.1, 0, 0), (1.6, 0, 0), (2.0, 0, 1), (2.6, 0, 2), (3.2, 1, 0), (5.0, 1, 2), (6.4, 2, 0), (1000, 2, 2)],
)
def test_the_level_nearest_to_a_blur(sigma: float, octave: int, level: int) -> None:
    pyramid = build(texture()[:50, :60])
    values, side = level_of(pyramid.values, pyramid.octaves, sigma)
    assert len(pyramid.octaves) == 3
    assert side == 2**octave
    assert np.array_equal(values, pyramid.octave(octave)[level])


# Detection


def responses(level: Array, sigma: float) -> Array:
    """σ⁴ (Lxx Lyy − Lxy²), 0 at the rim."""
    l = level.astype(np.float64)  # noqa: E741
    result = np.zeros_like(l)
    xx = l[1:-1, 2:] - 2 * l[1:-1, 1:-1] + l[1:-1, :-2]
    yy = l[2:, 1:-1] - 2 * l[1:-1, 1:-1] + l[:-2, 1:-1]
    xy = (l[2:, 2:] - l[2:, :-2] - l[:-2, 2:] + l[:-2, :-2]) / 4
    result[1:-1, 1:-1] = sigma**4 * (xx * yy - xy**2)
    return result


def test_response_row() -> None:
    level = noise(20, 30)
    expected = responses(level, 2.5)
    row = np.zeros(30, np.float32)
    for y in range(1, 19):
        response_row(level, y, 2.5, row)
        assert row == pytest.approx(expected[y], abs=1e-6)


def test_extrema() -> None:
    """All of an octave, by looking at each cube of 27 responses."""
    octave = build(texture()[:90, :110]).octave(0)
    values = np.stack([responses(level, sigma) for level, sigma in zip(octave, SIGMAS, strict=True)])
    least = 1e-5
    expected = []
    for k in range(1, LEVELS - 1):
        for y in range(BORDER, 90 - BORDER):
            for x in range(BORDER, 110 - BORDER):
                cube = values[k - 1 : k + 2, y - 1 : y + 2, x - 1 : x + 2] * np.sign(values[k, y, x])
                if cube[1, 1, 1] == cube.max() and cube[1, 1, 1] >= least:
                    good, *place, peak = twin_fit(cube)
                    if good:
                        expected.append((*(np.array([x, y, k]) + place), peak))
    found = np.zeros((1000, 4))
    count = extrema(octave, least, found)
    assert count == len(expected) > 50
    ordered = sorted(found[:count].tolist(), key=lambda f: (round(f[2]), f[:2]))
    assert np.array(ordered) == pytest.approx(
        np.array(sorted(expected, key=lambda f: (round(f[2]), f[:2]))), rel=2e-3, abs=2e-3
    )
    few = np.zeros((5, 4))
    assert extrema(octave, least, few) == count
    assert np.array_equal(few, found[:5])


def twin_fit(cube: Array) -> tuple[Any, ...]:
    """By central differences and numpy's solver."""
    step = np.eye(3, dtype=int)[::-1]  # x, y, level; the cube is (level, y, x)

    def at(*offsets: Array) -> float:
        return float(cube[tuple(1 + np.sum(offsets, axis=0))])

    gradient = np.array([at(d) - at(-d) for d in step]) / 2
    hessian = np.diag([at(d) - 2 * cube[1, 1, 1] + at(-d) for d in step])
    for i, j in ((0, 1), (0, 2), (1, 2)):
        d, e = step[i], step[j]
        hessian[i, j] = hessian[j, i] = (at(d, e) - at(d, -e) - at(-d, e) + at(-d, -e)) / 4
    flat = np.linalg.det(hessian[:2, :2])
    if flat <= 0 or np.trace(hessian[:2, :2]) ** 2 / flat > (EDGE + 1) ** 2 / EDGE:
        return False, 0, 0, 0, 0
    place = -np.linalg.solve(hessian, gradient)
    return np.abs(place).max() <= FARTHEST, *place, cube[1, 1, 1] + gradient @ place / 2


def test_fit_of_random_cubes() -> None:
    rng = np.random.default_rng(1)
    good = 0
    for _ in range(200):
        cube = rng.random((3, 3, 3))
        cube[1, 1, 1] = 1
        expected, found = twin_fit(cube), fit(cube)
        assert found[0] == expected[0]
        if found[0]:
            good += 1
            assert found[1:] == pytest.approx(expected[1:])
    assert 20 < good < 200


def test_fit_of_a_quadratic_is_exact() -> None:
    s, y, x = np.mgrid[-1:2, -1:2, -1:2].astype(float)
    cube = 5 - (x - 0.3) ** 2 - 2 * (y + 0.2) ** 2 - 0.5 * (s - 0.1) ** 2 - 0.4 * (x - 0.3) * (s - 0.1)
    assert fit(cube) == pytest.approx((True, 0.3, -0.2, 0.1, 5))
    assert not fit(5 - (x - 0.3) ** 2 - 0.05 * y**2 - s**2)[0]  # an edge: curvatures of 1 to 20
    assert not fit(5 - x**2 - y**2 - 0.1 * s**2 + 0.3 * s)[0]  # a peak 1.5 levels away
    assert not fit(5 - x**2 + y**2 - s**2)[0]  # no peak at all


def test_of_equal_values_the_first_is_the_peak() -> None:
    cube = np.zeros((3, 3, 3))
    assert not is_peak(cube)
    cube[1, 1, 1] = cube[1, 1, 2] = 1
    assert is_peak(cube)
    cube[1, 1, 0] = 1
    assert not is_peak(cube)
    cube[1, 1, 0] = 0
    cube[2, 2, 2] = 2
    assert not is_peak(cube)


# Patches


@pytest.mark.parametrize(
    ("x", "y", "frame"),
    [
        (40.25, 35.5, (0.6, 0.0, 0.0, 0.6)),
        (41.7, 33.1, (0.9, -0.5, 0.4, 0.8)),
        (3.2, 60.9, (1.1, 0.6, -0.3, 0.9)),  # beyond two rims
        (78.0, 1.0, (4.0, 0.0, 0.0, 4.0)),  # beyond all
    ],
)
def test_sample(x: float, y: float, frame: tuple[float, float, float, float]) -> None:
    level = noise(70, 80)
    patch = np.zeros((SIZE, SIZE), np.float32)
    sample(level, x, y, *frame, patch)
    xx, xy, yx, yy = frame
    for j in range(SIZE):
        for i in range(SIZE):
            u = min(max(x + (i - HALF) * xx + (j - HALF) * xy, 0), 79)
            v = min(max(y + (i - HALF) * yx + (j - HALF) * yy, 0), 69)
            left, top = min(int(u), 78), min(int(v), 68)
            four = level[top : top + 2, left : left + 2].astype(float)
            expected = np.array([1 - (v - top), v - top]) @ four @ np.array([1 - (u - left), u - left])
            assert patch[j, i] == pytest.approx(expected, abs=5e-4)


def test_gauss() -> None:
    weights = gauss(4.0)
    assert weights[HALF, HALF] == 1
    assert weights[HALF, HALF + 4] == weights[HALF - 4, HALF] == pytest.approx(math.exp(-0.5))
    assert weights[HALF + 4, HALF + 4] == pytest.approx(math.exp(-1))


# Shape


def test_second_moments() -> None:
    window = noise(SIZE, SIZE)
    gy, gx = np.gradient(window.astype(float))
    gx, gy, weight = (a[1:-1, 1:-1] for a in (2 * gx, 2 * gy, shape.WEIGHTS.astype(float)))
    expected = (weight * gx * gx).sum(), (weight * gx * gy).sum(), (weight * gy * gy).sum()
    assert shape.second_moments(window) == pytest.approx(expected, rel=1e-4)


def test_adapt_ends_where_gradients_have_no_preferred_axis() -> None:
    """At the shape that is found, and not before: second moments, of a window that is sampled anew, are round."""
    level = build(texture()).octave(1)[0]
    window = np.zeros((SIZE, SIZE), np.float32)
    found = 0
    for x, y in np.random.default_rng(2).uniform(40, 100, (40, 2)):
        good, a, b, c = shape.adapt(level, x, y, 1.2, window)
        if not good:
            continue
        found += 1
        assert a * c - b * b == pytest.approx(1)
        sample(level, x, y, 1.2 * a, 1.2 * b, 1.2 * b, 1.2 * c, window)
        xx, xy, yy = shape.second_moments(window)
        low, high = np.linalg.eigvalsh([[xx, xy], [xy, yy]])
        assert (low / high) ** 0.5 >= shape.ROUND - 1e-9
    assert found > 20


@pytest.mark.parametrize("pattern", ["blank", "stripes"])
def test_adapt_gives_up_where_there_is_no_shape(pattern: str) -> None:
    x = np.arange(100, dtype=np.float32)
    level = np.tile(np.sin(x / 5) if pattern == "stripes" else np.zeros_like(x), (100, 1)).astype(np.float32)
    assert not shape.adapt(level, 50.0, 50.0, 1.0, np.zeros((SIZE, SIZE), np.float32))[0]


def test_longest_axis() -> None:
    made = np.array([[2.0, 0.5], [0.5, 0.625]])
    assert np.linalg.det(made) == pytest.approx(1)
    assert shape.longest(made[0, 0], made[1, 1]) == pytest.approx(np.linalg.eigvalsh(made)[1])


# Descriptors


def polar(patch: Array) -> tuple[Array, Array]:
    """Lengths, and directions in radians from +x towards +y, of the inner samples."""
    p = patch[:, :SIZE].astype(float)
    gx, gy = p[1:-1, 2:] - p[1:-1, :-2], p[2:, 1:-1] - p[:-2, 1:-1]
    return np.hypot(gx, gy), np.arctan2(gy, gx) % (2 * np.pi)


def buffers() -> tuple[Array, Array]:
    return np.zeros(COLUMNS, np.float32), np.zeros(COLUMNS, np.float32)


def test_gradients() -> None:
    patch = noise(SIZE, COLUMNS)
    lengths, angles = polar(patch)
    length, direction = buffers()
    for y in range(1, SIZE - 1):
        describe.gradients(patch, y, 360.0, length, direction)
        assert length[1 : SIZE - 1] == pytest.approx(lengths[y - 1], rel=1e-4)
        turn = (direction[1 : SIZE - 1] - np.rad2deg(angles[y - 1]) + 180) % 360 - 180
        assert np.abs(turn).max() < 2e-3


@pytest.mark.parametrize(("gx", "gy", "degrees"), [(1, 0, 0), (1, 1, 45), (0, 1, 90), (-1, 0, 180), (0, -1, 270)])
def test_gradients_along_the_axes(gx: int, gy: int, degrees: float) -> None:
    y, x = np.mgrid[:SIZE, :COLUMNS]
    length, direction = buffers()
    describe.gradients((gx * x + gy * y).astype(np.float32), 5, 360.0, length, direction)
    assert length[1 : SIZE - 1] == pytest.approx(2 * math.hypot(gx, gy))
    assert (direction[1 : SIZE - 1] + 180) % 360 - 180 == pytest.approx((degrees + 180) % 360 - 180, abs=2e-3)


def twin_directions(patch: Array) -> list[float]:
    lengths, angles = polar(patch)
    bins = np.rint(angles / (2 * np.pi) * 36).astype(int) % 36
    raw = np.bincount(bins.ravel(), (lengths * describe.TURN_WEIGHTS[1:-1, 1:-1]).ravel(), minlength=36)
    smooth = np.convolve(np.tile(raw, 3), np.array([1, 4, 6, 4, 1]) / 16, mode="same")[36:72]
    found = []
    for k in range(36):
        before, here, after = smooth[k - 1], smooth[k], smooth[(k + 1) % 36]
        if here > max(before, after) and here >= describe.SHARE * smooth.max():
            top = np.polyfit([-1, 0, 1], [before, here, after], 2)
            found.append(((k - top[1] / (2 * top[0])) % 36) * 2 * np.pi / 36)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_directions(seed: int) -> None:
    patch = noise(SIZE, COLUMNS, seed=seed)
    angles = np.zeros(describe.MOST_ANGLES)
    count = describe.directions(patch, *buffers(), angles)
    assert angles[:count] == pytest.approx(twin_directions(patch), abs=2e-3)
    assert count > 0


def test_no_direction_without_gradients() -> None:
    assert describe.directions(np.ones((SIZE, COLUMNS), np.float32), *buffers(), np.zeros(8)) == 0


def twin_histogram(patch: Array) -> Array:
    """Every gradient shared among the nearest two bins of each of three kinds; clipped at 0.2 of the norm."""
    lengths, angles = polar(patch)
    bins = np.zeros((4, 4, 8))
    for j, i in np.ndindex(lengths.shape):
        y, x = (j + 1 - HALF) / 6, (i + 1 - HALF) / 6  # in places from the centre
        weight = lengths[j, i] * math.exp(-(x * x + y * y) / (2 * 2.0**2))
        turn = (-angles[j, i]) % (2 * np.pi) / (2 * np.pi) * 8
        for r in range(4):
            for c in range(4):
                near = max(0, 1 - abs(y - (r - 1.5))) * max(0, 1 - abs(x - (c - 1.5)))
                for k in range(8):
                    away = abs((turn - k + 4) % 8 - 4)
                    bins[r, c, k] += weight * near * max(0, 1 - away)
    flat = bins.ravel()
    result: Array = np.minimum(flat, 0.2 * np.linalg.norm(flat))
    return result


@pytest.mark.parametrize("seed", range(3))
def test_histogram(seed: int) -> None:
    patch = noise(SIZE, COLUMNS, seed=seed)
    bins = np.zeros(128, np.float32)
    describe.histogram(patch, *buffers(), bins)
    expected = twin_histogram(patch)
    assert bins == pytest.approx(expected, abs=2e-3 * expected.max())
