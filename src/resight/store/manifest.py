"""The one small file that says what an index is: replaced whole at each commit, so a commit happens or does not.

First line: ``resight-index 6 CRC32``; the CRC covers every byte after that line. Then JSON.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import IndexDamagedError, IndexMissingError
from ..options import GIVEN_POINTS
from .checked import damaged, unreadable
from .disk import Disk

FORMAT = 6
NAME = "manifest"
MAGIC = "resight-index"
SINCE = {"contexts": 2, "clusters": 3, "codes": 4, "similarity": 5}  # formats that entries of the manifest came with
LEARNT = "learnt"  # what segments have terms of beside contexts: the similarity's s(0, d) of each picture
LEARNT_FILES = ("context-*.npz", "clusters-*.npz", "similarity-*.npz")  # names of ``Manifest.learnt``


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that is checked in whole."""

    name: str
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """One immutable segment, and which of its pictures have died since."""

    name: str
    pictures: int
    features: int  # postings
    files: dict[str, int]  # name → size; their block checksums stand in the file ``sums``, in this order
    sums: FileRecord
    dead: FileRecord | None = None
    dead_pictures: int = 0
    dead_features: int = 0
    terms: dict[str, FileRecord] = field(default_factory=dict)  # by context, or LEARNT: a float32 for each picture
    shapes: bool = False  # whether its features have affine shape; since format 6

    @property
    def beside(self) -> list[FileRecord]:
        """Files that were written after the segment, and are checked in whole."""
        return [*([self.dead] if self.dead else []), *self.terms.values()]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of an index after one commit."""

    commit: int
    settings: dict[str, Any]  # options that are part of the index's identity
    vocabulary: FileRecord
    vocabulary_fingerprint: str
    segments: tuple[SegmentRecord, ...] = field(default=())
    contexts: dict[str, FileRecord] = field(default_factory=dict)  # reference sets, by fingerprint of their options
    clusters: FileRecord | None = None  # what pictures are put into clusters by; all segments are ordered by cluster
    codes: int = 0  # bytes kept of each feature's descriptor
    similarity: FileRecord | None = None  # learnt for its pictures

    @property
    def keep(self) -> str:
        """What they are: ``IndexingOptions.keep``."""
        return str(self.settings.get("indexing", {}).get("keep", "nothing"))

    @property
    def oriented(self) -> bool:
        """Whether features have scale and angle, or are positions alone."""
        return bool(self.settings.get("features", {}).get("detector") != GIVEN_POINTS)

    @property
    def vocabularies(self) -> int:
        """How many independent ones the vocabulary consists of. Known here so that it need not be read for that."""
        return int(self.settings.get("vocabularies", 1))

    @property
    def pictures(self) -> int:
        return sum(s.pictures - s.dead_pictures for s in self.segments)

    @property
    def features(self) -> int:
        """Of all pictures, in one vocabulary: a feature that has several words there counts as often."""
        return sum(s.features - s.dead_features for s in self.segments) // self.vocabularies

    @property
    def learnt(self) -> list[FileRecord]:
        """Files beside the segments that say what was learnt from all pictures."""
        return [*self.contexts.values(), *(file for file in (self.clusters, self.similarity) if file)]

    @property
    def terms(self) -> list[str]:
        """What all segments have terms of."""
        return [*self.contexts, *([LEARNT] if self.similarity else [])]

    def next(self, **changed: Any) -> Manifest:
        return replace(self, commit=self.commit + 1, **changed)


def write(folder: Path, manifest: Manifest, disk: Disk) -> None:
    """Replace the manifest. Everything it names must be synced before; this is the commit."""
    body = json.dumps(asdict(manifest), indent=1).encode()
    new = folder / f"{NAME}.new"
    disk.write(new, f"{MAGIC} {FORMAT} {zlib.crc32(body):08x}\n".encode() + body)
    disk.sync(new)
    disk.rename(new, folder / NAME)
    disk.sync(folder)


def read(folder: Path) -> Manifest:
    """The last committed manifest."""
    path = folder / NAME
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise IndexMissingError(
            f"there is no index at {folder}; make one with `resight index PICTURES --into {folder}`"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None
    return parse(data, path)


def parse(data: bytes, path: str | Path) -> Manifest:
    """The manifest with this content; path: where it was found, for messages."""
    head, _, body = data.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or words[0] != MAGIC.encode() or not words[1].isdigit():
        raise damaged(path, "not an index manifest")
    if int(words[1]) < 1:
        raise damaged(path, f"there is no format {int(words[1])}")
    if int(words[1]) > FORMAT:
        raise IndexDamagedError(
            f"{path} has format {int(words[1])}, this version reads up to {FORMAT}; upgrade resight"
        )
    if words[2] != f"{zlib.crc32(body):08x}".encode():
        raise damaged(path, "wrong checksum")
    values = json.loads(body)
    for name, since in SINCE.items():  # the checksum does not cover the number, of which one bit makes another
        if (name in values) != (int(words[1]) >= since):
            raise damaged(path, f"format {int(words[1])} {'with' if name in values else 'without'} {name}")
    return _from_json(values)


def segment_record(values: dict[str, Any]) -> SegmentRecord:
    """From what ``asdict`` made of one."""
    dead = FileRecord(**values["dead"]) if values["dead"] else None
    terms = _files(values.get("terms", {}))
    return SegmentRecord(**{**values, "sums": FileRecord(**values["sums"]), "dead": dead, "terms": terms})


def _files(records: dict[str, Any]) -> dict[str, FileRecord]:
    return {name: FileRecord(**record) for name, record in records.items()}


def _from_json(values: dict[str, Any]) -> Manifest:
    segments = tuple(segment_record(s) for s in values["segments"])
    clusters, similarity = values.get("clusters"), values.get("similarity")
    return Manifest(
        **{
            **values,
            "vocabulary": FileRecord(**values["vocabulary"]),
            "segments": segments,
            "contexts": _files(values.get("contexts", {})),
            "clusters": FileRecord(**clusters) if clusters else None,
            "similarity": FileRecord(**similarity) if similarity else None,
        }
    )


__all__ = [
    "FORMAT",
    "LEARNT",
    "LEARNT_FILES",
    "NAME",
    "FileRecord",
    "Manifest",
    "SegmentRecord",
    "parse",
    "read",
    "segment_record",
    "write",
]
