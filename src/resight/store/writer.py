"""The one writer of an index. What ``commit`` has returned from survives a crash at any later instant.

A commit writes new files under names that nothing refers to yet, syncs them, and then replaces the manifest in one
rename. A crash before the rename leaves the last commit, one after it the new one; files that no manifest names are
swept by the next writer.
"""

from __future__ import annotations

import os
import resource
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from copy import deepcopy
from dataclasses import replace
from heapq import merge as merge_sorted
from itertools import chain, groupby, starmap
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..clusters import Clusters
from ..errors import StoreError, UsageError
from ..options import StoreOptions
from ..postings import count
from ..types import Float32, UInt32
from . import manifest as manifests
from . import refusals, shards
from .addition import References, write_addition
from .disk import Disk, writing
from .entry import Entry, Known, encode_text
from .links import SegmentLinks, merged
from .lock import WriterLock
from .manifest import AS_JSON, LINKS, OPTIONAL, REFUSED, FileRecord, Manifest, SegmentRecord
from .merge import Mask, Numbering, choose, merge, place, renumber
from .refusals import Refusal
from .segment import FOLDER, Dead, Segment, with_links, with_terms, write_beside
from .shards import FOLDER as SHARDS
from .snapshot import Snapshot
from .table import Row

DEEPEST = 100  # levels of metadata: far from where Python's own recursion ends, whoever copies or prints it
SPARE_FILES = 16  # besides those of segments and those that are open already


class Writer:
    """Adds, removes, commits and merges. Holds the lock until ``close``; changes not committed by then are dropped."""

    def __init__(self, folder: Path, *, options: StoreOptions | None = None, disk: Disk | None = None) -> None:
        folder = folder.absolute()  # the caller may change folders before a commit
        self.folder, self.disk, self.options = folder, disk or Disk(), options or StoreOptions()
        self._added: dict[str, Entry] = {}
        self._removed: dict[str, set[int]] = {}  # segment name → ordinals
        self._removed_keys: set[str] = set()  # since the last commit
        self._built: list[SegmentRecord] = []  # segments that a build has written
        self._refused: dict[str, Refusal] | None = None  # those of the next commit; None: as they were
        self._references = References()
        self._refusal: str | None = None  # why this writer can write no more
        manifests.read(folder)  # a missing or damaged index is said so before it is locked
        self._lock = WriterLock(folder)
        with ExitStack() as undo, writing(folder):
            self._lock.take()
            undo.callback(self._lock.release)
            self.disk.make_folder(folder / FOLDER)  # tools that copy folders forget empty ones
            self.disk.sync(folder)  # the last writer may have died before its manifest was surely on disk
            self._base = Snapshot(folder, manifests.read(folder))
            undo.callback(self._base.close)
            self._sweep()
            undo.pop_all()

    @property
    def manifest(self) -> Manifest:
        return self._base.manifest

    @property
    def snapshot(self) -> Snapshot:
        """The last commit, until the next."""
        return self._base

    @property
    def pending(self) -> int:
        """Pictures added since the last commit."""
        return len(self._added)

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self._added or self._built) or any(self._removed.values())

    def known(self, key: str) -> Known | None:
        """What is stored under a key, counting what is not committed yet."""
        found: Entry | Row | None = self._added.get(key)
        if found is None and (located := self._base.locate(key)):
            segment, row = located
            found = None if row.ordinal in self._removed.get(segment.record.name, ()) else row
        return Known(found.content, found.path, found.metadata) if found else None

    @property
    def refused(self) -> Mapping[str, Refusal]:
        """Files that could not be read, by key, counting what is not committed yet."""
        return self._base.refused if self._refused is None else self._refused

    def refuse(self, key: str, refusal: Refusal) -> None:
        """Note that the file with this key could not be read; a picture that is stored under it stays."""
        if self.refused.get(key) != refusal:
            self.forget_refusal(key)  # so that it becomes the last
            self._next_refused()[key] = refusal

    def forget_refusal(self, key: str) -> None:
        """The file with this key can be read, or is gone."""
        if key in self.refused:
            del self._next_refused()[key]

    def _next_refused(self) -> dict[str, Refusal]:
        """To be changed."""
        if self._refused is None:
            self._refused = dict(self._base.refused)
        return self._refused

    def add(self, entry: Entry) -> None:
        """Add a picture, or replace the one with the same key."""
        settings = self.manifest.settings
        _require_codes(entry, settings.codes)
        self._require_shapes(entry)
        if len(entry.words) and int(entry.words.word.max()) >= settings.words:
            raise UsageError(
                f"{entry.key!r} has a word beyond this index's {settings.words}; quantise it with its vocabulary"
            )
        if len({len(entry.words.within(span)) for span in settings.spans}) > 1:
            raise UsageError(
                f"{entry.key!r} has more words in one of this index's {settings.vocabularies} vocabularies than in "
                "another; quantise it with all of them"
            )
        _require_storable(entry)
        self.remove(entry.key)
        self._added[entry.key] = replace(entry, metadata=deepcopy(entry.metadata))  # the caller's may change

    def _require_shapes(self, entry: Entry) -> None:
        """Raise UsageError unless the features have affine shape as all others have; the first picture decides."""
        others = chain((s.shapes for s in self.manifest.segments), (e.shapes for e in self._added.values()))
        if next(others, entry.shapes) != entry.shapes:
            kind, wanted = ("ellipses", "circles") if entry.shapes else ("circles", "ellipses")
            raise UsageError(
                f"the features of {entry.key!r} are {kind}, those of this index are {wanted}; "
                "analyse it as the others were, or make a new index"
            )

    def remove(self, key: str) -> bool:
        """Remove a picture; False if there was none. One that a build is adding is not committed with it."""
        self._removed_keys.add(key)
        self.forget_refusal(key)
        if self._added.pop(key, None):
            return True
        located = self._base.locate(key)
        if located is None:
            return False
        removed = self._removed.setdefault(located[0].record.name, set())
        fresh = located[1].ordinal not in removed
        removed.add(located[1].ordinal)
        return fresh

    def commit(self) -> bool:
        """Make all changes since the last commit durable and visible at once; False if there were none."""
        if self._refusal:
            raise StoreError(self._refusal)
        refused = None if self._refused == self._base.refused else self._refused
        if not self.has_changes and refused is None:
            return False
        with self._changing_disk():
            records = [record for segment in self._base.segments if (record := self._without_removed(segment))]
            with self._opened([record for record in self._built if record.name in self._removed]) as partly:
                left = {segment.record.name: self._without_removed(segment) for segment in partly}
            records += [kept for record in self._built if (kept := left.get(record.name, record))]
            if self._added:
                added, name = list(self._added.values()), f"{self._next:08d}"
                records.append(write_addition(self._base, name, added, references=self._references, disk=self.disk))
            changed = None
            if refused is not None:
                changed = self._write_optional({REFUSED: refusals.to_bytes(refused) if refused else None})
            self._replace(records, changed)
            self._refused = None
            self._added.clear()
            self._built.clear()
            self._removed.clear()
            self._removed_keys.clear()
        # The commit stands, whatever becomes of merging; a merge that fails makes this writer refuse the next commit.
        try:
            while few := choose(self._base.segments, factor=self.options.merge_factor):
                with self._changing_disk():
                    self._merge(few, self._renumbering(few, self._base.clusters))
        except StoreError as error:
            self._refusal = f"all is committed, but segments could not be merged: {error}; then open the index again"
        return True

    def begin_build(self) -> None:
        """Commit, then make room for the records of shards."""
        self.commit()
        self._removed_keys.clear()
        with writing(self.folder):
            self.disk.make_folder(self.folder / SHARDS)
            self.disk.sync(self.folder)

    def commit_build(self, built: Iterable[SegmentRecord], *, base_commit: int, replaced: Iterable[str]) -> None:
        """Commit the segments that a build has written; they replace the stored pictures with these keys.

        Of a key that several of them have, the last picture counts; what was added or removed meanwhile counts more.
        """
        if self.manifest.commit != base_commit:
            raise StoreError(f"{self.folder} has changed since this build began, so nothing of it is kept; build again")
        named: dict[str, SegmentRecord] = {}
        for record in built:  # a shard that came twice has one segment, which stands where it came last
            named.pop(record.name, None)
            named[record.name] = record
        records = list(named.values())
        if len({record.shapes for record in (*self.manifest.segments, *records)}) > 1:
            raise UsageError("some features are ellipses, others of this index are circles; make a new index")
        _require_open_files(len(self.manifest.segments) + len(records))
        outdated: dict[str, set[int]] = {}
        for segment, row in filter(None, map(self._base.locate, replaced)):
            outdated.setdefault(segment.record.name, set()).add(row.ordinal)
        changed_meanwhile = {encode_text(key) for key in (*self._added, *self._removed_keys)}
        with self._opened(records) as segments:
            found = merge_sorted(*starmap(_keys, enumerate(segments)))
            for key, same in groupby(found, key=itemgetter(0)):
                pictures = list(same)
                for _, place, ordinal in pictures if key in changed_meanwhile else pictures[:-1]:
                    outdated.setdefault(records[place].name, set()).add(ordinal)
        self._built += records  # only now: if anything above fails, nothing of it is left in this writer
        for name, ordinals in outdated.items():
            self._removed.setdefault(name, set()).update(ordinals)
        if not self.commit():  # else the records went with it; a later build must look at the pictures again
            with writing(self.folder):
                self.disk.remove(self.folder / SHARDS)
                self.disk.sync(self.folder)

    @contextmanager
    def _opened(self, records: Sequence[SegmentRecord]) -> Iterator[list[Segment]]:
        with ExitStack() as stack:
            opened = (Segment(self.folder, record, codes=self.manifest.settings.codes) for record in records)
            yield [stack.enter_context(closing(segment)) for segment in opened]

    @property
    def _next(self) -> int:
        """The number of the next commit."""
        return self.manifest.commit + 1

    def attach(
        self, files: Mapping[str, bytes | None], *, terms: Mapping[str, Sequence[Float32]] | None = None
    ) -> None:
        """Keep optional files of the index, by name (None: drop it), and terms for the pictures of each segment.

        They must have been made from ``snapshot``, and nothing may have been changed since.
        """
        self._require_nothing_pending()
        with self._changing_disk():
            records = []
            for place, segment in enumerate(self._base.segments):
                new = {name: values[place] for name, values in (terms or {}).items()}
                records.append(with_terms(self.folder, segment.record, new, self._next, self.disk))
            self._replace(records, self._write_optional(files))

    def keep_links(self, links: Mapping[int, SegmentLinks | None]) -> None:
        """Keep what the pictures of segments have found, by the segment's number; None: drop what was kept.

        As for ``attach``, it must have been made from ``snapshot``.
        """
        self._require_nothing_pending()
        with self._changing_disk():
            records = [segment.record for segment in self._base.segments]
            for number, found in links.items():
                others = {name: file for name, file in records[number].optional.items() if name != LINKS}
                records[number] = replace(records[number], optional=others)
                if found:
                    records[number] = with_links(self.folder, records[number], found, self._next, self.disk)
            self._replace(records)

    def arrange(
        self, clusters: Clusters | None, files: Mapping[str, bytes | None], *, useful: Sequence[Mask] | None = None
    ) -> None:
        """Rewrite all pictures as one segment, in the order of these clusters; None: in no new order.

        files: as for ``attach``. useful: which of each segment's postings are kept; None: all. What was learnt from the
        others must be dropped or made anew.
        """
        self._require_nothing_pending()
        with self._changing_disk():
            changed = self._write_optional(files)
            segments = self._base.segments
            if segments:
                self._merge(segments, self._renumbering(segments, clusters, again=True), changed, useful)
            else:
                self._replace([], changed)

    def _require_nothing_pending(self) -> None:
        if self._refusal:
            raise StoreError(self._refusal)
        if self._added or self._built or any(self._removed.values()):
            raise UsageError(f"there are changes to {self.folder} that are not committed; commit them first")

    def _write_optional(self, files: Mapping[str, bytes | None]) -> dict[str, FileRecord | None]:
        """What the next manifest says of these files, which are on disk then."""
        folder = self.folder / OPTIONAL
        self.disk.make_folder(folder)
        self.disk.sync(self.folder)
        records: dict[str, FileRecord | None] = {}
        for name, data in files.items():
            records[name] = None
            if data is not None:
                path = folder / f"{name}-{self._next:08d}.{'json' if name in AS_JSON else 'npz'}"
                self.disk.write(path, data)
                self.disk.sync(path)
                records[name] = FileRecord(f"{OPTIONAL}/{path.name}", len(data), zlib.crc32(data))
        self.disk.sync(folder)
        return records

    def merge(self) -> None:
        """Commit, then make one segment of all, without the dead."""
        self.commit()
        if len(self._base.segments) > 1 or any(s.record.dead_pictures for s in self._base.segments):
            with self._changing_disk():
                self._merge(self._base.segments, self._renumbering(self._base.segments, self._base.clusters))

    def close(self) -> None:
        self._refusal = f"this writer of {self.folder} was closed; open the index again"
        self._base.close()
        self._lock.release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _changing_disk(self) -> Iterator[None]:
        """If this fails half-way, what is on disk is no longer what this writer believes: it refuses to go on."""
        if manifests.read(self.folder) != self.manifest:
            raise StoreError(f"{self.folder} is another index now than the one opened; was it moved? open it again")
        self._refusal = f"a commit to {self.folder} failed half-way; open the index again (what was committed is safe)"
        with writing(self.folder):
            yield
        self._refusal = None

    def _without_removed(self, segment: Segment) -> SegmentRecord | None:
        """The segment's record after the pending removals; None if nothing of it lives."""
        removed = self._removed.get(segment.record.name)
        if not removed:
            return segment.record
        ordinals: UInt32 = np.union1d(segment.dead.ordinals, np.array(sorted(removed))).astype(np.uint32)
        if len(ordinals) == segment.record.pictures:
            return None
        chosen = np.zeros(segment.record.pictures, np.bool_)
        chosen[ordinals] = True
        df, _, length, _ = count(segment.lists(None, "image"), chosen)
        name = f"dead-{self._next:08d}.npz"
        file = write_beside(self.folder, segment.record.name, name, Dead(ordinals, df).to_bytes(), self.disk)
        return replace(segment.record, dead=file, dead_pictures=len(ordinals), dead_features=int(length.sum()))

    def _renumbering(self, segments: list[Segment], clusters: Clusters | None, *, again: bool = False) -> Numbering:
        """How these segments become one: by cluster, if there are any; again: these are new clusters."""
        if clusters is None:
            return renumber(segments, None, 0)
        span = self._base.spans[0]
        known = [None if again else segment.placed for segment in segments]
        placed = [each or place(s, clusters, span) for each, s in zip(known, segments, strict=True)]
        return renumber(segments, placed, len(clusters.entries))

    def _merge(
        self,
        segments: list[Segment],
        numbering: Numbering,
        changed: Mapping[str, FileRecord | None] | None = None,
        useful: Sequence[Mask] | None = None,
    ) -> None:
        terms = {}
        for name in self.manifest.next((), changed=changed).terms:
            terms[name] = np.ones(numbering.pictures, np.float32)
            for segment, new in zip(segments, numbering.new, strict=True):
                terms[name][new[segment.alive]] = segment.terms[name][segment.alive]
        record = merge(self.folder, f"{self._next:08d}", segments, numbering, self.disk, useful)
        record = with_terms(self.folder, record, terms, self._next, self.disk)
        if any(segment.links for segment in segments):
            record = with_links(self.folder, record, self._merged_links(segments, numbering), self._next, self.disk)
        merging = {segment.record.name for segment in segments}
        records = [s.record for s in self._base.segments]
        place = next(i for i, each in enumerate(records) if each.name in merging)
        kept = [each for each in records if each.name not in merging]
        self._replace([*kept[:place], record, *kept[place:]], changed)

    def _merged_links(self, segments: list[Segment], numbering: Numbering) -> SegmentLinks:
        parts = [segment.links or SegmentLinks.none(segment.table.all()) for segment in segments]
        return merged(parts, numbering.new)

    def _replace(self, records: list[SegmentRecord], changed: Mapping[str, FileRecord | None] | None = None) -> None:
        manifests.write(self.folder, self.manifest.next(records, changed=changed), self.disk)
        old = self._base
        self._base = Snapshot(self.folder, manifests.read(self.folder))
        old.close()
        self._sweep()

    def _sweep(self) -> None:
        """Remove what the manifest does not name: leftovers of a crash, merged segments, old removals.

        Not what an interrupted build upon this commit has done.
        """
        unfinished = list(shards.unfinished(self.folder, self.manifest.commit))
        if not unfinished:
            self.disk.remove(self.folder / SHARDS)
        known = {s.name: s for s in (*self.manifest.segments, *(b.segment for b in unfinished if b.segment))}
        for path in (self.folder / FOLDER).iterdir():
            record = known.get(path.name)
            if record is None:
                self.disk.remove(path)
                continue
            named = {*record.files, record.sums.name, *(file.name for file in record.sidecar_files)}
            for file in path.iterdir():
                if file.name not in named:
                    self.disk.remove(file)
        optional = {file.name for file in self.manifest.optional.values()}
        for path in (self.folder / OPTIONAL).glob("*"):
            if f"{OPTIONAL}/{path.name}" not in optional:
                self.disk.remove(path)
        self.disk.remove(self.folder / f"{manifests.NAME}.new")


def _require_open_files(segments: int) -> None:
    """Raise StoreError unless so many more segments can be open at once: of each one file stays open."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = len(os.listdir("/dev/fd")) + segments + SPARE_FILES
    if wanted > allowed:
        raise StoreError(
            f"{segments} segments cannot be opened at once, since this process may open {allowed} files; what was done "
            f"is kept: allow more with `ulimit -n {2 * wanted}`, and repeat the command"
        )


def _keys(place: int, segment: Segment) -> Iterator[tuple[bytes, int, int]]:
    """(key, place, ordinal) of a segment's pictures, by key."""
    return ((encode_text(row.key), place, row.ordinal) for row in segment.table.by_key(None))


def _require_codes(entry: Entry, codes: int) -> None:
    """Raise UsageError unless as much is kept of the entry's descriptors as the index keeps of all."""
    found = None if entry.words.code is None else entry.words.code.shape
    if found != ((len(entry.words), codes) if codes else None):
        raise UsageError(
            f"{entry.key!r} comes with {found} bytes of {len(entry.words)} descriptors, this index keeps {codes} of "
            "each; quantise it with the index's own indexing options"
        )


def _require_storable(entry: Entry) -> None:
    """Raise UsageError now for what could not be written at the commit."""
    if _deeper(entry.metadata, DEEPEST):
        raise UsageError(f"the metadata of {entry.key!r} is nested more than {DEEPEST} levels deep; make it flatter")
    try:
        Row.of(0, entry).values()
    except (TypeError, ValueError) as error:
        raise UsageError(f"the metadata of {entry.key!r} cannot be stored as JSON ({error})") from None


def _deeper(value: Any, levels: int) -> bool:
    """Whether there are more levels than these of lists and dicts in each other."""
    if not isinstance(value, dict | list | tuple):
        return False
    return not levels or any(_deeper(v, levels - 1) for v in (value.values() if isinstance(value, dict) else value))
