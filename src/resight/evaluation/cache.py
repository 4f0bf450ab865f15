"""Features are extracted once, whatever is done with them afterwards: a folder of files named after what they hold.

A file's name is the content of the picture and the region looked at; its folder is the fingerprint of the options. So a
changed picture or option never meets an old file, and an interrupted extraction goes on where it stopped.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import colours
from ..engine import LocalEngine
from ..errors import ImageError
from ..ingest import Reader
from ..options import FeatureOptions, ImageOptions, fingerprint
from ..types import Features, Region

_ARRAYS = ("xy", "scale", "angle", "descriptors")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A picture, or a region of it, whose features are wanted."""

    path: Path
    region: Region | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """Where the features of a wanted picture are; or why there are none."""

    content: bytes
    file: Path | None
    problem: str | None = None


@dataclass(frozen=True)
class FeatureCache:
    """Picture → file with its features."""

    folder: Path
    options: FeatureOptions
    images: ImageOptions = field(default_factory=ImageOptions)

    def extract(self, wanted: Iterable[Wanted], *, processes: int) -> Iterator[Extracted]:
        """Make sure that each has its file, in several processes; in order."""
        return LocalEngine(processes).run(self.worker, wanted, on_crash=_crashed)

    def worker(self) -> Extractor:
        return Extractor(
            self.folder / fingerprint(self.options, {"colours": colours.KIND}), Reader(self.options, self.images)
        )


@dataclass(frozen=True)
class Extractor:
    """Wanted → Extracted, in a worker process."""

    folder: Path
    reader: Reader

    def __call__(self, wanted: Wanted) -> Extracted:
        content = b""
        try:
            picture = self.reader.open(wanted.path, name=str(wanted.path))
            content = picture.content
            file = self.folder / content.hex()[:2] / f"{content.hex()}{_suffix(wanted.region)}.npz"
            if not file.exists():
                _write(file, picture.features(wanted.region))
        except ImageError as error:
            return Extracted(content, None, str(error))
        return Extracted(content, file)


def read(file: Path) -> Features:
    """The features in a cache file."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            xy, scale, angle, descriptors, (width, height) = (arrays[name] for name in (*_ARRAYS, "size"))
            shape = arrays.get("shape")
            described = arrays["colours"].tobytes() if "colours" in arrays else None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ImageError(f"the cached features in {file} are damaged ({error}); delete it and run again") from None
    return Features(xy, scale, angle, descriptors, int(width), int(height), shape, described)


def _write(file: Path, features: Features) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    arrays = {name: getattr(features, name) for name in _ARRAYS}
    if features.shape is not None:
        arrays["shape"] = features.shape
    if features.colours is not None:
        arrays["colours"] = np.frombuffer(features.colours, np.uint8)
    with new.open("wb") as stream:
        np.savez(stream, **arrays, size=np.array([features.width, features.height]))
    new.replace(file)


def _suffix(region: Region | None) -> str:
    return f"-{region.x:g},{region.y:g},{region.width:g},{region.height:g}" if region else ""


def _crashed(wanted: Wanted) -> Extracted:
    return Extracted(b"", None, f"{wanted.path}: the decoder crashed on this file")
