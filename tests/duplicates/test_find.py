"""Identical pictures, copies and scenes, found in files."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps
from typer.testing import CliRunner

from resight.cli import app
from resight.duplicates import SURE, confirmed_pairs
from resight.errors import KeyMissingError, UsageError
from resight.index import Index
from resight.options import FeatureOptions
from resight.store import open_snapshot
from resight.types import Features

from ..conftest import DATA
from ..support.pictures import texture

UKBENCH = DATA / "ukbench"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The index and the folder of: a texture, a smaller copy, a part and a mirrored copy of it; one file twice, and its
    pixels in another format; pictures that are alone, two of them nearly plain."""
    folder = tmp_path_factory.mktemp("duplicates")
    pictures, place = folder / "pictures", folder / "pictures.resight"
    pictures.mkdir()
    whole, other = texture(0, size=400), texture(1, size=300)
    Image.fromarray(whole).save(pictures / "whole.png")
    Image.fromarray(cv2.resize(whole, (320, 320), interpolation=cv2.INTER_AREA)).save(pictures / "copy.jpg")
    Image.fromarray(whole[:260, :260]).save(pictures / "part.png")
    Image.fromarray(np.ascontiguousarray(whole[:, ::-1])).save(pictures / "mirrored.jpg", quality=90)
    Image.fromarray(other).save(pictures / "twin.png")
    (pictures / "also-twin.png").write_bytes((pictures / "twin.png").read_bytes())
    Image.fromarray(other).save(pictures / "twin.bmp")
    Image.fromarray(texture(2, size=300)).save(pictures / "alone.png")
    for grey in (127, 128):
        Image.fromarray(np.full((60, 80), grey, np.uint8)).save(pictures / f"grey-{grey}.png")
    with Index.create(place) as index:
        for _ in index.add_files(sorted(pictures.iterdir()), relative_to=pictures):
            pass
    return place, pictures


def found(place: Path, kind: str, min_confidence: float | None = None) -> list[list[str]]:
    with Index.open(place) as index:
        return [[p.key for p in g.pictures] for g in index.duplicates(kind=kind, min_confidence=min_confidence)]


TWINS = ["also-twin.png", "twin.bmp", "twin.png"]


def test_three_levels(made: tuple[Path, Path]) -> None:
    place, _ = made
    assert found(place, "identical") == [TWINS]
    assert found(place, "copy") == [["mirrored.jpg", "whole.png", "copy.jpg", "part.png"], TWINS]
    assert found(place, "scene") == [TWINS, ["whole.png", "copy.jpg", "part.png"]]
    with pytest.raises(UsageError, match="take one of identical, copy, scene"):
        found(place, "twins")
    with pytest.raises(UsageError, match="min_confidence is for scenes"):
        found(place, "copy", 0.5)


def test_members_say_how_they_belong_to_another_one(made: tuple[Path, Path]) -> None:
    heard: list[int] = []
    with Index.open(made[0]) as index:
        copies, twins = index.duplicates(done=heard.append)
        _, scene = index.duplicates(kind="scene")
        pairs = list(confirmed_pairs(index.snapshot, ["whole.png", "copy.jpg", "part.png"]))
        with pytest.raises(KeyMissingError):
            list(confirmed_pairs(index.snapshot, ["elsewhere"]))
    assert sum(heard) == 2 * 10
    assert (copies.kind, twins.kind) == ("copy", "identical")
    assert all(p.confidence is None and p.correlation and p.correlation > 0.95 for p in copies.pictures)
    assert {p.correlation for p in twins.pictures} == {1.0}
    for picture in scene.pictures:
        known = [pair.confidence for pair in pairs if picture.key in (pair.one, pair.other) and pair.confidence >= SURE]
        assert picture.confidence == max(known)
    overlaps = {(pair.one, pair.other): pair.overlap for pair in pairs}
    assert overlaps["whole.png", "copy.jpg"] > 0.97
    assert overlaps["whole.png", "part.png"] == pytest.approx(260**2 / 400**2, abs=0.02)


def test_no_given_features_are_no_content(tmp_path: Path) -> None:
    """Two pictures of one size in which another program found nothing need not be the same."""
    xy, none = np.zeros((0, 2), np.float32), np.zeros(0, np.float32)
    nothing = Features(xy, none, none, np.zeros((0, 128), np.uint8), 640, 480)
    one = np.ones(1, np.float32)
    dot = Features(np.ones((1, 2), np.float32), one, one, np.ones((1, 128), np.uint8), 640, 480)
    with Index.create(tmp_path / "i.resight", features=FeatureOptions(detector="given")) as index:
        for key, features in {"black": nothing, "white": nothing, "dot": dot, "copy": dot}.items():
            index.add(features, key=key)
        index.commit()
        result = index.duplicates()
        assert [[p.key for p in group.pictures] for group in result] == [["copy", "dot"]]
        assert result.unread == 3  # of four pictures, two of which are one


def test_files_that_are_gone_or_changed_are_counted(made: tuple[Path, Path], tmp_path: Path) -> None:
    place, pictures = made
    with Index.open(place) as index:
        gone = {"copy.jpg": tmp_path / "nowhere.jpg", "part.png": pictures / "whole.png"}
        result = index.duplicates(find=lambda row: gone.get(row.key, row.path))
        assert [[p.key for p in group.pictures] for group in result] == [TWINS, ["mirrored.jpg", "whole.png"]]
        assert result.unread == 2


@pytest.mark.skipif(not UKBENCH.exists(), reason="needs the shared pictures ($RESIGHT_DATA)")
def test_four_views_of_an_object_are_a_scene_and_their_copies_are_copies(tmp_path: Path) -> None:
    """Five objects from four sides each, and four attacked copies of two of the pictures."""
    views = [UKBENCH / f"ukbench{number:05d}.jpg" for number in range(20)]
    families = []
    for view in views[1], views[10]:
        image = Image.open(view).convert("RGB")
        copies = {
            "small": image.resize((160, 120)), "framed": ImageOps.expand(image, 24, "black"),
            "mirrored": ImageOps.mirror(image), "half": image.crop((60, 30, 290, 200)),
        }  # fmt: skip
        for name, copy in copies.items():
            copy.save(tmp_path / f"{view.stem}-{name}.jpg", quality=70)
        families.append({str(view), *(str(tmp_path / f"{view.stem}-{name}.jpg") for name in copies)})
    with Index.create(tmp_path / "i.resight") as index:
        for _ in index.add_files([*views, *sorted(tmp_path.glob("*.jpg"))]):
            pass
        index.commit()
        assert [{p.key for p in group.pictures} for group in index.duplicates()] == families
        scenes = [{p.key for p in group.pictures} for group in index.duplicates(kind="scene")]
    for first in (0, 4, 12, 16):
        assert any({str(view) for view in views[first : first + 4]} <= scene for scene in scenes)


def test_the_best_is_suggested_with_the_reason(made: tuple[Path, Path], tmp_path: Path) -> None:
    whole = texture(7, size=300)
    Image.fromarray(whole).save(tmp_path / "coarse.jpg", quality=40)
    Image.fromarray(whole).save(tmp_path / "fine.jpg", quality=95)
    Image.fromarray(cv2.resize(whole, (150, 150), interpolation=cv2.INTER_AREA)).save(tmp_path / "small.png")
    twin = texture(8, size=200)
    for name, when in (("new.png", 2_000_000_000), ("old.png", 1_000_000_000)):
        Image.fromarray(twin).save(tmp_path / name)
        os.utime(tmp_path / name, (when, when))
    with Index.create(tmp_path / "i.resight") as index:
        for _ in index.add_files(sorted(p for p in tmp_path.iterdir() if p.is_file()), relative_to=tmp_path):
            pass
        index.commit()
        best = {group.keep.key: group.keep.reason for group in index.duplicates() if group.keep}
        assert not any(group.keep for group in index.duplicates(kind="scene"))
    assert best.keys() == {"fine.jpg", "old.png"}
    assert best["fine.jpg"].startswith("least compressed of those with the most pixels (")
    assert best["old.png"].startswith("oldest of the best (2001-09-")
    with Index.open(made[0]) as index:
        (copies, twins) = index.duplicates()
    assert twins.keep
    assert twins.keep.key == "twin.bmp"  # the largest file
    assert copies.keep
    assert copies.keep.key == "whole.png"


def test_a_dismissed_group_is_left_out_until_it_gains_a_picture(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, pictures = made
    twins = [pictures / name for name in ("twin.png", "also-twin.png")]
    with Index.create(tmp_path / "i.resight") as index:
        for path in twins:
            index.add(path, key=path.name)
        index.commit()
        with pytest.raises(UsageError, match="two pictures or more"):
            index.dismiss(["twin.png"])
        with pytest.raises(KeyMissingError):
            index.dismiss(["twin.png", "elsewhere"])
        index.dismiss(["twin.png", "also-twin.png"])
        result = index.duplicates()
        assert (len(result), result.dismissed) == (0, 1)
        assert len(index.duplicates(kind="scene")) == 1  # only as copies
    with Index.open(tmp_path / "i.resight") as index:  # it is kept, also by later commits and merges
        index.remove("twin.png")
        index.add(twins[0], key="renamed.png")
        index.merge()
        assert len(index.duplicates()) == 0
        index.add(pictures / "twin.bmp", key="third.bmp")
        index.commit()
        assert [len(group.pictures) for group in index.duplicates()] == [3]
        index.remove("third.bmp")
        index.commit()
        assert len(index.duplicates()) == 0
        assert index.undismiss(["renamed.png", "also-twin.png"])
        assert not index.undismiss()
        assert len(index.duplicates()) == 1


def test_the_commands(made: tuple[Path, Path]) -> None:
    place, _ = made
    run = CliRunner()
    groups = json.loads(run.invoke(app, ["duplicates", str(place), "--json"]).stdout)["groups"]
    assert [[p["key"] for p in group["pictures"]] for group in groups] == found(place, "copy")
    assert groups[1]["keep"]["key"] == "twin.bmp"
    shown = run.invoke(app, ["duplicates", str(place), "--csv", "--kind", "identical"]).stdout
    lines = list(csv.DictReader(shown.splitlines()))
    assert [(line["group"], line["kind"], line["keep"], line["key"]) for line in lines] == [
        ("1", "identical", "yes" if name == "twin.bmp" else "no", name) for name in TWINS
    ]
    text = run.invoke(app, ["duplicates", str(place)]).stdout
    assert "group 1, 4 pictures: copy" in text
    assert "whole.png  ← keep: " in text
    assert "2 groups of 7 pictures" in text
    assert run.invoke(app, ["duplicates", str(place), "--csv", "--json"]).exit_code == 2
    dismissed = run.invoke(app, ["dismiss", str(place), *TWINS])
    assert "3 pictures dismissed" in dismissed.stdout
    text = run.invoke(app, ["duplicates", str(place)]).stdout
    assert "1 group of 4 pictures" in text
    assert "1 group left out" in text
    assert run.invoke(app, ["dismiss", str(place), "--forget"]).stdout == "forgotten\n"
    assert found(place, "copy") == [["mirrored.jpg", "whole.png", "copy.jpg", "part.png"], TWINS]


def test_moving_and_moving_back(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, pictures = made
    here, away, place = tmp_path / "here", tmp_path / "away", tmp_path / "i.resight"
    (here / "deep").mkdir(parents=True)
    for name, target in {"twin.png": "a.png", "also-twin.png": "deep/a.png", "alone.png": "b.png"}.items():
        (here / target).write_bytes((pictures / name).read_bytes())
    os.utime(here / "deep/a.png", (1_000_000_000, 1_000_000_000))
    run = CliRunner()
    assert run.invoke(app, ["index", str(here), "--into", str(place)]).exit_code == 0
    before = {path.relative_to(here): path.read_bytes() for path in here.rglob("*.png")}
    asked = run.invoke(app, ["duplicates", str(place), "--move-to", str(away)])
    assert asked.exit_code == 2  # nobody can answer
    assert "--yes" in asked.output
    assert not away.exists()
    moved = run.invoke(app, ["duplicates", str(place), "--move-to", str(away), "--yes"])
    assert moved.exit_code == 0
    assert "1 file moved" in moved.output
    assert (away / "a.png").read_bytes() == before[Path("a.png")]
    assert not (here / "a.png").exists()
    with Index.open(place) as index:
        assert sorted(index) == [str(here / "b.png"), str(here / "deep/a.png")]
    assert (
        "there is nothing to move"
        in run.invoke(app, ["duplicates", str(place), "--move-to", str(away), "--yes"]).output
    )
    (here / "a.png").write_bytes(b"another")
    taken = run.invoke(app, ["duplicates", "--move-back", str(away)])
    assert taken.exit_code == 1
    assert "there is another file" in taken.output
    (here / "a.png").unlink()
    assert run.invoke(app, ["duplicates", "--move-back", str(away)]).exit_code == 0
    assert {path.relative_to(here): path.read_bytes() for path in here.rglob("*.png")} == before
    assert run.invoke(app, ["duplicates", "--move-back", str(tmp_path)]).exit_code == 2
    refused = run.invoke(app, ["duplicates", str(place), "--kind", "scene", "--move-to", str(away), "--yes"])
    assert refused.exit_code == 2


def test_nothing_is_overwritten(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, pictures = made
    here, away, place = tmp_path / "here", tmp_path / "away", tmp_path / "i.resight"
    here.mkdir()
    away.mkdir()
    for name in ("twin.png", "also-twin.png"):
        (here / name).write_bytes((pictures / name).read_bytes())
        (away / name).write_bytes(b"precious")
    run = CliRunner()
    assert run.invoke(app, ["index", str(here), "--into", str(place)]).exit_code == 0
    refused = run.invoke(app, ["duplicates", str(place), "--move-to", str(away), "--yes"])
    assert refused.exit_code == 2
    assert "exists already" in refused.output
    assert {path.name for path in here.iterdir()} == {"twin.png", "also-twin.png"}
    with open_snapshot(place) as snapshot:
        assert snapshot.pictures == 2
