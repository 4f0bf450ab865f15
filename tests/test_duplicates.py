"""Groups of copies, and of pictures of the same thing."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from resight.cli import app
from resight.duplicates import ENOUGH, SHARE, SURE, confirmed_pairs, duplicates, grown, overlap
from resight.errors import UsageError
from resight.index import Index
from resight.options import FeatureOptions
from resight.store import open_snapshot
from resight.types import Features

from .support.pictures import texture


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A texture, a smaller copy of it and a part of it; a grey picture twice; two that are alone."""
    place = tmp_path_factory.mktemp("duplicates") / "pictures.resight"
    whole = texture(0, size=400)
    grey = np.full((60, 80), 128, np.uint8)
    with Index.create(place) as index:
        index.add(cv2.resize(whole, (320, 320), interpolation=cv2.INTER_AREA), key="copy")
        index.add(whole, key="whole")
        index.add(whole[:220, :200], key="part")
        index.add(texture(1, size=300), key="alone")
        for key in ("grey", "also grey"):
            index.add(grey, key=key)
        index.add(np.full((60, 80), 127, np.uint8), key="other grey")
    return place


def keys(place: Path, kind: str, min_confidence: float = SURE) -> list[list[str]]:
    with open_snapshot(place) as snapshot:
        return [
            [p.key for p in group.pictures] for group in duplicates(snapshot, kind=kind, min_confidence=min_confidence)
        ]


def test_copies_and_scenes(folder: Path) -> None:
    assert keys(folder, "copy") == [["also grey", "grey"], ["whole", "copy"]]
    assert keys(folder, "scene") == [["whole", "copy", "part"], ["also grey", "grey"]]


def test_members_say_how_surely_they_belong_to_another_one(folder: Path) -> None:
    with open_snapshot(folder) as snapshot:
        pairs = list(confirmed_pairs(snapshot, ["whole", "copy", "part"]))
        (scene, grey) = duplicates(snapshot, kind="scene")
    assert {picture.confidence for picture in grey.pictures} == {1.0}
    for picture in scene.pictures:
        known = [pair.confidence for pair in pairs if picture.key in (pair.one, pair.other) and pair.confidence >= SURE]
        assert picture.confidence == max(known)


def test_pictures_of_the_same_content_are_copies_whatever_geometry_says(folder: Path) -> None:
    assert keys(folder, "copy", min_confidence=1.1) == [["also grey", "grey"]]


def test_no_given_features_are_no_content(tmp_path: Path) -> None:
    """Two pictures of one size in which another program found nothing need not be the same."""
    xy, none = np.zeros((0, 2), np.float32), np.zeros(0, np.float32)
    nothing = Features(xy, none, none, np.zeros((0, 128), np.uint8), 640, 480)
    one = np.ones(1, np.float32)
    dot = Features(np.ones((1, 2), np.float32), one, one, np.ones((1, 128), np.uint8), 640, 480)
    with Index.create(tmp_path / "i.resight", features=FeatureOptions(detector="given")) as index:
        for key, features in {"black": nothing, "white": nothing, "dot": dot, "copy": dot}.items():
            index.add(features, key=key)
    assert keys(tmp_path / "i.resight", "copy") == [["copy", "dot"]]


def test_pairs_come_from_both_sides(folder: Path) -> None:
    heard: list[int] = []
    with open_snapshot(folder) as snapshot:
        found = list(confirmed_pairs(snapshot, ["whole", "copy", "alone"], heard.append))
        with pytest.raises(UsageError, match="'elsewhere' is indexed"):
            list(confirmed_pairs(snapshot, ["elsewhere"]))
    assert heard == [1, 1, 1]
    overlaps = {(pair.one, pair.other): pair.overlap for pair in found}
    assert overlaps.keys() == {("whole", "copy"), ("whole", "part"), ("copy", "whole"), ("copy", "part")}
    assert overlaps["whole", "copy"] > 0.97
    assert overlaps["whole", "part"] == pytest.approx(220 * 200 / 400**2, abs=0.02)
    assert all(pair.confidence > 0.5 for pair in found)


def test_overlap_by_hand() -> None:
    same = np.array([[1.0, 0, 0], [0, 1, 0]])
    assert overlap(same, (10, 10), (10, 10)) == pytest.approx(1)
    assert overlap(same, (10, 10), (20, 10)) == pytest.approx(0.5)
    shifted = np.array([[1.0, 0, 5], [0, 1, 0]])
    assert overlap(shifted, (10, 10), (10, 10)) == pytest.approx(1 / 3)
    turned = np.array([[0.0, -1, 10], [1, 0, 0]])
    assert overlap(turned, (10, 10), (10, 10)) == pytest.approx(1)
    assert overlap(np.array([[1.0, 0, 50], [0, 1, 0]]), (10, 10), (10, 10)) == 0


def groups_of(links: list[tuple[int, int]], count: int) -> list[list[int]]:
    """Those of more than one, in order."""
    group = grown(np.array(links, np.int32).reshape(-1, 2), count)
    found = [np.flatnonzero(group == name).tolist() for name in np.unique(group)]
    return sorted(members for members in found if len(members) > 1)


def all_of(*things: int) -> list[tuple[int, int]]:
    return list(combinations(things, 2))


def test_a_picture_of_two_things_joins_one_group_and_chains_none() -> None:
    """4 shows what 0 to 3 show, before the wall of 5 to 7, which are grown first: they have fewer links."""
    links = [*all_of(0, 1, 2, 3, 4), *all_of(4, 5, 6, 7)]
    assert groups_of(links, 9) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups_of([(b, a) for a, b in reversed(links)] * 2, 9) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    many = [*all_of(*range(5)), *all_of(*range(4, 9)), *all_of(*range(8, 13))]  # each shares one with the next
    assert max(map(len, groups_of(many, 13))) == 5


def test_a_chain_breaks_off() -> None:
    """Four in a row are a group: the last is linked to one of three. A fifth would be to one of four."""
    assert groups_of([(n, n + 1) for n in range(3)], 4) == [[0, 1, 2, 3]]
    assert groups_of([(n, n + 1) for n in range(4)], 5) == [[0, 1, 2, 3]]
    assert groups_of([(n, n + 1) for n in range(7)], 8) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_in_a_large_group_no_picture_can_be_linked_to_most() -> None:
    ring = [(n, (n + step) % 200) for n in range(200) for step in range(1, ENOUGH + 1)]
    assert groups_of(ring, 200) == [list(range(200))]


def test_nothing_is_linked() -> None:
    assert groups_of([], 3) == groups_of([], 0) == []


def grown_plainly(links: list[tuple[int, int]], count: int) -> list[list[int]]:
    """The same by looking at everything each time."""
    linked = {n: {b for link in links for a, b in (link, link[::-1]) if a == n} for n in range(count)}
    alone, found = set(range(count)), []
    while alone:
        # As many links as it had in the beginning, whoever has joined a group since.
        group = [min(alone, key=lambda n: (len(linked[n]), n))]
        alone -= {*group}
        while alone:
            ties = {n: len(linked[n].intersection(group)) for n in alone}
            best = min(alone, key=lambda n: (-ties[n], n))
            if ties[best] < ENOUGH and (ties[best] == 0 or ties[best] * SHARE < len(group)):
                break
            group.append(best)
            alone.remove(best)
        found.append(sorted(group))
    return sorted(members for members in found if len(members) > 1)


@pytest.mark.parametrize("seed", range(30))
def test_groups_grow_as_they_do_plainly(seed: int) -> None:
    """Random links, more within some groups than between them, and few or many."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 60))
    kind = rng.integers(0, 1 + count // int(rng.integers(2, 40)), count)
    within, between = rng.uniform(0.1, 1), rng.uniform(0, 0.1)
    links = [
        (a, b) for a, b in combinations(range(count), 2) if rng.random() < (within if kind[a] == kind[b] else between)
    ]
    assert groups_of([links[n] for n in rng.permutation(len(links))], count) == grown_plainly(links, count)


def test_an_unknown_kind(folder: Path) -> None:
    with pytest.raises(UsageError, match="take one of copy, scene"):
        keys(folder, "twins")


def test_the_command(folder: Path) -> None:
    run = CliRunner()
    shown = run.invoke(app, ["duplicates", str(folder), "--json"])
    groups = json.loads(shown.stdout)["groups"]
    assert [[p["key"] for p in group["pictures"]] for group in groups] == keys(folder, "copy")
    assert groups[1]["kind"] == "copy"
    assert groups[1]["pictures"][0] | {"confidence": 1} == {
        "key": "whole", "path": None, "width": 400, "height": 400, "confidence": 1,
    }  # fmt: skip
    lines = list(csv.DictReader(run.invoke(app, ["duplicates", str(folder), "--csv"]).stdout.splitlines()))
    assert [(line["group"], line["key"]) for line in lines] == [
        ("1", "also grey"), ("1", "grey"), ("2", "whole"), ("2", "copy"),
    ]  # fmt: skip
    text = run.invoke(app, ["duplicates", str(folder), "--kind", "scene"]).stdout
    assert "group 1, 3 pictures" in text
    assert "2 groups of 5 pictures" in text
    assert run.invoke(app, ["duplicates", str(folder), "--csv", "--json"]).exit_code == 2
