"""The one small file that says what an index is: replaced whole at each commit, so a commit happens or does not.

First line: ``resight-index FORMAT CRC32``; the CRC covers every byte after that line. Then JSON. A reader refuses a
format that it does not know. Optional files are another matter: it ignores those whose names it does not know.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import IndexDamagedError, IndexMissingError, OptionError
from ..options import GIVEN_POINTS, FeatureOptions, IndexingOptions, from_dict
from ..vocabulary import spans
from .checked import damaged, unreadable
from .disk import Disk

FORMAT = 1
NAME = "manifest"
MAGIC = "resight-index"
OPTIONAL = "optional"  # the folder of a commit's optional files
# Names of optional files: of a commit, and of a segment.
CONTEXT, CLUSTERS, SIMILARITY = "context-", "clusters", "similarity"
REFUSED, DISMISSED = "refused", "dismissed"
AS_JSON = REFUSED, DISMISSED  # all others hold arrays
TERMS = "terms-"
LINKS = "links"  # of a segment
LEARNT = "learnt"  # what segments have terms of beside contexts: the similarity's s(0, d) of each picture


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that is checked in whole."""

    name: str
    size: int
    crc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is fixed when an index is made."""

    features: FeatureOptions
    indexing: IndexingOptions
    words: int  # of all vocabularies
    vocabularies: int  # how many independent ones the vocabulary consists of
    codes: int  # bytes kept of each feature's descriptor: ``indexing.keep`` says what they are

    @property
    def spans(self) -> list[range]:
        """The words of each vocabulary."""
        return spans(self.words, self.vocabularies)

    @property
    def oriented(self) -> bool:
        """Whether features have scale and angle, or are positions alone."""
        return self.features.detector != GIVEN_POINTS


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """One immutable segment, and which of its pictures have died since."""

    name: str
    pictures: int
    features: int  # postings
    files: dict[str, int]  # name → size; their block checksums stand in the file ``sums``, in this order
    sums: FileRecord
    shapes: bool = False  # whether its features have affine shape
    dead: FileRecord | None = None
    dead_pictures: int = 0
    dead_features: int = 0
    optional: dict[str, FileRecord] = field(default_factory=dict)

    @property
    def terms(self) -> dict[str, FileRecord]:
        """By context, or LEARNT: a float32 for each picture."""
        return {name.removeprefix(TERMS): file for name, file in self.optional.items() if name.startswith(TERMS)}

    @property
    def sidecar_files(self) -> list[FileRecord]:
        """Files that were written after the segment, and are checked in whole."""
        return [*([self.dead] if self.dead else []), *self.optional.values()]

    def keeping_terms(self, names: Collection[str]) -> SegmentRecord:
        """Drops all other terms."""
        dropped = {f"{TERMS}{name}" for name in self.terms if name not in names}
        return replace(self, optional={name: file for name, file in self.optional.items() if name not in dropped})


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of an index after one commit."""

    commit: int
    settings: Settings
    vocabulary: FileRecord
    vocabulary_fingerprint: str
    segments: tuple[SegmentRecord, ...] = ()
    optional: dict[str, FileRecord] = field(default_factory=dict)

    @property
    def contexts(self) -> dict[str, FileRecord]:
        """Reference sets, by fingerprint of their options."""
        return {name.removeprefix(CONTEXT): file for name, file in self.optional.items() if name.startswith(CONTEXT)}

    @property
    def clusters(self) -> FileRecord | None:
        """What pictures are put into clusters by; if there is such a file, all segments are ordered by cluster."""
        return self.optional.get(CLUSTERS)

    @property
    def similarity(self) -> FileRecord | None:
        """Learnt for its pictures."""
        return self.optional.get(SIMILARITY)

    @property
    def refused(self) -> FileRecord | None:
        """Which files could not be read."""
        return self.optional.get(REFUSED)

    @property
    def linked(self) -> bool:
        """Whether any picture has looked for others."""
        return any(LINKS in segment.optional for segment in self.segments)

    @property
    def pictures(self) -> int:
        return sum(s.pictures - s.dead_pictures for s in self.segments)

    @property
    def features(self) -> int:
        """Of all pictures, in one vocabulary: a feature that has several words there counts as often."""
        return sum(s.features - s.dead_features for s in self.segments) // self.settings.vocabularies

    @property
    def terms(self) -> list[str]:
        """What all segments have terms of."""
        return [*self.contexts, *([LEARNT] if self.similarity else [])]

    def next(
        self, segments: Sequence[SegmentRecord], *, changed: Mapping[str, FileRecord | None] | None = None
    ) -> Manifest:
        """That of the commit after this one; changed: optional files that are new, or dropped (None).

        Terms go with the file that they belong to. Optional files that this version does not know are dropped, since
        it could not keep them right.
        """
        kept = {**self.optional, **(changed or {})}
        optional = {name: file for name, file in kept.items() if file and _is_known(name)}
        following = replace(self, commit=self.commit + 1, optional=optional)
        return replace(following, segments=tuple(s.keeping_terms(following.terms) for s in segments))


def _is_known(name: str) -> bool:
    return name in (CLUSTERS, SIMILARITY, REFUSED, DISMISSED) or name.startswith(CONTEXT)


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
    if int(words[1]) != FORMAT:
        remedy = "upgrade resight" if int(words[1]) > FORMAT else "index the pictures again"
        raise IndexDamagedError(f"{path} has format {int(words[1])}, this version reads format {FORMAT}; {remedy}")
    if words[2] != f"{zlib.crc32(body):08x}".encode():
        raise damaged(path, "wrong checksum")
    try:
        return _manifest(json.loads(body))
    except (OptionError, KeyError, TypeError) as error:  # an option or a field that one of the two does not have
        raise IndexDamagedError(
            f"{path} was written by another version of resight ({error}); upgrade resight, or index the pictures again"
        ) from None


def segment_record(values: dict[str, Any]) -> SegmentRecord:
    """From what ``asdict`` made of one."""
    dead = FileRecord(**values["dead"]) if values["dead"] else None
    files = {"sums": FileRecord(**values["sums"]), "dead": dead, "optional": _files(values["optional"])}
    return SegmentRecord(**{**values, **files})


def settings_of(values: dict[str, Any]) -> Settings:
    """From what ``asdict`` made of them."""
    options = {"features": FeatureOptions, "indexing": IndexingOptions}
    return Settings(**{**values, **{name: from_dict(kind, values[name]) for name, kind in options.items()}})


def _files(records: dict[str, Any]) -> dict[str, FileRecord]:
    return {name: FileRecord(**record) for name, record in records.items()}


def _manifest(values: dict[str, Any]) -> Manifest:
    parts = {
        "settings": settings_of(values["settings"]),
        "vocabulary": FileRecord(**values["vocabulary"]),
        "segments": tuple(segment_record(s) for s in values["segments"]),
        "optional": _files(values["optional"]),
    }
    return Manifest(**{**values, **parts})
