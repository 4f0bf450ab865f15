"""Indexes of features that other programs found."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from resight import Index
from resight.errors import OptionError, UsageError, VocabularyError
from resight.ingest import Job
from resight.interop import add_all, open_features, points
from resight.options import AssignOptions, FeatureOptions, VocabularyOptions
from resight.types import Features
from resight.vocabulary import Assigner, Vocabulary, train

from ..support.commands import run, run_json
from ..support.pictures import texture, write
from ..support.scenes import HEIGHT, VIEWS, WIDTH, views, without, write_database, write_hdf5

SCENES = 8


def file_of(path: Path, dimension: int, *left_out: str) -> Path:
    pictures = {name: v for scene in range(SCENES) for name, v in views(scene, dimension=dimension).items()}
    return write_hdf5(path, without(pictures, *left_out))


@pytest.mark.parametrize("dimension", [32, 256])
@pytest.mark.parametrize("left_out", [(), ("scales", "oris")])
def test_other_dimensions_find_the_right_pictures(dimension: int, left_out: tuple[str, ...], tmp_path: Path) -> None:
    """From file to search by the command line; views are turned by anything, and up to 1.6 times as large."""
    file = file_of(tmp_path / "f.h5", dimension, *left_out)
    run("train", "--features", file, "--words", 100, "--out", tmp_path / "v.npz")
    words = ("--features", file, "--vocabulary", tmp_path / "v.npz", "--into", tmp_path / "i.resight")
    assert run_json("index", *words)["added"] == SCENES * VIEWS
    again = run_json("index", *words)
    assert (again["added"], again["unchanged"]) == (0, SCENES * VIEWS)
    by_key = ("search", tmp_path / "i.resight", "--key", "scene0/view0.jpg", "--top", VIEWS - 1)
    assert [hit["key"][:6] for hit in run_json(*by_key)["results"][0]["hits"]] == ["scene0"] * (VIEWS - 1)
    with Index.open(tmp_path / "i.resight") as index:
        for scene, recipe in product(range(SCENES), ("hamming", "verified", "expanded")):
            hits = index.search(key=f"scene{scene}/view0.jpg", recipe=recipe, top=VIEWS - 1).hits
            assert {hit.key for hit in hits} == {f"scene{scene}/view{v}.jpg" for v in range(1, VIEWS)}
            assert recipe == "hamming" or all((hit.inliers or 0) > 50 for hit in hits)


def test_queries_stand_in_another_file(tmp_path: Path) -> None:
    file = file_of(tmp_path / "f.h5", 16)
    run("train", "--features", file, "--words", 100, "--out", tmp_path / "v.npz")
    index = tmp_path / "i.resight"
    run("index", "--features", file, "--vocabulary", tmp_path / "v.npz", "--into", index)
    asked = write_hdf5(tmp_path / "q.h5", {"query": views(5, dimension=16)["scene5/view1.jpg"]})
    (result,) = run_json("search", index, "query", "--features", asked, "--top", 1)["results"]
    assert result["hits"][0]["key"] == "scene5/view1.jpg"
    (part,) = run_json("search", index, "query", "--features", asked, "--region", "0,0,320,240")["results"]
    assert 0 < part["query_features"] < result["query_features"]
    assert "cannot read 'none' in" in run_json("search", index, "none", "--features", asked, code=2)["error"]
    alone = write_hdf5(tmp_path / "p.h5", without({"query": views(5, dimension=16)["scene5/view1.jpg"]}, "oris"))
    error = run_json("search", index, "query", "--features", alone, code=2)["error"]
    assert "'given-points'" in error
    assert "was made for 'given'" in error
    error = run_json("search", index, "query", "--features", asked, "--draw", tmp_path / "d.png", code=2)["error"]
    assert "--draw needs the query's picture" in error


def test_colmaps_sift_goes_with_the_ready_vocabulary(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    keypoints = rng.uniform(1, 400, (50, 4)).astype(np.float32)
    sift = rng.integers(0, 90, (2, 50, 128), dtype=np.uint8)
    database = write_database(tmp_path / "d.db", {"a.jpg": (keypoints, sift[0]), "b.jpg": (keypoints, sift[1])})
    index = tmp_path / "i.resight"
    assert run_json("index", "--features", database, "--into", index, "--images", tmp_path / "im")["added"] == 2
    (result,) = run_json("search", index, "b.jpg", "--features", database, "--top", 1)["results"]
    assert result["hits"][0]["key"] == "b.jpg"
    assert result["hits"][0]["path"] == str(tmp_path / "im" / "b.jpg")


def test_pictures_and_given_features_do_not_mix(tmp_path: Path) -> None:
    database = write_database(tmp_path / "d.db", {"a.jpg": (np.ones((3, 4), np.float32), np.ones((3, 128), np.uint8))})
    picture = write(tmp_path / "p.png", texture(1))
    given, own = tmp_path / "given.resight", tmp_path / "own.resight"
    run("index", "--features", database, "--into", given)
    run("index", picture, "--into", own, "--processes", 1)
    for words in (("index", picture, "--into", given, "--processes", 1), ("search", given, picture)):
        assert "--features FILE" in run_json(*words, code=2)["error"]
    assert "was made with" in run_json("index", "--features", database, "--into", own, code=2)["error"]
    assert "was made for 'hessian-affine'" in run_json("search", own, "a.jpg", "--features", database, code=2)["error"]
    with Index.open(own) as index, open_features(database) as file:
        with pytest.raises(UsageError, match="cannot be compared with those that the detector 'hessian-affine' found"):
            index.add(file.read("a.jpg"), key="a")
        with pytest.raises(UsageError, match="was made for 'hessian-affine'"):
            next(add_all(index, file))
    with Index.open(given) as index:
        assert list(index) == ["a.jpg"]


def test_a_vocabulary_of_other_features_is_refused_before_there_is_an_index(tmp_path: Path) -> None:
    file = file_of(tmp_path / "f.h5", 16)
    error = run_json("index", "--features", file, "--into", tmp_path / "i.resight", code=2)["error"]
    assert "descriptors are 16 × float32, the vocabulary's words 128 × uint8; train a vocabulary" in error
    assert not (tmp_path / "i.resight").exists()


def test_a_picture_that_cannot_be_read_is_skipped_and_named(tmp_path: Path) -> None:
    pictures = {name: v for scene in range(2) for name, v in views(scene, dimension=16).items()}
    pictures["bad.jpg"] = {**pictures["scene1/view0.jpg"], "keypoints": np.full((120, 2), np.nan)}
    file = write_hdf5(tmp_path / "f.h5", pictures)
    out = tmp_path / "v.npz"
    assert "bad.jpg" in run_json("train", "--features", file, "--words", 50, "--out", out, code=1)["skipped"][0]
    words = ("--features", file, "--vocabulary", out, "--into", tmp_path / "i.resight")
    summary = run_json("index", *words, code=1)
    assert (summary["added"], [s["key"] for s in summary["skipped"]]) == (6, ["bad.jpg"])


def test_a_changed_picture_keeps_its_metadata(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    xy, values = rng.uniform(0, 400, (2, 60, 2)).astype(np.float32), rng.random((60, 8)).astype(np.float32)
    vocabulary = train(values, options=VocabularyOptions(words=8, iterations=3), source="made")
    kind = FeatureOptions(detector="given-points")
    with Index.create(tmp_path / "i.resight", features=kind, vocabulary=vocabulary) as index:
        index.add(points(xy[0], values, (WIDTH, HEIGHT)), key="a", metadata={"year": 2024})
        same, other = (Job("a", points(places, values, (WIDTH, HEIGHT))) for places in xy)
        assert [(o.unchanged, o.replaces) for o in index.add_jobs([same, other])] == [(True, False), (False, True)]
        index.commit()
        row = index.get("a")
        assert row is not None
        assert row.metadata == {"year": 2024}
        assert index.search(points(xy[1], values, (WIDTH, HEIGHT))).hits[0].inliers == 60
        with pytest.raises(UsageError, match="needs a key"):
            index.add(points(xy[0], values, (WIDTH, HEIGHT)))


def test_own_features_that_make_no_sense_are_refused_at_once(tmp_path: Path) -> None:
    """Not at the commit, which would fail, and lose what was added before."""
    rng = np.random.default_rng(3)
    xy, values = rng.uniform(0, 400, (50, 2)).astype(np.float32), rng.integers(0, 90, (50, 128), dtype=np.uint8)
    sound = Features(xy, np.full(50, 8, np.float32), np.zeros(50, np.float32), values, WIDTH, HEIGHT)
    changes: list[tuple[dict[str, Any], str]] = [
        (
            {"xy": xy[:30]},
            r"'bad' has xy of shape \(30, 2\), with descriptors of shape \(50, 128\): \(50, 2\) is wanted",
        ),
        ({"descriptors": values[:30]}, r"'bad' has xy of shape \(50, 2\)"),
        ({"descriptors": values.ravel()}, "'bad' has xy of shape"),
        ({"scale": sound.scale[:, None]}, r"scale of shape \(50, 1\)"),
        ({"shape": np.ones((50, 2), np.float32)}, r"shape of shape \(50, 2\)"),
        ({"xy": xy * np.nan}, "xy that are no finite numbers"),
        ({"scale": -sound.scale}, "scales that are not positive"),
        ({"width": 0}, "a size of 0 × 480 pixels"),
        ({"width": 2**31}, "a size of 2147483648 × 480 pixels"),
        ({"height": 480.5}, r"a size of 640 × 480.5 pixels, which should be whole numbers"),
    ]
    with Index.create(tmp_path / "i.resight", features=FeatureOptions(detector="given")) as index:
        index.add(sound, key="sound")
        for change, message in changes:
            bad = replace(sound, **change)
            with pytest.raises(UsageError, match=message):
                index.add(bad, key="bad")
            (outcome,) = index.add_jobs([Job("bad", bad)])
            assert re.search(message, str(outcome.skipped))
        size = {"width": np.int64(WIDTH), "height": np.int32(HEIGHT)}
        (outcome,) = index.add_jobs([Job("sound", replace(sound, **size))])  # type: ignore[arg-type]
        assert outcome.unchanged
        index.commit()
        assert list(index) == ["sound"]
        with pytest.raises(UsageError, match="'the query' has xy that are no finite numbers"):
            index.search(replace(sound, xy=xy * np.nan))


def test_words_of_floats_do_not_depend_on_threads() -> None:
    """Each feature is a word, and that word's medians are its projection: a last bit more, and a bit is set."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal((500, 256)).astype(np.float32)
    projection = np.linalg.qr(rng.standard_normal((256, 256)))[0][:64].astype(np.float32)
    with threadpool_limits(1):
        medians = values @ projection.T
    assigner = Assigner(Vocabulary(values, projection, medians, {}))
    for threads in (1, 2):
        with threadpool_limits(threads):
            found = assigner.assign(values)
            asked = assigner.assign_query(values, options=AssignOptions(neighbours=1))
        for words in (found, asked):
            assert np.array_equal(words.word, np.arange(500))
            assert not words.signature.any()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["index", "pictures", "--features", "f.h5"], "--features stands for pictures"),
        (["index", "--features", "f.h5", "--set", "features.contrast=0.1"], "--features stands for pictures"),
        (["index", "pictures", "--images", "pictures"], "--images says where the pictures are that --features names"),
        (["train", "--out", "v.npz"], "give pictures to learn from, or --features"),
        (["train", "pictures", "--features", "f.h5", "--out", "v.npz"], "one of the two"),
        (["train", "--features", "f.h5", "--held-out", "pictures", "--out", "v.npz"], "without --held-out"),
    ],
)
def test_what_does_not_go_together(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    into = ["--into", "i.resight"] if words[0] == "index" else []
    assert message in run_json(*words, *into, code=2)["error"]


def test_an_unknown_detector_is_still_unknown(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="unknown detector 'surf'; known: hessian-affine, sift, given, given-points"):
        Index.create(tmp_path / "i.resight", features=FeatureOptions(detector="surf"))
    with pytest.raises(VocabularyError, match="descriptors are 3 × float32"):
        Vocabulary.ready("given").require_descriptors(3, np.dtype(np.float32))
