"""Shards of a build that is not committed yet. What was done is recorded, so that an interrupted build can go on.

A shard's segment stands among the others, under a name that no manifest has; its record says so, and belongs to the
commit that the build began with. A writer spares such segments until there is another commit.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .disk import Disk
from .manifest import SegmentRecord, segment_record

FOLDER = "building"
MAGIC = "resight-shard"


@dataclass(frozen=True, slots=True)
class Built:
    """A shard that is done."""

    commit: int  # that it was built upon
    segment: SegmentRecord | None  # None: there was nothing to store
    outcomes: list[dict[str, Any]]  # what became of each picture, as plain values


def record(folder: Path, name: str, built: Built, disk: Disk) -> None:
    """Make it durable that a shard is done. Its segment must be on disk before."""
    place = folder / FOLDER
    body = json.dumps(asdict(built)).encode()
    new = place / f"{name}.{secrets.token_hex(4)}"  # a worker that was taken for dead may be writing the same record
    disk.write(new, f"{MAGIC} {zlib.crc32(body):08x}\n".encode() + body)
    disk.sync(new)
    disk.rename(new, place / f"{name}.json")
    disk.sync(place)


def read(folder: Path, name: str) -> Built | None:
    """What was recorded of a shard; None if nothing was, or not all of it reached the disk."""
    try:
        head, _, body = (folder / FOLDER / f"{name}.json").read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if head != f"{MAGIC} {zlib.crc32(body):08x}".encode():
        return None
    values = json.loads(body)
    segment = values["segment"]
    return Built(values["commit"], segment and segment_record(segment), values["outcomes"])


def unfinished(folder: Path, commit: int) -> Iterator[Built]:
    """Shards that are done, of a build upon this commit."""
    for path in sorted((folder / FOLDER).glob("*.json")):
        built = read(folder, path.stem)
        if built and built.commit == commit:
            yield built
