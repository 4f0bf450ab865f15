"""Pictures laid upon one another, and pictures that look alike as a whole."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from resight.duplicates.lookalikes import ORIENTATIONS, Orientation, frame_map, lookalikes, oriented, signature
from resight.duplicates.pixels import SIDES, align, copy_correlation, frame_areas
from resight.types import Bytes, Float64, Picture

from ..support.pictures import texture

SAME = np.array([(1.0, 0, 0), (0, 1, 0)])


def picture(pixels: Bytes) -> Picture:
    return Picture(np.ascontiguousarray(pixels), pixels.shape[1], pixels.shape[0])


def turned(pixels: Bytes, orientation: Orientation) -> Bytes:
    """By numpy: what the arithmetic of signatures and maps is judged by."""
    transposed, mirrored, flipped = orientation
    pixels = pixels.T if transposed else pixels
    pixels = pixels[:, ::-1] if mirrored else pixels
    return np.ascontiguousarray(pixels[::-1] if flipped else pixels)


def rotated(pixels: Bytes, degrees: float) -> Bytes:
    height, width = pixels.shape
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1)
    return np.asarray(cv2.warpAffine(pixels, matrix, (width, height), borderMode=cv2.BORDER_REFLECT), np.uint8)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_turned_picture_is_a_copy(orientation: Orientation) -> None:
    whole = texture(0, size=320)[:240]
    other = turned(whole, orientation)
    expected = signature(other)
    assert np.allclose(oriented(signature(whole)[None], orientation)[0], expected, atol=1e-3)  # grey values are rounded
    start = frame_map(orientation, (320, 240), (other.shape[1], other.shape[0]))
    x, y = 17, 5  # a pixel, and where numpy has put it
    marked = np.zeros_like(whole)
    marked[y, x] = 1
    (row,), (column,) = np.nonzero(turned(marked, orientation))
    assert np.allclose(start @ (x, y, 1), (column, row))
    assert (copy_correlation(picture(whole), picture(other), start) or 0) > 0.99


def test_lookalikes_come_once_with_their_orientation() -> None:
    pictures = [texture(n, size=200) for n in range(5)]
    pictures += [pictures[1][:, ::-1], np.full((200, 200), 90, np.uint8), np.full((200, 200), 90, np.uint8)]
    found = list(lookalikes(np.array([signature(np.ascontiguousarray(p)) for p in pictures]), most=20))
    assert [(one, other) for one, other, _ in found] == [(1, 5)]  # plain pictures are like none
    assert found[0][2] == (False, True, False)


def test_light_and_size_do_not_matter_but_a_second_photograph_does() -> None:
    """Another exposure is a copy; what a camera sees that is tilted by one degree, or has moved, is not."""
    whole = texture(3, size=400)
    darker = (whole.astype(np.float64) ** 1.3 / 255**0.3 * 0.8).astype(np.uint8)
    assert (copy_correlation(picture(whole), picture(darker), SAME) or 0) > 0.95
    half = whole.reshape(200, 2, 200, 2).mean((1, 3)).astype(np.uint8)
    assert (copy_correlation(picture(half), picture(whole), SAME * [2, 2, 0] + [0, 0, 0.5]) or 0) > 0.95
    assert copy_correlation(picture(whole), picture(rotated(whole, 1)), SAME) is None
    moved = rotated(whole, 0)
    moved[:, 200:] = texture(4, size=400)[:, 200:]
    assert copy_correlation(picture(whole), picture(moved), SAME) is None


def test_a_part_is_a_copy_if_it_lies_within() -> None:
    whole = texture(5, size=400)
    part = whole[60:260, 100:300]
    start = np.array([(1.0, 0, -98), (0, 1, -61)])  # nearly
    assert (copy_correlation(picture(whole), picture(part), start) or 0) > 0.99
    detail = whole[100:240, 120:260]  # an eighth
    assert copy_correlation(picture(whole), picture(detail), np.array([(1.0, 0, -120), (0, 1, -100)])) is None
    beside = np.hstack([part, texture(6, size=200)])  # half of it is something else
    assert (
        copy_correlation(picture(whole[60:260, 100:350]), picture(beside), np.array([(1.0, 0, 0), (0, 1, 0)])) is None
    )


def test_what_cannot_be_compared_is_no_copy() -> None:
    plain = picture(np.full((100, 100), 90, np.uint8))
    assert copy_correlation(plain, plain, SAME) is None
    far = np.array([(1.0, 0, 500), (0, 1, 0)])
    assert align(picture(texture(0, size=100)), picture(texture(0, size=100)), far, SIDES[0]) is None


def test_areas_of_frames_by_hand() -> None:
    def overlap(transform: Float64, other: tuple[int, int]) -> tuple[float, ...]:
        return tuple(round(area, 3) for area in frame_areas(transform, (10, 10), other))

    assert overlap(SAME, (10, 10)) == (100, 100, 100)
    assert overlap(SAME, (20, 10)) == (100, 100, 200)
    assert overlap(np.array([(1.0, 0, 5), (0, 1, 0)]), (10, 10)) == (50, 100, 100)
    assert overlap(np.array([(0.0, -1, 9), (1, 0, 0)]), (10, 10)) == (100, 100, 100)
    assert overlap(np.array([(1.0, 0, 50), (0, 1, 0)]), (10, 10)) == (0, 100, 100)
