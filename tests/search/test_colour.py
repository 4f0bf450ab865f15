"""Colours order results that geometry confirms alike, and nothing else."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from resight import Index
from resight.options import ColourOptions
from resight.recipes import RECIPES
from resight.types import Hit

from ..support.pictures import Pixels, texture

RED, BLUE = (60, -25, -30), (-30, 4, 70)  # what is added to grey; the sum that grey is made of stays as it was
COLOURLESS = replace(RECIPES["expanded"], colours=ColourOptions(weight=0))


def tinted(grey: Pixels, tint: tuple[int, int, int]) -> Pixels:
    """The same picture in another colour, on the scale that leaves room for it."""
    soft = 80 + grey.astype(np.int64) // 3
    pixels: Pixels = np.clip(soft[..., None] + np.array(tint), 0, 255).astype(np.uint8)
    return pixels


THING = texture(3, size=300)
QUERY = THING[10:290, 10:290]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """One thing in two colours, of which the query's has the later key and is a little spoilt; and others."""
    made = Index.create(tmp_path_factory.mktemp("colours") / "i.resight")
    spoilt = THING.copy()
    spoilt[:60, :60] = 0
    made.add(tinted(THING, BLUE), key="a blue one")
    made.add(tinted(spoilt, RED), key="b red one")
    made.commit()
    for seed, tint in ((40, RED), (41, BLUE), (42, BLUE), (43, BLUE)):
        made.add(tinted(texture(seed), tint), key=f"other {seed}")
    made.commit()
    return made


def first(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.key for hit in hits if hit.inliers]


def test_the_same_thing_in_the_same_colour_comes_first(index: Index) -> None:
    query = tinted(QUERY, RED)
    assert first(index.search(query, recipe=COLOURLESS).hits) == ["a blue one", "b red one"]
    assert first(index.search(query).hits) == ["b red one", "a blue one"]
    assert first(index.search(tinted(QUERY, BLUE)).hits) == ["a blue one", "b red one"]


def test_nothing_else_changes(index: Index) -> None:
    """Regions and grey pictures are ordered as if there were no colours; scores and confidence stay as they are."""
    red, grey = tinted(QUERY, RED), tinted(QUERY, (0, 0, 0))
    assert index.search(grey) == index.search(grey, recipe=COLOURLESS)
    region = (0, 0, 250, 250)
    assert index.search(red, region=region) == index.search(red, region=region, recipe=COLOURLESS)
    with_colours, without = (index.search(red, recipe=r).hits for r in ("expanded", COLOURLESS))
    assert {hit.key: hit for hit in with_colours} == {hit.key: hit for hit in without}


def test_files_and_arrays_have_the_same_colours(index: Index, tmp_path: Path) -> None:
    """As an indexed picture, as pixels, and as files whose decoders reduce them, or not."""
    pixels = tinted(THING, RED)
    with Index.create(tmp_path / "i.resight") as made:
        made.add(pixels, key="array")
        for kind in ("PNG", "JPEG"):
            file = io.BytesIO()
            Image.fromarray(pixels).save(file, kind, quality=95)
            made.add(file.getvalue(), key=kind)
        made.commit()
        colours = {row.key: row.colours for row in made.pictures()}
    assert colours["array"] == colours["PNG"]
    assert colours["JPEG"] is not None
