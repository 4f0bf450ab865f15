"""Six bytes, or eight, lose no more than the docstring of resight.postings.geometry says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.postings import ANGLE as ANGLE_BYTE
from resight.postings import GEOMETRY, SHAPED, as_bytes, decode, encode
from resight.postings import SCALE as SCALE_BYTE
from resight.types import Features

Array = npt.NDArray[np.float32]

POSITION = 0.5 / 65535 * 1.02  # of the longest side: half a step, and a little for float32
SCALE = 0.0175  # half a twentieth of an octave: 2^(1/40) = 1.01748
ANGLE = np.deg2rad(0.71)  # half of 360° / 256 = 0.703°
OCTAVES = 12.75


def features(xy: object, scale: object, angle: object, *, width: int, height: int) -> Features:
    positions, scales, angles = (np.asarray(v, np.float32) for v in (xy, scale, angle))
    return Features(positions, scales, angles, np.zeros((len(scales), 128), np.uint8), width, height)


def round_trip(given_features: Features) -> tuple[Array, Array, Array]:
    *places, shape = decode(encode(given_features), max(given_features.width, given_features.height))
    assert shape is None
    xy, scale, angle = places
    return xy, scale, angle


def apart(a: Array, b: Array) -> Array:
    """Angle between two directions, the short way round."""
    turn = np.abs(a.astype(float) - b.astype(float)) % (2 * np.pi)
    result: Array = np.minimum(turn, 2 * np.pi - turn)
    return result


@settings(max_examples=60, deadline=None)
@given(width=st.integers(1, 60_000), height=st.integers(1, 60_000), seed=st.integers(0, 10**6))
def test_errors_are_bounded(width: int, height: int, seed: int) -> None:
    rng, longest = np.random.default_rng(seed), max(width, height)
    made = features(
        rng.random((50, 2)) * [width, height],
        longest * 2 ** -rng.uniform(0, OCTAVES, 50),
        rng.uniform(0, 2 * np.pi, 50),
        width=width,
        height=height,
    )
    xy, scale, angle = round_trip(made)
    assert np.abs(xy - made.xy).max() <= POSITION * longest
    assert np.abs(scale / made.scale - 1).max() <= SCALE
    assert apart(angle, made.angle).max() <= ANGLE
    assert [a.dtype.name for a in (xy, scale, angle)] == ["float32"] * 3


def test_the_bounds_are_not_loose() -> None:
    """The worst case comes near each bound, so a coarser code would be noticed."""
    rng = np.random.default_rng(0)
    made = features(rng.random((5000, 2)) * 1000, rng.uniform(1, 100, 5000), rng.uniform(0, 6.28, 5000), width=1000, height=700)  # fmt: skip  # noqa: E501
    xy, scale, angle = round_trip(made)
    assert np.abs(xy - made.xy).max() > 0.9 * POSITION * 1000
    assert np.abs(scale / made.scale - 1).max() > 0.9 * SCALE
    assert apart(angle, made.angle).max() > 0.9 * ANGLE


def test_codes_by_hand() -> None:
    made = features([[0, 0], [640, 480], [320, 240]], [640, 80, 5], [0, np.pi, 3 * np.pi / 2], width=640, height=480)
    codes = encode(made)
    assert codes["x"].tolist() == [0, 65535, 32768]  # 32767.5 goes to the even neighbour
    assert codes["y"].tolist() == [0, 49151, 24576]  # 0.75 · 65535 = 49151.25; half of it 24575.6
    assert codes["scale"].tolist() == [0, 60, 140]  # 0, 3 and 7 octaves below 640
    assert codes["angle"].tolist() == [0, 128, 192]


def test_angles_near_a_full_turn_wrap_to_0() -> None:
    full = np.float32(2 * np.pi)
    angles = [np.nextafter(full, np.float32(0)), 2 * np.pi - np.deg2rad(0.5), 2 * np.pi - np.deg2rad(1.0), 0.0]
    made = features(np.zeros((4, 2)), np.ones(4), angles, width=9, height=9)
    assert encode(made)["angle"].tolist() == [0, 0, 255, 0]
    decoded = round_trip(made)[2]
    assert apart(decoded, made.angle).max() <= ANGLE
    assert (decoded >= 0).all()
    assert (decoded < 2 * np.pi).all()


def test_scales_out_of_range_are_clipped() -> None:
    made = features(np.zeros((4, 2)), [5000, 1000, 1e-9, 0], np.zeros(4), width=1000, height=10)
    assert encode(made)["scale"].tolist() == [0, 0, 255, 255]
    scale = round_trip(made)[1]
    smallest = 1000 * 2**-OCTAVES
    assert scale == pytest.approx([1000, 1000, smallest, smallest], rel=1e-5)


def test_positions_out_of_the_picture_are_clipped() -> None:
    made = features([[-0.5, -3], [100.5, 99], [100, 500]], np.ones(3), np.zeros(3), width=100, height=100)
    assert round_trip(made)[0] == pytest.approx(np.array([[0, 0], [100, 99], [100, 100]]), abs=0.01)


def test_a_record_takes_6_bytes() -> None:
    assert GEOMETRY.itemsize == 6
    assert encode(features(np.zeros((7, 2)), np.ones(7), np.zeros(7), width=5, height=5)).nbytes == 42


def test_no_features() -> None:
    xy, scale, angle = round_trip(features(np.zeros((0, 2)), [], [], width=5, height=5))
    assert (xy.shape, scale.shape, angle.shape) == ((0, 2), (0,), (0,))


def test_decode_with_one_side_for_each_code() -> None:
    made = features([[10, 20], [30, 40]], [4, 8], [1, 2], width=100, height=50)
    codes = encode(made)
    one, two = decode(codes[:1], 100), decode(codes[1:], 200)
    both = decode(codes, np.array([100, 200]))
    for each, first, second in zip(both[:3], one[:3], two[:3], strict=True):
        assert np.array_equal(each, np.concatenate([first, second]))


# --- affine shape

LONGEST = 9.0  # times as long as wide: what every direction can have
AXIS = 0.0065  # relative error of an axis; half a step in both directions is 2^(1 / (80 · √2)) = 1.0061
ROUND, LONG = 0.008, 0.022  # how far a point of the border moves, relative to its distance: up to 1.5 : 1, up to 9 : 1


def ellipses(ratio: npt.ArrayLike, direction: npt.ArrayLike) -> Array:
    """Shapes that are ``ratio`` times as long as wide, along this direction."""
    long = np.sqrt(np.asarray(ratio, float))
    c, s = np.cos(direction), np.sin(direction)
    turn = np.array([[c, -s], [s, c]]).transpose(2, 0, 1)
    stretch = np.zeros((len(long), 2, 2))
    stretch[:, 0, 0], stretch[:, 1, 1] = long, 1 / long
    result: Array = (turn @ stretch @ turn.transpose(0, 2, 1)).astype(np.float32)
    return result


def shaped(shape: Array) -> Features:
    n = len(shape)
    places = features(np.full((n, 2), 7), np.full(n, 3), np.full(n, 1), width=90, height=60)
    return replace(places, shape=shape)


def shape_round_trip(shape: Array) -> Array:
    decoded = decode(encode(shaped(shape)), 90)[3]
    assert decoded is not None
    return decoded


def axes(shape: npt.NDArray[Any]) -> Array:
    result: Array = np.linalg.svd(shape.astype(float), compute_uv=False)
    return result


def moved(before: Array, after: Array) -> Array:
    """The largest share of its distance from the centre by which a point of each region moves."""
    change = after.astype(float) @ np.linalg.inv(before.astype(float)) - np.eye(2)
    return axes(change)[:, 0]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_errors_of_shape_are_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for longest, bound in ((1.5, ROUND), (LONGEST, LONG)):
        shape = ellipses(longest ** rng.random(500), rng.uniform(0, np.pi, 500))
        found = shape_round_trip(shape)
        assert np.abs(axes(found) / axes(shape) - 1).max() <= AXIS
        assert moved(shape, found).max() <= bound
        assert np.linalg.det(found) == pytest.approx(np.ones(500), abs=1e-5)
        assert np.array_equal(found, found.transpose(0, 2, 1))
        assert found.dtype.name == "float32"


def test_the_bounds_of_shape_are_not_loose() -> None:
    rng = np.random.default_rng(0)
    for ratio, bound in ((1.5, ROUND), (LONGEST, LONG)):
        shape = ellipses(np.full(20_000, ratio), rng.uniform(0, np.pi, 20_000))
        found = shape_round_trip(shape)
        assert np.abs(axes(found) / axes(shape) - 1).max() > 0.9 * AXIS
        assert moved(shape, found).max() > 0.9 * bound


def test_codes_of_shape_by_hand() -> None:
    """Longest radius √2 times the mean: half an octave. A direction and its opposite are the same."""
    quarter = np.pi / 4
    shape = ellipses([1, 2, 2, 2, 2, 2], [1, 0, 2 * quarter, quarter, -quarter, 3 * quarter])
    codes = encode(shaped(shape))
    assert codes["along"].tolist() == [0, 40, -40, 0, 0, 0]
    assert codes["across"].tolist() == [0, 0, 0, 40, -40, -40]


def test_a_circle_stays_one_and_what_is_nearly_one_nearly() -> None:
    """Whatever direction rounding gives it."""
    nearly = ellipses(np.full(9, 1 + 1e-6), np.arange(9))
    circles = np.concatenate([np.eye(2, dtype=np.float32)[None], nearly])
    assert np.array_equal(shape_round_trip(circles), np.tile(np.eye(2, dtype=np.float32), (10, 1, 1)))


def test_what_is_too_long_keeps_its_direction() -> None:
    direction = np.arange(12) * np.pi / 12
    found = shape_round_trip(ellipses(np.full(12, 1000), direction))
    length = axes(found)
    assert (length[:, 0] / length[:, 1] >= LONGEST).all()
    long_axis = np.stack([np.cos(direction), np.sin(direction)], axis=1)[:, :, None]
    assert (found @ long_axis)[:, :, 0] == pytest.approx((long_axis * length[:, :1, None])[:, :, 0], rel=0.02, abs=0.02)


def test_the_rest_is_where_it_was() -> None:
    """Codes with shape say of place, scale and angle what those without do, in the same bytes."""
    rng = np.random.default_rng(1)
    made = features(rng.random((50, 2)) * 90, rng.uniform(1, 9, 50), rng.uniform(0, 6, 50), width=90, height=60)
    plain, more = encode(made), encode(replace(made, shape=ellipses(np.full(50, 3), rng.random(50))))
    assert (plain.dtype, more.dtype, more.dtype.itemsize) == (GEOMETRY, SHAPED, 8)
    assert np.array_equal(as_bytes(plain), as_bytes(more)[:, :6])
    for codes in (plain, more):
        assert np.array_equal(as_bytes(codes)[:, SCALE_BYTE], codes["scale"])
        assert np.array_equal(as_bytes(codes)[:, ANGLE_BYTE], codes["angle"])
    for alone, beside in zip(decode(plain, 90)[:3], decode(more, 90)[:3], strict=True):
        assert np.array_equal(alone, beside)
    nothing = np.zeros((0, 2, 2), np.float32)
    assert shape_round_trip(nothing).shape == nothing.shape
