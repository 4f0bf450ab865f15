"""Colours order results that geometry confirms alike, and nothing else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from resight import Index
from resight.colours import likeness
from resight.options import ColourOptions, ExpandOptions, VerifyOptions
from resight.recipes import RECIPES
from resight.rerank.colour import CERTAIN

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
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
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
    yield made
    made.close()


@pytest.mark.parametrize("results", [0, 20])
def test_where_geometry_confirms_nothing_the_same_colour_comes_first(index: Index, results: int) -> None:
    query, verify, expand = tinted(QUERY, RED), VerifyOptions(min_inliers=10_000), ExpandOptions(results=results)
    plain, coloured = (replace(r, verify=verify, expand=expand) for r in (COLOURLESS, RECIPES["expanded"]))
    assert [hit.key for hit in index.search(query, recipe=plain, top=2).hits] == ["a blue one", "b red one"]
    assert [hit.key for hit in index.search(query, recipe=coloured, top=2).hits] == ["b red one", "a blue one"]


def test_a_certain_hit_of_another_colour_tells_that_colours_do_not_matter(index: Index) -> None:
    hits = index.search(tinted(QUERY, RED)).hits
    assert [hit.key for hit in hits if (hit.inliers or 0) >= CERTAIN] == ["a blue one", "b red one"]


def test_nothing_else_changes(index: Index) -> None:
    """Regions and grey pictures are ordered as if there were no colours; scores and confidence stay as they are."""
    red, grey = tinted(QUERY, RED), tinted(QUERY, (0, 0, 0))
    assert index.search(grey) == index.search(grey, recipe=COLOURLESS)
    region = (0, 0, 250, 250)
    assert index.search(red, region=region) == index.search(red, region=region, recipe=COLOURLESS)
    with_colours, without = (index.search(red, recipe=r).hits for r in ("expanded", COLOURLESS))
    assert {hit.key: hit for hit in with_colours} == {hit.key: hit for hit in without}


def test_of_several_queries_those_with_colours_have_a_say(index: Index) -> None:
    verify, expand = VerifyOptions(min_inliers=10_000), ExpandOptions(results=0)
    recipe = replace(RECIPES["expanded"], verify=verify, expand=expand)
    grey, red = tinted(QUERY, (0, 0, 0)), tinted(QUERY, RED)
    assert index.search(grey, recipe=recipe).hits[0].key == "a blue one"
    assert index.search(grey, red, recipe=recipe).hits[0].key == "b red one"


def test_the_first_results_do_not_depend_on_how_many_are_wanted(index: Index) -> None:
    """Also where fewer are verified than there are."""
    recipe = replace(RECIPES["expanded"], verify=VerifyOptions(shortlist=2), expand=ExpandOptions(results=1))
    for query in (tinted(QUERY, RED), tinted(texture(41), BLUE)):
        every = index.search(query, recipe=recipe, top=100).hits
        for top in range(1, 6):
            assert index.search(query, recipe=recipe, top=top).hits == every[:top]


def test_files_and_arrays_have_the_same_colours(tmp_path: Path) -> None:
    """As pixels, and as files whose decoders reduce them, or not."""
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
    assert colours["array"]
    assert colours["JPEG"]
    assert likeness(colours["array"], [colours["JPEG"]])[0] > 0.98
