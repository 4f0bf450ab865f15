"""`resight watch` as a process: what it commits while files come, change, move and go."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from resight import Index

from ..support.commands import PROGRAM, run_json
from ..support.pictures import texture, write

DEADLINE = 60  # seconds; only a watcher that does nothing takes as long


class Watcher:
    """The process, and the JSON objects that it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def next(self, timeout: float = DEADLINE) -> Any:
        """The next object; queue.Empty if there is none in time."""
        return self._lines.get(timeout=timeout)

    def until(self, name: str, *keys: Path | str) -> Any:
        """The next object that has these under a name; what it printed before was about other changes."""
        while True:
            found = self.next()
            values = found[name] if isinstance(found[name], list) else [found[name]]
            named = [value["key"] if isinstance(value, dict) and "key" in value else value for value in values]
            if all(str(key) in named for key in keys):
                return found


@contextmanager
def watching(*words: object) -> Iterator[Watcher]:
    command = [*PROGRAM, "watch", *map(str, words), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield Watcher(process)
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for seed, name in enumerate(("a.png", "b.png")):
        write(folder / name, texture(seed, size=48))
    return folder


def test_watch(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("watchfiles", reason="needs resight[watch]")
    into = folder / "i.resight"  # its own commits are in the watched folder, and are nothing to look at
    new = {name: write(tmp_path / name, texture(number, size=48)) for number, name in enumerate("cde", 5)}
    with watching(folder, "--into", into, "--processes", 1) as watcher:
        assert watcher.next()["added"] == 2

        new["c"].rename(folder / "c.png")
        found = watcher.next()
        assert (found["added"], found["pictures"]) == (1, 3)

        with Index.open(into) as other:  # another process writes between its commits
            other.add(folder / "c.png", metadata={"title": "c"})
            other.commit()
            new["d"].rename(folder / "d.png")
            with pytest.raises(queue.Empty):  # but not while another one does
                watcher.next(timeout=2)
        assert watcher.next()["added"] == 1

        (folder / "sub").mkdir()
        (folder / "c.png").rename(folder / "sub/moved.png")
        found = watcher.until("dropped", folder / "c.png")
        assert found["moved"] == [{"from": str(folder / "c.png"), "to": str(folder / "sub/moved.png")}]
        with Index.open(into) as other:
            assert other.get(str(folder / "sub/moved.png")).metadata == {"title": "c"}  # type: ignore[union-attr]

        whole = new["e"].read_bytes()
        (folder / "e.png").write_bytes(whole[: len(whole) // 2])  # still being written
        assert watcher.until("skipped", folder / "e.png")["pictures"] == 4
        (folder / "e.png").write_bytes(whole)
        assert (found := watcher.next())["pictures"] == 5
        assert found["skipped"] == []

        write(folder / "a.png", texture(20, size=48))
        assert watcher.next()["updated"] == 1
        (folder / "sub").rename(tmp_path / "elsewhere")  # a folder with all that is in it
        watcher.until("dropped", folder / "sub/moved.png")

        watcher.process.send_signal(signal.SIGINT)
        ended = watcher.next()
        assert watcher.process.wait(timeout=DEADLINE) == 0
    assert (ended["ended"], ended["added"], ended["updated"], ended["dropped"], ended["pictures"]) == (True, 6, 1, 2, 4)
    with Index.open(into) as index:
        assert {Path(key).name for key in index} == {"a.png", "b.png", "d.png", "e.png"}
        assert index.snapshot.refused == {}
    assert run_json("check", into)["problems"] == []


def test_what_cannot_be_watched(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    into = ("--into", tmp_path / "i.resight")
    for place in (folder / "a.png", folder / "nowhere", "memory://photos"):
        assert "is not a folder of this machine" in run_json("watch", place, *into, code=2)["error"]
    assert "not inside" in run_json("watch", folder, *into, "--relative-to", folder / "sub", code=2)["error"]
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert "pip install resight[watch]" in run_json("watch", folder, *into, code=2)["error"]
    assert not (tmp_path / "i.resight").exists()
