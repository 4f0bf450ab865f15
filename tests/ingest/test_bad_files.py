"""Files that cannot be read: tried once, remembered by every later commit, tried again when something has changed."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from resight import Index, list_pictures
from resight.ingest import Outcome
from resight.options import FeatureOptions, ImageOptions, StoreOptions
from resight.store import Refusal, Writer, check, open_snapshot, refusals, shards
from resight.store import manifest as manifests

from ..support.pictures import texture, write
from ..support.stored import build, entry, refuse

SMALL = FeatureOptions(max_features=20)


def made(tmp_path: Path) -> tuple[Path, Index]:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(3):
        write(folder / f"{number}.png", texture(number, size=48))
    (folder / "bad.png").write_bytes(b"no picture")
    return folder, Index.create(tmp_path / "i.resight", features=SMALL)


def skipped(outcomes: list[Outcome]) -> dict[str, bool]:
    """Names of skipped files, and whether they were known to be bad."""
    return {Path(o.key).name: o.known_bad for o in outcomes if o.skipped}


@pytest.mark.parametrize("one_commit", [False, True])
def test_tried_again_when_something_has_changed(tmp_path: Path, one_commit: bool) -> None:
    folder, index = made(tmp_path)

    def add(*, retry_bad: bool = False) -> dict[str, bool]:
        paths = list_pictures([folder]).pictures
        outcomes = list(index.add_files(paths, one_commit=one_commit, retry_bad=retry_bad))
        index.commit()
        return skipped(outcomes)

    with index:
        assert add() == {"bad.png": False}
        assert index.info().commit == 1  # with the pictures, not by itself
        assert add() == {"bad.png": True}
        assert index.info().commit == 1
        assert add(retry_bad=True) == {"bad.png": False}
        (folder / "bad.png").write_bytes(b"no picture, either")
        assert add() == {"bad.png": False}
        (folder / "worse.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        assert add() == {"bad.png": True, "worse.png": False}
        index.images = ImageOptions(max_pixels=1000)
        assert add() == {"bad.png": False, "worse.png": False}  # other limits: who knows
        write(folder / "bad.png", texture(5, size=24))
        assert add() == {"worse.png": True}
        assert [Path(key).name for key in index.snapshot.refused] == ["worse.png"]
        index.merge()
        assert add() == {"worse.png": True}
        (folder / "worse.png").unlink()
        index.drop(index.changes(list_pictures([folder])))
        index.commit()
        assert index.snapshot.manifest.optional == {}
    assert check(tmp_path / "i.resight").problems == ()


def test_a_file_that_cannot_be_reached_is_not_a_bad_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> bytes:
        if path.suffix == ".png":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return whole(path)

    whole = Path.read_bytes
    folder, index = made(tmp_path)
    with index:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "read_bytes", fail)  # as a disk may, at times
            (outcome,) = index.add_files([folder / "0.png"])
            assert outcome.unreachable
            assert index.writer().refused == {}
        (folder / "folder.png").mkdir()
        paths = [folder / "nowhere.png", folder / "folder.png", folder / "bad.png"]
        assert skipped(list(index.add_files(paths))) == dict.fromkeys(("nowhere.png", "folder.png", "bad.png"), False)
        index.commit()
        assert [Path(key).name for key in index.snapshot.refused] == ["bad.png"]


def test_removing_a_key_forgets_it(tmp_path: Path) -> None:
    folder, index = made(tmp_path)
    with index:
        list(index.add_files([folder / "bad.png"]))
        index.commit()
        assert not index.remove(str(folder / "bad.png"))
        index.commit()
        assert index.snapshot.refused == {}


def test_at_a_url(tmp_path: Path) -> None:
    files, url = MemoryFileSystem(), "memory://photos/bad.png"
    files.store.clear()
    files.pipe_file("/photos/bad.png", b"no picture")
    with Index.create(tmp_path / "i.resight", features=SMALL) as index:
        assert [skipped(list(index.add_files([url]))) for _ in range(2)] == [{"bad.png": False}, {"bad.png": True}]
        files.pipe_file("/photos/bad.png", b"another")
        assert skipped(list(index.add_files([url]))) == {"bad.png": False}
    files.store.clear()


def test_an_interrupted_build_keeps_its_shards(tmp_path: Path) -> None:
    """What is found out about files is committed with the build, not before: another commit would sweep the shards."""
    folder, index = made(tmp_path)
    paths = [folder / "bad.png", *(folder / f"{number}.png" for number in range(3))]
    with index:
        index.store = StoreOptions(shard=1)
        building = index.add_files(paths, one_commit=True)
        assert skipped([next(building), next(building)]) == {"bad.png": False}
        index.commit()
        assert index.info().commit == 0
        assert len(list(shards.unfinished(index.path, 0))) >= 2
        assert skipped(list(index.add_files(paths, one_commit=True))) == {"bad.png": False}
        assert (index.info().commit, len(index)) == (1, 3)
        assert skipped(list(index.add_files(paths, one_commit=True))) == {"bad.png": True}


def test_a_file_that_is_mended_before_a_build_goes_on(tmp_path: Path) -> None:
    folder, index = made(tmp_path)
    paths = [folder / "bad.png", folder / "0.png"]
    with index:
        index.store = StoreOptions(shard=1)
        building = index.add_files(paths, one_commit=True)
        assert next(building).skipped
        write(folder / "bad.png", texture(7, size=48))
        assert skipped(list(index.add_files(paths, one_commit=True))) == {}
        assert index.snapshot.refused == {}


def test_any_later_commit_keeps_it(tmp_path: Path) -> None:
    folder = tmp_path / "i.resight"
    build(folder, [entry("a", 1)], [entry("b", 2)])
    refuse(folder, "x.jpg", os.fsdecode(b"bytes\xff.jpg"))
    with Writer(folder) as writer:
        writer.add(entry("c", 3))
        writer.commit()
        writer.merge()
        writer.attach({})
    with open_snapshot(folder) as snapshot:
        assert list(snapshot.refused) == ["x.jpg", os.fsdecode(b"bytes\xff.jpg")]
        assert snapshot.refused["x.jpg"] == Refusal("/x.jpg", "9 bytes", "x.jpg is damaged")


def test_the_file_is_bounded_checked_and_versioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST", 2)
    folder = tmp_path / "i.resight"
    build(folder, [entry("a", 1)])
    refuse(folder, "1", "2", "3")
    refuse(folder, "2")
    with open_snapshot(folder) as snapshot:
        assert list(snapshot.refused) == ["2", "3"]  # those refused last
    record = manifests.read(folder).refused
    assert record
    file = folder / record.name
    data = file.read_bytes()
    file.write_bytes(data.replace(b"9 bytes", b"8 bytes"))
    with open_snapshot(folder) as snapshot:
        assert snapshot.refused == {}  # tried again, which is always right
    assert [record.name in problem for problem in check(folder).problems] == [True]
    assert refusals.from_bytes(data)
    assert refusals.from_bytes(json.dumps({**json.loads(data), "version": 2}).encode()) == {}
    long = {"x": Refusal("/x", "9", "y" * 10_000)}
    assert len(refusals.to_bytes(long)) < 1000
