"""One picture, quantised and ready to be stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from ..errors import UsageError
from ..postings import SHAPED
from ..types import Words


@dataclass(frozen=True, slots=True)
class Entry:
    """What a segment keeps of a picture."""

    key: str
    words: Words
    geometry: npt.NDArray[Any]  # GEOMETRY or SHAPED codes, one per feature
    width: int  # of the full-size upright picture
    height: int
    content: bytes  # hash of the picture's bytes; equal content is not indexed again
    path: str | None = None  # where it was read from
    metadata: dict[str, Any] = field(default_factory=dict)
    colours: bytes | None = None  # as ``Features.colours``

    @property
    def shapes(self) -> bool:
        """Whether its features have affine shape; a detector says so of all pictures, even of one without features."""
        return self.geometry.dtype == SHAPED


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored under a key, as far as it matters when the picture is added again."""

    content: bytes
    path: str | None
    metadata: dict[str, Any]


def encode_text(text: str) -> bytes:
    """File names may hold bytes that are no Unicode; they survive the way to the disk and back."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = b""
    if decode_text(data) != text:
        raise UsageError(f"{text!r} is neither Unicode nor a file name that Python read; choose another key or path")
    return data


def decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
