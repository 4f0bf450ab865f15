"""A file of features that another program found, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import FeatureFileError, UsageError
from ..index import Index
from ..ingest import Job, Outcome
from ..types import Features
from .colmap import ColmapDatabase
from .hloc import HlocFile

HDF5, SQLITE = b"\x89HDF\r\n\x1a\n", b"SQLite format 3\x00"


class FeatureFile(Protocol):
    """The features of many pictures."""

    path: Path
    names: list[str]  # of the pictures, sorted
    detector: str  # given or given-points: what an index of these features is made with
    dimension: int  # of descriptors
    kind: np.dtype[Any]  # of their numbers: uint8 or float32

    def read(self, name: str) -> Features: ...

    def close(self) -> None: ...


def open_features(path: Path, *, images: Path | None = None) -> closing[FeatureFile]:
    """An HDF5 file of hloc or a COLMAP database, told by its first bytes.

    images: the folder of the pictures, for their sizes where an HDF5 file has none.
    """
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise FeatureFileError(f"cannot read {path}: {error.strerror}; check the path") from None
    if start.startswith(HDF5):
        return closing(HlocFile(path, images=images))
    if start == SQLITE:
        return closing(ColmapDatabase(path))
    raise FeatureFileError(f"{path} is neither an HDF5 file, as hloc writes, nor a COLMAP database; give one of these")


def add_all(index: Index, file: FeatureFile, *, images: Path | None = None) -> Iterator[Outcome]:
    """Add all pictures of a file under their names; yields what became of each, as it happens.

    images: the folder of the pictures, where an index shall know their files.
    """
    require_same_kind(index, file)
    for name in file.names:
        try:
            features = file.read(name)
        except FeatureFileError as error:
            yield Outcome(name, skipped=str(error))
            continue
        path = str(images.absolute() / name) if images else None
        yield from index.add_jobs([Job(name, features, path)])


def require_same_kind(index: Index, file: FeatureFile) -> None:
    """Raise UsageError unless the index was made for features such as the file's."""
    made = index.settings.features.detector
    if file.detector != made:
        raise UsageError(
            f"{file.path} holds features of the kind {file.detector!r}, {index.path} was made for {made!r}; "
            "make an index of its own with `resight index --features`"
        )
