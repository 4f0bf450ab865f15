"""Six bytes lose no more than the docstring of resight.postings.geometry says."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.postings import GEOMETRY, decode, encode
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
    return decode(encode(given_features), max(given_features.width, given_features.height))


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
    for each, first, second in zip(both, one, two, strict=True):
        assert np.array_equal(each, np.concatenate([first, second]))
