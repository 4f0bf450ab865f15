"""A server on a real socket, in a thread of the test's process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from resight.options import ServeOptions
from resight.server import Collection, address_of, listen, make_app, server

PATIENCE = 60.0  # seconds; a busy machine is slow, a broken one never gets there


@dataclass(frozen=True)
class Served:
    """Where it is, and a client for it."""

    url: str
    client: httpx.Client
    collection: Collection

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.client.post(path, **options)

    def json(self, path: str, **params: Any) -> Any:
        answer = self.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def serving(
    collection: Collection, *, token: str | None = None, names: Sequence[str] = (), **changed: Any
) -> Iterator[Served]:
    options = ServeOptions(**{"port": 0, "rate": 1e6, "burst": 1_000_000, **changed})
    listener = listen(options)
    app = make_app(collection, options=options, token=token, names=names)
    running = server(app, options)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        url = address_of(listener).rstrip("/")
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            yield Served(url, client, collection)
    finally:
        running.should_exit = True
        thread.join(PATIENCE)
        app.state.resight.close()
        listener.close()


def connected(url: str, source: str = "127.0.0.1") -> socket.socket:
    """A connection, from one of this machine's own addresses."""
    place = urlsplit(url)
    assert place.port
    return socket.create_connection((place.hostname, place.port), timeout=PATIENCE, source_address=(source, 0))


def answer_of(connection: socket.socket) -> bytes:
    """All that comes until the connection is closed."""
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionResetError:
        pass  # closed on bytes that nobody has read
    return data


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.005)


def problem(answer: httpx.Response, status: int, kind: str) -> str:
    """Insist on this problem; what it says."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    values = answer.json()
    assert (values["type"], values["status"]) == (f"/problems/{kind}", status)
    assert values["title"]
    assert values["detail"]
    return str(values["detail"])


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
