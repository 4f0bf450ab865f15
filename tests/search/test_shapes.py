"""Ellipses from the index to the answer: a plane seen from aside is found, by picture, by key and by expansion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from resight.evaluation.cache import _write, read
from resight.features.root_sift import root_sift
from resight.ingest import Ingester, Reader
from resight.options import ExpandOptions, FeatureOptions, IndexingOptions, VerifyOptions
from resight.recipes import RECIPES, Recipe
from resight.search import SegmentGroup, quantise, search, stored_query
from resight.search.expand import _seen_through
from resight.store import Writer, check, create, open_snapshot
from resight.types import Features, Float64, Hit
from resight.vocabulary import Assigner, Vocabulary

WIDTH, HEIGHT = 1000, 750
CENTRE = np.array([500, 375])


def turn(angle: Any) -> npt.NDArray[Any]:
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


def plane(count: int, seed: int) -> Features:
    """Ellipses in the middle of a picture."""
    rng = np.random.default_rng(seed)
    long, along = 2 ** rng.uniform(0, 0.5, count), turn(rng.uniform(0, np.pi, count))
    shape = along * np.stack([long, 1 / long], axis=1)[:, None, :] @ along.transpose(0, 2, 1)
    return Features(
        xy=(CENTRE + rng.uniform(-1, 1, (count, 2)) * [200, 150]).astype(np.float32),
        scale=rng.uniform(5, 15, count).astype(np.float32),
        angle=rng.uniform(0, 2 * np.pi, count).astype(np.float32),
        descriptors=root_sift(rng.gamma(0.3, 1, (count, 128)).astype(np.float32)),
        width=WIDTH,
        height=HEIGHT,
        shape=shape.astype(np.float32),
    )


def view(direction: float, tilt: float) -> Float64:
    """(2, 3) a map that leaves the centre where it is, and shortens this direction; then a turn of 20°."""
    linear = turn(0.35) @ turn(direction) @ np.diag([tilt**-0.5, tilt**0.5]) @ turn(-direction)
    return np.column_stack([linear, CENTRE - linear @ CENTRE])


def some(features: Features, rows: slice) -> Features:
    columns = {name: getattr(features, name)[rows] for name in ("xy", "scale", "angle", "descriptors", "shape")}
    return replace(features, **columns)


def test_frames_are_taken_along_by_a_map() -> None:
    """The frame scale · shape · R(angle) becomes the map's linear part times it."""
    before, through = plane(50, 1), view(0.9, 4)
    after = _seen_through(through, before)

    def frames(features: Features) -> npt.NDArray[Any]:
        assert features.shape is not None
        return np.asarray(features.scale[:, None, None] * features.shape @ turn(features.angle))

    assert frames(after) == pytest.approx(through[:, :2] @ frames(before), abs=1e-4)
    assert after.xy == pytest.approx(before.xy @ through[:, :2].T + through[:, 2], abs=1e-3)
    assert after.shape is not None
    assert np.linalg.det(after.shape) == pytest.approx(np.ones(50), abs=1e-5)
    assert after.shape == pytest.approx(after.shape.transpose(0, 2, 1))
    circles = _seen_through(through, replace(before, shape=None))
    assert circles.shape is None
    assert np.array_equal(circles.xy, after.xy)
    assert np.array_equal(circles.scale, after.scale)
    assert circles.angle == pytest.approx((before.angle + 0.35) % (2 * np.pi), abs=1e-5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wall of 60 features, of which the query shows the first half. Seen from both sides; and other pictures.

    ``left`` shows all of it, ``right`` the half that the query does not show, each among features of its own.
    """
    folder, wall = tmp_path_factory.mktemp("shapes") / "i.resight", plane(60, 1)
    views = {"left": _seen_through(view(0.2, 3), wall), "right": _seen_through(view(1.8, 3), some(wall, slice(30, 60)))}
    pictures = {key: joined(seen, plane(100, seed)) for seed, (key, seen) in enumerate(views.items(), 10)}
    pictures |= {f"other {seed}": plane(150, 50 + seed) for seed in range(5)}
    vocabulary = Vocabulary.ready()
    create(folder, vocabulary)
    ingester = Ingester(Reader(FeatureOptions()), Assigner(vocabulary), IndexingOptions())
    with Writer(folder) as writer:
        for key, features in pictures.items():
            writer.add(ingester.entry(features, key=key, content=key.encode()))
        writer.commit()
    assert check(folder).problems == ()
    return folder


def joined(first: Features, second: Features) -> Features:
    names = ("xy", "scale", "angle", "descriptors", "shape")
    both: dict[str, Any] = {n: np.concatenate([getattr(first, n), getattr(second, n)]) for n in names}
    return replace(first, **both)


def verified(folder: Path, asked: Features | str, recipe: Recipe) -> dict[str, Hit]:
    with open_snapshot(folder) as snapshot:
        if isinstance(asked, str):
            located = snapshot.locate(asked)
            assert located
            queries = [stored_query(snapshot, *located)]
        else:
            queries = [quantise(Assigner(snapshot.vocabulary), asked, recipe.assign)]
        without = asked if isinstance(asked, str) else None
        hits = search(SegmentGroup.local(snapshot), queries, top=9, recipe=recipe, without=without).hits
    return {hit.key: hit for hit in hits if hit.inliers}


def test_a_picture_finds_the_slanted_view(folder: Path) -> None:
    (hit,) = verified(folder, some(plane(60, 1), slice(30)), RECIPES["verified"]).values()
    assert (hit.key, hit.inliers) == ("left", 30)
    assert np.array(hit.transform) == pytest.approx(view(0.2, 3), abs=1)
    assert np.array(hit.transform)[:, :2] == pytest.approx(view(0.2, 3)[:, :2], abs=0.01)


def test_a_key_finds_the_view_from_the_other_side(folder: Path) -> None:
    (hit,) = verified(folder, "left", RECIPES["verified"]).values()
    assert (hit.key, hit.inliers) == ("right", 30)


@pytest.mark.parametrize("kind", ["average", "union"])
def test_expansion_reaches_what_the_query_does_not_show(kind: str, folder: Path) -> None:
    """The shortlist is so short that ``right`` is not looked at before."""
    recipe = replace(RECIPES["expanded"], verify=VerifyOptions(shortlist=2), expand=ExpandOptions(kind=kind))
    found = verified(folder, joined(some(plane(60, 1), slice(30)), plane(60, 99)), recipe)
    assert found.keys() == ({"left", "right"} if kind == "union" else {"left"})
    if kind == "union":  # which asks with what ``left`` shows, as the query would see it
        assert np.array(found["right"].transform)[:, :2] == pytest.approx(view(1.8, 3)[:, :2], abs=0.02)


@pytest.mark.parametrize("shapes", [False, True])
def test_cached_features_keep_their_shapes(shapes: bool, tmp_path: Path) -> None:
    features = plane(5, 1) if shapes else replace(plane(5, 1), shape=None)
    _write(tmp_path / "file.npz", features)
    found = read(tmp_path / "file.npz")
    for name in ("xy", "scale", "angle", "descriptors", "width", "height", "shape"):
        assert np.array_equal(getattr(found, name), getattr(features, name)), name
