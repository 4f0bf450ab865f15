"""A picture, in whatever form it is given → its content hash and its features: read, hash, decode, extract.

There is no other way in: for pictures that are added, queries, training and evaluation alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import colours, images
from ..features import extract, require_given
from ..features.given import validated
from ..options import FeatureOptions, ImageOptions
from ..types import Features, Picture, Region
from ..urls import Place

# A file or its URL, a file's content, or pixels (grey or RGB); or, where an index was made for such, own features.
Source = Place | bytes | npt.NDArray[Any] | Features


@dataclass(frozen=True)
class OpenedPicture:
    """A picture that was read and hashed, and not yet decoded."""

    content: bytes  # hash: what has the same content need not be looked at again
    extract: Callable[[Region | None], Features]

    def features(self, region: Region | None = None) -> Features:
        """Those of the picture, or of a region of it. A picture that cannot be decoded raises ImageError."""
        return self.extract(region)


@dataclass(frozen=True)
class Reader:
    """Reads pictures as those of an index were read."""

    options: FeatureOptions
    images: ImageOptions = field(default_factory=ImageOptions)

    def open(self, source: Source, *, name: str) -> OpenedPicture:
        """Errors call the picture by this name."""
        if isinstance(source, Features):
            require_given(self.options)
            given = validated(source, repr(name))
            return OpenedPicture(_hash_of_features(given), lambda region: given)
        side = self.options.max_side
        if isinstance(source, np.ndarray):
            picture = images.from_array(source, max_side=side)
            content = content_hash(f"{source.shape}{source.dtype}".encode() + source.tobytes())
            return OpenedPicture(content, lambda region: self._extract(picture, region))
        data = source if isinstance(source, bytes) else images.read_bytes(source, options=self.images)

        def decode_and_extract(region: Region | None) -> Features:
            decode = images.decode if region else images.decode_with_thumbnail
            return self._extract(decode(data, name=name, max_side=side, options=self.images), region)

        return OpenedPicture(content_hash(data), decode_and_extract)

    def _extract(self, picture: Picture, region: Region | None) -> Features:
        """With the colours of a whole picture. Those of a region are not looked at: a thing may be in any light."""
        features = extract(picture, options=self.options, region=region)
        if region or picture.thumbnail is None:
            return features
        return replace(features, colours=colours.describe(picture.thumbnail))


def content_hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]


def _hash_of_features(features: Features) -> bytes:
    """The same for features that were given instead of a picture."""
    shape = () if features.shape is None else (features.shape,)
    arrays = (features.xy, features.scale, features.angle, features.descriptors, *shape)
    facts = [features.width, features.height, *((a.dtype.str, a.shape) for a in arrays)]
    return content_hash(b"".join([repr(facts).encode(), *(a.tobytes() for a in arrays)]))
