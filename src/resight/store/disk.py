"""Every change to an index on disk goes through one ``Disk``, so that the order of writes is visible and testable.

Tests replace it by one that dies, or loses what was not yet synced, at any chosen step.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import StoreError


class Disk:
    """Durable file operations. Nothing is on disk for sure until ``sync`` of the file *and* of its folder."""

    def make_folder(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)

    def save_array(self, path: Path, array: npt.NDArray[Any]) -> None:
        """A one-dimensional array as .npy. Not by np.save: when the disk is full it can cut the end off silently."""
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
            file.write(np.ascontiguousarray(array).view(np.uint8).data)

    def create_array(self, path: Path, *, kind: npt.DTypeLike, rows: int) -> npt.NDArray[Any]:
        """A new .npy file mapped for writing, for arrays that must not be held in memory."""
        if rows == 0:  # nothing can be mapped
            self.save_array(path, np.zeros(0, kind))
            return np.zeros(0, kind)
        array = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(rows,))
        if hasattr(os, "posix_fallocate"):  # a full disk is an error here; found in a mapped page it kills the process
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        return array

    @contextmanager
    def database(self, path: Path) -> Iterator[sqlite3.Connection]:
        """A new SQLite file, written when the block ends."""
        with closing(sqlite3.connect(path)) as database:
            # Without a journal: a half-written file belongs to a folder that no manifest names.
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            yield database
            database.commit()

    def sync(self, path: Path) -> None:
        """Force a file's bytes, or a folder's names, onto the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            if full := getattr(fcntl, "F_FULLFSYNC", None):  # macOS: fsync alone stops at the drive's cache
                fcntl.fcntl(handle, full)
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file or a folder; one that is gone already, or that the system still holds, is left alone."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Inside, what the system refuses becomes a StoreError that says what to do about it."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(
            f"cannot write to {folder}: {reason}; what was committed before is safe: "
            "free some space or mend the permissions, open the index again and repeat"
        ) from error
