"""One writer at a time. The lock belongs to the process and vanishes with it, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ..errors import IndexLockedError

NAME = "writer.lock"


class WriterLock:
    """Held from ``take`` to ``release``."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._handle: int | None = None
        self._process: int | None = None

    def take(self) -> None:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if not isinstance(error, BlockingIOError):
                raise
            raise IndexLockedError(
                f"another process is writing to {self._path.parent}; wait until it has finished (searching goes on)"
            ) from None
        self._handle, self._process = handle, os.getpid()

    def release(self) -> None:
        if self._handle is not None:
            if self._process == os.getpid():  # a forked process has the lock, too, and must not open it for others …
                fcntl.flock(self._handle, fcntl.LOCK_UN)  # … nor keep it, by its mere life, when this one does not
            os.close(self._handle)
            self._handle = None
