"""Pictures that are not on this machine: found, read within limits, indexed, searched for and drawn."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from typer.testing import CliRunner

from resight import Index
from resight.cli import app
from resight.draw import draw_matches
from resight.errors import ImageError, ImageSizeError, UsageError
from resight.folders import find_pictures
from resight.images import read_bytes
from resight.ingest import file_key
from resight.options import ImageOptions
from resight.urls import absolute, as_place, is_url

from .support.commands import run_json
from .support.pictures import texture, write


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    files = MemoryFileSystem()
    files.store.clear()
    yield files
    files.store.clear()


def test_what_is_a_url() -> None:
    assert [is_url(p) for p in ("s3://b/x", "file:///x", "a/b", "/a/b", "C:x", Path("s3://b/x"))] == [True, True] + [
        False
    ] * 4
    assert as_place("s3://b/x/") == "s3://b/x"
    assert as_place("a/b/") == Path("a/b")
    assert absolute("s3://b/../x") == "s3://b/../x"
    assert absolute("/a/../x") == "/x"


def test_keys_follow_the_root() -> None:
    assert file_key("s3://b/photos/a/1.jpg", None) == "s3://b/photos/a/1.jpg"
    assert file_key("s3://b/photos/a/1.jpg", "s3://b/photos/") == "a/1.jpg"
    for path, base in (("s3://b/photos2/1.jpg", "s3://b/photos"), ("s3://b/1.jpg", "/b"), ("/b/1.jpg", "s3://b")):
        with pytest.raises(UsageError, match="not inside"):
            file_key(path, base)


def test_pictures_are_found_as_in_folders(memory: MemoryFileSystem, tmp_path: Path) -> None:
    for name in ("b.png", "a/c.JPG", "a/.hidden.png", ".git/d.png", "x.resight/e.png", "notes.txt", "a/f.webp"):
        memory.pipe_file(f"/photos/{name}", b"x")
    here = write(tmp_path / "here.png", texture(0))
    found = ["memory://photos/a/c.JPG", "memory://photos/a/f.webp", "memory://photos/b.png"]
    assert list(find_pictures(["memory://photos/", str(here)])) == [here, *found]
    assert list(find_pictures(["memory://photos", "memory://photos/a", "memory://photos/notes.txt"])) == [
        *found, "memory://photos/notes.txt",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="does not exist"):
        list(find_pictures(["memory://phobos"]))
    with pytest.raises(UsageError, match="does not exist"):
        next(find_pictures([here, "memory://phobos"]))  # before any work


def test_reading_is_bounded(memory: MemoryFileSystem, tmp_path: Path) -> None:
    memory.pipe_file("/photos/a.png", b"12345")
    memory.pipe_file("/photos/empty.png", b"")
    assert read_bytes("memory://photos/a.png") == b"12345"
    assert read_bytes("memory://photos/a.png", options=ImageOptions(max_bytes=5)) == b"12345"
    with pytest.raises(ImageSizeError, match=r"has 5 bytes, more than the limit of 4; raise images\.max_bytes"):
        read_bytes("memory://photos/a.png", options=ImageOptions(max_bytes=4))
    os.mkfifo(tmp_path / "pipe")
    for url, words in (
        ("memory://photos/empty.png", "is empty"),
        ("memory://photos", "is a directory"),
        ("memory://photos/b.png", "cannot read"),
        ("nosuch://photos/b.png", "Protocol not known: nosuch"),
        ("gs://photos/b.png", "install gcsfs"),
        (f"file://{tmp_path}/pipe", "is a other, not a picture"),
    ):
        with pytest.raises(ImageError, match=words):
            read_bytes(url)


class Endless(BaseHTTPRequestHandler):
    """Says no size, and never stops sending."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        try:
            while True:
                self.wfile.write(bytes(1 << 16))
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_never_stops_sending() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(ImageSizeError, match="has more bytes than the limit of 1000000"):
                read_bytes(f"http://127.0.0.1:{server.server_port}/a.jpg", options=ImageOptions(max_bytes=1_000_000))
        finally:
            server.shutdown()


def test_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(UsageError, match=r"pip install 'resight\[remote\]'"):
        list(find_pictures(["s3://photos"]))
    with pytest.raises(ImageError, match=r"pip install 'resight\[remote\]'"):
        read_bytes("s3://photos/a.jpg")


def test_indexed_searched_drawn_and_shown(memory: MemoryFileSystem, tmp_path: Path) -> None:
    from resight.server import Collection  # takes long, and only this test needs it

    for seed in range(3):
        memory.put_file(str(write(tmp_path / "picture.png", texture(seed))), f"/photos/{seed}.png")
    memory.pipe_file("/photos/bad.png", b"no picture")
    with Index.create(tmp_path / "i.resight") as index:
        outcomes = list(index.add_files(find_pictures(["memory://photos"])))
        index.add("memory://photos/1.png", key="again")
    assert [o.key for o in outcomes] == [f"memory://photos/{n}.png" for n in ("0", "1", "2", "bad")]
    assert "memory://photos/bad.png" in str(outcomes[-1].skipped)
    with Index.open(tmp_path / "i.resight") as index:
        hits = index.search("memory://photos/1.png").hits[:2]
        assert {hit.key: hit.path for hit in hits} == {
            "memory://photos/1.png": "memory://photos/1.png", "again": "memory://photos/1.png",
        }  # fmt: skip
    draw_matches("memory://photos/1.png", [(hit, str(hit.path)) for hit in hits], tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 50_000
    collection = Collection(tmp_path / "i.resight")
    assert collection.jpeg(collection.row("again"), side=100).startswith(b"\xff\xd8")
    collection.close()


def test_commands_that_need_a_path_say_so(tmp_path: Path) -> None:
    for words in (
        ("train", tmp_path, "--out", "s3://photos/words.npz"),
        ("index", tmp_path, "--vocabulary", "s3://photos/words.npz"),
        ("search", tmp_path, "--draw", "s3://photos/drawn.png"),
    ):
        assert "on this machine" in run_json(*words, code=2)["error"]
    assert CliRunner().invoke(app, ["serve", "s3://photos/i.resight"]).exit_code == 2
