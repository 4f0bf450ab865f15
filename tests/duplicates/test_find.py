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
from resight.duplicates import SURE, Kept, confirmed_pairs, planned
from resight.duplicates.files import PictureFiles
from resight.duplicates.keep import suggested
from resight.errors import KeyMissingError, UsageError
from resight.index import Index
from resight.options import FeatureOptions
from resight.store import open_snapshot
from resight.store.manifest import DISMISSED
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


def test_a_border_is_no_reason_to_keep_a_picture(tmp_path: Path) -> None:
    photo = Image.fromarray(texture(9, size=300)).convert("RGB")
    photo.save(tmp_path / "bare.png")
    ImageOps.expand(photo, 40, "white").save(tmp_path / "bordered.png")
    framed = ImageOps.expand(ImageOps.expand(photo, 20, (90, 60, 30)), 10, (230, 220, 180))
    framed.save(tmp_path / "framed.bmp")  # the largest file
    photo.crop((0, 0, 220, 220)).save(tmp_path / "part.png")
    with Index.create(tmp_path / "i.resight") as index:
        for path in sorted(p for p in tmp_path.iterdir() if p.is_file()):
            index.add(path, key=path.name)
        index.commit()
        (group,) = index.duplicates()
    assert len(group.pictures) == 4
    assert group.keep == Kept("bare.png", "most pixels without a border (300 × 300)")


def test_a_plain_sky_is_no_border(tmp_path: Path) -> None:
    """A mark in the sky of a smaller copy; and a copy that is smaller by very little."""
    photo = np.full((400, 400), 200, np.uint8)
    photo[160:] = texture(10, size=400)[:240]
    Image.fromarray(photo).save(tmp_path / "original.png")
    marked = Image.fromarray(photo).resize((360, 360))
    marked.paste(0, (100, 5, 200, 9))
    marked.save(tmp_path / "marked.png")
    other = Image.fromarray(texture(11, size=300))
    other.save(tmp_path / "a.jpg", quality=60)
    other.resize((298, 298)).save(tmp_path / "b.png")  # the larger file
    with Index.create(tmp_path / "i.resight") as index:
        for path in sorted(p for p in tmp_path.iterdir() if p.is_file()):
            index.add(path, key=path.name)
        index.commit()
        kept = {group.keep for group in index.duplicates()}
    assert kept == {Kept("original.png", "most pixels (400 × 400)"), Kept("a.jpg", "most pixels (300 × 300)")}


def test_a_picture_that_is_gone_is_not_suggested_but_one_elsewhere_is(tmp_path: Path) -> None:
    whole = Image.fromarray(texture(12, size=300))
    for name, side in {"large.png": 300, "middle.png": 250, "small.png": 200}.items():
        whole.resize((side, side), Image.Resampling.LANCZOS).save(tmp_path / name)
    with Index.create(tmp_path / "i.resight") as index:
        for name in ("large.png", "middle.png", "small.png"):
            index.add(tmp_path / name, key=name)
        index.commit()
        (group,) = index.duplicates()
        assert group.keep == Kept("large.png", "most pixels (300 × 300)")
        with open_snapshot(index.path) as snapshot:
            rows = sorted(snapshot.rows(), key=lambda row: row.key)
    gone = PictureFiles(lambda row: tmp_path / "gone" if row.key == "large.png" else row.path)
    assert suggested(rows, gone) == Kept("middle.png", "most pixels (250 × 250)")
    elsewhere = PictureFiles(lambda row: None if row.key == "large.png" else row.path)
    assert suggested(rows, elsewhere) == group.keep


def test_groups_of_another_version_are_not_overwritten(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, pictures = made
    with Index.create(tmp_path / "i.resight") as index:
        for name in ("twin.png", "also-twin.png"):
            index.add(pictures / name, key=name)
        index.commit()
        index.writer().attach({DISMISSED: json.dumps({"version": 2, "groups": 1}).encode()})
    with Index.open(tmp_path / "i.resight") as index:
        assert len(index.duplicates()) == 1
        with pytest.raises(UsageError, match="another version of resight dismissed"):
            index.dismiss(["twin.png", "also-twin.png"])
        assert index.undismiss()
        index.dismiss(["twin.png", "also-twin.png"])
        assert len(index.duplicates()) == 0


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
        (file,) = (tmp_path / "i.resight/optional").iterdir()
        assert file.suffix == ".json"
        assert json.loads(file.read_text())["version"] == 1
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
    assert run.invoke(app, ["index", str(here), "--into", str(place), "--processes", "1"]).exit_code == 0
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
    (here / "a.png").symlink_to("nowhere.png")
    assert run.invoke(app, ["duplicates", "--move-back", str(away)]).exit_code == 1
    (here / "a.png").unlink()
    assert run.invoke(app, ["duplicates", "--move-back", str(away)]).exit_code == 0
    assert {path.relative_to(here): path.read_bytes() for path in here.rglob("*.png")} == before
    assert run.invoke(app, ["duplicates", "--move-back", str(tmp_path)]).exit_code == 2
    refused = run.invoke(app, ["duplicates", str(place), "--kind", "scene", "--move-to", str(away), "--yes"])
    assert refused.exit_code == 2


def test_the_only_file_is_never_moved(made: tuple[Path, Path], tmp_path: Path) -> None:
    """One file under two keys and by two kinds of links; copies whose picture to keep is gone; a file that changed."""
    _, pictures = made
    here = tmp_path / "here"
    here.mkdir()
    photo = (pictures / "twin.png").read_bytes()
    names = "only.png", "gone.png", "left.png", "best.png", "changed.png", "other.png"
    for name, shown in zip(names, (photo, *[(pictures / "whole.png").read_bytes()] * 2, *[b""] * 3), strict=True):
        (here / name).write_bytes(shown)
    for name in names[3:]:
        Image.fromarray(texture(5, size=300)).save(here / name)
    (here / "hard.png").hardlink_to(here / "only.png")
    (here / "soft.png").symlink_to("only.png")
    for when, name in enumerate(("gone.png", "best.png")):  # the oldest of their groups
        os.utime(here / name, (when + 1, when + 1))
    with Index.create(tmp_path / "i.resight") as index:
        for key, path in {**{path.name: path for path in here.iterdir()}, "again": here / "other.png"}.items():
            index.add(path, key=key)
        index.add(here / "only.png", key="another key")
        index.commit()
        found = index.duplicates(kind="identical")
        assert sorted(len(group.pictures) for group in found) == [2, 4, 4]
        (here / "gone.png").unlink()
        (here / "changed.png").write_bytes(b"edited since")
        moves = planned(found, tmp_path / "away")
    assert [(set(move.keys), move.source) for move in moves] == [({"other.png", "again"}, here / "other.png")]


def test_a_file_with_two_paths_is_moved_once(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, pictures = made
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to("here")
    for name in ("kept.png", "other.png"):
        (tmp_path / "here" / name).write_bytes((pictures / "twin.png").read_bytes())
    os.utime(tmp_path / "here/kept.png", (1, 1))
    with Index.create(tmp_path / "i.resight") as index:
        for path in ("here/kept.png", "here/other.png", "link/kept.png", "link/other.png"):
            index.add(tmp_path / path, key=path)
        index.commit()
        (move,) = planned(index.duplicates(), tmp_path / "away")
    assert move.keys == ("here/other.png", "link/other.png")


def test_nothing_is_moved_that_cannot_be_taken_out_of_the_index(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, pictures = made
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes((pictures / "twin.png").read_bytes())
    with Index.create(tmp_path / "i.resight") as index:
        for name in ("a.png", "b.png"):
            index.add(tmp_path / name, key=name)
        index.commit()
        arguments = ["duplicates", str(tmp_path / "i.resight"), "--move-to", str(tmp_path / "away"), "--yes"]
        assert CliRunner().invoke(app, arguments).exit_code == 1  # another writes
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "b.png", "i.resight"}


def test_nothing_is_overwritten(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, pictures = made
    here, away, place = tmp_path / "here", tmp_path / "away", tmp_path / "i.resight"
    here.mkdir()
    away.mkdir()
    for name in ("twin.png", "also-twin.png"):
        (here / name).write_bytes((pictures / name).read_bytes())
        (away / name).write_bytes(b"precious")
    run = CliRunner()
    assert run.invoke(app, ["index", str(here), "--into", str(place), "--processes", "1"]).exit_code == 0
    refused = run.invoke(app, ["duplicates", str(place), "--move-to", str(away), "--yes"])
    assert refused.exit_code == 2
    assert "exists already" in refused.output
    assert {path.name for path in here.iterdir()} == {"twin.png", "also-twin.png"}
    with open_snapshot(place) as snapshot:
        assert snapshot.pictures == 2
