"""Groups of copies, and of pictures of the same thing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from resight.cli import app
from resight.duplicates import SURE, confirmed_pairs, duplicates, overlap
from resight.errors import UsageError
from resight.index import Index
from resight.store import open_snapshot

from .test_index import texture


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


def test_pictures_of_the_same_content_are_copies_whatever_geometry_says(folder: Path) -> None:
    assert keys(folder, "copy", min_confidence=1.1) == [["also grey", "grey"]]


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
