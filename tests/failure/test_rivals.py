"""One writer at a time, and readers that no writer disturbs."""

from __future__ import annotations

import os
import re
import shutil
import signal
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from resight.errors import IndexDamagedError, IndexExistsError, IndexLockedError, StoreError
from resight.store import Writer, check, create, open_snapshot
from resight.store import manifest as manifests
from resight.store.segment import FOLDER
from resight.store.snapshot import Snapshot
from resight.store.table import Table

from ..support.stored import (
    NO_DETECTOR,
    QuickDisk,
    build,
    change,
    contents,
    entry,
    expected,
    leftovers,
    rankings,
    state,
    vocabulary,
)
from .children import hold_lock, start_talking
from .scenarios import MERGE_EARLY, OTHER_A, A, B, C, D, E


def test_second_writer_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "index", [A])
    with Writer(tmp_path / "index") as first:
        with pytest.raises(IndexLockedError, match=f"another process is writing to {tmp_path / 'index'}; wait until"):
            Writer(tmp_path / "index")
        first.add(B)  # the first is not disturbed
        assert first.commit()
    with Writer(tmp_path / "index") as second:
        assert second.known("b")


def test_lock_of_another_process_ends_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(folder, [A])
    child, receiver = start_talking(hold_lock, folder)
    assert receiver.recv() == child.pid
    with pytest.raises(IndexLockedError, match=f"another process is writing to {folder}"):
        Writer(folder)
    with open_snapshot(folder) as reader:  # reading needs no lock
        assert contents(reader) == expected([A])
    assert child.pid
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert child.exitcode == -signal.SIGKILL
    change(folder, add=[B])
    assert state(folder)[0] == expected([A, B])


def test_closed_writer_and_reader_say_so(tmp_path: Path) -> None:
    build(tmp_path / "index", [A])
    writer, reader = Writer(tmp_path / "index"), open_snapshot(tmp_path / "index")
    writer.add(B)
    writer.close()
    reader.close()
    with pytest.raises(StoreError, match="was closed; open the index again"):
        writer.commit()
    with pytest.raises(StoreError, match="was closed; open the index again"):
        reader.find("a")
    assert state(tmp_path / "index")[0] == expected([A])


def test_create_refuses_what_is_there(tmp_path: Path) -> None:
    build(tmp_path / "index", [A])
    with pytest.raises(IndexExistsError, match="there is already an index"):
        build(tmp_path / "index")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "holiday.jpg").write_text("mine")
    shutil.copytree(tmp_path / "index", tmp_path / "lost")
    (tmp_path / "lost" / "manifest").unlink()  # all else is there and may be precious
    for name in ("file", "folder", "lost"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(IndexExistsError, match="exists and is not an index; choose another place"):
            build(tmp_path / name)
        assert sorted(tmp_path.rglob("*")) == before


def test_create_does_not_overwrite_a_faster_rival(tmp_path: Path) -> None:
    folder = tmp_path / "index"

    class Slow(QuickDisk):
        def make_folder(self, path: Path) -> None:
            build(folder, [A])
            super().make_folder(path)

    with pytest.raises(IndexExistsError, match="there is already an index"):
        create(folder, vocabulary(1), features=NO_DETECTOR, disk=Slow())
    assert state(folder)[0] == expected([A])


def test_old_reader_keeps_its_commit(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(folder, [A, B, C], [D])
    change(folder, remove=["b"])
    _, answers, counts = state(folder)
    untouched, searched = open_snapshot(folder), open_snapshot(folder)
    assert rankings(searched) == answers
    old_folders = {segment.folder for segment in untouched.segments}

    change(folder, add=[OTHER_A, E], remove=["d"])
    change(folder, merge=True)
    assert not any(path.exists() for path in old_folders)
    assert leftovers(folder) == set()

    for reader in (untouched, searched):
        with reader:
            assert rankings(reader) == answers
            assert contents(reader) == expected([A, C, D])  # rows and geometry that were never read before
            assert reader.pictures == counts["pictures"]
            assert reader.find("d") is not None
            assert reader.find("e") is None
    assert state(folder)[0] == expected([OTHER_A, C, E])


ROUNDS = 12


def _round(number: int) -> list[str]:
    """Keys of a commit: each round has its own pictures and replaces the common one."""
    return ["common", f"only in {number}", f"also in {number}"]


def _rewrite(folder: Path, progress: Connection) -> None:
    """Commit round after round; each removes the last one's pictures and merges."""
    disk = QuickDisk()
    with Writer(folder, options=MERGE_EARLY, disk=disk) as writer:
        for number in range(1, ROUNDS + 1):
            for key in _round(number - 1):
                writer.remove(key)
            for key in _round(number):
                writer.add(entry(key, number))
            writer.commit()
            writer.merge()
    progress.send("done")


def test_readers_that_open_during_merges(tmp_path: Path) -> None:
    """Whenever one opens, it finds all of one commit and nothing of another; ``check`` finds nothing wrong."""
    folder = tmp_path / "index"
    build(folder, [entry(key, 0) for key in _round(0)])
    right = [expected([entry(key, number) for key in _round(number)]) for number in range(ROUNDS + 1)]
    child, receiver = start_talking(_rewrite, folder)
    seen: list[int] = []
    while not receiver.poll() or not seen or seen[-1] != ROUNDS:
        with open_snapshot(folder) as reader:
            seen.append(right.index(contents(reader)))
        assert check(folder).problems == ()
    child.join()
    assert child.exitcode == 0
    assert seen == sorted(seen)
    assert len(set(seen)) > 2


def test_a_file_that_vanishes_while_a_reader_opens(tmp_path: Path) -> None:
    """A merge may remove the files of a segment in any order: each gap looks like damage, which makes readers retry."""
    folder = tmp_path / "index"
    build(folder, [A, B, C])
    change(folder, remove=["b"])
    manifest = manifests.read(folder)
    (record,) = manifest.segments
    for path in sorted((folder / FOLDER / record.name).iterdir()):
        hidden = path.rename(tmp_path / "hidden")
        with pytest.raises(IndexDamagedError, match=re.escape(str(path))):
            Snapshot(folder, manifest)
        hidden.rename(path)
    with closing(Snapshot(folder, manifest)) as snapshot:
        file = snapshot.segments[0].files["pictures.db"]
        file.path.unlink()  # between the map of its bytes and its opening as a database
        with pytest.raises(IndexDamagedError, match=r"pictures\.db"):
            Table(file)
