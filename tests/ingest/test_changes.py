"""What is gone from folders and what is not, whatever else may have become of a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from resight import Index, list_pictures
from resight.options import FeatureOptions

from ..support.pictures import texture, write

SMALL = FeatureOptions(max_features=20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(("a.png", "b.png", "sub/c.png", "sub/deep/d.png")):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, texture(number, size=48))
    return tmp_path / "pictures"


@pytest.fixture
def index(folder: Path, tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "i.resight", features=SMALL) as index:
        list(index.add_files(list_pictures([folder]).pictures))
        index.commit()
        yield index


def gone(index: Index, *roots: Path, exclude: tuple[str, ...] = (), allow_empty: bool = False) -> set[str]:
    changes = index.changes(list_pictures(roots, exclude=exclude), allow_empty=allow_empty)
    return {Path(row.key).name for row in changes.gone}


def test_only_what_lay_in_the_folders_can_be_gone(index: Index, folder: Path) -> None:
    assert gone(index, folder) == set()
    (folder / "a.png").unlink()
    (folder / "sub/c.png").unlink()
    assert gone(index, folder) == {"a.png", "c.png"}
    assert gone(index, folder / "sub") == {"c.png"}
    assert gone(index, folder / "b.png") == set()  # a file is no folder
    shutil.copytree(folder, folder.with_name("pictures 2"))
    assert gone(index, folder.with_name("pictures 2")) == set()
    assert gone(index, folder.with_name("pictures 2"), folder / "sub") == {"c.png"}
    shutil.rmtree(folder / "sub")
    (folder / "sub").touch()  # a file where there was a folder
    assert gone(index, folder) == {"a.png", "c.png", "d.png"}


def test_what_a_walk_leaves_out_is_not_gone(index: Index, folder: Path) -> None:
    """A hidden file and one of an unusual name were given by name; a symlinked folder is not walked."""
    for name in (".hidden.png", "odd.dat", "sub/linked/e.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        write(folder / name, texture(9, size=48))
    list(index.add_files([folder / ".hidden.png", folder / "odd.dat", folder / "sub/linked/e.png"]))
    index.commit()
    (folder / "sub/linked").rename(folder.with_name("elsewhere"))
    (folder / "sub/linked").symlink_to(folder.with_name("elsewhere"))
    assert gone(index, folder) == set()
    (folder / "odd.dat").unlink()
    assert gone(index, folder) == {"odd.dat"}


def test_what_cannot_be_looked_at_is_not_gone(index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test may run as root, whom nothing stops, so the system's answers are made up."""
    real_scan, real_stat = os.scandir, os.stat

    def scan(path: str) -> Any:
        return real_scan(allowed(path))

    def stat(path: Any, **options: Any) -> os.stat_result:
        return real_stat(allowed(path), **options)

    def allowed(path: Any) -> Any:
        if "deep" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return path

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", scan)
        patched.setattr(os, "stat", stat)
        (folder / "a.png").unlink()
        changes = index.changes(list_pictures([folder]))
    assert [Path(row.key).name for row in changes.gone] == ["a.png"]
    assert [path for path in changes.new if "deep" in str(path)] == [folder / "sub/deep"]  # whoever reads it says why


def test_an_empty_folder_may_be_a_disk_that_is_not_mounted(index: Index, folder: Path) -> None:
    shutil.rmtree(folder / "sub")
    (folder / "sub").mkdir()
    assert gone(index, folder) == {"c.png", "d.png"}
    changes = index.changes(list_pictures([folder / "sub"]))
    assert (changes.gone, changes.empty) == ([], {str(folder / "sub"): 2})
    assert gone(index, folder / "sub", allow_empty=True) == {"c.png", "d.png"}
    (folder / "sub/notes.txt").touch()  # as there may be at a mount point
    assert gone(index, folder / "sub") == set()


def test_what_patterns_leave_out_counts_as_gone(index: Index, folder: Path) -> None:
    assert gone(index, folder, exclude=("sub/deep/*",)) == {"d.png"}
    assert gone(index, folder, exclude=("*",)) == set()  # nothing is left: as in an empty folder
    assert gone(index, folder, exclude=("*",), allow_empty=True) == {"a.png", "b.png", "c.png", "d.png"}


@pytest.mark.parametrize("one_commit", [False, True])
@pytest.mark.parametrize("relative", [False, True])
def test_metadata_moves_with_a_file(index: Index, folder: Path, one_commit: bool, relative: bool) -> None:
    base = folder if relative else None
    if relative:
        for key in list(index):
            index.remove(key)
    key = "sub/c.png" if relative else str(folder / "sub/c.png")
    list(index.add_files(list_pictures([folder]).pictures, relative_to=base))
    index.add(folder / "sub/c.png", key=key, metadata={"title": "c"})
    index.commit()
    shutil.move(folder / "sub/c.png", folder / "moved.png")
    shutil.copy(folder / "a.png", folder / "copy.png")
    listing = list_pictures([folder])
    changes = index.changes(listing)
    assert changes.new == [folder / "copy.png", folder / "moved.png"]
    outcomes = list(index.add_files(listing.pictures, relative_to=base, one_commit=one_commit, changes=changes))
    assert [o.moved_from for o in outcomes if o.moved_from] == [key]
    index.drop(changes)
    index.commit()
    found = {Path(row.key).name: row.metadata for row in index.pictures()}
    assert found == {"a.png": {}, "b.png": {}, "copy.png": {}, "d.png": {}, "moved.png": {"title": "c"}}


def test_a_key_that_another_file_has_got_is_not_dropped(index: Index, folder: Path) -> None:
    for key in list(index):
        index.remove(key)
    list(index.add_files([folder / "sub/c.png"], relative_to=folder / "sub"))
    index.commit()
    shutil.move(folder / "sub/c.png", folder / "c.png")
    listing = list_pictures([folder])
    changes = index.changes(listing)
    assert [row.key for row in changes.gone] == ["c.png"]
    list(index.add_files([folder / "c.png"], relative_to=folder, changes=changes))
    index.drop(changes)
    index.commit()
    assert index.get("c.png").path == str(folder / "c.png")  # type: ignore[union-attr]


def test_folders_at_urls(tmp_path: Path) -> None:
    files = MemoryFileSystem()
    files.store.clear()
    data = write(tmp_path / "a.png", texture(1, size=48)).read_bytes()
    for name in ("a.png", "b.png", "sub/c.png", ".hidden.png"):
        files.pipe_file(f"/photos/{name}", data)
    with Index.create(tmp_path / "i.resight", features=SMALL) as index:
        list(index.add_files([*list_pictures(["memory://photos"]).pictures, "memory://photos/.hidden.png"]))
        index.commit()
        files.rm_file("/photos/sub/c.png")
        assert [row.key for row in index.changes(list_pictures(["memory://photos"])).gone] == [
            "memory://photos/sub/c.png"
        ]
    files.store.clear()
