"""A picture's bytes → an entry for the index. The same way for one picture in this process and for many in others."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import images
from .errors import ImageError
from .features import extract
from .options import FeatureOptions, ImageOptions, IndexingOptions
from .postings import encode
from .store import Entry
from .types import Bytes, Features, Float32, Region
from .urls import Place, absolute
from .vocabulary import Assigner, Vocabulary


@dataclass(frozen=True, slots=True)
class Job:
    """A picture file to look at."""

    key: str
    path: Place
    # Under this key in the index: what has the same content and place need not be analysed again.
    known: bytes | None = None  # hash of its content
    stored_at: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: a picture was added, or skipped for a reason, or nothing had changed."""

    key: str
    entry: Entry | None = None  # what was added, where it is not yet stored
    replaces: bool = False  # the key was known with other content
    skipped: str | None = None
    unchanged: bool = False


def crashed(job: Job) -> Outcome:
    """Of a job that killed who did it."""
    return Outcome(job.key, skipped=f"{job.path}: the decoder crashed on this file; convert it to PNG or JPEG")


def content_hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]


def content_of(features: Features) -> bytes:
    """The same for features that were given instead of a picture."""
    shape = () if features.shape is None else (features.shape,)
    arrays = (features.xy, features.scale, features.angle, features.descriptors, *shape)
    facts = [features.width, features.height, *((a.dtype.str, a.shape) for a in arrays)]
    return content_hash(b"".join([repr(facts).encode(), *(a.tobytes() for a in arrays)]))


def features_of(
    data: bytes, *, name: str, features: FeatureOptions, images_options: ImageOptions, region: Region | None = None
) -> Features:
    """Decode and extract."""
    picture = images.decode(data, name=name, max_side=features.max_side, options=images_options)
    return extract(picture, options=features, region=region)


def make_entry(
    features: Features,
    assigner: Assigner,
    *,
    indexing: IndexingOptions,
    key: str,
    content: bytes,
    path: str | None,
    metadata: dict[str, Any],
) -> Entry:
    """Quantise features."""
    words = assigner.assign(features.descriptors, options=indexing)
    return Entry(key, words, encode(features), features.width, features.height, content, path, metadata)


@dataclass(frozen=True)
class AnalyserPlan:
    """What a worker process needs to become an analyser; calling it makes one."""

    vocabulary: Path
    features: FeatureOptions
    indexing: IndexingOptions
    images: ImageOptions = field(default_factory=ImageOptions)

    def __call__(self) -> Analyser:
        return Analyser(Assigner(Vocabulary.load(self.vocabulary)), self.features, self.indexing, self.images)


@dataclass(frozen=True)
class Analyser:
    """Job → Outcome. Pictures that cannot be read become skipped outcomes, not exceptions."""

    assigner: Assigner
    features: FeatureOptions
    indexing: IndexingOptions
    images: ImageOptions

    def __call__(self, job: Job) -> Outcome:
        try:
            data = images.read_bytes(job.path, options=self.images)
            content = content_hash(data)
            if content == job.known and absolute(job.path) == job.stored_at:
                return Outcome(job.key, unchanged=True)
            found = features_of(data, name=str(job.path), features=self.features, images_options=self.images)
        except ImageError as error:
            return Outcome(job.key, skipped=str(error))
        facts: dict[str, Any] = {"key": job.key, "content": content, "path": absolute(job.path), "metadata": {}}
        entry = make_entry(found, self.assigner, indexing=self.indexing, **facts)
        return Outcome(job.key, entry, replaces=job.known is not None)


@dataclass(frozen=True)
class DescriberPlan:
    """As AnalyserPlan, for collecting descriptors to train on."""

    features: FeatureOptions
    images: ImageOptions = field(default_factory=ImageOptions)

    def __call__(self) -> Describer:
        return Describer(self.features, self.images)


@dataclass(frozen=True)
class Describer:
    """Job → descriptors, or the reason why there are none."""

    features: FeatureOptions
    images: ImageOptions

    def __call__(self, job: Job) -> Bytes | Float32 | str:
        try:
            data = images.read_bytes(job.path, options=self.images)
            return features_of(data, name=str(job.path), features=self.features, images_options=self.images).descriptors
        except ImageError as error:
            return str(error)
