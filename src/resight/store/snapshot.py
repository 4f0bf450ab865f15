"""A reader: one commit of an index, held open. Later commits, removals and merges do not change it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from ..clusters import Clusters, Visit
from ..context import context_name, require_context, stored_names
from ..errors import IndexDamagedError, UsageError
from ..options import ContextOptions, ScoringOptions
from ..scoring import SegmentView, Similarity, Tables, idf_weights
from ..types import Bytes, Float32, Int64, Words
from ..vocabulary import Vocabulary
from . import manifest as manifests
from . import refusals
from .checked import map_bytes, unreadable
from .manifest import DISMISSED, LEARNT, FileRecord, Manifest, Settings
from .refusals import Refusal
from .segment import Segment, living_by_key, read_whole
from .table import Row

VOCABULARY = "vocabulary.npz"


class Snapshot:
    """Opened by ``open_snapshot``; close it, or use it in a ``with`` statement.

    The manifest may name some segments of a commit alone.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.segments: list[Segment] = []
        self._clusters_file = _opened(folder, manifest.clusters)
        self._dismissed_file = _opened(folder, manifest.optional.get(DISMISSED))
        self._refused_file = _opened(folder, manifest.refused)
        similarity = _opened(folder, manifest.similarity)
        # Views hold these instead of the snapshot, which holds the views: a circle would keep the files of a replaced
        # snapshot open until garbage is collected, instead of until its last search ends.
        self._similarity = cache(lambda: _read_similarity(folder, manifest.similarity, similarity))
        self._vocabulary = vocabulary = cache(lambda: read_vocabulary(folder, manifest))
        self._tables = cache(lambda: Tables.of(vocabulary()))
        try:
            for record in manifest.segments:
                self.segments.append(Segment(folder, record, codes=manifest.settings.codes))
        except BaseException:
            self.close()
            raise

    @property
    def settings(self) -> Settings:
        return self.manifest.settings

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary()

    @property
    def pictures(self) -> int:
        return self.manifest.pictures

    @cached_property
    def idf(self) -> Float32:
        """(K,) of all living pictures."""
        df: Int64 = np.sum([segment.df for segment in self.segments], axis=0)
        return idf_weights(df, sum(s.record.pictures - s.record.dead_pictures for s in self.segments))

    @cached_property
    def views(self) -> list[list[SegmentView]]:
        """For each vocabulary the segments as scoring sees them: with its own words alone, and the norms of those."""
        tables, views = self._tables if self.settings.indexing.keep == "codes" else None, []
        for s in self.segments:
            forward, alone = s.forward if s.has_forward else None, s.terms.get(LEARNT)
            views.append(SegmentView(s.lists, s.squared, s.alive, s.bounds, forward, tables=tables, stored_alone=alone))
        if self.settings.vocabularies == 1:
            return [views]
        return [[view.within(span) for view in views] for span in self.spans]

    def without_forward(self) -> Snapshot:
        """The same commit, of which only lists are read: what matches is known by its place in them."""
        same = copy(self)
        same.views = [[replace(view, forward=None) for view in views] for views in self.views]
        return same

    @cached_property
    def clusters(self) -> Clusters | None:
        """What pictures were put into clusters by."""
        remedy = f"`resight index --clusters 0 --into {self.folder}`, or make new clusters"
        data = _checked(self.folder, self.manifest.clusters, self._clusters_file, remedy)
        return Clusters.from_bytes(data) if data else None

    @cached_property
    def refused(self) -> dict[str, Refusal]:
        """Files that could not be read, by key. If this is damaged, they are tried again: `resight check` says so."""
        with suppress(IndexDamagedError):
            data = _checked(self.folder, self.manifest.refused, self._refused_file, "`resight index --retry-bad`")
            return refusals.from_bytes(data) if data else {}
        return {}

    @property
    def similarity(self) -> Similarity | None:
        """What was learnt for these pictures, with the words of their only vocabulary."""
        return self._similarity()

    @property
    def dismissed(self) -> bytes | None:
        """Groups that were called no duplicates, as they were stored."""
        remedy = f"`resight dismiss {self.folder} --forget`"
        return _checked(self.folder, self.manifest.optional.get(DISMISSED), self._dismissed_file, remedy)

    @cached_property
    def linked(self) -> bool:
        """Whether most living pictures have asked which others show the same thing."""
        return self.manifest.linked and 2 * self.unlinked < self.pictures

    @property
    def unlinked(self) -> int:
        """Living pictures that have not asked yet which others show the same thing."""
        asked = (s.links.asked & s.alive for s in self.segments if s.links)
        return self.pictures - sum(int(each.sum()) for each in asked)

    @property
    def cluster_count(self) -> int:
        bounds = self.segments[0].bounds if self.segments else None
        return 0 if bounds is None else len(bounds) - 1

    def require_clusters(self, probe: int) -> None:
        """Raise UsageError where so many clusters shall be visited, and there are none."""
        if not probe or all(segment.has_forward for segment in self.segments):
            return
        remedy = "make them with `resight index --clusters`, or search without --probe"
        if self.clusters is None:
            raise UsageError(f"{self.folder} has no clusters to choose from; {remedy}")
        raise UsageError(f"the clusters of {self.folder} were made by an early version; {remedy}")

    def visits(self, queries: Sequence[Words], probe: int) -> list[Visit]:
        """For each query the ``probe`` clusters nearest to it.

        Each feature of a query is given as many words as one of an indexed picture has.
        """
        self.require_clusters(probe)
        assert self.clusters
        alike = [words.within(self.spans[0]).nearest(self.settings.indexing.words) for words in queries]
        return [self.clusters.visit(words.word, probe) for words in alike]

    @property
    def spans(self) -> list[range]:
        """The words of each vocabulary."""
        return self.settings.spans

    def terms(self, scoring: ScoringOptions, context: ContextOptions) -> list[list[Float32]]:
        """For each vocabulary the context terms of each segment's pictures; `has_terms` says whether there are any."""
        names = stored_names(context_name(scoring, context), self.settings.vocabularies)
        return [[segment.terms[name] for segment in self.segments] for name in names]

    def has_terms(self, scoring: ScoringOptions, context: ContextOptions) -> bool:
        """Whether context terms were learnt with these options. Raises UsageError where there can be none."""
        require_context(scoring)
        names = stored_names(context_name(scoring, context), self.settings.vocabularies)
        return not self.segments or self.manifest.contexts.keys() >= {*names}

    def find(self, key: str) -> Row | None:
        """The living picture with this key."""
        located = self.locate(key)
        return located and located[1]

    def locate(self, key: str) -> tuple[Segment, Row] | None:
        for segment in self.segments:
            row = segment.table.find(key)
            if row and segment.alive[row.ordinal]:
                return segment, row
        return None

    def with_content(self, content: bytes) -> Row | None:
        """A living picture whose file had this content hash."""
        found = (
            row
            for segment in self.segments
            for row in segment.table.with_content(content)
            if segment.alive[row.ordinal]
        )
        return next(found, None)

    def by_key(self, after: str | None) -> Iterator[Row]:
        """The living pictures whose keys follow this one (None: all), in the order of their keys."""
        return living_by_key(self.segments, after)

    def rows(self) -> Iterator[Row]:
        """All living pictures, segment by segment."""
        for segment in self.segments:
            yield from (row for row in segment.table.all() if segment.alive[row.ordinal])

    def close(self) -> None:
        for segment in self.segments:
            segment.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_snapshot(folder: Path) -> Snapshot:
    """The index as of its last commit. Never waits for a writer."""
    manifest = manifests.read(folder)
    while True:
        try:
            return Snapshot(folder, manifest)
        except IndexDamagedError:
            # A merge may have removed a segment between the two reads: then there is a newer manifest.
            newer = manifests.read(folder)
            if newer.commit == manifest.commit:
                raise
            manifest = newer


def _opened(folder: Path, record: FileRecord | None) -> Bytes | None:
    """A file's bytes, mapped and not yet checked; they stay readable when a writer removes the file."""
    if record is None:
        return None
    try:
        return map_bytes(folder / record.name)
    except OSError as error:
        raise unreadable(folder / record.name, error) from None


def _checked(folder: Path, record: FileRecord | None, data: Bytes | None, remedy: str) -> bytes | None:
    """What a file beside the segments holds; None where there is none."""
    if record is None or data is None:
        return None
    if len(data) != record.size or zlib.crc32(data.data) != record.crc:
        raise IndexDamagedError(f"{folder / record.name} is damaged; nothing else is: drop it with {remedy}")
    return data.tobytes()


def _read_similarity(folder: Path, record: FileRecord | None, file: Bytes | None) -> Similarity | None:
    data = _checked(folder, record, file, "`resight learn --forget`, or learn it again")
    return Similarity.from_bytes(data) if data else None


def read_vocabulary(folder: Path, manifest: Manifest) -> Vocabulary:
    data = read_whole(folder / manifest.vocabulary.name, manifest.vocabulary)
    return Vocabulary.from_bytes(data, name=str(folder / VOCABULARY))


__all__ = ["VOCABULARY", "Snapshot", "open_snapshot", "read_vocabulary"]
