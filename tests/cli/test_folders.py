"""The index follows folders: files that come, go, move, cannot be read, or are not wanted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from resight import Index
from resight.cli import app

from ..support.commands import run, run_json
from ..support.pictures import texture, write


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "sub").mkdir(parents=True)
    for seed, name in enumerate(("a.png", "b.png", "sub/c.png", "sub/d.png")):
        write(folder / name, texture(seed, size=48))
    return folder


def names(keys: list[str]) -> set[str]:
    return {Path(key).name for key in keys}


def said(*words: object) -> str:
    return CliRunner().invoke(app, [str(word) for word in words]).stderr


@pytest.mark.parametrize("relative", [False, True])
def test_sync(pictures: Path, tmp_path: Path, relative: bool) -> None:
    into, outside = tmp_path / "i.resight", write(tmp_path / "outside.png", texture(8, size=48))
    base = ("--relative-to", tmp_path) if relative else ()
    index = ("index", pictures, "--into", into, "--processes", 1, *base)
    run(*index[:2], outside, *index[2:])
    key = "pictures/a.png" if relative else str(pictures / "a.png")
    with Index.open(into) as opened:
        opened.add(pictures / "a.png", key=key, metadata={"title": "a"})
    outside.unlink()
    (pictures / "b.png").unlink()
    (pictures / "a.png").rename(pictures / "sub/renamed.png")
    first = run_json(*index)
    assert (first["added"], names(first["gone"]), first["dropped"]) == (1, {"a.png", "b.png"}, [])
    assert [(Path(m["from"]).name, Path(m["to"]).name) for m in first["moved"]] == [("a.png", "renamed.png")]
    assert first["pictures"] == 6
    assert "2 pictures of the index gone from these folders; --sync drops what is gone" in run(*index)
    assert "2 dropped, whose files are gone" in run(*index, "--sync")
    with Index.open(into) as opened:
        assert names(list(opened)) == {"c.png", "d.png", "renamed.png", "outside.png"}
        (renamed,) = (row for row in opened.pictures() if row.key.endswith("renamed.png"))
        assert renamed.metadata == {"title": "a"}
    again = run_json(*index, "--sync")
    assert (again["unchanged"], again["gone"], again["dropped"]) == (3, [], [])


def test_a_folder_that_is_missing_or_empty_costs_nothing(pictures: Path, tmp_path: Path) -> None:
    into = tmp_path / "i.resight"
    index = ("index", pictures, "--into", into, "--processes", 1, "--sync")
    run(*index)
    shutil.rmtree(pictures)
    assert "does not exist" in run_json(*index, code=2)["error"]
    pictures.mkdir()
    kept = run_json(*index, code=1)
    assert (kept["empty"], kept["pictures"]) == ({str(pictures): 4}, 4)
    assert "a disk may not be mounted: to drop them, add --sync --allow-empty" in said(*index)
    dropped = run_json(*index, "--allow-empty")
    assert (len(dropped["dropped"]), dropped["pictures"]) == (4, 0)
    (pictures / "a.png").touch()
    for words in (("--sync", "--clusters", 2), (pictures, "--allow-empty"), (pictures / "a.png", "--sync")):
        error = run_json("index", *words, "--into", into, code=2)["error"]
        assert "--sync drops pictures that are gone from folders" in error


def test_patterns_and_other_kinds(pictures: Path, tmp_path: Path) -> None:
    for name in ("film.MP4", "notes.txt", "sub/film.mp4", ".hidden.txt"):
        (pictures / name).touch()
    index = ("index", pictures, "--into", tmp_path / "i.resight", "--processes", 1)
    first = run_json(*index, "--include", "SUB/*", "--include", "a.*", "--exclude", "*d.PNG")
    assert (first["added"], first["excluded"], first["other_kinds"]) == (2, 2, {".mp4": 2, ".txt": 1})
    text = run(*index)
    assert "not read: .mp4 2, .txt 1\n" in text
    assert "left out" not in text
    assert "1 left out by --include and --exclude" in run(*index, "--exclude", "a.png")
    assert names(run_json(*index, "--exclude", "a.png", "--sync")["dropped"]) == {"a.png"}


def test_known_bad_files(pictures: Path, tmp_path: Path) -> None:
    index = ("index", pictures, "--into", tmp_path / "i.resight", "--processes", 1)
    (pictures / "bad.png").write_bytes(b"no picture")
    assert names([s["key"] for s in run_json(*index, code=1)["skipped"]]) == {"bad.png"}
    text = run(*index)
    assert "0 added, 0 updated, 4 unchanged, 0 skipped" in text
    assert "1 known bad file skipped (--retry-bad tries them again)" in text
    (pictures / "worse.png").write_bytes(b"no picture, either")
    third = run_json(*index, code=1)
    assert (names([s["key"] for s in third["skipped"]]), names([s["key"] for s in third["known_bad"]])) == (
        {"worse.png"},
        {"bad.png"},
    )
    assert len(run_json(*index, "--retry-bad", code=1)["skipped"]) == 2
    write(pictures / "bad.png", texture(7, size=48))
    (pictures / "worse.png").unlink()
    mended = run_json(*index, "--sync")
    assert (mended["added"], mended["skipped"], mended["known_bad"]) == (1, [], [])
    with Index.open(tmp_path / "i.resight") as opened:
        assert opened.snapshot.refused == {}


def test_patterns_remove(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    into = tmp_path / "i.resight"
    for name in ("[ab].png", "e.png", "sub/f.png"):
        write(pictures / name, texture(len(name), size=48))
    run("index", pictures, "--into", into, "--processes", 1, "--relative-to", pictures)
    dry = run_json("remove", into, "sub/*.png", "--dry-run")
    assert (set(dry["removed"]), dry["pictures"]) == ({"sub/c.png", "sub/d.png", "sub/f.png"}, 7)
    text = run("remove", into, "sub/*.png", "--dry-run")
    assert "sub/c.png\n" in text
    assert "3 of 7 pictures would be removed" in text
    assert run_json("remove", into, "[ab].png")["removed"] == ["[ab].png"]  # the key, not what it is a pattern of
    assert set(run_json("remove", into, "[ab].png")["removed"]) == {"a.png", "b.png"}
    missing = run_json("remove", into, "[ab].png", "SUB/*", "sub/c.png", code=1)
    assert (missing["removed"], missing["unknown"]) == (["sub/c.png"], ["[ab].png", "SUB/*"])
    assert run_json("remove", into, pictures / "sub/d.*")["removed"] == ["sub/d.png"]  # by its path
    monkeypatch.chdir(pictures / "sub")
    assert run_json("remove", into, "./f.*", f"..{os.sep}*.png")["removed"] == ["sub/f.png", "e.png"]
    assert run_json("info", into)["pictures"] == 0
