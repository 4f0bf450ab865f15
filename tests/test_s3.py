"""Pictures and indexes on a real S3-compatible server, with several processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec import AbstractFileSystem, filesystem

from resight import Index
from resight.errors import IndexLockedError
from resight.store import Remote, RemoteWriter

from .support.commands import PROGRAM, run, run_json
from .support.pictures import texture, write

PHOTOS, INDEX = "s3://photos/2026", "s3://photos/all.resight"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture
def s3(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AbstractFileSystem]:
    """A bucket with four pictures and a file that is none, and the environment that leads there."""
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "RESIGHT_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    files = filesystem("s3", skip_instance_cache=True)
    files.mkdir("photos")
    for seed in range(4):
        files.put_file(str(write(tmp_path / "picture.png", texture(seed))), f"photos/2026/may/{seed}.png")
    files.pipe_file("photos/2026/june/bad.jpg", b"no picture")
    files.pipe_file("photos/2026/june/.hidden.jpg", b"no picture")
    yield files
    files.rm("photos", recursive=True)


def test_from_bucket_to_bucket(s3: AbstractFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = run_json("index", PHOTOS, "--into", INDEX, "--relative-to", PHOTOS, "--processes", 2, code=1)
    assert (summary["index"], summary["added"], summary["pictures"]) == (INDEX, 4, 4)
    assert [skipped["key"] for skipped in summary["skipped"]] == ["june/bad.jpg"]
    assert f"{PHOTOS}/june/bad.jpg" in summary["skipped"][0]["reason"]
    again = run_json("index", PHOTOS, "--into", INDEX, "--relative-to", PHOTOS, "--processes", 1)
    assert (again["added"], again["unchanged"], again["skipped"]) == (0, 4, [])
    assert [known["key"] for known in again["known_bad"]] == ["june/bad.jpg"]
    monkeypatch.setenv("RESIGHT_CACHE", str(tmp_path / "another machine's"))
    found = run_json("search", INDEX, f"{PHOTOS}/may/2.png", "--draw", tmp_path / "drawn.png", "--top", 1)
    hit = found["results"][0]["hits"][0]
    assert (hit["key"], hit["path"]) == ("may/2.png", f"{PHOTOS}/may/2.png")
    assert (tmp_path / "drawn.png").stat().st_size > 50_000  # both pictures are in it
    assert run_json("info", INDEX)["path"] == INDEX
    assert run_json("remove", INDEX, "may/1.png")["pictures"] == 3
    assert "is sound: 3 pictures" in run("check", INDEX)
    data = bytearray(s3.cat_file("photos/all.resight/segments/00000001/image.npy"))
    data[-1] ^= 1
    s3.pipe_file("photos/all.resight/segments/00000001/image.npy", bytes(data))
    assert "image.npy is damaged" in run_json("check", INDEX, code=3)["error"]


def test_one_writer_of_a_bucket(s3: AbstractFileSystem, tmp_path: Path) -> None:
    with Index.create(INDEX) as index:
        index.add(f"{PHOTOS}/may/0.png")
        elsewhere = Remote(INDEX, base=tmp_path / "elsewhere")
        with pytest.raises(IndexLockedError, match=r"remove s3://photos/all\.resight/writer\.lease"):
            RemoteWriter(elsewhere)
        index.commit()
        assert f"{PHOTOS}/may/0.png" in index
    with RemoteWriter(elsewhere) as writer:
        # What decides between two that ask at the same instant is the server.
        with pytest.raises(FileExistsError), s3.open("photos/all.resight/writer.lease", "xb") as late:
            late.write(b"me too")
        writer.remove(f"{PHOTOS}/may/0.png")
        writer.commit()
    with Index.open(INDEX) as index:
        assert len(index) == 0
    assert not s3.exists("photos/all.resight/writer.lease")


def test_without_access(s3: AbstractFileSystem, tmp_path: Path) -> None:
    missing = run_json("index", "s3://photos/2027", "--into", tmp_path / "i.resight", code=2)
    assert missing["error"] == "'s3://photos/2027' does not exist; check the URL"
    unreachable = {**os.environ, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    ended = subprocess.run([*PROGRAM, "info", INDEX], env=unreachable, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "error: cannot reach s3://photos/all.resight" in ended.stderr
