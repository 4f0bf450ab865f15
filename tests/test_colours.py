"""Colours of pictures, and how alike they are."""

from __future__ import annotations

import numpy as np
import pytest

from resight.colours import BINS, describe, likeness
from resight.types import Bytes


def plain(*colours: tuple[int, int, int]) -> Bytes:
    """A picture in equal stripes of these colours."""
    return np.repeat(np.array(colours, np.uint8), 4, axis=0)[None].repeat(6, axis=0)


RED, GREEN, BLUE, GREY = (200, 10, 10), (10, 200, 10), (10, 10, 200), (90, 90, 90)


def described(*colours: tuple[int, int, int]) -> bytes:
    found = describe(plain(*colours))
    assert found is not None
    return found


def test_roots_of_shares() -> None:
    found = np.frombuffer(described(RED, RED, RED, BLUE), np.uint8)
    assert len(found) == BINS
    assert sorted(found[found > 0].tolist()) == [128, 221]  # 255 · √¼ and 255 · √¾


def test_known_likenesses() -> None:
    """Σ √(p · q): half of the pixels in common with as much of the other is one half."""
    alike = likeness(described(RED, GREEN), [described(*c) for c in ((RED, GREEN), (RED, BLUE), (BLUE,), (RED,))])
    assert alike.tolist() == pytest.approx([1, 0.5, 0, np.sqrt(0.5)], abs=0.005)


def test_pictures_without_colour() -> None:
    """Nor does a single coloured dot, or black that is not quite grey, make a picture coloured."""
    dotted = plain(*[GREY] * 30)
    dotted[0, 0] = RED
    for grey in (plain(GREY), plain((0, 0, 0), (255, 255, 255)), dotted, plain((9, 2, 2))):
        assert describe(grey) is None


def test_the_same_colours_are_equally_alike_wherever_they_are() -> None:
    """To the last bit: they must tie, so that keys decide."""
    some = [np.random.default_rng(seed).integers(1, 256, BINS, dtype=np.uint8).tobytes() for seed in range(40)]
    for length in (1, 2, 7, 39):
        assert len({*likeness(some[0], [*some[1:length], *[some[5]] * 3])[length - 1 :].tolist()}) == 1
    assert likeness(some[0], [some[5]])[0] == likeness(some[0], some)[5]


def test_no_other_pictures() -> None:
    assert likeness(described(RED), []).shape == (0,)


def test_size_and_order_of_pixels_do_not_matter() -> None:
    stripes = plain(RED, GREEN, BLUE)
    assert describe(stripes) == describe(stripes[::-1, ::-1].repeat(3, axis=0)) == described(BLUE, RED, GREEN)
