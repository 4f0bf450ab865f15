"""Disks that fail on purpose. Each counts the operations of an index and strikes at a chosen one."""

from __future__ import annotations

import errno
import os
import random
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import numpy.typing as npt

from resight.store import Disk

from ..support.stored import QuickDisk


class CountingDisk(QuickDisk):
    """Lists the operations that were begun; ``strike`` may end the story at one of them, before it or half-way.

    Where ``strike`` does not, the operation is done as if nothing had been.
    """

    def __init__(self, at: int | None = None, *, half: bool = False) -> None:
        self.at, self.half = at, half
        self.done: list[str] = []

    def strike(self, number: int, half: bool) -> None:
        raise NotImplementedError

    def make_folder(self, path: Path) -> None:
        self._begin("make_folder")
        super().make_folder(path)

    def write(self, path: Path, data: bytes) -> None:
        if (half := self._begin("write")) is not None:
            path.write_bytes(data[: len(data) // 2])
            self.strike(half, True)
        super().write(path, data)

    def save_array(self, path: Path, array: npt.NDArray[Any]) -> None:
        half = self._begin("save_array")
        super().save_array(path, array)
        self._halve(path, half)

    def create_array(self, path: Path, *, kind: npt.DTypeLike, rows: int) -> npt.NDArray[Any]:
        half = self._begin("create_array")
        array = super().create_array(path, kind=kind, rows=rows)
        self._halve(path, half)
        return array

    @contextmanager
    def database(self, path: Path) -> Iterator[sqlite3.Connection]:
        half = self._begin("database")
        with super().database(path) as database:
            yield database
        self._halve(path, half)

    def sync(self, path: Path) -> None:
        self._begin("sync")
        super().sync(path)

    def rename(self, source: Path, target: Path) -> None:
        self._begin("rename")
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        half = self._begin("remove")
        if half is not None:
            inside = sorted(path.iterdir()) if path.is_dir() else []
            for file in inside[: len(inside) // 2]:
                file.unlink()
            self.strike(half, True)
        super().remove(path)

    def _begin(self, operation: str) -> int | None:
        """Count it. Its number, if it is to be done by half."""
        number = len(self.done)
        self.done.append(operation)
        if number != self.at:
            return None
        if self.half:
            return number
        self.strike(number, False)
        return None

    def _halve(self, path: Path, number: int | None) -> None:
        if number is not None:
            whole = path.read_bytes()
            os.truncate(path, len(whole) // 2)
            self.strike(number, True)
            with path.open("r+b") as file:
                file.write(whole)


DIVISIBLE = {"write", "save_array", "create_array", "database", "remove"}  # can be interrupted half-way


def strikes(operations: list[str]) -> list[tuple[int, bool]]:
    """(operation, half) for every point at which a run of these operations can be struck."""
    halves = [(step, True) for step, operation in enumerate(operations) if operation in DIVISIBLE]
    return [(step, False) for step in range(len(operations))] + halves


class DeadlyDisk(CountingDisk):
    """Kills its process, which gets no chance to clean up."""

    def strike(self, number: int, half: bool) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class FullDisk(CountingDisk):
    """Has no room left at the chosen operation."""

    def strike(self, number: int, half: bool) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class WatchedDisk(CountingDisk):
    """Lets ``look`` see what a kill would leave at every point, given the number of the operation and if it is half
    done.

    A killed process does nothing more, and the system keeps what it has written: that is what can be seen of it at that
    moment.
    """

    def __init__(self, look: Callable[[int, bool], None]) -> None:
        super().__init__()
        self.look = look

    def strike(self, number: int, half: bool) -> None:
        self.look(number, half)

    def _begin(self, operation: str) -> int | None:
        number = len(self.done)
        self.done.append(operation)
        self.strike(number, False)
        return number if operation in DIVISIBLE else None


class Fate(Enum):
    """What a power failure does to names and bytes that were not synced."""

    NEWEST_LOST = "only what was synced remains, also of what was removed since"
    REMOVALS_KEPT = "additions are lost, removals are not"
    ANYTHING = "each name and each file by itself is old, new, empty, half or garbage"


class VolatileDisk(Disk):
    """Knows what a power failure would leave: what was synced, and of the rest whatever it pleases.

    A file's bytes are safe once the file was synced, a name once its folder was. ``watch`` is called before every
    operation with its name, and may ask for ``remains`` at that moment. Syncs that ``forget`` (given their number and
    path) is true for are left out.
    """

    def __init__(
        self,
        root: Path,
        *,
        watch: Callable[[str], None] = lambda operation: None,
        forget: Callable[[int, Path], bool] = lambda number, path: False,
    ) -> None:
        self.root, self.watch, self.forget = root, watch, forget
        self.syncs: list[Path] = []
        self._luck = random.Random(7)
        self._kept_open: dict[int, int] = {}  # inode → handle, so that no number is used twice
        self._bytes: dict[int, bytes] = {}  # inode of a file → its safe bytes
        self._names: dict[int, dict[str, int]] = {}  # inode of a folder → its safe names
        self._folders: set[int] = set()
        self._remember(root)

    def close(self) -> None:
        for handle in self._kept_open.values():
            os.close(handle)

    def make_folder(self, path: Path) -> None:
        self.watch("make_folder")
        super().make_folder(path)

    def write(self, path: Path, data: bytes) -> None:
        self.watch("write")
        super().write(path, data)

    def save_array(self, path: Path, array: npt.NDArray[Any]) -> None:
        self.watch("save_array")
        super().save_array(path, array)

    def create_array(self, path: Path, *, kind: npt.DTypeLike, rows: int) -> npt.NDArray[Any]:
        self.watch("create_array")
        return super().create_array(path, kind=kind, rows=rows)

    @contextmanager
    def database(self, path: Path) -> Iterator[sqlite3.Connection]:
        self.watch("database")
        with super().database(path) as database:
            yield database

    def sync(self, path: Path) -> None:
        self.watch("sync")
        self.syncs.append(path)
        if not self.forget(len(self.syncs) - 1, path):
            self._remember(path)

    def rename(self, source: Path, target: Path) -> None:
        self.watch("rename")
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self.watch("remove")
        super().remove(path)

    def remains(self, fate: Fate) -> dict[str, bytes | None]:
        """What a power failure at this moment would leave: files with their bytes, folders with None."""
        return dict(self._left(self.root.stat().st_ino, self.root, "", fate))

    def _remember(self, path: Path) -> None:
        inode = self._keep(path)
        if path.is_dir():
            self._names[inode] = {child.name: self._keep(child) for child in path.iterdir()}
        else:
            self._bytes[inode] = path.read_bytes()

    def _keep(self, path: Path) -> int:
        inode = path.stat().st_ino
        if path.is_dir():
            self._folders.add(inode)
        if inode not in self._kept_open:
            self._kept_open[inode] = os.open(path, os.O_RDONLY)
        return inode

    def _left(self, inode: int, now: Path | None, name: str, fate: Fate) -> Iterator[tuple[str, bytes | None]]:
        """Of the file or folder ``inode``; ``now`` is where it is found at this moment, if it still has a name."""
        if inode not in self._folders:
            yield name, self._some_bytes(inode, fate)
            return
        if name:
            yield name, None
        safe = self._names.get(inode, {})
        current = {child.name: self._keep(child) for child in now.iterdir()} if now else {}
        for child in sorted(safe.keys() | current.keys()):
            names = self._luck.choice([safe, current]) if fate is Fate.ANYTHING else safe
            if child not in names or (fate is Fate.REMOVALS_KEPT and child not in current):
                continue
            still_here = now / child if now and current.get(child) == names[child] else None
            yield from self._left(names[child], still_here, f"{name}/{child}" if name else child, fate)

    def _some_bytes(self, inode: int, fate: Fate) -> bytes:
        safe, handle = self._bytes.get(inode, b""), self._kept_open[inode]
        current = os.pread(handle, os.fstat(handle).st_size, 0)
        if fate is not Fate.ANYTHING or current == safe:
            return safe
        garbage = bytes(byte ^ 0x55 for byte in current)
        return self._luck.choice([safe, current, current[: len(current) // 2], bytes(len(current)), garbage])
