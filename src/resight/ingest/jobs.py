"""A picture to add → an entry for the index. The same way for one picture in this process and for many in others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import FeatureFileError, ImageAccessError, ImageError, UsageError
from ..options import FeatureOptions, ImageOptions, IndexingOptions
from ..postings import encode
from ..store import Entry, Known
from ..types import Bytes, Features, Float32
from ..urls import Place, absolute, is_url
from ..vocabulary import Assigner, Vocabulary
from .reader import Reader, Source


@dataclass(frozen=True, slots=True)
class Job:
    """A picture to add."""

    key: str
    source: Source
    path: str | None = None  # where the picture is found later: its file or URL, if it has one
    known: Known | None = None  # what is stored under this key
    state: str | None = None  # of its file, before it is read: another one once the file has changed
    refused: str | None = None  # why it could not be read before, if nothing has changed since

    @classmethod
    def for_file(cls, path: Place, *, key: str | None = None) -> Job:
        """Of a picture file, by default with its absolute path or URL as its key."""
        place = absolute(path)
        return cls(place if key is None else key, path, place)

    @property
    def name(self) -> str:
        """What errors call the picture."""
        return str(self.source) if isinstance(self.source, str | Path) else self.key


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: a picture was added, or skipped for a reason, or nothing had changed."""

    key: str
    entry: Entry | None = None  # what was added, where it is not yet stored
    replaces: bool = False  # the key was known with other content
    skipped: str | None = None
    unchanged: bool = False
    known_bad: bool = False  # skipped without another try: it could not be read before, and has not changed
    unreachable: bool = False  # skipped because of a disk or permissions, which says nothing about the picture
    moved_from: str | None = None  # the key of a picture with the same content whose file is gone


def crashed(job: Job) -> Outcome:
    """Of a job that killed who did it."""
    return Outcome(job.key, skipped=f"{job.name}: the decoder crashed on this file; convert it to PNG or JPEG")


@dataclass(frozen=True, slots=True)
class Moved:
    """A stored picture whose file is gone: one with the same content elsewhere takes its place."""

    key: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Ingester:
    """Job → Outcome: read, hash, decode, extract, assign."""

    reader: Reader
    assigner: Assigner
    indexing: IndexingOptions
    moved: Mapping[bytes, Moved] = field(default_factory=dict)  # by content

    def __call__(self, job: Job) -> Outcome:
        """Pictures that cannot be read become skipped outcomes, not exceptions."""
        if job.refused:
            return Outcome(job.key, skipped=job.refused, known_bad=True)
        try:
            return self.ingest(job)
        except ImageAccessError as error:
            return Outcome(job.key, skipped=str(error), unreachable=True)
        except (ImageError, FeatureFileError) as error:
            return Outcome(job.key, skipped=str(error))

    def ingest(self, job: Job) -> Outcome:
        """The same; pictures that cannot be read raise. A picture that was known, or has moved, keeps its metadata."""
        picture, known = self.reader.open(job.source, name=job.name), job.known
        if known and (picture.content, job.path) == (known.content, known.path):
            return Outcome(job.key, unchanged=True)
        entry = self.entry(picture.features(), key=job.key, content=picture.content, path=job.path)
        if known:
            return Outcome(job.key, replace(entry, metadata=known.metadata), replaces=True)
        if moved := self.moved.get(picture.content):
            return Outcome(job.key, replace(entry, metadata=moved.metadata), moved_from=moved.key)
        return Outcome(job.key, entry)

    def entry(self, features: Features, *, key: str, content: bytes, path: str | None = None) -> Entry:
        """Features with their words, ready to be stored."""
        words = self.assigner.assign(features.descriptors, options=self.indexing)
        width, height, colours = features.width, features.height, features.colours
        return Entry(key, words, encode(features), width, height, content, path, colours=colours)


@dataclass(frozen=True)
class IngesterPlan:
    """What a worker process needs to become an ingester; calling it makes one."""

    vocabulary: Path
    features: FeatureOptions
    indexing: IndexingOptions
    images: ImageOptions = field(default_factory=ImageOptions)
    moved: Mapping[bytes, Moved] = field(default_factory=dict)

    def __call__(self) -> Ingester:
        reader = Reader(self.features, self.images)
        return Ingester(reader, Assigner(Vocabulary.load(self.vocabulary)), self.indexing, self.moved)


@dataclass(frozen=True)
class DescriberPlan:
    """As IngesterPlan, for descriptors to train on."""

    features: FeatureOptions
    images: ImageOptions = field(default_factory=ImageOptions)

    def __call__(self) -> Describer:
        return Describer(Reader(self.features, self.images))


@dataclass(frozen=True)
class Describer:
    """Picture file → descriptors, or the reason why there are none."""

    reader: Reader

    def __call__(self, path: Place) -> Bytes | Float32 | str:
        try:
            return self.reader.open(path, name=str(path)).features().descriptors
        except ImageError as error:
            return str(error)


def file_key(path: Place, relative_to: Place | None) -> str:
    """The key of a picture file: its absolute path or URL, or what follows ``relative_to`` in it."""
    whole = absolute(path)
    if relative_to is None:
        return whole
    base = absolute(relative_to).rstrip("/") + "/"
    if is_url(path) != is_url(relative_to) or not f"{whole}/".startswith(base):
        raise UsageError(f"{path} is not inside {relative_to}; index it without relative keys, or move it")
    return whole[len(base) :]
