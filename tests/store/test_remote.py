"""An index at a URL: what is committed there survives whatever fails on the way, and two writers never mix."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import count, groupby
from pathlib import Path
from typing import Any

import pytest
from fsspec.core import url_to_fs
from fsspec.implementations.memory import MemoryFileSystem

from resight import learn
from resight.errors import (
    IndexDamagedError,
    IndexExistsError,
    IndexLockedError,
    IndexMissingError,
    StoreError,
    UsageError,
)
from resight.options import IndexingOptions
from resight.store import Disk, Remote, RemoteWriter, check, open_snapshot
from resight.store import manifest as manifests
from resight.store.bucket import LEASE
from resight.store.remote import files_of, leftovers
from resight.urls import files_under

from ..support.file_systems import FaultyFileSystem
from ..support.stored import NEVER_MERGE, NO_DETECTOR, QuickDisk, entry, similarity, vocabulary

URL = "faulty://bucket/i.resight"
MadeRemote = Callable[[str], Remote]
Beside = Callable[[Callable[[], object]], "Future[object]"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Memory is empty, and nothing waits for a device."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    FaultyFileSystem.rest()
    monkeypatch.setattr(Disk, "sync", QuickDisk.sync)
    yield
    FaultyFileSystem.rest()
    MemoryFileSystem.store.clear()


@pytest.fixture
def machine(tmp_path: Path) -> MadeRemote:
    """The index as a machine of this name sees it."""
    return lambda name: Remote(URL, base=tmp_path / name)


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Beside]:
    """Does something in another thread; comes back when that has to wait for a lock, or has come to its end."""
    paused, flock = threading.Event(), fcntl.flock

    def heard(file: int, operation: int) -> None:
        try:
            flock(file, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if operation & fcntl.LOCK_NB:
                raise
            paused.set()
            flock(file, operation)

    def begun(work: Callable[[], object]) -> Future[object]:
        future = pool.submit(work)
        future.add_done_callback(lambda _: paused.set())
        assert paused.wait(60)
        return future

    monkeypatch.setattr("fcntl.flock", heard)
    with ThreadPoolExecutor() as pool:
        yield begun


def keys(remote: Remote) -> list[str]:
    remote.pull()
    with open_snapshot(remote.folder) as snapshot:
        return sorted(row.key for row in snapshot.rows())


def made(remote: Remote, *names: str) -> Remote:
    remote.create(vocabulary(), features=NO_DETECTOR, indexing=IndexingOptions())
    with RemoteWriter(remote, options=NEVER_MERGE) as writer:
        for seed, name in enumerate(names):
            writer.add(entry(name, seed))
        writer.commit()
    return remote


def there() -> set[str]:
    """Names of the objects at the URL."""
    return {path.removeprefix("/bucket/i.resight/") for path in MemoryFileSystem.store}


def named() -> set[str]:
    """Names of what should be there."""
    data = MemoryFileSystem.store["/bucket/i.resight/manifest"].getvalue()
    return {"manifest", *files_of(manifests.parse(data, URL))}


@pytest.mark.parametrize("url", ["memory://somewhere/i.resight", "file://{folder}/deep/i.resight"])
def test_what_one_machine_commits_another_reads(tmp_path: Path, url: str) -> None:
    here, elsewhere = (Remote(url.format(folder=tmp_path), base=tmp_path / name) for name in ("here", "elsewhere"))
    assert not here.exists()
    with pytest.raises(IndexMissingError, match="resight index"):
        elsewhere.pull()
    made(here, "a", "b", "c")
    assert here.exists()
    assert keys(elsewhere) == ["a", "b", "c"]
    with RemoteWriter(elsewhere, options=NEVER_MERGE) as writer:
        writer.remove("b")
        writer.add(entry("d", 7))
        learn.keep_similarity(writer, similarity())
    assert keys(here) == ["a", "c", "d"]
    with RemoteWriter(here) as writer:
        writer.merge()
    assert keys(elsewhere) == ["a", "c", "d"]
    assert not here.check().problems
    files, root = url_to_fs(here.url)
    manifest = manifests.read(here.folder)
    assert {str(p)[len(root) + 1 :] for p in files.find(root)} == {"manifest", *files_of(manifest)}
    mirrored = {p.relative_to(elsewhere.folder).as_posix() for p in elsewhere.folder.rglob("*") if p.is_file()}
    assert mirrored - {"writer.lock"} == {"manifest", *files_of(manifest)}


@pytest.mark.parametrize("variable", ["RESIGHT_CACHE", "XDG_CACHE_HOME", None])
def test_a_mirror_in_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RESIGHT_CACHE", raising=False)
    if variable:
        monkeypatch.setenv(variable, "cache")
    here, elsewhere = Remote(URL, base=None if variable else Path("mirror")), Remote(URL, base=tmp_path / "elsewhere")
    made(here, "a", "b")
    assert keys(elsewhere) == keys(here) == ["a", "b"]


def test_only_what_is_missing_is_fetched(machine: MadeRemote) -> None:
    made(machine("here"), "a", "b", "c")
    elsewhere = machine("elsewhere")
    elsewhere.pull()
    with RemoteWriter(machine("here"), options=NEVER_MERGE) as writer:
        writer.remove("a")
        writer.commit()
    FaultyFileSystem.rest()
    elsewhere.pull()
    assert FaultyFileSystem.done.count("get_file") == 1  # the list of removed pictures
    FaultyFileSystem.rest()
    elsewhere.pull()
    assert FaultyFileSystem.done == ("cat_file",)


def test_a_new_index_in_the_place_of_an_old_one(machine: MadeRemote) -> None:
    made(machine("here"), "a", "b")
    elsewhere = machine("elsewhere")
    assert keys(elsewhere) == ["a", "b"]
    with pytest.raises(IndexExistsError, match="already an index"):
        machine("here").create(vocabulary(), features=NO_DETECTOR, indexing=IndexingOptions())
    MemoryFileSystem.store.clear()
    made(machine("third"), "x", "y")  # segments have the names that they had
    assert keys(elsewhere) == ["x", "y"]
    assert not elsewhere.check().problems
    with RemoteWriter(machine("here")) as writer:
        writer.add(entry("z", 5))
        writer.commit()
    assert keys(elsewhere) == ["x", "y", "z"]


def test_what_is_no_index_is_left_alone(machine: MadeRemote) -> None:
    files, _ = url_to_fs(URL)
    files.pipe_file("/bucket/i.resight/letters/1.txt", b"dear")
    with pytest.raises(IndexExistsError, match=r"letters/1\.txt exists"):
        machine("here").create(vocabulary(), features=NO_DETECTOR, indexing=IndexingOptions())
    assert there() == {"letters/1.txt"}


def change(remote: Remote) -> list[str]:
    """A commit and a merge: which of them the caller was told of."""
    told: list[str] = []
    with RemoteWriter(remote, options=NEVER_MERGE) as writer:
        writer.remove("a")
        writer.add(entry("c", 7))
        writer.commit()
        told.append("commit")
        writer.merge()
        told.append("merge")
    return told


BEFORE, AFTER = ["a", "b", "e"], ["b", "c", "e"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_at_any_step_leaves_the_last_commit(machine: MadeRemote, when: str) -> None:
    made(machine("here"), *BEFORE)
    store = {path: file.getvalue() for path, file in MemoryFileSystem.store.items()}
    FaultyFileSystem.rest()
    change(machine("here"))
    operations, seen = FaultyFileSystem.done, set()
    assert len(operations) > 60
    for step, operation in enumerate(operations):
        if when == "after" and operation not in ("put_file", "cp_file", "rm_file"):
            continue  # what was only read has changed nothing
        MemoryFileSystem.store.clear()
        files, _ = url_to_fs(URL)
        for path, data in store.items():
            files.pipe_file(path, data)
        here, reader, told = machine(f"here {step}"), machine(f"reader {step}"), list[str]()
        here.pull()
        FaultyFileSystem.rest()
        FaultyFileSystem.at, FaultyFileSystem.when = step, when
        with suppress(StoreError):
            told = change(here)
        assert FaultyFileSystem.done[: step + 1] == operations[: step + 1]
        FaultyFileSystem.rest()
        found = keys(reader)
        assert found in ((AFTER,) if told else (BEFORE, AFTER)), step
        seen.add((tuple(told), tuple(found)))
        assert not check(reader.folder).problems, step
        with RemoteWriter(here) as writer:  # the same machine goes on, though a lease may be left
            writer.add(entry("d", 9))
            writer.commit()
        assert keys(reader) == sorted([*found, "d"])
        assert there() == named(), step
    assert {told for told, _ in seen} == {(), ("commit", "merge")}
    assert {found for told, found in seen if not told} == {tuple(BEFORE), tuple(AFTER)}


def test_a_failed_creation_is_repeated(machine: MadeRemote) -> None:
    for step in count():
        MemoryFileSystem.store.clear()
        FaultyFileSystem.rest()
        FaultyFileSystem.at, FaultyFileSystem.when = step, "before"
        here = machine(f"here {step}")
        with suppress(StoreError):
            here.create(vocabulary(), features=NO_DETECTOR, indexing=IndexingOptions())
        struck = len(FaultyFileSystem.done) > step
        FaultyFileSystem.rest()
        with suppress(IndexExistsError):
            here.create(vocabulary(), features=NO_DETECTOR, indexing=IndexingOptions())
        assert keys(here) == []
        if not struck:
            break
    assert step > 5


def test_one_writer_at_a_time(machine: MadeRemote) -> None:
    here, elsewhere = made(machine("here"), *BEFORE), machine("elsewhere")
    with RemoteWriter(here) as writer:
        with pytest.raises(IndexLockedError, match=f"remove {URL}/{LEASE}"):
            RemoteWriter(elsewhere)
        with pytest.raises(IndexLockedError, match="of this machine is writing"):
            RemoteWriter(machine("here"))
        writer.add(entry("c", 2))
        writer.commit()
        assert keys(elsewhere) == ["a", "b", "c", "e"]
        assert keys(machine("here")) == ["a", "b", "c", "e"]
    with RemoteWriter(elsewhere) as writer:
        writer.remove("c")
        writer.commit()
    assert keys(here) == BEFORE


def test_a_reader_of_the_writers_machine_pulls_before_each_step(machine: MadeRemote) -> None:
    made(machine("here"), *BEFORE)
    found, fetched = list[list[str]](), set[str]()

    def pull(operation: str, path: str) -> None:
        found.append(keys(machine("here")))
        if "get_file" in FaultyFileSystem.done:
            fetched.add(operation)
        FaultyFileSystem.done = ()

    with RemoteWriter(machine("here"), options=NEVER_MERGE) as writer:
        FaultyFileSystem.rest()
        FaultyFileSystem.hook = pull
        writer.remove("a")
        writer.add(entry("c", 7))
        writer.commit()
        writer.merge()
        FaultyFileSystem.rest()
    assert [state for state, _ in groupby(found)] == [BEFORE, AFTER]
    assert fetched == {"rm_file"}  # when the manifest has got its name there, and not yet in the mirror
    assert keys(machine("here")) == keys(machine("elsewhere")) == AFTER
    assert not check(machine("here").folder).problems
    assert there() == named()


def test_a_commit_gets_into_the_mirror_while_nobody_pulls(machine: MadeRemote, beside: Beside) -> None:
    """Else one who found an older manifest at the URL could put it into the place of the new one."""
    here = made(machine("here"), *BEFORE)
    with RemoteWriter(machine("here")) as writer:
        writer.add(entry("c", 2))
        with here.pulling():
            committing = beside(writer.commit)
            assert keys(machine("elsewhere")) == ["a", "b", "c", "e"]
            assert manifests.read(here.folder).pictures == 3
        assert committing.result()
        assert manifests.read(here.folder).pictures == 4


def test_a_writer_starts_while_a_reader_of_its_machine_sweeps(
    machine: MadeRemote, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(machine("here"), *BEFORE)
    writers = list[Future[object]]()

    def start_writer(*given: Any) -> list[str]:
        if not writers:
            writers.append(beside(lambda: change(machine("second"))))
            assert not writers[0].done()
        return leftovers(*given)

    monkeypatch.setattr("resight.store.remote.leftovers", start_writer)
    machine("second").pull()
    assert writers[0].result() == ["commit", "merge"]
    assert keys(machine("second")) == AFTER


def test_a_lease_that_says_nothing_is_respected(machine: MadeRemote) -> None:
    made(machine("here"), *BEFORE)
    url_to_fs(URL)[0].pipe_file(f"/bucket/i.resight/{LEASE}", b"")  # its maker may be about to write it
    with pytest.raises(IndexLockedError, match=f"remove {URL}/{LEASE}"):
        RemoteWriter(machine("here"))
    assert LEASE in there()


def test_a_writer_whose_lease_was_taken_away_commits_nothing(machine: MadeRemote) -> None:
    here, elsewhere = made(machine("here"), *BEFORE), machine("elsewhere")
    with RemoteWriter(here) as late:
        late.add(entry("late", 3))
        del MemoryFileSystem.store[f"/bucket/i.resight/{LEASE}"]
        with pytest.raises(StoreError, match="another writer has taken over"):
            late.commit()
    with RemoteWriter(here) as late:
        late.add(entry("late", 3))
        del MemoryFileSystem.store[f"/bucket/i.resight/{LEASE}"]
        with RemoteWriter(elsewhere) as writer:
            writer.add(entry("early", 4))
            writer.commit()
            with pytest.raises(StoreError, match="another writer has taken over"):
                late.commit()
        assert LEASE not in there()
    assert keys(machine("third")) == ["a", "b", "e", "early"]
    assert not here.check().problems


def test_a_writer_that_was_killed_here_is_followed_at_once(tmp_path: Path) -> None:
    url, base = f"file://{tmp_path}/i.resight", tmp_path / "mirror"
    here = made(Remote(url, base=base), "a")
    script = (
        "import os, sys; from pathlib import Path; from resight.store import Remote, RemoteWriter\n"
        "writer = RemoteWriter(Remote(sys.argv[1], base=Path(sys.argv[2]))); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script, url, str(base)], check=False).returncode == 9
    assert (tmp_path / "i.resight" / LEASE).exists()
    with pytest.raises(IndexLockedError, match="has been writing"):
        RemoteWriter(Remote(url, base=tmp_path / "elsewhere"))
    with RemoteWriter(here) as writer:
        writer.add(entry("b", 1))
        writer.commit()
    assert keys(Remote(url, base=tmp_path / "elsewhere")) == ["a", "b"]
    assert not (tmp_path / "i.resight" / LEASE).exists()


def test_every_damaged_or_missing_file_is_found(machine: MadeRemote) -> None:
    with RemoteWriter(made(machine("here"), *BEFORE), options=NEVER_MERGE) as writer:
        writer.remove("a")
        learn.keep_similarity(writer, similarity())
    objects = {path: file.getvalue() for path, file in MemoryFileSystem.store.items()}
    assert len(objects) > 10
    for number, (path, data) in enumerate(objects.items()):
        middle = len(data) // 2
        for kind, changed in (
            ("flipped", data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]),
            ("cut", data[:-1]),
            ("missing", None),
        ):
            url_to_fs(URL)[0].pipe_file(path, changed or b"")
            if changed is None:
                del MemoryFileSystem.store[path]
            wanted = IndexMissingError if (changed is None and path.endswith("/manifest")) else IndexDamagedError
            with pytest.raises(wanted, match=path.rpartition("/")[2] if wanted is IndexDamagedError else "no index"):
                machine(f"{kind} {number}").pull()
        url_to_fs(URL)[0].pipe_file(path, data)
    assert not machine("last").check().problems


@pytest.mark.parametrize("name", ["../evil.npz", "/tmp/evil.npz", "a/../../evil.npz", "", "a\\b", ".."])
def test_a_manifest_cannot_reach_out_of_the_mirror(machine: MadeRemote, tmp_path: Path, name: str) -> None:
    here, elsewhere = made(machine("here"), *BEFORE), machine("elsewhere")
    manifest = manifests.read(here.folder)
    crafted = replace(manifest, vocabulary=replace(manifest.vocabulary, name=name))
    manifests.write(tmp_path, crafted, QuickDisk())
    url_to_fs(URL)[0].pipe_file("/bucket/i.resight/manifest", (tmp_path / "manifest").read_bytes())
    with pytest.raises(IndexDamagedError, match="do not trust it"):
        elsewhere.pull()
    assert not elsewhere.folder.exists()


def flip(file: Path, place: int = -1) -> None:
    """One bit of it."""
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("name", ["manifest", "vocabulary.npz", "sums.npy", "signature.npy"])
def test_a_damaged_mirror_is_dropped_by_check(machine: MadeRemote, name: str) -> None:
    here = made(machine("here"), *BEFORE)
    (file,) = here.folder.rglob(name)
    sound = file.read_bytes()
    flip(file)
    assert not here.check().problems  # what is at the URL is sound
    assert not here.folder.exists()
    assert keys(here) == BEFORE
    assert file.read_bytes() == sound


def test_a_mirror_that_cannot_be_dropped(machine: MadeRemote) -> None:
    here = made(machine("here"), *BEFORE)
    manifest = here.folder / "manifest"
    manifest.unlink()
    manifest.mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        here.check()


def test_nobody_pulls_while_a_damaged_mirror_is_dropped(
    machine: MadeRemote, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = made(machine("here"), *BEFORE)
    flip(here.folder / "vocabulary.npz")
    pulls = list[Future[object]]()

    def pull_first(disk: Disk, path: Path) -> None:
        if path == here.folder:
            pulls.append(beside(machine("here").pull))
            assert not pulls[0].done()
        remove(disk, path)

    remove = Disk.remove
    monkeypatch.setattr(Disk, "remove", pull_first)
    assert not here.check().problems
    pulls[0].result()
    assert not check(here.folder).problems


def test_a_mirror_with_a_damaged_manifest_is_fetched_again(machine: MadeRemote) -> None:
    manifest = made(machine("here"), *BEFORE).folder / "manifest"
    sound = manifest.read_bytes()
    for place in (0, sound.index(b"6"), sound.index(b"\n"), len(sound) // 2, len(sound) - 1):
        flip(manifest, place)
        assert keys(machine("here")) == BEFORE
        assert manifest.read_bytes() == sound
    flip(manifest)
    assert change(machine("here")) == ["commit", "merge"]
    assert keys(machine("elsewhere")) == AFTER


def test_damaged_checksums_in_a_mirror_are_fetched_again(machine: MadeRemote) -> None:
    made(machine("here"), *BEFORE)
    elsewhere = machine("elsewhere")
    elsewhere.pull()
    flip(elsewhere.folder / "segments/00000001/sums.npy")
    with RemoteWriter(machine("here"), options=NEVER_MERGE) as writer:
        writer.add(entry("c", 7))
        writer.commit()
    assert keys(elsewhere) == ["a", "b", "c", "e"]
    assert not check(elsewhere.folder).problems


def test_a_merge_while_another_machine_fetches(machine: MadeRemote) -> None:
    made(machine("here"), *BEFORE)

    def merge_first(operation: str, path: str) -> None:
        if operation == "get_file" and "00000001" in path and not seen:
            seen.append(path)
            assert change(machine("here")) == ["commit", "merge"]

    seen: list[str] = []
    FaultyFileSystem.hook = merge_first
    assert keys(machine("elsewhere")) == AFTER
    assert seen


@pytest.mark.parametrize("name", ["a[1]", "a*", "what?"])
@pytest.mark.parametrize("url", ["memory://some{name}/x/i.resight", "file://{folder}/x/{name}.resight"])
def test_no_name_is_a_pattern(tmp_path: Path, url: str, name: str) -> None:
    for other in ("a1", "a2", "ab", "whatever"):  # what a pattern would find
        made(Remote(url.format(folder=tmp_path, name=other), base=tmp_path / f"mirror of {other}"), other)
    here = made(Remote(url.format(folder=tmp_path, name=name), base=tmp_path / "here"), "x", "y", "z")
    with RemoteWriter(here) as writer:
        writer.remove("z")
        writer.merge()
    elsewhere = Remote(here.url, base=tmp_path / "elsewhere")
    assert keys(elsewhere) == ["x", "y"]
    assert not elsewhere.check().problems
    assert set(files_under(here.url) or ()) == {"manifest", *files_of(manifests.read(here.folder))}
    for other in ("a1", "a2", "ab", "whatever"):
        assert keys(Remote(url.format(folder=tmp_path, name=other), base=tmp_path / f"mirror of {other}")) == [other]


def test_a_url_that_leads_nowhere() -> None:
    for url, words in (
        ("nosuch://bucket/x", "Protocol not known"),
        ("gs://bucket/x", "gcsfs"),
        ("zip://a::s3://b/c.zip", "chain of URLs"),
        ("ftp://me:secret@host/x", "password"),
        ("ftp://me@home:secret@[host/x", "password"),
        ("ftp://[host/x", "check the URL"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            Remote(url)
        assert "secret" not in str(caught.value)
