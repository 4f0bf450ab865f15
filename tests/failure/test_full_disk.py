"""A disk that refuses a write: an error that says what to do, nothing committed is lost, and a new writer goes on."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from resight import learn
from resight.errors import StoreError
from resight.options import ClusterOptions
from resight.store import Disk, Writer, create

from ..support.stored import NO_DETECTOR, QuickDisk, build, entry, similarity, vocabulary
from .children import start_talking
from .disks import CountingDisk, FullDisk, strikes
from .scenarios import COMPLETE, NO_FEATURES, OTHER_A, SCENARIOS, A, B, E, Judge, copy, files_of, last_commit

REMEDY = "No space left on device; what was committed before is safe: free some space"

# Each act of a writer is a scenario, played by a writer that is still there afterwards.
ACTS: dict[str, tuple[str, Callable[[Writer], object]]] = {
    "commit": ("add, replace and remove", lambda writer: writer.commit()),
    "merge": ("merge", lambda writer: writer.merge()),
    "all columns": ("change and merge with all columns", lambda writer: writer.merge()),
    "cluster": (
        "cluster",
        lambda writer: learn.learn_clusters(writer, ClusterOptions(count=2, kind="random", dimensions=4)),
    ),
    "keep": ("keep another similarity", lambda writer: learn.keep_similarity(writer, similarity())),
    "forget": ("forget similarity", learn.forget_similarity),
    "shrink": ("shrink with context, clusters and similarity", lambda writer: learn.shrink(writer, floor=5)),
}


def _open(folder: Path, disk: Disk, scenario: str) -> Writer:
    """A writer with the scenario's changes, not yet committed."""
    writer = Writer(folder, disk=disk)
    added = {
        "add, replace and remove": [E, OTHER_A, NO_FEATURES],
        "change and merge with all columns": [COMPLETE[key] for key in ("e", "a", "none")],
    }
    if scenario in added:
        writer.remove("d")
        for e in added[scenario]:
            writer.add(e)
    return writer


@pytest.mark.parametrize("act", ACTS)
def test_full_at_every_operation(act: str, tmp_path: Path) -> None:
    name, do = ACTS[act]
    scenario, judge, prepared = SCENARIOS[name], Judge(tmp_path), tmp_path / "prepared"
    scenario.prepare(prepared)
    last, survey = last_commit(prepared), CountingDisk()
    with _open(copy(prepared, tmp_path / "survey"), survey, name) as writer:
        opening = len(survey.done)
        do(writer)
    assert len(survey.done) >= scenario.operations
    outcomes = set()
    for at, half in strikes(survey.done):
        folder, disk = copy(prepared, tmp_path / "full"), FullDisk(at, half=half)
        if at < opening:
            with pytest.raises(StoreError, match=REMEDY):
                _open(folder, disk, name)
        else:
            with _open(folder, disk, name) as writer:
                with pytest.raises(StoreError, match=REMEDY) as caught:
                    do(writer)
                assert isinstance(caught.value.__cause__, OSError)
                assert caught.value.__cause__.errno == errno.ENOSPC
                with pytest.raises(StoreError, match="failed half-way; open the index again"):
                    writer.commit()
        outcomes.add(judge.committed(files_of(folder), scenario, last=last))
        shutil.rmtree(folder)
    assert outcomes == {False, True}


def test_full_while_creating(tmp_path: Path) -> None:
    survey, judge = CountingDisk(), Judge(tmp_path)
    create(tmp_path / "survey", vocabulary(), features=NO_DETECTOR, disk=survey)
    for at, half in strikes(survey.done):
        folder = tmp_path / f"{at}-{half}"
        with pytest.raises(StoreError, match=REMEDY):
            create(folder, vocabulary(), features=NO_DETECTOR, disk=FullDisk(at, half=half))
        judge.committed(files_of(folder), SCENARIOS["create"], last=None)


def _commit_with_little_room(folder: Path, room: int, answer: Connection) -> None:
    """The system itself refuses files of more than ``room`` bytes."""
    with Writer(folder) as writer:
        writer.add(entry("large", 1, features=4000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            writer.commit()
        except StoreError as error:
            answer.send(str(error))
        else:
            answer.send("no error")


@pytest.mark.parametrize("room", [0, 1000, 9000, 14_000, 20_000, 24_100, 30_000, 32_100])
def test_a_real_limit(room: int, tmp_path: Path) -> None:
    """The same from the operating system, at files of all kinds: lists, SQLite's, small ones."""
    build(tmp_path / "index", [A, B])
    child, receiver = start_talking(_commit_with_little_room, tmp_path / "index", room)
    message = receiver.recv()
    child.join()
    assert child.exitcode == 0
    assert message.startswith(f"cannot write to {tmp_path / 'index'}: ")
    Judge(tmp_path).goes_on(tmp_path / "index", [A, B])


def _map_with_little_room(path: Path, answer: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    try:
        Disk().create_array(path, kind=np.uint64, rows=1_000_000)
    except OSError as error:
        answer.send(error.errno)


def test_no_room_for_a_mapped_array_is_an_error_at_once(tmp_path: Path) -> None:
    child, receiver = start_talking(_map_with_little_room, tmp_path / "array.npy")
    assert receiver.recv() == errno.EFBIG
    child.join()


def test_mapped_arrays_have_their_room_reserved(tmp_path: Path) -> None:
    """Otherwise a full disk is noticed in a page of the map, which kills the process instead of raising."""
    if not hasattr(os, "posix_fallocate"):
        pytest.skip("this system cannot reserve room")
    Disk().create_array(tmp_path / "array.npy", kind=np.uint64, rows=100_000)
    status = (tmp_path / "array.npy").stat()
    assert status.st_size == 800_128
    assert status.st_blocks * 512 >= status.st_size


def test_an_index_that_may_not_be_written(tmp_path: Path) -> None:
    build(tmp_path / "index", [A, B])
    (tmp_path / "index" / "writer.lock").unlink()
    (tmp_path / "index" / "writer.lock").mkdir()  # stands for missing permissions, which root would not notice
    with pytest.raises(StoreError, match=r"cannot write to .*index: Is a directory"):
        Writer(tmp_path / "index", disk=QuickDisk())
