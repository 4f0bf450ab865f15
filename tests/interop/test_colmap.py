"""COLMAP databases: made here by hand, and by real pycolmap."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from resight.errors import FeatureFileError
from resight.features import extract
from resight.images import from_array
from resight.interop import open_features
from resight.interop.given import SHARE_OF_A_POINT
from resight.options import FeatureOptions
from resight.types import Features
from resight.vocabulary import Assigner, Vocabulary

from ..support.pictures import texture, write
from ..support.scenes import HEIGHT, WIDTH, Array, run_pycolmap, write_database

RNG = np.random.default_rng(5)
SIFT = RNG.integers(0, 90, (6, 128), dtype=np.uint8)
POINTS = RNG.uniform(1, 400, (6, 2)).astype(np.float32)
SCALE, ANGLE = RNG.uniform(1, 20, 6).astype(np.float32), RNG.uniform(-np.pi, np.pi, 6).astype(np.float32)


def turned(angle: Array) -> Array:
    return np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1).reshape(-1, 2, 2)


def read(tmp_path: Path, keypoints: Array, descriptors: Array = SIFT) -> Features:
    path = write_database(tmp_path / "d.db", {"a.jpg": (keypoints.astype(np.float32), descriptors)})
    with open_features(path) as file:
        return file.read("a.jpg")


def test_two_columns_are_positions_half_a_pixel_off_ours(tmp_path: Path) -> None:
    found = read(tmp_path, POINTS)
    assert np.allclose(found.xy, POINTS - 0.5)
    assert np.all(found.scale == WIDTH * SHARE_OF_A_POINT)
    assert np.array_equal(found.descriptors, SIFT)
    assert (found.width, found.height, found.shape) == (WIDTH, HEIGHT, None)


def test_four_columns_have_scale_and_angle(tmp_path: Path) -> None:
    found = read(tmp_path, np.column_stack([POINTS, SCALE, ANGLE]))
    assert np.allclose(found.xy, POINTS - 0.5)
    assert np.array_equal(found.scale, SCALE)
    assert np.allclose(found.angle, ANGLE % (2 * np.pi))
    assert found.shape is not None
    assert (found.shape == np.eye(2)).all()


def test_six_columns_of_circles(tmp_path: Path) -> None:
    frames = SCALE[:, None, None] * turned(ANGLE)
    found = read(tmp_path, np.column_stack([POINTS, frames.reshape(-1, 4)]))
    assert np.allclose(found.scale, SCALE)
    assert np.allclose(found.angle, ANGLE % (2 * np.pi), atol=1e-5)
    assert found.shape == pytest.approx(np.tile(np.eye(2), (len(SCALE), 1, 1)), abs=1e-5)


def test_six_columns_of_ellipses_are_taken_apart(tmp_path: Path) -> None:
    """Scale, shape and angle of known frames come back, and multiply to what was stored."""
    stretch, axis = RNG.uniform(1.2, 3, 6), RNG.uniform(0, np.pi, 6)
    diagonal = np.zeros((6, 2, 2))
    diagonal[:, 0, 0], diagonal[:, 1, 1] = np.sqrt(stretch), 1 / np.sqrt(stretch)
    shape = turned(axis) @ diagonal @ turned(-axis)  # symmetric, determinant 1
    frames = SCALE[:, None, None] * shape @ turned(ANGLE)
    found = read(tmp_path, np.column_stack([POINTS, frames.reshape(-1, 4)]))
    assert np.allclose(found.scale, SCALE, rtol=1e-4)
    assert np.allclose(found.angle, ANGLE % (2 * np.pi), atol=1e-4)
    assert found.shape is not None
    assert found.shape.dtype == np.float32
    assert np.allclose(found.shape, shape, atol=1e-4)
    assert np.allclose(found.scale[:, None, None] * found.shape @ turned(found.angle), frames, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("keypoints", "descriptors", "message"),
    [
        (np.column_stack([POINTS, SCALE]), SIFT, "3 columns of keypoints, not 2, 4 or 6"),
        (np.column_stack([POINTS, -SCALE, ANGLE]), SIFT, "scales that are not positive"),
        (np.column_stack([POINTS, np.tile([1, 0, 0, -1], (6, 1))]), SIFT, "scales that are not positive"),
        (np.column_stack([POINTS, np.full((6, 4), np.nan)]), SIFT, "keypoints that are no finite numbers"),
        (POINTS[:5], SIFT, r"xy of shape \(5, 2\), with descriptors of shape \(6, 128\): \(6, 2\) is wanted"),
        (POINTS, SIFT[:, :64], "descriptors of 64 bytes, not SIFT's 128"),
        (POINTS, SIFT.astype(np.uint16), "1536 bytes of descriptors, not 6 × 128"),
    ],
)
def test_a_picture_that_makes_no_sense_is_named(
    keypoints: Array, descriptors: Array, message: str, tmp_path: Path
) -> None:
    with pytest.raises(FeatureFileError, match=message):
        read(tmp_path, keypoints, descriptors)


def test_positions_alone_do_not_mix_with_others(tmp_path: Path) -> None:
    both = {"a.jpg": (POINTS, SIFT), "b.jpg": (np.column_stack([POINTS, SCALE, ANGLE]), SIFT)}
    with open_features(write_database(tmp_path / "d.db", both)) as file:
        file.read("b.jpg")
        with pytest.raises(FeatureFileError, match=r"'a.jpg' in .* 2 columns of keypoints, unlike the others"):
            file.read("a.jpg")


def test_values_of_another_type(tmp_path: Path) -> None:
    path = write_database(tmp_path / "d.db", {"a.jpg": (POINTS, SIFT)})
    for change in (
        "keypoints SET data = 7",
        "descriptors SET rows = 'x'",
        "cameras SET width = NULL",
        "cameras SET width = 9e999",
    ):
        with sqlite3.connect(path) as database:
            database.execute(f"UPDATE {change}")
        database.close()
        with open_features(path) as file, pytest.raises(FeatureFileError, match=r"'a.jpg' in"):
            file.read("a.jpg")
        path.unlink()
        write_database(path, {"a.jpg": (POINTS, SIFT)})


def test_names_of_every_kind(tmp_path: Path) -> None:
    """Text and blobs in one column, and text that is no UTF-8."""
    path = write_database(tmp_path / "d.db", dict.fromkeys(("a.jpg", "b.jpg", "c.jpg"), (POINTS, SIFT)))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE images SET name = CAST('b.jpg' AS BLOB) WHERE name = 'b.jpg'")
        database.execute("UPDATE images SET name = CAST(x'63FF' AS TEXT) WHERE name = 'c.jpg'")
    database.close()
    with open_features(path) as file:
        assert file.names == ["a.jpg", "b.jpg", "c\udcff"]
        assert all(len(file.read(name)) == len(SIFT) for name in file.names)


def test_databases_that_cannot_be_read(tmp_path: Path) -> None:
    empty = write_database(tmp_path / "empty.db", {})
    whole = write_database(tmp_path / "d.db", {"a.jpg": (POINTS, SIFT)}).read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[:5000])
    for path, message in ((empty, "no pictures with descriptors"), (tmp_path / "cut.db", "no COLMAP database")):
        with pytest.raises(FeatureFileError, match=message):
            open_features(path)


# --- real pycolmap


WRITE = """
with pycolmap.Database.open(sys.argv[1]) as database:
    camera = pycolmap.Camera(model="SIMPLE_PINHOLE", width=640, height=480, params=[500, 320, 240])
    camera = database.write_camera(camera)
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    frames = np.column_stack([values[:, :2], np.tile([0, -3, 3, 0], (4, 1))]).astype(np.float32)
    for name, keypoints in {"a/2.jpg": values[:, :2], "4.jpg": values[:, :4] + 1, "6.jpg": frames}.items():
        if (keypoints.shape[1] == 2) == (sys.argv[2] == "points"):
            image = database.write_image(pycolmap.Image(name=name, camera_id=camera))
            database.write_keypoints(image, keypoints)
            kind = pycolmap.FeatureExtractorType.SIFT
            database.write_descriptors(image, pycolmap.FeatureDescriptors(kind, np.full((4, 128), 7, np.uint8)))
"""


def test_a_database_that_pycolmap_wrote(tmp_path: Path) -> None:
    run_pycolmap(WRITE, tmp_path / "points.db", "points")
    run_pycolmap(WRITE, tmp_path / "full.db", "full")
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    with open_features(tmp_path / "points.db") as file:
        assert (file.names, file.detector) == (["a/2.jpg"], "given-points")
        assert np.array_equal(file.read("a/2.jpg").xy, values[:, :2] - 0.5)
    with open_features(tmp_path / "full.db") as file:
        assert (file.names, file.detector) == (["4.jpg", "6.jpg"], "given")
        four, six = file.read("4.jpg"), file.read("6.jpg")
    assert np.array_equal(four.scale, values[:, 2] + 1)
    assert np.allclose(four.angle, (values[:, 3] + 1) % (2 * np.pi))
    assert np.allclose(six.scale, 3)
    assert np.allclose(six.angle, np.pi / 2)
    assert six.shape is not None
    assert four.shape is not None
    assert np.allclose([*six.shape, *four.shape], np.eye(2))
    assert (six.width, six.height) == (640, 480)
    assert (six.descriptors == 7).all()


EXTRACT = """
options = pycolmap.FeatureExtractionOptions(num_threads=1)
options.sift.estimate_affine_shape = sys.argv[3] == "affine"
pycolmap.extract_features(sys.argv[1], sys.argv[2], extraction_options=options, device=pycolmap.Device.cpu)
print(options.sift.normalization.name)
"""


def test_colmaps_sift_is_ours(tmp_path: Path) -> None:
    """Where both find the same keypoint, half a pixel apart, descriptors are alike bin by bin, and have one word."""
    (tmp_path / "pictures").mkdir()
    pixels = texture(3, 320)
    write(tmp_path / "pictures/a.png", pixels)
    said = run_pycolmap(EXTRACT, tmp_path / "d.db", tmp_path / "pictures", "plain")
    assert said.split()[-1] == "L1_ROOT"
    with open_features(tmp_path / "d.db") as file:
        theirs = file.read("a.png")
    ours = extract(from_array(pixels, max_side=1024), options=FeatureOptions(detector="sift"))
    away = np.linalg.norm(theirs.xy[:, None] - ours.xy, axis=2)
    larger = np.abs(np.log2(theirs.scale[:, None] / ours.scale))
    turn = np.abs(np.angle(np.exp(1j * (theirs.angle[:, None] - ours.angle))))
    their, our = np.nonzero((away < 1) & (larger < 0.15) & (turn < 0.1))
    assert len(their) > 100
    assert np.abs(np.median(theirs.xy[their] - ours.xy[our], axis=0)).max() < 0.05
    assert abs(np.median(theirs.scale[their] / ours.scale[our]) - 1) < 0.02
    a, b = theirs.descriptors[their].astype(float), ours.descriptors[our].astype(float)
    assert np.abs(np.linalg.norm(a, axis=1) - 512).max() < 8  # the grid
    alike = np.corrcoef(a.T, b.T)[:128, 128:]
    assert np.array_equal(alike.argmax(axis=1), np.arange(128))  # the order of bins
    assigner = Assigner(Vocabulary.ready("given"))
    same = assigner.assign(theirs.descriptors[their]).word == assigner.assign(ours.descriptors[our]).word
    assert same.mean() > 0.5


def test_a_picture_in_which_colmap_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    write(tmp_path / "pictures/a.png", texture(3, 160))
    write(tmp_path / "pictures/blank.png", np.full((160, 160), 128, np.uint8))
    run_pycolmap(EXTRACT, tmp_path / "d.db", tmp_path / "pictures", "plain")
    with open_features(tmp_path / "d.db") as file:
        assert file.names == ["a.png", "blank.png"]
        assert len(file.read("a.png")) > 20
        nothing = file.read("blank.png")
    assert (len(nothing), nothing.descriptors.shape, nothing.width) == (0, (0, 128), 160)


def test_colmaps_affine_shapes(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    write(tmp_path / "pictures/a.png", texture(3, 160))
    run_pycolmap(EXTRACT, tmp_path / "d.db", tmp_path / "pictures", "affine")
    with open_features(tmp_path / "d.db") as file:
        shape = file.read("a.png").shape
    assert shape is not None
    assert len(shape) > 20
    assert np.allclose(np.linalg.det(shape), 1, atol=1e-3)
    assert np.array_equal(shape, shape.transpose(0, 2, 1))
    assert np.ptp(np.linalg.eigvalsh(shape), axis=1).max() > 0.5
