"""`resight link`, and searches that follow links."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.commands import run, run_json
from ..support.pictures import striped, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pictures a and c share something with b alone."""
    for name, pixels in striped().items():
        write(tmp_path / name, pixels)
    return tmp_path


def test_links_are_found_kept_up_followed_and_forgotten(folder: Path) -> None:
    index = folder / "i.resight"
    run("index", folder / "a.png", folder / "b.png", "--into", index, "--processes", 1, "--no-link")
    assert run_json("info", index)["linked"] == 0
    assert run_json("link", index) == {"index": str(index), "asked": 2, "left": 0}
    assert "0 pictures asked" in run("link", index)
    run("index", folder, "--into", index, "--processes", 1)
    assert "links        of 3 of 3 pictures" in run("info", index)
    hits = run_json("search", index, "--key", folder / "a.png")["results"][0]["hits"]
    assert [(Path(hit["key"]).name, [Path(key).name for key in hit["via"]]) for hit in hits] == [
        ("b.png", []),
        ("c.png", ["b.png"]),
    ]
    shown = run("search", index, "--key", folder / "a.png")
    assert "c.png ← " in shown
    assert "give one of" in run_json("link", index, "--again", "--forget", code=2)["error"]
    assert run_json("link", index, "--again")["asked"] == 3
    assert run_json("link", index, "--forget")["forgotten"]
    assert "nothing to forget" in run("link", index, "--forget")
