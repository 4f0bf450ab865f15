"""`resight shrink`: what it says, what it asks for, and what indexing does afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.commands import run, run_json
from ..support.pictures import striped, texture, write


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Of pictures of which b shares something with each other one."""
    (tmp_path / "pictures").mkdir()
    for name, pixels in striped().items():
        write(tmp_path / "pictures" / name, pixels)
    run("index", tmp_path / "pictures", "--into", tmp_path / "i.resight", "--processes", 1, "--no-link")
    return tmp_path / "i.resight"


def test_an_index_is_shrunk_and_stays_so(index: Path) -> None:
    assert "run `resight link` first" in run_json("shrink", index, code=2)["error"]
    run("link", index)
    size = run_json("info", index)["size"]
    said = run_json("shrink", index, "--floor", 100, "--dry-run")
    assert said["size_before"] == run_json("info", index)["size"] == size
    assert "would" not in run("shrink", index, "--floor", 100, "--dry-run")
    shown = run("shrink", index, "--floor", 100)
    assert f"3 pictures: {said['features_before']} features → {said['features']}, " in shown
    facts = run_json("info", index)
    assert facts["features"] == said["features"] < said["features_before"]
    assert facts["size"] <= said["size"] < size
    assert facts["linked"] == 3

    pictures = index.with_name("pictures")
    run("index", pictures, "--into", index, "--processes", 1)
    assert run_json("info", index)["features"] == said["features"]
    write(pictures / "d.png", texture(400))
    run("index", pictures, "--into", index, "--processes", 1)
    facts = run_json("info", index)
    assert (facts["pictures"], facts["linked"]) == (4, 4)
    assert facts["features"] > said["features"] + 100


def test_what_is_dropped_is_named(index: Path) -> None:
    run("link", index)
    run("index", index.with_name("pictures"), "--into", index, "--clusters", 2, "--processes", 1)
    assert "would be dropped: clusters" in run("shrink", index, "--dry-run")
    assert "\ndropped: clusters" in run("shrink", index)
    assert run_json("info", index)["clusters"] == 0
