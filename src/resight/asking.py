"""A picture, in whatever form it is given, or an indexed one → its features, and what it asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import images
from .analyse import content_hash, content_of, features_of
from .errors import UsageError
from .features import extract, require_given
from .features.given import checked
from .options import AssignOptions, FeatureOptions, ImageOptions
from .scoring import Query
from .search import SegmentGroup, missing, quantise
from .timing import Stopwatch
from .types import Features, Region
from .urls import Place
from .vocabulary import Assigner

# A file or its URL, a file's content, or pixels (grey or RGB); or, where an index was made for such, own features.
Source = Place | bytes | npt.NDArray[Any] | Features


@dataclass(frozen=True)
class Reader:
    """Analyses pictures as those of an index were analysed."""

    options: FeatureOptions
    images: ImageOptions

    def features(self, source: Source, *, name: str, region: Region | None = None) -> tuple[Features, bytes]:
        """Those of a picture, or of a region of it, and the hash of its content; errors call it by this name."""
        if isinstance(source, Features):
            require_given(self.options)
            given = checked(source, repr(name))
            return given, content_of(given)
        if isinstance(source, np.ndarray):
            picture = images.from_array(source, max_side=self.options.max_side)
            content = content_hash(f"{source.shape}{source.dtype}".encode() + source.tobytes())
            return extract(picture, options=self.options, region=region), content
        data = source if isinstance(source, bytes) else images.read_bytes(source, options=self.images)
        features = features_of(data, name=name, features=self.options, images_options=self.images, region=region)
        return features, content_hash(data)

    def ask(
        self, source: Source, region: Region | None, assigner: Assigner, options: AssignOptions, watch: Stopwatch
    ) -> Query:
        """A picture, or a region of it, as a query."""
        name = str(source) if isinstance(source, str | Path) else "the query"
        with watch.stage("features"):
            features, _ = self.features(source, name=name, region=region)
        _require_overlap(region, features)
        with watch.stage("words"):
            return _within(region, quantise(assigner, features, options))


def ask_stored(group: SegmentGroup, key: str, region: Region | None) -> Query:
    """An indexed picture, or a region of it, as a query."""
    located = group.snapshot.locate(key)
    if located is None:
        raise missing(key)
    segment, row = located
    (query,) = group.stored_queries([(group.snapshot.segments.index(segment), row)])
    _require_overlap(region, query.known_features)
    return _within(region, query)


def _within(region: Region | None, query: Query) -> Query:
    """With the features in the region alone; a detector finds no others, but given ones may lie anywhere."""
    return query if region is None else query.only(region.contains(query.known_features.xy))


def _require_overlap(region: Region | None, features: Features) -> None:
    if region is None:
        return
    if not (region.width > 0 and region.height > 0):
        raise UsageError(f"a region needs a positive width and height, not {region.width} × {region.height}")
    right, bottom = region.x + region.width, region.y + region.height
    if not (region.x < features.width and region.y < features.height and right > 0 and bottom > 0):
        raise UsageError(f"{region} lies outside the picture of {features.width} × {features.height} pixels")
