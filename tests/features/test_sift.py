"""SIFT features of a synthetic picture: order, units, limits, and the same answer every time."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from resight.errors import OptionError
from resight.features import extract
from resight.features.root_sift import root_sift
from resight.options import FeatureOptions
from resight.types import Features, Region

from .blobs import Array, features, picture, texture

MANY = FeatureOptions(detector="sift", max_features=100_000)


def columns(features: Features) -> tuple[bytes, ...]:
    return tuple(a.tobytes() for a in (features.xy, features.scale, features.angle, features.descriptors))


def test_shapes_types_and_ranges() -> None:
    found = features(MANY)
    n = len(found)
    assert n > 200
    assert (found.xy.shape, found.scale.shape, found.angle.shape) == ((n, 2), (n,), (n,))
    assert found.descriptors.shape == (n, 128)
    assert [a.dtype.name for a in (found.xy, found.scale, found.angle)] == ["float32"] * 3
    assert found.descriptors.dtype == np.uint8
    assert (found.width, found.height) == (400, 300)
    assert (found.xy >= 0).all()
    assert (found.xy <= [399, 299]).all()
    assert (found.scale > 0).all()
    assert (found.angle >= 0).all()
    assert (found.angle < 2 * np.pi).all()
    assert np.linalg.norm(found.descriptors.astype(float), axis=1) == pytest.approx(np.full(n, 512), rel=0.01)


def test_the_same_every_time_and_with_any_number_of_threads(threads: None) -> None:
    cv2.setNumThreads(1)
    alone = columns(extract(picture(texture()), options=MANY))
    assert columns(extract(picture(texture()), options=MANY)) == alone
    cv2.setNumThreads(3)
    assert columns(extract(picture(texture()), options=MANY)) == alone


@pytest.mark.parametrize("cap", [1, 7, 100])
def test_the_cap_keeps_the_strongest(cap: int) -> None:
    """The capped features are the head of the uncapped ones, down to ties (one place with several angles)."""
    every = features(MANY)
    some = extract(picture(texture()), options=FeatureOptions(detector="sift", max_features=cap))
    assert len(some) == cap
    assert np.array_equal(some.xy, every.xy[:cap])
    assert np.array_equal(some.descriptors, every.descriptors[:cap])


def test_strongest_first() -> None:
    """The positions, looked up among OpenCV's keypoints, have the highest responses, in order."""
    found = features(FeatureOptions(detector="sift", max_features=300))
    keypoints = cv2.SIFT.create(contrastThreshold=MANY.contrast, enable_precise_upscale=True).detect(texture(), None)
    values = np.array([(*k.pt, k.size / 2, k.response) for k in keypoints])
    gaps = np.abs(np.column_stack([found.xy, found.scale])[:, None] - values[None, :, :3]).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-3
    assert np.array_equal(values[gaps.argmin(axis=1), 3], np.sort(values[:, 3])[::-1][:300])


def test_a_lower_contrast_finds_more() -> None:
    found = [
        len(extract(picture(texture()), options=FeatureOptions(detector="sift", contrast=c, max_features=100_000)))
        for c in (0.01, 0.1)
    ]
    assert found[0] > found[1]


def test_a_blob_is_found_where_it_is() -> None:
    """One Gaussian blob at (70, 40) of σ = 5: the difference of Gaussians answers there, at about that scale."""
    y, x = np.mgrid[:90, :120]
    blob = 30 + 200 * np.exp(-((x - 70) ** 2 + (y - 40) ** 2) / (2 * 5.0**2))
    found = extract(picture(np.rint(blob).astype(np.uint8)), options=FeatureOptions(detector="sift", max_features=1))
    assert found.xy[0] == pytest.approx([70, 40], abs=0.05)
    assert found.scale[0] == pytest.approx(5, rel=0.25)
    placed_twice_as_wide = extract(
        picture(np.rint(blob).astype(np.uint8), width=240, height=180),
        options=FeatureOptions(detector="sift", max_features=1),
    )
    # Pixel centres: 70 in the reduced picture is (70.5 · 2) − 0.5 in the full one.
    assert placed_twice_as_wide.xy[0] == pytest.approx(found.xy[0] * 2 + 0.5, abs=1e-3)
    assert placed_twice_as_wide.scale[0] == pytest.approx(found.scale[0] * 2)


def test_angle_follows_the_picture() -> None:
    """A quarter turn of the picture turns every angle by a quarter and moves every position with it."""
    upright = features(FeatureOptions(detector="sift", max_features=300))
    turned = extract(
        picture(np.ascontiguousarray(np.rot90(texture(), -1))),
        options=FeatureOptions(detector="sift", max_features=300),
    )
    expected = np.stack([299 - upright.xy[:, 1], upright.xy[:, 0]], axis=1)  # clockwise: x' = h − 1 − y, y' = x
    gap, nearest, turn = _nearest(expected, (upright.angle + np.pi / 2), turned)
    same = (gap < 0.5) & (np.abs(upright.scale / turned.scale[nearest] - 1) < 0.1)
    assert same.mean() > 0.85
    assert np.mean(turn[same] < np.deg2rad(5)) > 0.9


def _nearest(positions: Array, angles: Array, other: Features) -> tuple[Array, Array, Array]:
    """Of each position: distance to, and index of, the nearest other feature (by position, then angle); the turn."""
    gaps = np.linalg.norm(positions[:, None] - other.xy[None], axis=2)
    turns = np.abs((angles[:, None] - other.angle[None] + np.pi) % (2 * np.pi) - np.pi)
    nearest = np.argmin(gaps + 0.01 * turns, axis=1)
    rows = np.arange(len(positions))
    return gaps[rows, nearest], nearest, turns[rows, nearest]


@pytest.mark.parametrize("reduction", [2, 3])
def test_positions_of_a_reduced_picture_are_full_size(reduction: int) -> None:
    small = cv2.resize(texture(600, 900, seed=4), (900 // reduction, 600 // reduction), interpolation=cv2.INTER_AREA)
    full = features(MANY, 600, 900, 4)
    reduced = extract(picture(small, width=900, height=600), options=FeatureOptions(detector="sift", max_features=300))
    assert (reduced.width, reduced.height) == (900, 600)
    distance = _descriptor_distances(reduced, full)
    two = np.sort(distance, axis=1)[:, :2]
    matched = two[:, 0] < 0.7 * two[:, 1]
    nearest = distance.argmin(axis=1)
    assert matched.sum() > 100
    offset = (reduced.xy - full.xy[nearest])[matched]
    assert np.mean(np.linalg.norm(offset, axis=1) < 1.5) > 0.95
    assert np.abs(np.median(offset, axis=0)).max() < 0.1  # half a pixel of convention, or a quarter of bias, shows
    assert np.median((reduced.scale / full.scale[nearest])[matched]) == pytest.approx(1, abs=0.1)


def _descriptor_distances(a: Features, b: Features) -> Array:
    x, y = a.descriptors.astype(float), b.descriptors.astype(float)
    result: Array = np.sqrt(np.maximum((x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T, 0))
    return result


def test_a_region_keeps_what_lies_inside() -> None:
    region = Region(100, 50, 120, 90)
    every = features(MANY)
    inside = extract(picture(texture()), options=MANY, region=region)
    assert 20 < len(inside) < len(every)
    assert np.array_equal(inside.xy, every.xy[region.contains(every.xy)])
    assert (inside.xy >= [100, 50]).all()
    assert (inside.xy <= [220, 140]).all()
    capped = extract(picture(texture()), options=FeatureOptions(detector="sift", max_features=10), region=region)
    assert np.array_equal(capped.xy, inside.xy[:10])
    assert (inside.width, inside.height) == (400, 300)


def test_a_region_is_in_full_size_pixels() -> None:
    region = Region(400, 300, 400, 300)  # the lower right quarter of the full-size picture
    inside = extract(picture(texture(), width=800, height=600), options=MANY, region=region)
    assert len(inside) > 20
    assert (inside.xy >= [400, 300]).all()


def test_a_region_beside_the_picture_holds_nothing() -> None:
    found = extract(picture(texture()), options=MANY, region=Region(1000, 1000, 10, 10))
    assert len(found) == 0
    assert found.descriptors.shape == (0, 128)


@pytest.mark.parametrize("shape", [(300, 400), (1, 1), (2, 2), (2, 500), (500, 1), (16, 16)])
def test_blank_pictures_have_no_features(shape: tuple[int, int]) -> None:
    found = extract(picture(np.full(shape, 128, np.uint8)), options=FeatureOptions(detector="sift"))
    assert len(found) == 0
    assert (found.xy.shape, found.descriptors.shape) == ((0, 2), (0, 128))
    assert (found.scale.shape, found.angle.shape) == ((0,), (0,))
    assert (found.width, found.height) == shape[::-1]


@pytest.mark.parametrize("shape", [(1, 1), (2, 500), (500, 2), (5, 5), (12, 300)])
def test_tiny_pictures_work(shape: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    found = extract(picture(noise), options=FeatureOptions(detector="sift"))
    assert (found.xy >= 0).all()
    assert (found.xy <= [shape[1] - 1, shape[0] - 1]).all()
    assert found.descriptors.shape == (len(found), 128)


def test_root_sift_by_hand() -> None:
    # L1 norm 16: shares 1/16, 9/16, 4/16, 2/16; their roots times 512: 128, 384 → 255, 256 → 255, 181.02
    assert root_sift(np.array([[1, 9, 4, 2]], np.float32)).tolist() == [[128, 255, 255, 181]]
    # 128 equal values: sqrt(1/128) · 512 = 45.25
    assert root_sift(np.ones((1, 128), np.float32)).tolist() == [[45] * 128]
    # scale does not matter, and nothing divides by 0
    assert root_sift(np.array([[3, 27, 12, 6], [0, 0, 0, 0]], np.float32)).tolist() == [[128, 255, 255, 181], [0] * 4]


def test_unknown_detector_lists_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"unknown detector 'surf'; known: .*sift"):
        extract(picture(texture()), options=FeatureOptions(detector="surf"))
