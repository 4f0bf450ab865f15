"""Groups of pictures that show the same thing, read from links."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from resight import Index
from resight.errors import UsageError

from ..support.commands import run, run_json
from ..support.pictures import striped, texture

HEAD = "group,rank,key,path,representative,inliers"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pictures in a row, of which only the middle one is linked to both others; one twice and a part of it; one
    that is alone."""
    place = tmp_path_factory.mktemp("linked") / "i.resight"
    whole = texture(1, size=300)
    with Index.create(place) as index:
        for key, pixels in striped().items():
            index.add(pixels, key=key, metadata={"name": key})
        for key, pixels in {"whole": whole, "twin": whole, "part": whole[:200, :200], "alone": texture(2)}.items():
            index.add(pixels, key=key)
        index.commit()
        index.learn.links()
    return place


def test_the_picture_with_the_most_links_stands_for_its_group(place: Path) -> None:
    with Index.open(place) as index:
        found = index.groups()
        row, copies = found
        assert row.representative.key == "b.png"
        assert {p.key for p in row.pictures} == {"a.png", "b.png", "c.png"}
        assert row.pictures[0].metadata == {"name": "b.png"}
        assert [p.key for p in copies.pictures] == ["twin", "whole", "part"]
        inliers = {key: {hit.key: hit.inliers or 0 for hit in index.links(key)} for key in index}
    for group in found:
        strengths = [p.inliers for p in group.pictures]
        assert strengths[1:] == sorted(strengths[1:], reverse=True)
        assert strengths == [max(inliers[p.key].values()) for p in group.pictures]
    assert found.unlinked == 0


def test_they_are_the_scenes_among_duplicates(place: Path) -> None:
    with Index.open(place) as index:
        scenes = {frozenset(p.key for p in group.pictures) for group in index.duplicates(kind="scene")}
        assert {frozenset(p.key for p in group.pictures) for group in index.groups()} == scenes
        assert len(scenes) == 2


def test_links_of_removed_pictures_count_no_more(place: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(place, tmp_path / "i.resight")
    with Index.open(copy) as index:
        index.remove("b.png")
        index.add(texture(3), key="new")
        index.commit()
        found = index.groups()
        assert [[p.key for p in group.pictures] for group in found] == [["twin", "whole", "part"]]
        assert found.unlinked == 1
    said = run_json("groups", copy)
    assert (said["total"], said["unlinked"]) == (1, 1)


def test_the_command_says_it_in_three_ways(place: Path) -> None:
    lines = run("groups", place).splitlines()
    assert lines[0] == "group 1, 3 pictures"
    assert lines[1].endswith("480 × 480  b.png  ← most links")
    assert lines[-1] == "2 groups of 6 pictures"
    assert run("groups", place, "--limit", 1).splitlines()[-2:] == [
        "1 group of 3 pictures",
        "1 smaller group not shown",
    ]
    text = run("groups", place, "--csv")
    assert text.splitlines()[0] == HEAD
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["group"], row["rank"], row["representative"]) for row in rows[:4]] == [
        ("1", "1", "yes"),
        ("1", "2", "no"),
        ("1", "3", "no"),
        ("2", "1", "yes"),
    ]
    said = run_json("groups", place, "--limit", 1)
    assert (said["total"], len(said["groups"]), said["unlinked"]) == (2, 1, 0)
    assert said["groups"][0]["representative"] == rows[0]["key"] == "b.png"
    assert [str(p["inliers"]) for p in said["groups"][0]["pictures"]] == [row["inliers"] for row in rows[:3]]
    assert "give one of" in run_json("groups", place, "--csv", code=2)["error"]


def test_an_index_without_links_says_how_to_get_some(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(0), key="a")
        index.commit()
        with pytest.raises(UsageError, match="no links between its pictures yet; find them with `resight link`"):
            index.groups()
        index.learn.links()
        assert len(index.groups()) == 0
    assert run("groups", tmp_path / "i.resight") == "no two pictures show the same thing\n"
