"""HDF5 files as hloc writes them, by real h5py."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight.errors import FeatureFileError, UsageError
from resight.interop import open_features
from resight.interop.given import SHARE_OF_A_POINT
from resight.types import Features

from ..support.pictures import texture, write
from ..support.scenes import HEIGHT, WIDTH, Array, views, without, write_hdf5

NAME = "scene1/view0.jpg"


def made(columns: dict[str, Any]) -> dict[str, Array]:
    """One picture with some columns changed."""
    return {**views(1, dimension=8)[NAME], **columns}


def read(tmp_path: Path, columns: dict[str, Any], *left_out: str, images: Path | None = None) -> Features:
    pictures = without({NAME: made(columns)}, *left_out)
    with open_features(write_hdf5(tmp_path / "f.h5", pictures), images=images) as file:
        return file.read(NAME)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_what_was_written_is_read(kind: type, tmp_path: Path) -> None:
    wrote = {name: {**v, "descriptors": v["descriptors"].astype(kind)} for name, v in views(1, dimension=20).items()}
    with open_features(write_hdf5(tmp_path / "f.h5", wrote)) as file:
        assert file.names == sorted(wrote)
        assert (file.detector, file.dimension, file.kind) == ("given", 20, np.dtype(np.float32))
        for name, columns in wrote.items():
            found = file.read(name)
            # hloc's first pixel has its centre at (0, 0), as ours has: its own code adds 0.5 on the way to COLMAP.
            assert np.array_equal(found.xy, columns["keypoints"])
            assert np.array_equal(found.descriptors, columns["descriptors"].T)
            assert found.descriptors.dtype == np.float32
            assert np.array_equal(found.scale, columns["scales"])
            assert np.allclose(found.angle, np.deg2rad(columns["oris"]))
            assert (found.width, found.height) == (WIDTH, HEIGHT)


def test_degrees_below_zero_and_above_a_turn(tmp_path: Path) -> None:
    oris = np.resize(np.array([-90, 450, 180], np.float32), 120)
    angle = read(tmp_path, {"oris": oris}).angle
    assert np.allclose(angle[:3], [1.5 * np.pi, np.pi / 2, np.pi])


def test_the_strongest_come_first(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).random(120).astype(np.float16)
    found, order = read(tmp_path, {"scores": scores}), np.argsort(-scores, kind="stable")
    assert np.array_equal(found.xy, made({})["keypoints"][order])
    assert np.array_equal(found.descriptors, made({})["descriptors"].T[order])
    assert np.array_equal(found.scale, made({})["scales"][order])


def test_positions_alone_have_one_share_of_the_picture_as_size(tmp_path: Path) -> None:
    pictures = without(views(1, dimension=8), "oris")
    with open_features(write_hdf5(tmp_path / "f.h5", pictures)) as file:
        assert file.detector == "given-points"
        found = file.read(NAME)
    assert np.all(found.scale == WIDTH * SHARE_OF_A_POINT)
    assert not found.angle.any()


def test_a_size_comes_from_the_file_or_the_picture_or_the_positions(tmp_path: Path) -> None:
    folder = tmp_path / "scene1"
    folder.mkdir()
    write(folder / "view0.jpg", texture(0, 200)[:, :160])
    far = made({})["keypoints"].max(axis=0)
    for left_out, images, size in (
        ((), tmp_path, (WIDTH, HEIGHT)),
        (("image_size",), tmp_path, (160, 200)),
        (("image_size",), None, tuple(np.ceil(far).astype(int) + 1)),
    ):
        found = read(tmp_path, {}, *left_out, images=images)
        assert (found.width, found.height) == size


def test_a_picture_without_features(tmp_path: Path) -> None:
    nothing = {
        "keypoints": np.zeros((0, 2)),
        "descriptors": np.zeros((8, 0)),
        "scales": np.zeros(0),
        "oris": np.zeros(0),
    }
    found = read(tmp_path, nothing, "image_size")
    assert (len(found), found.descriptors.shape, found.width, found.height) == (0, (0, 8), 1, 1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"keypoints": np.zeros((120, 3))},
            r"keypoints \(120, 3\), descriptors \(8, 120\), .*; \(n, 2\) keypoints",
        ),
        ({"keypoints": np.zeros((119, 2))}, r"keypoints \(119, 2\), descriptors \(8, 120\)"),
        ({"scales": np.ones(7)}, r"scales \(7,\), oris \(120,\); .*\(n,\) of all else"),
        ({"keypoints": np.full((120, 2), np.nan)}, "has xy that are no finite numbers"),
        ({"descriptors": np.full((8, 120), np.inf)}, "has descriptors that are no finite numbers"),
        ({"scales": np.zeros(120)}, "scales that are not positive"),
        ({"keypoints": "text"}, "cannot read 'scene1/view0.jpg' in .*extract its features again"),
        ({"image_size": np.array([0, 480])}, "a size of 0 × 480"),
        ({"image_size": np.array([640, 480, 3])}, "cannot read 'scene1/view0.jpg'"),
        ({"image_size": np.array([np.inf, 480])}, "cannot read 'scene1/view0.jpg'"),
        ({"image_size": np.array([1e30, 480])}, r"a size of 1\d{30} × 480"),
        ({"scales": np.ones((120, 1))}, r"scales \(120, 1\)"),
        ({"oris": np.ones((120, 1))}, r"oris \(120, 1\)"),
        ({"scores": np.ones((120, 1))}, r"scores \(120, 1\)"),
    ],
)
def test_a_picture_that_makes_no_sense_is_named(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FeatureFileError, match=message):
        read(tmp_path, columns)


def test_what_no_memory_holds_is_not_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = file.create_group("a.jpg")
        group.create_dataset("keypoints", (10**6, 2), np.float32, chunks=(1000, 2))
        group.create_dataset("descriptors", (10**6, 10**6), np.float32, chunks=(1000, 1000))  # of which none is stored
    with open_features(tmp_path / "f.h5") as file, pytest.raises(FeatureFileError, match="268435456 numbers"):
        file.read("a.jpg")


def test_positions_beyond_all_pictures(tmp_path: Path) -> None:
    with pytest.raises(FeatureFileError, match=r"a size of 1\d{30} × "):
        read(tmp_path, {"keypoints": np.full((120, 2), 1e30)}, "image_size")


def test_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(b"b\xff.jpg")
    path = write_hdf5(tmp_path / "f.h5", {"a.jpg": made({}), os.fsencode(name): made({}), "ü.jpg": made({})})  # type: ignore[dict-item]
    with open_features(path) as file:
        assert sorted(file.names) == sorted(["a.jpg", name, "ü.jpg"])
        assert all(len(file.read(each)) == 120 for each in file.names)


def test_descriptors_of_all_pictures_have_one_length(tmp_path: Path) -> None:
    pictures = {"a": views(1, dimension=8)[NAME], "b": views(1, dimension=9)[NAME]}
    with open_features(write_hdf5(tmp_path / "f.h5", pictures)) as file:
        file.read("a")
        with pytest.raises(FeatureFileError, match=r"'b' in .* descriptors \(9, 120\)"):
            file.read("b")
        with pytest.raises(FeatureFileError, match="cannot read 'c' in"):
            file.read("c")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    whole = write_hdf5(tmp_path / "f.h5", views(1, dimension=8))
    (tmp_path / "cut.h5").write_bytes(whole.read_bytes()[:3000])
    (tmp_path / "text.h5").write_text("keypoints")
    write_hdf5(tmp_path / "global.h5", {"a.jpg": {"global_descriptor": np.zeros(4096)}})
    for name, message in (
        ("cut.h5", "cannot read .*cut.h5"),
        ("text.h5", "neither an HDF5 file, as hloc writes, nor a COLMAP database"),
        ("global.h5", "no group with keypoints and descriptors"),
        ("missing.h5", "cannot read .*missing.h5: No such file"),
    ):
        with pytest.raises(FeatureFileError, match=message):
            open_features(tmp_path / name)


def test_without_h5py_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UsageError, match=r"pip install resight\[interop\]"):
        open_features(tmp_path / "f.h5")
