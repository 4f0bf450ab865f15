"""Whatever is sent gets a clear refusal, and the server goes on."""

from __future__ import annotations

import shutil
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from resight import Index
from resight.server import Collection
from resight.server.guard import CLIENTS, Names, Rate, Token
from resight.server.problems import Problem

from .conftest import Held, Place, png
from .served import PATIENCE, Served, answer_of, connected, problem, serving, until

TOKEN = "a token of 16 or more characters".replace(" ", "-")


@pytest.fixture(autouse=True)
def _goes_on(served: Served) -> Iterator[None]:
    yield
    assert served.json("/v1/search", key="t0.png", top=1)["hits"][0]["key"] == "part.png"


def bomb(side: int) -> bytes:
    """A PNG that claims to have side × side pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


WRONG_PICTURES = {
    "bomb": (bomb(100_000), 413, "picture-too-large"),
    "truncated": (b"\xff\xd8\xff\xe0" + bytes(200), 422, "picture-unreadable"),
    "half": (png(0)[:4000], 422, "picture-unreadable"),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>', 415, "picture-kind"),
    "eps": (b"%!PS-Adobe-3.0 EPSF-3.0\nshowpage", 415, "picture-kind"),
    "gif": (b"GIF89a\x01\x00\x01\x00\x80\x00\x00", 422, "picture-unreadable"),
    "pdf": (b"%PDF-1.7\n", 415, "picture-kind"),
    "text": (b"../../etc/passwd", 415, "picture-kind"),
    "empty": (b"", 422, "picture-unreadable"),
}


@pytest.mark.parametrize("name", WRONG_PICTURES)
@pytest.mark.parametrize("path", ["/v1/search", "/v1/compare?other=t0.png&name=a.jpg", "/v1/images?name=a.jpg"])
def test_wrong_pictures(served: Served, name: str, path: str) -> None:
    """Each is called as its client calls it, not by a key or an option that only the server knows."""
    data, status, kind = WRONG_PICTURES[name]
    said = problem(served.post(path, content=data, headers={"content-type": "image/jpeg"}), status, kind)
    assert ("the body" if not data else "'a.jpg'" if "name" in path else "the picture") in said
    assert not [inner for inner in ("uploads/", "'the", "max_pixels", "option") if inner in said]
    assert not served.collection.uploads.exists()


@pytest.mark.parametrize("path", ["/v1/search", "/v1/compare?other=t0.png", "/v1/images"])
def test_a_form_is_refused_with_the_way_that_works(served: Served, path: str) -> None:
    refused = served.post(path, files={"file": ("a.png", png(0), "image/png")})
    assert "curl --data-binary @FILE" in problem(refused, 415, "form-sent")


def sent(total: int) -> Iterator[bytes]:
    for _ in range(total // 65536):
        yield bytes(65536)


def test_200_mb_are_refused_early(served: Served) -> None:
    size = 3200 * 65536
    told = served.post("/v1/search", content=sent(size), headers={"content-length": str(size)})
    assert "50000000 bytes" in problem(told, 413, "picture-too-large")
    chunked = served.post("/v1/search", content=sent(size))
    problem(chunked, 413, "picture-too-large")


def test_bodies_together_are_bounded(small: Place, served: Served) -> None:
    """Eight of the largest size fit; what is being received for a ninth is refused."""
    with serving(served.collection, max_body=1000) as strict:
        problem(strict.post("/v1/search", content=bytes(1001)), 413, "picture-too-large")
        held = [_half_sent(strict.url, 1000, 990) for _ in range(8)]
        try:
            until(lambda: strict.post("/v1/search", content=bytes(900)).status_code == 503)
            problem(strict.post("/v1/search", content=bytes(900)), 503, "busy")
        finally:
            for connection in held:
                connection.close()
        until(lambda: strict.post("/v1/search", content=bytes(900)).status_code == 415)


def _half_sent(url: str, length: int, count: int) -> socket.socket:
    """A connection that has sent so many bytes of a body, and waits."""
    connection = connected(url)
    head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
    connection.sendall(head.encode() + bytes(count))
    return connection


def test_a_client_that_leaves(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to complain of."""
    with serving(served.collection, max_body=1000) as running:
        for connection in [_half_sent(running.url, 1000, 990) for _ in range(8)]:
            connection.close()
        until(lambda: running.post("/v1/search", content=bytes(900)).status_code == 415)
    assert capsys.readouterr().err == ""


def test_slow_bodies(served: Served) -> None:
    with serving(served.collection, body_seconds=0.2) as strict:
        with _half_sent(strict.url, 1000, 10) as connection:
            answer = b""
            while b"/problems/body-too-slow" not in answer:
                answer += (part := connection.recv(65536))
                assert part
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert strict.json("/v1/health")["status"] == "ok"


MALFORMED = {
    "injected": b"GET /v1/images?limit=1\r\nX: y HTTP/1.1\r\n\r\n",
    "space": b"GET /v1/images/a b HTTP/1.1\r\n\r\n",
    "nonsense": b"nonsense\r\n\r\n",
    "null": b"GET /v1/images?name=\x00 HTTP/1.1\r\n\r\n",
    "length": b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "two lengths": b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "chunk": b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "long head": b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_requests(served: Served, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(served.collection) as running, connected(running.url) as connection:
        connection.sendall(MALFORMED[name])
        answer = answer_of(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"/problems/bad-request" in answer
    logged = capsys.readouterr().err
    assert "Invalid HTTP request" in logged
    assert "Traceback" not in logged


@pytest.mark.parametrize(
    "key",
    [
        "..%2F..%2Fetc%2Fpasswd",
        "%2Fetc%2Fpasswd",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%5C..%5Cwindows",
        "a%0D%0ASet-Cookie:%20x=y",
        "%00",
        "x" * 10_000,
        "%F0%9F" * 1000,
    ],
)
def test_keys_are_only_looked_up(served: Served, key: str) -> None:
    for path in (f"/v1/thumbnail?key={key}", f"/v1/picture?key={key}", f"/v1/images/{key}", f"/v1/search?key={key}"):
        answer = served.get(path)
        problem(answer, 404, "no-such-picture")
        assert "set-cookie" not in answer.headers
    problem(served.client.delete(f"/v1/images/{key}"), 404, "no-such-picture")


def test_invented_methods_do_not_fill_the_counts(served: Served) -> None:
    for number in range(3):
        problem(served.client.request(f"BREW{number}", "/v1/search"), 405, "wrong-method")
    counts = served.get("/v1/metrics").text
    assert 'method="other",route="/v1/search",status="405"} 3' in counts
    assert "BREW" not in counts


def test_endless_urls(served: Served) -> None:
    problem(served.get(f"/v1/search?key={'x' * 40_000}"), 414, "url-too-long")


def test_names_of_the_server(served: Served) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "[", "", "127.0.0.1@evil.example"):
        problem(served.get("/v1/health", headers={"host": host}), 421, "wrong-host")
        problem(served.get("/", headers={"host": host}), 421, "wrong-host")
    port = urlsplit(served.url).port
    for host in (f"localhost:{port}", "LOCALHOST", "[::1]:80"):
        assert served.get("/v1/health", headers={"host": host}).status_code == 200


def test_names_where_all_addresses_are_listened_at() -> None:
    from starlette.datastructures import Headers

    names = Names("0.0.0.0", ["photos.example"])
    for host in ("192.168.1.7:8000", "photos.example", "localhost:1"):
        names.check(Headers({"host": host}))
    with pytest.raises(Problem, match=r"'other\.example'"):
        names.check(Headers({"host": "other.example"}))
    only = Names("192.168.1.7", [])
    with pytest.raises(Problem):
        only.check(Headers({"host": "localhost"}))


def test_pages_of_other_sites(served: Served) -> None:
    own = urlsplit(served.url).netloc
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        problem(served.post("/v1/search", content=png(0), headers=headers), 403, "foreign-origin")
        problem(served.get("/v1/thumbnail?key=t0.png", headers=headers), 403, "foreign-origin")
    good = {"origin": f"http://{own}", "sec-fetch-site": "same-origin"}
    assert served.post("/v1/search", content=png(0), headers=good).status_code == 200


def test_tokens(served: Served) -> None:
    with serving(served.collection, token=TOKEN) as closed:
        wrong = [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff"]
        for header in (None, "Bearer", f"Basic {TOKEN}", *wrong):
            kind = "token-wrong" if header in wrong else "token-needed"
            headers = {} if header is None else {b"authorization": header.encode("latin-1")}
            for path in ("/v1/images", "/v1/search?key=t0.png", "/v1/metrics", "/v1/openapi.json", "/v1/none"):
                refused = closed.get(path, headers=headers)
                problem(refused, 401, kind)
                assert refused.headers["www-authenticate"] == "Bearer"
            said = problem(closed.post("/v1/session", headers=headers), 401, kind)
            assert ("the one that the server was started with" in said) == (kind == "token-wrong")
            problem(closed.client.delete("/v1/images/t0.png", headers=headers), 401, kind)
            assert closed.get("/v1/health", headers=headers).json() == {"status": "ok"}
            assert closed.get("/v1/session", headers=headers).json() == {"token_needed": True, "signed_in": False}
        assert closed.get("/").status_code == 200
        bearer = {"authorization": f"Bearer {TOKEN}"}
        assert closed.get("/v1/images", headers=bearer).status_code == 200
        assert closed.get("/v1/health", headers=bearer).json()["pictures"] == 7


def test_sessions(served: Served) -> None:
    assert served.json("/v1/session") == {"token_needed": False, "signed_in": True}
    assert "set-cookie" not in served.post("/v1/session").headers
    with serving(served.collection, token=TOKEN) as closed:
        signed = closed.post("/v1/session", headers={"authorization": f"Bearer {TOKEN}"})
        assert signed.status_code == 204
        cookie = signed.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        assert closed.json("/v1/session") == {"token_needed": True, "signed_in": True}
        assert closed.get("/v1/thumbnail?key=t0.png").status_code == 200
        value = closed.client.cookies["resight-session"]
        for others in ('prefs={"a": 1}; ', "a=b c; ", "foo; ", "user=a@b, c;", "a=\u00e9; ", "resight-session=x; "):
            beside = {b"cookie": f"{others}resight-session={value}; z".encode("latin-1")}
            assert httpx.get(f"{closed.url}/v1/images", headers=beside).status_code == 200
        assert closed.client.delete("/v1/session").status_code == 204
        assert "resight-session" not in closed.client.cookies
        problem(closed.get("/v1/images"), 401, "token-needed")
        forged = {"cookie": f"resight-session={value[:-1]}; other=\u00e9".encode("latin-1")}
        assert "sign in anew" in problem(closed.get("/v1/images", headers=forged), 401, "token-needed")


def test_a_cookie_takes_no_time_to_read() -> None:
    """Python's own parser needs half a minute for this one, in which nobody else is answered."""
    started = time.process_time()
    assert not Token("x" * 16).known({"cookie": 'a="' + '\\"' * 80_000 + '"'})
    assert time.process_time() - started < 1


def test_every_answer_carries_the_headers_of_safety(served: Served) -> None:
    for path in ("/", "/v1/health", "/v1/none", "/static/index.html", "/v1/thumbnail?key=t0.png"):
        headers = served.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"]
        assert "server" not in headers


def test_rate(served: Served) -> None:
    with serving(served.collection, rate=0.01, burst=3) as strict:
        assert [strict.get("/v1/health").status_code for _ in range(3)] == [200] * 3
        refused = strict.get("/v1/health")
        problem(refused, 429, "too-many-requests")
        assert 90 < int(refused.headers["retry-after"]) <= 100


def test_buckets_fill_again_and_are_few() -> None:
    rate = Rate(rate=2.0, burst=2)
    rate.take("a", 0.0)
    rate.take("a", 0.0)
    with pytest.raises(Problem) as refused:
        rate.take("a", 0.25)
    assert refused.value.headers["retry-after"] == "1"
    rate.take("b", 0.25)
    rate.take("a", 0.5)
    with pytest.raises(Problem):
        rate.take("a", 0.9)
    rate.take("a", 1000.0)
    rate.take("a", 1000.0)
    with pytest.raises(Problem):
        rate.take("a", 1000.0)
    for number in range(CLIENTS):
        rate.take(str(number), 1000.0)
    rate.take("a", 1000.0)  # it was forgotten, since so many came after it


def test_too_much_at_once(held: Held) -> None:
    """The first is held up, and keeps its place when it is no longer waited for. Then all is well."""
    with serving(held, at_once=1, queue=1, seconds=0.3) as strict:
        for key in ("t0.png", "t1.png"):  # the first works on, the second has left the queue
            assert "0.3 seconds" in problem(strict.get(f"/v1/search?key={key}"), 503, "too-slow")
        held.go_on.set()
        until(lambda: strict.get("/v1/search?key=t0.png").status_code == 200)


def test_no_room_to_wait(held: Held) -> None:
    with serving(held, at_once=1, queue=0, seconds=0.3) as strict:
        problem(strict.get("/v1/search?key=t0.png"), 503, "too-slow")
        refused = strict.get("/v1/search?key=t0.png")
        problem(refused, 503, "busy")
        assert int(refused.headers["retry-after"]) > 0
        assert strict.get("/v1/health").json()["status"] == "ok"
        held.go_on.set()
        until(lambda: strict.get("/v1/search?key=t0.png").status_code == 200)


def test_errors_never_name_files_of_the_server(
    small: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong is logged; the client hears that something is."""
    place = tmp_path / "damaged.resight"
    shutil.copytree(small.index, place)
    (table,) = place.glob("segments/*/pictures.db")
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    collection = Collection(place)
    with serving(collection) as broken:
        detail = problem(broken.get("/v1/images/t0.png"), 500, "index-trouble")
    collection.close()
    assert "/" not in detail
    assert "resight check" in detail
    assert "pictures.db is damaged" in capsys.readouterr().err


def test_pixels_are_bounded_before_they_are_decoded(small: Place) -> None:
    collection = Collection(small.index, max_pixels=240 * 240)
    with serving(collection) as strict:
        assert strict.post("/v1/search", content=png(0)).status_code == 200
        detail = problem(strict.post("/v1/search", content=png(0, 241)), 413, "picture-too-large")
    collection.close()
    assert "241 × 241 pixels" in detail


@pytest.mark.parametrize(("large", "together"), [(240 * 240 - 1, 0), (240 * 240, 2)])
def test_large_pictures_are_worked_on_one_by_one(
    small: Place, large: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resight.server.collection.LARGE", large)
    met, meeting = [], threading.Barrier(2)

    class Meeting(Collection):
        @property
        def index(self) -> Index:
            with suppress(threading.BrokenBarrierError):
                met.append(meeting.wait(0.5 if together == 0 else PATIENCE))
            return super().index

    collection = Meeting(small.index)
    with serving(collection, at_once=2) as running, ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: running.post("/v1/search", content=png(0)), range(2)))
    collection.close()
    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(met) == together
