"""The files of an index at a URL, and the right to change them."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import IndexLockedError, ResightError, StoreError
from ..urls import move_file, reason_of, site

LEASE = "writer.lease"


class Bucket:
    """Files by their names, which begin at the URL. What the file system says, which may be anything, is a StoreError.

    Only FileGoneError, where something is fetched, is not.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._files, root = site(self.url)
        self._root = root.rstrip("/")
        self._lease = b""  # what ours holds, while we have it

    def at(self, name: str) -> str:
        """The URL of a file."""
        return f"{self.url}/{name}"

    def read(self, name: str) -> bytes | None:
        """A small file; None if there is none."""
        with self._reaching():
            self._files.invalidate_cache()  # of what was listed before
            try:
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

    def names(self) -> list[str]:
        with self._reaching():
            self._files.invalidate_cache()
            return [str(path)[len(self._root) + 1 :] for path in self._files.find(self._root)]

    def download(self, name: str, target: Path) -> None:
        with self._reaching():
            try:
                self._files.get_file(self._path(name), str(target))
            except FileNotFoundError:
                raise FileGoneError(name) from None

    def upload(self, source: Path, name: str) -> None:
        with self._reaching():
            target = self._path(name)
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(source), target)
            if self._files.info(target)["size"] != source.stat().st_size:
                raise StoreError(f"{self.at(name)} did not arrive whole; nothing was committed: open the index again")

    def move(self, name: str, to: str) -> None:
        """In one step: a reader finds what was there before, or what is there now."""
        with self._reaching():
            move_file(self._files, self._path(name), self._path(to))

    def remove(self, name: str) -> None:
        with self._reaching():
            self._files.rm_file(self._path(name))

    # The right to write

    @contextmanager
    def leased(self, identity: str) -> Iterator[None]:
        """Inside, no other process that asks for it has the right to write.

        identity: of the one mirror that has one writer at a time. A lease that it has left behind is taken over.
        """
        self._take(identity)
        try:
            yield
        finally:
            with suppress(StoreError):  # left there it costs nothing: the mirror's next writer takes it over
                if self.holds_lease():
                    self.remove(LEASE)
            self._lease = b""

    def holds_lease(self) -> bool:
        """Whether nobody has taken it away."""
        return self.read(LEASE) == self._lease

    def _take(self, identity: str) -> None:
        mine = {"mirror": identity, "host": socket.gethostname()}
        if (held := self.read(LEASE)) is not None:
            facts = _facts(held)
            if any(facts.get(name) != value for name, value in mine.items()):
                raise self._refusal(facts)
            self.remove(LEASE)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        lease = json.dumps(mine | {"process": os.getpid(), "since": since, "token": uuid.uuid4().hex}).encode()
        with (
            self._reaching(),
            suppress(FileExistsError),  # as it is where another was faster by an instant
            self._files.open(self._path(LEASE), "xb") as file,
        ):
            file.write(lease)
        found = self.read(LEASE)  # also where a file system does not know what exclusive means
        if found != lease:
            raise self._refusal(_facts(found or b""))
        self._lease = lease

    def _refusal(self, facts: dict[str, Any]) -> IndexLockedError:
        who = f"process {facts.get('process', '?')} of {facts.get('host', 'some machine')}"
        return IndexLockedError(
            f"{who} has been writing to {self.url} since {facts.get('since', '?')}; wait until it has finished "
            f"(searching goes on). If you know that it is dead, remove {self.at(LEASE)}"
        )

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (ResightError, FileGoneError):
            raise
        except Exception as error:
            raise StoreError(
                f"cannot reach {self.url}: {reason_of(error)}; what was committed there is safe: "
                "check your connection and your access, open the index again and repeat"
            ) from error


class FileGoneError(FileNotFoundError):
    """Says which file."""


def _facts(lease: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(lease))
    except ValueError:
        return {}
