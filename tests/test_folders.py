"""Which pictures of folders are wanted, and what is said about the other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from resight.folders import Selection, list_pictures


@pytest.mark.parametrize(
    ("include", "exclude", "taken"),
    [
        ((), (), "a.jpg B.PNG sub/c.jpg sub/raw/d.nef"),
        (("*.jpg",), (), "a.jpg sub/c.jpg"),
        (("*.JPG", "b.*"), (), "a.jpg B.PNG sub/c.jpg"),
        (("sub/*",), (), "sub/c.jpg sub/raw/d.nef"),
        ((), ("sub/raw/*",), "a.jpg B.PNG sub/c.jpg"),
        ((), ("*/raw/*", "b.png"), "a.jpg sub/c.jpg"),
        (("sub/*",), ("*.nef",), "sub/c.jpg"),
        (("[ab].*",), (), "a.jpg B.PNG"),
        (("sub",), (), ""),  # the name of a folder alone matches nothing in it
    ],
)
def test_patterns(include: tuple[str, ...], exclude: tuple[str, ...], taken: str) -> None:
    names = ["a.jpg", "B.PNG", "sub/c.jpg", "sub/raw/d.nef"]
    assert " ".join(filter(Selection(include, exclude).takes, names)) == taken


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_other_kinds_are_counted_and_hidden_files_are_not(tmp_path: Path) -> None:
    make(tmp_path, "a.jpg", "a.PDF", "sub/b.pdf", "c.mp4", "README", ".hidden.txt", ".git/x.txt", "i.resight/y.db")
    listing = list_pictures([tmp_path])
    assert listing.pictures == [tmp_path / "a.jpg"]
    assert listing.other_kinds == {".pdf": 2, ".mp4": 1, "no extension": 1}
    assert listing.folders == [str(tmp_path)]


def test_patterns_count_from_the_folder_and_not_for_files_that_are_named(tmp_path: Path) -> None:
    make(tmp_path, "raw/a.jpg", "raw/b.jpg", "c.jpg")
    listing = list_pictures([tmp_path, tmp_path / "raw/b.jpg"], exclude=["raw/*"])
    assert listing.pictures == [tmp_path / "c.jpg", tmp_path / "raw/b.jpg"]
    assert listing.excluded == [str(tmp_path / "raw/a.jpg"), str(tmp_path / "raw/b.jpg")]
    assert len(list_pictures([tmp_path / "raw"], exclude=["raw/*"]).pictures) == 2


def test_folders_at_urls() -> None:
    files = MemoryFileSystem()
    files.store.clear()
    for name in ("a.jpg", "raw/b.jpg", "notes.txt", ".x.txt"):
        files.pipe_file(f"/photos/{name}", b"x")
    listing = list_pictures(["memory://photos/"], exclude=["raw/*"])
    files.store.clear()
    assert (listing.pictures, listing.folders) == (["memory://photos/a.jpg"], ["memory://photos"])
    assert (listing.excluded, listing.other_kinds) == (["memory://photos/raw/b.jpg"], {".txt": 1})
