"""Stored files whose bytes are checked before they are believed.

Each file is cut into blocks of 64 KiB with a CRC-32 each. Opening reads no more than the first block; other blocks are
checked the first time they are used, so a damaged byte can never reach a score unnoticed, and a large index still opens
at once.
"""

from __future__ import annotations

import io
import mmap
import os
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import READING
from ..errors import IndexDamagedError, StoreError
from ..types import Bytes, Int64, UInt32

BLOCK = 1 << 16

REMEDY = "run `resight check` to see what is damaged, restore the index from a copy, or index the pictures again"


def damaged(path: str | Path, what: str) -> IndexDamagedError:
    return IndexDamagedError(f"{path} is damaged ({what}); {REMEDY}")


def unreadable(path: Path, error: OSError) -> StoreError:
    """A missing file is damage; a system that refuses to read one is not."""
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return damaged(path, "missing")
    return StoreError(f"cannot read {path}: {error.strerror}; the index may be sound: mend this and try again")


def block_count(size: int) -> int:
    return -(-size // BLOCK)


def block_sums(data: Bytes) -> UInt32:
    """The CRC-32 of each block."""
    starts = range(0, len(data), BLOCK)
    return np.array([zlib.crc32(data[start : start + BLOCK].data) for start in starts], dtype=np.uint32)


def map_bytes(path: Path) -> Bytes:
    """The file as a read-only memory map (an empty array for an empty file, which cannot be mapped)."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return np.zeros(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


@lru_cache(1000)
def _header(data: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """What a .npy header says. numpy has Python parse it, which takes longer than all else when a file is opened."""
    head = io.BytesIO(data)
    if np.lib.format.read_magic(head) != (1, 0):
        raise ValueError("not .npy version 1.0")
    with READING:
        shape, _, kind = np.lib.format.read_array_header_1_0(head)
    return shape, kind


class CheckedFile:
    """A memory-mapped file and the checksums it must have."""

    def __init__(self, path: Path, *, size: int, sums: UInt32) -> None:
        self.path, self._sums = path, sums
        try:
            self.bytes = map_bytes(path)
        except OSError as error:
            raise unreadable(path, error) from None
        if len(self.bytes) != size or len(sums) != block_count(size):
            raise damaged(path, f"{len(self.bytes)} bytes where {size} were written")
        self._unchecked = np.ones(len(sums), dtype=np.bool_)
        self._left = len(sums)

    def check(self, first_block: int = 0, last_block: int | None = None) -> None:
        """Raise IndexDamagedError unless these blocks hold what was written."""
        stop = len(self._sums) if last_block is None else last_block + 1
        self._check(first_block + np.flatnonzero(self._unchecked[first_block:stop]))

    def check_ranges(self, start: Int64, stop: Int64) -> None:
        """The same for the blocks that the byte ranges start:stop touch."""
        if self._left <= 0 or len(start) == 0:
            return
        blocks = len(self._sums)
        first = np.minimum(start // BLOCK, blocks)
        after = np.minimum((np.maximum(stop, start + 1) - 1) // BLOCK + 1, blocks)
        open_ranges = np.cumsum(np.bincount(first, minlength=blocks + 1) - np.bincount(after, minlength=blocks + 1))
        self._check(np.flatnonzero((open_ranges[:blocks] > 0) & self._unchecked))

    def _check(self, blocks: Int64) -> None:
        for block in blocks.tolist():
            if zlib.crc32(self.bytes[block * BLOCK : (block + 1) * BLOCK].data) != self._sums[block]:
                raise damaged(self.path, f"wrong checksum in bytes {block * BLOCK} to {(block + 1) * BLOCK - 1}")
            self._unchecked[block] = False
        self._left = int(self._unchecked.sum())  # counted, not decremented: other threads may be here

    def array(self, kind: npt.DTypeLike) -> tuple[npt.NDArray[Any], int]:
        """The file as a one-dimensional .npy array of this kind, mapped, and the byte at which its rows start."""
        self.check(0, 0)
        start = 10 + int.from_bytes(self.bytes[8:10].tobytes(), "little")
        try:
            shape, found = _header(self.bytes[: min(start, BLOCK)].tobytes())
        except ValueError as error:
            raise damaged(self.path, str(error)) from None
        if found != np.dtype(kind) or shape != ((len(self.bytes) - start) // found.itemsize,):
            raise damaged(self.path, f"holds {shape} {found}, not a list of {np.dtype(kind)}")
        return self.bytes[start:].view(kind), start
