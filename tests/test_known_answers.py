"""The demo collection has known answers: which pictures show a query's subject, and where in them it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest

from resight.colours import BINS
from resight.demo.collection import Collection, Query, build
from resight.index import Index
from resight.types import Hit, Region


@dataclass(frozen=True)
class Demo:
    """The demo collection, indexed with relative keys."""

    folder: Path
    collection: Collection
    index: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    collection = build(folder)
    with Index.create(folder / "demo.resight") as index:
        outcomes = list(index.add_files(collection.pictures, relative_to=folder / "pictures"))
    assert not [o for o in outcomes if o.skipped]
    return Demo(folder, collection, folder / "demo.resight")


@pytest.fixture(scope="module")
def found(demo: Demo) -> list[tuple[Query, list[Hit]]]:
    """What every held-out view finds."""
    with Index.open(demo.index) as index:
        return [(query, list(index.search(query.path).hits)) for query in demo.collection.queries]


def test_held_out_views_find_their_pictures(found: list[tuple[Query, list[Hit]]]) -> None:
    """Measured 119 of 120 at the first five places; a loss of more than two is a regression."""
    right = [hit.key in query.relevant for query, hits in found for hit in hits[: len(query.relevant)]]
    assert len(right) == 120
    assert sum(right) >= 117


def test_verified_matches_say_where(found: list[tuple[Query, list[Hit]]]) -> None:
    """The map of a well-supported hit takes the query where the known homography does."""
    errors = []
    for query, hits in found:
        for hit in hits[:5]:
            if hit.key in query.relevant and hit.inliers and hit.inliers >= 30 and hit.region and hit.transform:
                middle = np.array([hit.region.x + hit.region.width / 2, hit.region.y + hit.region.height / 2])
                # Back to the query by the true map, then forward by the found one.
                true = query.homographies[hit.key]
                back = cv2.perspectiveTransform(middle[None, None], np.linalg.inv(true))[0, 0]
                forward = np.array(hit.transform) @ [*back, 1]
                errors.append(np.hypot(*(forward - middle)))
    assert len(errors) > 80
    # An affine map cannot follow perspective exactly: a few pixels at the middle of the matched region.
    assert np.median(errors) < 3
    assert np.quantile(errors, 0.95) < 12


@pytest.mark.parametrize("recipe", ["hamming", "bow-l1", "bow-l2", "bow-cosine"])
def test_every_recipe_finds_the_picture_itself_first(demo: Demo, recipe: str) -> None:
    with Index.open(demo.index) as index:
        for picture in demo.collection.pictures[::10]:
            hits = index.search(picture, top=1, recipe=recipe).hits
            stored = index.get(picture.name)
            assert stored is not None
            if stored.features >= 10:
                assert hits[0].key == picture.name


def test_a_region_searches_with_that_part_alone(demo: Demo) -> None:
    """Of a picture pasted into another scene, the scene's part does not find the subject, the subject's part does."""
    with Index.open(demo.index) as index:
        pasted = demo.folder / "pictures" / "coffee-pasted.jpg"
        query = next(q for q in demo.collection.queries if q.subject == "coffee")
        (left, top), (right, bottom) = (
            query.places["coffee-pasted.jpg"].min(axis=0),
            query.places["coffee-pasted.jpg"].max(axis=0),
        )
        region = Region(float(left), float(top), float(right - left), float(bottom - top))
        whole, part = index.search(pasted), index.search(pasted, region=region)
        assert part.query_features < whole.query_features
        verified = {hit.key for hit in part.hits if hit.inliers}
        assert {"coffee-tilted.jpg", "coffee-turned.jpg"} <= verified
        assert all(key.startswith("coffee") for key in verified)


def test_unrelated_pictures_are_not_verified(found: list[tuple[Query, list[Hit]]]) -> None:
    """Geometry must not agree by chance: pictures made of nothing shared find no verified subject."""
    assert sum(bool(hit.inliers) and hit.key not in query.relevant for query, hits in found for hit in hits) <= 2


def test_demo_index_is_small(demo: Demo) -> None:
    """Beside the vocabulary, once segments are merged: 20 bytes for each feature; and names, sums, colours.

    The target was 20 in all, which features without shape keep.
    """
    with Index.open(demo.index) as index:
        facts = index.info()
    vocabulary = (demo.index / "vocabulary.npz").stat().st_size
    fixed = 12 * facts.words * facts.segments  # offsets and df: what a word costs each segment
    colours = BINS * facts.pictures
    per_feature = (facts.size - vocabulary - fixed - colours) / facts.features
    assert 20 < per_feature <= 20.25
