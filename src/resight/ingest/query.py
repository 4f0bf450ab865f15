"""A picture, in whatever form it is given, or an indexed one → a query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..options import AssignOptions
from ..scoring import Query
from ..search import SegmentGroup, missing, quantise
from ..timing import Stopwatch
from ..types import Features, Region
from ..vocabulary import Assigner
from .reader import Reader, Source


def query_of(
    source: Source,
    region: Region | None,
    *,
    reader: Reader,
    assigner: Assigner,
    options: AssignOptions,
    watch: Stopwatch,
) -> Query:
    """A picture, or a region of it."""
    name = str(source) if isinstance(source, str | Path) else "the query"
    with watch.stage("features"):
        features = reader.open(source, name=name).features(region)
    _require_overlap(region, features)
    with watch.stage("words"):
        return _within(region, quantise(assigner, features, options))


def query_of_stored(group: SegmentGroup, key: str, region: Region | None) -> Query:
    """An indexed picture, or a region of it."""
    located = group.snapshot.locate(key)
    if located is None:
        raise missing(key)
    segment, row = located
    (query,) = group.stored_queries([(group.snapshot.segments.index(segment), row)])
    _require_overlap(region, query.known_features)
    return _within(region, query)


def _within(region: Region | None, query: Query) -> Query:
    """With the features in the region alone; a detector finds no others, but given ones may lie anywhere.

    The colours of a whole picture are not those of a region.
    """
    if region is None:
        return query
    features = replace(query.known_features, colours=None)
    return replace(query, features=features).only(region.contains(features.xy))


def _require_overlap(region: Region | None, features: Features) -> None:
    if region is None:
        return
    if not (region.width > 0 and region.height > 0):
        raise UsageError(f"a region needs a positive width and height, not {region.width} × {region.height}")
    right, bottom = region.x + region.width, region.y + region.height
    if not (region.x < features.width and region.y < features.height and right > 0 and bottom > 0):
        box = f"{region.x:g},{region.y:g},{region.width:g},{region.height:g}"
        raise UsageError(f"the region {box} lies outside the picture of {features.width} × {features.height} pixels")
