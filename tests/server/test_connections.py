"""Connections that would hold the server up are cut off, over a real socket."""

from __future__ import annotations

import asyncio
import select
import socket
from urllib.parse import urlsplit

import pytest

from resight.server import Collection
from resight.server.connection import Connection

from .conftest import Place
from .served import Served, answer_of, connected, serving, until

LITTLE = 0.8  # seconds that a client has; enough to begin in, on a busy machine
HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("begun", [b"G", b"GET / HTTP/1.1\r\nHost: local", HEALTH])
def test_a_head_that_never_ends(served: Served, begun: bytes) -> None:
    with serving(served.collection, head_seconds=LITTLE) as strict, connected(strict.url) as connection:
        connection.sendall(begun)
        answer = answer_of(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert f"within {LITTLE} seconds".encode() in answer
    assert b"content-security-policy" in answer


def test_a_head_that_drips(served: Served) -> None:
    """Each byte is in time, the whole is not."""
    with serving(served.collection, head_seconds=LITTLE) as strict, connected(strict.url) as connection:
        connection.sendall(HEALTH + b"X: ")
        closed = select.poll()
        closed.register(connection, select.POLLIN)
        while not closed.poll(10):
            connection.sendall(b"x")
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


def test_the_second_head_of_a_connection(served: Served) -> None:
    with serving(served.collection, head_seconds=LITTLE) as strict, connected(strict.url) as connection:
        connection.sendall(HEALTH + b"\r\n" + HEALTH)
        answer = answer_of(connection)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


def test_a_connection_that_says_nothing(served: Served) -> None:
    with serving(served.collection, head_seconds=LITTLE) as strict, connected(strict.url) as connection:
        assert answer_of(connection) == b""


def test_work_may_take_longer_than_a_head(small: Place) -> None:
    """Only while a head is waited for does its time run."""
    collection = Slow(small.index)
    with serving(collection, head_seconds=LITTLE) as strict:
        assert strict.get("/v1/search?key=t0.png").status_code == 200
    collection.close()


class Slow(Collection):
    """A search that another connection outlasts."""

    def search(self, *args: object, **options: object) -> object:  # type: ignore[override]
        select.select([], [], [], 1.3 * LITTLE)
        return super().search(*args, **options)  # type: ignore[arg-type]


def test_an_answer_that_nobody_takes(served: Served) -> None:
    """It holds the only place that its client has, until it is given up."""
    with (
        serving(served.collection, body_seconds=2 * LITTLE, connections=2) as strict,
        connected(strict.url) as connection,
    ):
        asked = 1000
        connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * asked)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        assert strict.get("/v1/health").status_code == 503
        until(lambda: strict.get("/v1/health").status_code == 200)
        assert answer_of(connection).count(b"HTTP/1.1 200 ") < asked - 1


def test_the_rest_of_an_answer_that_nobody_takes(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little for writing to pause: a connection that is closed would wait for ever until it is taken."""
    made: list[Connection] = []
    begin = Connection.connection_made

    def connection_made(self: Connection, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
        begin(self, transport)
        made.append(self)

    monkeypatch.setattr(Connection, "connection_made", connection_made)
    with serving(served.collection, head_seconds=LITTLE, body_seconds=LITTLE) as strict:
        place = urlsplit(strict.url)
        for more in (b"", b"Connection: close\r\n"):
            with socket.socket() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                connection.connect((place.hostname, place.port))
                connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n" + more + b"\r\n")
                until(lambda: bool(made and made[-1].transport.get_write_buffer_size()))
                until(lambda: not made[-1].connections)
            made.clear()


def test_too_many_connections(served: Served) -> None:
    """Four at most, two of them by one client."""
    with serving(served.collection, connections=4) as strict:
        mine = [connected(strict.url) for _ in range(2)]
        with connected(strict.url) as third:
            refused = answer_of(third)
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 2" in refused
        others = [connected(strict.url, "127.0.0.2") for _ in range(2)]
        for connection in (*mine, *others):
            connection.sendall(HEALTH + b"\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        with connected(strict.url, "127.0.0.3") as fifth:
            assert answer_of(fifth).startswith(b"HTTP/1.1 503 ")
        for connection in (*mine, *others):
            connection.close()
        until(lambda: strict.get("/v1/health").status_code == 200)
