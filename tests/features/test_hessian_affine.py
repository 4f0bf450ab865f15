"""Hessian-Affine features of synthetic pictures: known ellipses, order, units, limits, the same answer every time."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from resight.features import extract
from resight.features.hessian_affine.detect import detect, extrema
from resight.features.hessian_affine.pyramid import FIRST, build
from resight.features.hessian_affine.regions import regions
from resight.features.hessian_affine.shape import BLUR, ROUND
from resight.options import FeatureOptions
from resight.types import Features, Picture, Region

from .blobs import features, picture, texture
from .ellipses import overlap

Array = npt.NDArray[Any]


def chosen(max_features: int = 100_000, **more: Any) -> FeatureOptions:
    return FeatureOptions(detector="hessian-affine", max_features=max_features, **more)


def columns(found: Features) -> tuple[bytes, ...]:
    assert found.shape is not None
    return tuple(a.tobytes() for a in (found.xy, found.scale, found.angle, found.shape, found.descriptors))


def frames(found: Features) -> Array:
    """scale · shape · R(angle) of each feature: the frame that its content is described in."""
    assert found.shape is not None
    cos, sin = np.cos(found.angle), np.sin(found.angle)
    turn = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
    result: Array = found.scale[:, None, None] * found.shape @ turn
    return result


def blob(covariance: Array, x: float, y: float, height: int = 160, width: int = 200) -> Picture:
    """One bright Gaussian blob."""
    away = np.stack(np.meshgrid(np.arange(width) - x, np.arange(height) - y), axis=-1)
    value = np.exp(-np.einsum("hwi,ij,hwj->hw", away, np.linalg.inv(covariance), away) / 2)
    return picture(np.rint(30 + 200 * value).astype(np.uint8))


def test_shapes_types_and_ranges() -> None:
    found = features(chosen())
    n = len(found)
    assert n > 200
    assert found.shape is not None
    assert (found.xy.shape, found.scale.shape, found.angle.shape, found.shape.shape) == ((n, 2), (n,), (n,), (n, 2, 2))
    assert found.descriptors.shape == (n, 128)
    assert [a.dtype.name for a in (found.xy, found.scale, found.angle, found.shape)] == ["float32"] * 4
    assert found.descriptors.dtype == np.uint8
    assert (found.width, found.height) == (400, 300)
    assert (found.xy >= 0).all()
    assert (found.xy <= [399, 299]).all()
    assert (found.scale > 1).all()
    assert (found.angle >= 0).all()
    assert (found.angle < 2 * np.pi).all()
    assert np.linalg.norm(found.descriptors.astype(float), axis=1) == pytest.approx(np.full(n, 512), rel=0.01)
    assert np.array_equal(found.shape, found.shape.transpose(0, 2, 1))
    assert np.linalg.det(found.shape) == pytest.approx(np.ones(n), abs=1e-4)
    axes = np.linalg.eigvalsh(found.shape)
    assert (axes[:, 0] > 0).all()
    assert (axes[:, 1] / axes[:, 0] < 6.001).all()


def test_the_same_every_time_and_with_any_number_of_threads(threads: None) -> None:
    cv2.setNumThreads(1)
    alone = columns(extract(picture(texture()), options=chosen()))
    assert columns(extract(picture(texture()), options=chosen())) == alone
    cv2.setNumThreads(3)
    assert columns(extract(picture(texture()), options=chosen())) == alone


@pytest.mark.parametrize("cap", [1, 7, 100])
def test_the_cap_keeps_the_strongest(cap: int) -> None:
    """The capped features are the head of the uncapped ones, down to several angles of one place."""
    every = features(chosen())
    some = features(chosen(max_features=cap))
    assert len(some) == cap
    assert np.array_equal(some.xy, every.xy[:cap])
    assert np.array_equal(some.descriptors, every.descriptors[:cap])


def test_strongest_first() -> None:
    found = features(chosen(max_features=500))
    points = detect(build(texture()), chosen().contrast)
    gaps = np.abs(np.column_stack([found.xy, found.scale])[:, None] - points[None, :, :3]).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-3
    response = points[gaps.argmin(axis=1), 3]
    assert (np.diff(response) <= 0).all()
    assert response[0] > 2 * response[-1]


def test_a_lower_contrast_finds_more() -> None:
    assert len(features(chosen(contrast=0.1))) < len(features(chosen(contrast=0.02)))


@pytest.mark.parametrize(("height", "found"), [(0.8, False), (1.25, True)])
def test_contrast_asks_for_what_it_asks_of_sift(height: float, found: bool) -> None:
    """A round blob that is this many times as high as contrast 0.1 demands: both detectors agree about it."""
    y, x = np.mgrid[:120, :160]
    # √det = a / 4 = contrast / (6 (2^(1/3) − 1)); see detect
    high = height * 4 * 0.1 / (6 * (2 ** (1 / 3) - 1))
    value = 0.2 + high * np.exp(-((x - 80) ** 2 + (y - 60) ** 2) / (2 * 6.35**2))
    one = picture(np.rint(255 * value).astype(np.uint8))
    for detector in ("hessian-affine", "sift"):
        places = extract(one, options=FeatureOptions(detector=detector, contrast=0.1)).xy
        assert (len(places) > 0 and np.abs(places - [80, 60]).max() < 1) == found, detector


@pytest.mark.parametrize(("long", "short", "degrees"), [(6, 6, 0), (8, 5, 0), (8, 5, 30), (7, 4, 100), (10, 5, 135)])
def test_a_blob_is_found_with_its_ellipse(long: float, short: float, degrees: float) -> None:
    """Place to a twentieth of a pixel; scale: about the mean of the axes; shape: the axes as they are seen through the
    blur of the level that it is taken from, whose square adds to theirs."""
    turn = np.deg2rad(degrees)
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    found = extract(blob(axes @ np.diag([long**2, short**2]) @ axes.T, 90.3, 70.8), options=chosen(max_features=1))
    assert found.shape is not None
    assert found.xy[0] == pytest.approx([90.3, 70.8], abs=0.05)
    assert found.scale[0] == pytest.approx((long * short) ** 0.5, rel=0.15)
    values, vectors = np.linalg.eigh(found.shape[0])
    level = round(3 * np.log2(BLUR * found.scale[0] / FIRST))
    seen = np.hypot([short, long], FIRST * 2 ** (level / 3))
    assert values[1] / values[0] == pytest.approx(seen[1] / seen[0], rel=1 - ROUND + 0.01)
    if long != short:
        assert abs(vectors[:, 1] @ axes[:, 0]) > np.cos(np.deg2rad(3))


def test_a_saddle_is_found_too() -> None:
    """Between two bright and two dark blobs."""
    y, x = np.mgrid[:120, :160]
    wave = np.sin((x - 80) / 8) * np.sin((y - 60) / 8) * np.exp(-((x - 80) ** 2 + (y - 60) ** 2) / (2 * 12.0**2))
    found = extract(picture(np.rint(128 + 120 * wave).astype(np.uint8)), options=chosen())
    assert np.linalg.norm(found.xy - [80, 60], axis=1).min() < 0.1


def test_the_picture_s_size_scales_places_and_regions() -> None:
    found = features(chosen(max_features=50))
    twice = extract(picture(texture(), width=800, height=600), options=chosen(max_features=50))
    assert found.shape is not None
    assert twice.shape is not None
    # Pixel centres: x in the reduced picture is (x + 0.5) · 2 − 0.5 in the full one.
    assert twice.xy == pytest.approx(found.xy * 2 + 0.5, abs=1e-3)
    assert twice.scale == pytest.approx(found.scale * 2)
    assert np.array_equal(twice.shape, found.shape)


def test_frames_follow_a_quarter_turn() -> None:
    """x' = h − 1 − y, y' = x: a quarter turn moves places, turns frames, and leaves descriptors as they were."""
    upright = features(chosen(max_features=300))
    turned = extract(picture(np.ascontiguousarray(np.rot90(texture(), -1))), options=chosen(max_features=300))
    expected = np.array([[0, -1], [1, 0]]) @ frames(upright)
    places = np.stack([299 - upright.xy[:, 1], upright.xy[:, 0]], axis=1)
    gaps = np.linalg.norm(places[:, None] - turned.xy[None], axis=2) / upright.scale[:, None]
    frame_gaps = np.linalg.norm(expected[:, None] - frames(turned)[None], axis=(2, 3)) / upright.scale[:, None]
    same = np.argmin(gaps + frame_gaps, axis=1)
    rows = np.arange(len(upright))
    kept = (gaps[rows, same] < 0.1) & (frame_gaps[rows, same] < 0.1)
    assert kept.mean() > 0.85
    a, b = upright.descriptors[kept].astype(float), turned.descriptors[same[kept]].astype(float)
    assert np.median((a * b).sum(axis=1)) / 512**2 > 0.98


def test_round_regions_look_as_opencv_describes_them() -> None:
    """Same place, scale and angle: nearly the same descriptor, so that vocabularies serve both."""
    found = features(chosen())
    assert found.shape is not None
    is_round = (np.linalg.eigvalsh(found.shape)[:, 1] < 1.06) & (found.scale < 12)
    is_round &= ((found.xy > 60) & (found.xy < [340, 240])).all(axis=1)
    assert is_round.sum() >= 10
    # OpenCV takes a keypoint's level from its octave: −1 is twice the size, and begins with a blur of 1.6 there.
    keypoints = []
    for (x, y), scale, angle in zip(found.xy[is_round], found.scale[is_round], found.angle[is_round], strict=True):
        octave, layer = divmod(round(3 * np.log2(scale / 0.8)), 3)
        packed = ((octave - 1) & 255) | (layer << 8)
        keypoints.append(cv2.KeyPoint(float(x), float(y), float(2 * scale), float(np.rad2deg(angle)), 1.0, packed))
    _, theirs = cv2.SIFT.create(enable_precise_upscale=True).compute(texture(), keypoints)
    root = np.sqrt(theirs / theirs.sum(axis=1, keepdims=True))
    cosine = (root * found.descriptors[is_round]).sum(axis=1) / 512
    assert np.median(cosine) > 0.97
    assert cosine.min() > 0.9


def test_upright_regions_keep_the_vertical() -> None:
    free = features(chosen())
    found = features(chosen(upright=True))
    assert len(found) == len(np.unique(free.xy, axis=0))  # one for each place
    down = frames(found)[:, :, 1]
    assert np.abs(down[:, 0] / found.scale).max() < 1e-5
    assert (down[:, 1] > 0).all()


def test_regions_follow_an_affine_map() -> None:
    """Ellipses of a warped picture overlap those that the map predicts, at seven of ten places that are found again."""
    smooth = cv2.GaussianBlur(texture(500, 600, seed=3), (0, 0), 1.5)  # so that shrinking loses nothing
    before = extract(picture(smooth), options=chosen(max_features=400))
    assert before.shape is not None
    for along, across, degrees in ((1.0, 0.6, 0), (1.1, 0.6, 35), (1.2, 0.55, 120)):
        turn = np.deg2rad(degrees)
        axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        matrix = axes @ np.diag([along, across]) @ axes.T
        shift = np.array([350, 300]) - matrix @ [300, 250]
        warped = cv2.warpAffine(smooth, np.column_stack([matrix, shift]), (700, 600), flags=cv2.INTER_CUBIC)
        after = extract(picture(warped), options=chosen(max_features=800))
        assert after.shape is not None
        shares = []
        for xy, ellipse in zip(before.xy, before.scale[:, None, None] * before.shape, strict=True):
            place, expected = matrix @ xy + shift, matrix @ ellipse
            radius = np.linalg.det(expected) ** 0.5
            # Found again: the centre within half a radius, and the size within a factor of 1.5.
            near = np.linalg.norm(after.xy - place, axis=1) < radius / 2
            near &= np.abs(np.log(after.scale / radius)) < np.log(1.5)
            if near.any():
                others = zip(after.xy[near], after.scale[near, None, None] * after.shape[near], strict=True)
                shares.append(max(overlap(expected, other, *(at - place)) for at, other in others))
        assert len(shares) > 150
        assert np.mean(np.array(shares) >= 0.6) >= 0.7


def test_a_region_keeps_what_lies_inside() -> None:
    region = Region(100, 50, 120, 90)
    every = features(chosen())
    inside = extract(picture(texture()), options=chosen(), region=region)
    assert 20 < len(inside) < len(every)
    assert np.array_equal(inside.xy, every.xy[region.contains(every.xy)])
    capped = extract(picture(texture()), options=chosen(max_features=10), region=region)
    assert np.array_equal(capped.xy, inside.xy[:10])
    assert (inside.width, inside.height) == (400, 300)


def test_a_region_is_in_full_size_pixels() -> None:
    region = Region(400, 300, 400, 300)  # the lower right quarter of the full-size picture
    inside = extract(picture(texture(), width=800, height=600), options=chosen(), region=region)
    assert len(inside) > 20
    assert (inside.xy >= [400, 300]).all()


def test_a_blank_picture_compiles_all_that_others_need() -> None:
    """As warm.py relies on: kernels have one signature each, whatever is found."""
    for pixels, region in (
        (np.zeros((32, 32), np.uint8), None),
        (texture(), None),
        (texture(), Region(50, 50, 99, 99)),
    ):
        extract(picture(pixels), options=chosen(max_features=20), region=region)
    outer: list[Any] = [extrema, regions]
    assert [len(kernel.signatures) for kernel in outer] == [1, 1]


def test_a_region_beside_the_picture_holds_nothing() -> None:
    assert len(extract(picture(texture()), options=chosen(), region=Region(1000, 1000, 10, 10))) == 0


@pytest.mark.parametrize("contrast", [0.01, 0.0])
@pytest.mark.parametrize("shape", [(300, 400), (1, 1), (2, 2), (2, 500), (500, 1), (16, 16)])
def test_blank_pictures_have_no_features(shape: tuple[int, int], contrast: float) -> None:
    found = extract(picture(np.full(shape, 128, np.uint8)), options=chosen(contrast=contrast))
    assert found.shape is not None
    assert (found.xy.shape, found.shape.shape, found.descriptors.shape) == ((0, 2), (0, 2, 2), (0, 128))
    assert (found.scale.shape, found.angle.shape) == ((0,), (0,))
    assert found.descriptors.dtype == np.uint8
    assert (found.width, found.height) == shape[::-1]


@pytest.mark.parametrize("shape", [(1, 1), (2, 500), (500, 2), (11, 300), (12, 300), (13, 13), (40, 14)])
def test_tiny_pictures_work(shape: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    found = extract(picture(noise), options=chosen(contrast=0.0))
    assert (found.xy >= 0).all()
    assert (found.xy <= [shape[1] - 1, shape[0] - 1]).all()
    assert found.descriptors.shape == (len(found), 128)
    if min(shape) >= 14:
        assert len(found) > 0
