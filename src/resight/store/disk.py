"""Every change to an index on disk goes through one ``Disk``, so that the order of writes is visible and testable.

Tests replace it by one that dies, or loses what was not yet synced, at any chosen step.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


class Disk:
    """Durable file operations. Nothing is on disk for sure until ``sync`` of the file *and* of its folder."""

    def make_folder(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)

    def save_array(self, path: Path, array: npt.NDArray[Any]) -> None:
        np.save(path, array, allow_pickle=False)

    def create_array(self, path: Path, *, kind: npt.DTypeLike, rows: int) -> npt.NDArray[Any]:
        """A new .npy file mapped for writing, for arrays that must not be held in memory."""
        if rows == 0:  # nothing can be mapped
            self.save_array(path, np.zeros(0, kind))
            return np.zeros(0, kind)
        return np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(rows,))

    def sync(self, path: Path) -> None:
        """Force a file's bytes, or a folder's names, onto the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
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
