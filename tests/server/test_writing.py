"""Adding and removing, here and by other processes, while others search."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from resight import Index
from resight.errors import EngineError, IndexLockedError
from resight.options import FeatureOptions, ServeOptions
from resight.search import SegmentGroup
from resight.server import Collection
from resight.server.guard import Token
from resight.server.metrics import Metrics
from resight.server.state import State
from resight.store import Row, Snapshot, Writer, check
from resight.store.lock import WriterLock

from ..support.pictures import texture, write
from ..support.processes import open_files
from .conftest import Held, fill, png
from .served import PATIENCE, Served, files_in, problem, serving, until

ODD = "odd/ä ?&#%2F+\r\n\udce9.png"  # a name with bytes that are no text, and all that URLs make something of
# Waits for a line before it commits, so that what happens when is known.
COMMIT = """
import sys
from resight import Index
print("ready", flush=True)
sys.stdin.readline()
with Index.open(sys.argv[1]) as index:
    index.add(sys.argv[2], key=sys.argv[3])
"""


def test_upload_search_and_remove(changing: Served) -> None:
    uploads = changing.collection.uploads
    before = changing.json("/v1/health")
    added = changing.post("/v1/images", content=png(20), params={"name": "holi\r\nday\x00 " + "x" * 200})
    assert added.status_code == 201
    facts = added.json()
    key = facts["key"]
    assert key.startswith("uploads/")
    assert facts["metadata"]["name"] == "holiday " + "x" * 200
    assert added.headers["location"] == facts["links"]["facts"]
    assert changing.get(added.headers["location"]).json() == facts
    assert changing.json("/v1/health")["pictures"] == before["pictures"] + 1
    assert changing.post("/v1/search", content=png(20)).json()["hits"][0]["key"] == key
    (file,) = files_in(uploads)
    assert (uploads / file).read_bytes() == png(20)
    assert changing.get(facts["links"]["thumbnail"]).status_code == 200

    again = changing.post("/v1/images", content=png(20))
    assert (again.status_code, again.json()["key"]) == (200, key)
    known = changing.post("/v1/images", content=png(0))
    assert (known.status_code, known.json()["key"]) == (200, "t0.png")
    assert files_in(uploads) == [file]

    assert changing.client.delete(facts["links"]["facts"]).status_code == 204
    assert files_in(uploads) == []
    problem(changing.client.delete(facts["links"]["facts"]), 404, "no-such-picture")
    assert changing.json("/v1/health")["pictures"] == before["pictures"]


def test_files_from_elsewhere_are_never_touched(changing: Served) -> None:
    folder = changing.collection.path.parent / "pictures"
    file = write(folder / "mine.png", texture(21))
    with Index.open(changing.collection.path) as index:
        index.add(file, key="mine.png")
    assert changing.client.delete("/v1/images/mine.png").status_code == 204
    assert file.exists()


def test_a_key_may_be_anything(changing: Served) -> None:
    """Also bytes that are no text: in JSON a lone surrogate, in URLs the byte itself."""
    file = write(changing.collection.path.parent / "pictures" / "odd.png", texture(8))
    with Index.open(changing.collection.path) as index:
        index.add(file, key=ODD)
    (listed,) = (image for image in changing.json("/v1/images")["images"] if image["key"].startswith("odd"))
    assert listed["key"] == ODD
    quoted = quote(ODD, safe="", errors="surrogateescape")
    assert listed["links"]["facts"] == f"/v1/images/{quoted}"
    assert changing.get(listed["links"]["facts"]).json() == listed
    assert changing.get(listed["links"]["thumbnail"]).status_code == 200
    assert changing.get(f"/v1/search?key={quoted}").json()["query"]["key"] == ODD
    assert changing.get(f"/v1/compare?one={quoted}&other={quoted}").json()["confidence"] > 0.9


def test_a_changed_or_missing_file_is_not_shown(changing: Served) -> None:
    file = write(changing.collection.path.parent / "pictures" / "later.png", texture(22))
    with Index.open(changing.collection.path) as index:
        index.add(file, key="later.png")
    assert changing.get("/v1/picture?key=later.png").status_code == 200
    write(file, texture(23))
    assert "changed" in problem(changing.get("/v1/picture?key=later.png"), 404, "picture-gone")
    file.unlink()
    detail = problem(changing.get("/v1/picture?key=later.png"), 404, "picture-gone")
    assert str(file.parent) not in detail


def test_what_cannot_be_read_leaves_nothing(changing: Served) -> None:
    before = changing.json("/v1/health")
    problem(changing.post("/v1/images", content=png(24)[:1000]), 422, "picture-unreadable")
    assert changing.json("/v1/health") == before
    assert files_in(changing.collection.uploads) == []


def test_while_another_process_writes_searching_goes_on(changing: Served) -> None:
    lock = WriterLock(changing.collection.path)
    lock.take()
    try:
        refused = changing.post("/v1/images", content=png(25))
        detail = problem(refused, 503, "index-locked")
        assert int(refused.headers["retry-after"]) > 0
        assert str(changing.collection.path) not in detail
        problem(changing.client.delete("/v1/images/t0.png"), 503, "index-locked")
        assert changing.json("/v1/search", key="t0.png")["hits"]
    finally:
        lock.release()
    assert files_in(changing.collection.uploads) == []
    assert changing.client.delete(f"/v1/images/{_uploaded(changing, 25)}").status_code == 204


def _uploaded(served: Served, seed: int) -> str:
    return str(served.post("/v1/images", content=png(seed)).json()["key"])


def test_the_lock_is_free_between_changes(changing: Served) -> None:
    key = _uploaded(changing, 26)
    lock = WriterLock(changing.collection.path)
    lock.take()
    lock.release()
    assert changing.client.delete(f"/v1/images/{key}").status_code == 204


def test_a_commit_by_another_process_during_load_is_seen_and_loses_no_request(changing: Served, tmp_path: Path) -> None:
    file = write(tmp_path / "new.png", texture(30))
    command = [sys.executable, "-c", COMMIT, str(changing.collection.path), str(file), "new.png"]
    stop, answers = threading.Event(), list[int]()

    def ask(number: int) -> None:
        with httpx.Client(base_url=changing.url, timeout=PATIENCE) as client:
            while not stop.is_set():
                if number % 2:
                    answers.append(client.get("/v1/search", params={"key": "t0.png"}).status_code)
                else:
                    answers.append(client.post("/v1/search", content=png(number % 5)).status_code)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == b"ready\n"  # what it imports would take long under load
        for thread in threads:
            thread.start()
        try:
            until(lambda: len(answers) >= 4)
            problem(changing.get("/v1/images/new.png"), 404, "no-such-picture")
            other.stdin.write(b"now\n")
            other.stdin.close()
            until(lambda: changing.get("/v1/images/new.png").status_code == 200)
            seen = len(answers)
            until(lambda: len(answers) >= seen + 8)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert other.wait(PATIENCE) == 0
    assert set(answers) == {200}
    assert changing.post("/v1/search", content=png(30)).json()["hits"][0]["key"] == "new.png"


def test_groups_leave_out_what_was_removed_since(changing: Served) -> None:
    copies = [_uploaded(changing, 40)]
    with Index.open(changing.collection.path) as index:
        index.add(png(40), key="twin")
    assert changing.post("/v1/duplicates").status_code == 202
    until(lambda: changing.json("/v1/duplicates")["state"] == "done")

    def groups() -> list[Any]:
        """Besides that of the whole and its part."""
        found = changing.json("/v1/duplicates")["groups"]
        return [group for group in found if "part.png" not in [p["key"] for p in group["pictures"]]]

    (group,) = groups()
    assert sorted(p["key"] for p in group["pictures"]) == ["twin", *copies]
    assert group["keep"]["key"] in ("twin", *copies)
    keys = {"key": ["twin", *copies]}
    assert changing.post("/v1/duplicates/dismissed", params=keys).status_code == 204
    assert groups() == []
    assert changing.client.delete("/v1/duplicates/dismissed", params=keys).status_code == 204
    assert len(groups()) == 1
    problem(changing.post("/v1/duplicates/dismissed", params={"key": ["twin", "x"]}), 404, "no-such-picture")
    problem(changing.post("/v1/duplicates", params={"min_confidence": 0.5}), 400, "bad-request")
    for key in ("twin", *copies):
        changing.client.delete(f"/v1/images/{key}")
    assert groups() == []


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_of_the_manual_run(changing: Served, tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "SERVER.md").read_text()
    (block,) = re.findall(r"```sh\n(.*?)```", manual, re.DOTALL)
    commands = block.strip().splitlines()
    assert len(commands) > 10
    files = {name: write(tmp_path / name, texture(50 + n)) for n, name in enumerate(("beach.jpg", "tower.jpg"))}
    write(tmp_path / "query.jpg", texture(50)[20:220, 30:230])
    write(tmp_path / "new.jpg", texture(52))
    with Index.open(changing.collection.path) as index:
        for name, file in files.items():
            index.add(file, key=name)
        index.add(texture(50)[20:], key="beach again")  # so that it is in a group
        index.learn.links()
    strict = 'curl() { command curl -sS --fail "$@"; }\n'
    for command in commands:
        ran = subprocess.run(
            ["sh", "-c", strict + command], cwd=tmp_path, env={**os.environ, "server": changing.url}, check=False
        )
        assert ran.returncode == 0, command
    assert (tmp_path / "small.jpg").read_bytes().startswith(b"\xff\xd8\xff")
    problem(changing.get("/v1/images/tower.jpg"), 404, "no-such-picture")
    until(lambda: changing.json("/v1/duplicates")["state"] == "done")
    changing.client.delete("/v1/images/beach%20again")


def test_one_search_for_groups_at_a_time(held: Held) -> None:
    """Of those that come at once, one is begun, which is held up."""
    with serving(held) as served:
        with ThreadPoolExecutor(6) as pool:
            ask = partial(served.post, params={"kind": "scene"})
            answers = list(pool.map(ask, ["/v1/duplicates"] * 6))
        (first,) = (answer for answer in answers if answer.status_code == 202)
        assert first.json()["state"] == "running"
        for answer in answers:
            if answer is not first:
                problem(answer, 409, "already-running")
        held.go_on.set()
        until(lambda: served.json("/v1/duplicates", kind="scene")["state"] == "done")


def test_names_are_no_longer_than_those_of_files(changing: Served) -> None:
    before = changing.json("/v1/health")
    for name in ("ä" * 256, "x" * 10_000):
        refused = changing.post("/v1/images", content=png(60), params={"name": name})
        assert "255 characters" in problem(refused, 422, "wrong-parameter")
    assert changing.json("/v1/health") == before
    added = changing.post("/v1/images", content=png(60), params={"name": "ä" * 255}).json()
    assert added["metadata"]["name"] == "ä" * 255
    assert changing.client.delete(added["links"]["facts"]).status_code == 204


def test_uploads_move_with_the_index(tmp_path: Path) -> None:
    place = fill(tmp_path).index
    collection = Collection(place)
    with serving(collection) as served:
        key = _uploaded(served, 70)
    collection.close()
    (tmp_path / "moved").mkdir()
    moved = tmp_path / "moved" / "renamed.resight"
    place.rename(moved)
    collection.uploads.rename(moved.with_name("renamed.resight.uploads"))
    collection = Collection(moved)
    with serving(collection) as served:
        assert served.get("/v1/picture", params={"key": key}).status_code == 200
        assert len(files_in(collection.uploads)) == 1
        assert served.client.delete(f"/v1/images/{key}").status_code == 204
        assert files_in(collection.uploads) == []
    collection.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed by Linux alone")
def test_a_server_that_ends_lets_its_commit_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes the lock before that would write at the same time."""
    place = fill(tmp_path)
    collection, begun, go_on = Collection(place.index), threading.Event(), threading.Event()
    commit = Writer.commit

    def slow(self: Writer) -> bool:
        if threading.current_thread().name.startswith("work"):
            begun.set()
            assert go_on.wait(PATIENCE)
        return commit(self)

    monkeypatch.setattr(Writer, "commit", slow)
    state = State(collection, ServeOptions(), Token(None), Metrics())
    state.writes._pool.submit(collection.add, png(31), name="a")
    assert begun.wait(PATIENCE)

    def end() -> None:
        state.close()
        collection.close()

    ending = threading.Thread(target=end)
    ending.start()
    with Index.open(place.index) as other, pytest.raises(IndexLockedError):
        other.remove("t0.png")
    go_on.set()
    ending.join(PATIENCE)
    with Index.open(place.index) as other:
        assert len(other) == 8
        other.remove("t0.png")
    assert not check(place.index).problems


def test_an_index_that_another_replaces_is_searched_with_its_own_words(tmp_path: Path) -> None:
    place = fill(tmp_path)
    collection = Collection(place.index)
    data = (place.folder / "t1.png").read_bytes()
    asked: dict[str, Any] = {"key": None, "top": 5, "region": None, "recipe": "verified", "min_confidence": 0.5}
    assert [hit.key for hit in collection.search(data, **asked).hits] == ["t1.png"]
    with Index.create(tmp_path / "next.resight", features=FeatureOptions(detector="sift")) as index:
        for name in ("t1", "t3"):
            index.add(place.folder / f"{name}.png", key=f"{name} anew")
    place.index.rename(tmp_path / "old.resight")
    (tmp_path / "next.resight").rename(place.index)
    assert [hit.key for hit in collection.search(data, **asked).hits] == ["t1 anew"]
    row, _ = collection.add(png(1), name="a")
    assert row.key in {hit.key for hit in collection.search(png(1), **asked).hits}
    collection.close()
    assert not check(place.index).problems


class SlowSite(Collection):
    """What was indexed from a URL comes only when it is let go."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.go_on = threading.Event()

    def jpeg(self, row: Row, *, side: int) -> bytes:
        if row.path and row.path.startswith("file://"):
            assert self.go_on.wait(PATIENCE)
        return super().jpeg(row, side=side)


def test_a_slow_site_keeps_no_search_waiting(tmp_path: Path) -> None:
    place = fill(tmp_path)
    url = (place.folder / "t1.png").as_uri()
    with Index.open(place.index) as index:
        index.add(url)
    collection = SlowSite(place.index)
    with serving(collection, at_once=1, queue=5) as served, ThreadPoolExecutor(4) as pool:
        shown = [pool.submit(served.get, "/v1/thumbnail", params={"key": url}) for _ in range(4)]
        assert served.get("/v1/search", params={"key": "t0.png"}).status_code == 200
        assert served.get("/v1/thumbnail", params={"key": "t0.png"}).status_code == 200
        collection.go_on.set()
        assert {one.result().status_code for one in shown} == {200}
    collection.close()


class FailingOnce:
    """Searchers that fail when they are asked for the second time: by the refresh after a commit."""

    def __init__(self) -> None:
        self._asked = 0

    def group(self, snapshot: Snapshot) -> SegmentGroup:
        self._asked += 1
        if self._asked == 2:
            raise EngineError("no room")
        return SegmentGroup.local(snapshot)


def test_a_committed_picture_keeps_its_file_whatever_fails_then(tmp_path: Path) -> None:
    collection = Collection(fill(tmp_path).index, FailingOnce())
    with pytest.raises(EngineError, match="no room"):
        collection.add(png(30), name="a")
    row, new = collection.add(png(30), name="a")
    assert not new
    assert collection.jpeg(row, side=100)
    collection.close()


def test_files_of_replaced_snapshots_are_closed(tmp_path: Path) -> None:
    """When their last search ends; not when garbage happens to be collected."""
    collection = Collection(fill(tmp_path).index)
    stop = threading.Event()

    def ask(served: Served) -> None:
        while not stop.is_set():
            assert served.post("/v1/search", content=png(0)).status_code == 200

    gc.disable()
    try:
        with serving(collection) as served, ThreadPoolExecutor(2) as pool:
            try:
                asking = [pool.submit(ask, served) for _ in range(2)]
                for seed in range(4):
                    assert served.client.delete(f"/v1/images/{_uploaded(served, 80 + seed)}").status_code == 204
            finally:
                stop.set()
            for future in asking:
                future.result(PATIENCE)
            held = open_files(collection.path)
            with Index.open(collection.path) as fresh:
                fresh.search(png(0))
                assert open_files(collection.path) == 2 * held
    finally:
        gc.enable()
    collection.close()
