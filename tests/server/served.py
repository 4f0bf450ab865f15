"""A server on a real socket, in a thread of the test's process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    running = server(app)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        until(lambda: running.started)
        url = address_of(listener).rstrip("/")
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            yield Served(url, client, collection)
    finally:
        running.should_exit = True
        thread.join(PATIENCE)
        app.state.resight.close()
        listener.close()


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
