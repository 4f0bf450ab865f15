"""The Python interface: make, fill and search an index."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from ..duplicates import (
    Duplicates,
    LinkedGroups,
    dismiss,
    duplicates,
    known_kind,
    linked_groups,
    stored_path,
    undismiss,
)
from ..engine import Engine, LocalEngine
from ..errors import IndexDamagedError, StoreError, UncommittedWarning, UsageError, VocabularyError
from ..features import DETECTORS, require_known_detector
from ..folders import Listing
from ..ingest import (
    BadFiles,
    FolderChanges,
    Ingester,
    IngesterPlan,
    Job,
    Moved,
    Outcome,
    Reader,
    Source,
    build,
    content_hash,
    crashed,
    file_key,
    folder_changes,
    query_of,
    query_of_stored,
)
from ..learn import Shrunk, shrink
from ..options import LEAST_FEATURES, FeatureOptions, ImageOptions, IndexingOptions, StoreOptions, differing
from ..recipes import DEFAULT, RECIPES, Recipe
from ..recipes import recipe as named_recipe
from ..scoring import Query
from ..search import Searchers, SegmentGroup, compare, linked_to, require_searchable, search
from ..store import (
    Entry,
    Manifest,
    Remote,
    RemoteWriter,
    Row,
    Settings,
    Snapshot,
    Writer,
    create,
    open_snapshot,
    read_manifest,
)
from ..store.manifest import NAME as MANIFEST
from ..store.snapshot import VOCABULARY
from ..timing import Stopwatch
from ..types import Hit, Region, SearchResult
from ..urls import Place, absolute, is_url
from ..vocabulary import Assigner, Vocabulary
from .info import IndexInfo, index_info
from .learning import Learning


class Index:
    """An index on disk or at a URL, for searching and, one process at a time, for writing.

    Searching sees the last commit. A thread that searches with changes of its own not yet committed is warned once
    after each change (``UncommittedWarning``).

    Adding and removing take the writer's lock at the first change and keep it until ``close``; a ``with`` statement
    closes, and commits first unless an exception is on its way.

    Its attributes ``images`` and ``store`` say how pictures are read and how the index is written; you may set them.

    >>> import numpy as np, tempfile
    >>> noise = np.random.default_rng(0).integers(0, 256, (60, 80), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    >>> with Index.create(tempfile.mkdtemp() + "/tiny.resight") as index:
    ...     index.add(noise, key="noise")
    ...     index.add(noise[:, ::-1], key="mirrored")
    ...     index.commit()
    ...     index.search(noise[40:200, 60:260]).hits[0].key
    'noise'
    >>> with Index.open(index.path) as index:
    ...     len(index), sorted(index), "noise" in index, index.get("noise").width
    (2, ['mirrored', 'noise'], True, 320)
    """

    def __init__(self, path: Place) -> None:
        self._remote = Remote(str(path)) if is_url(path) else None
        if self._remote:
            self._remote.pull()
        # On this machine: of an index at a URL the mirror. The caller may change folders later.
        self.path = self._remote.folder if self._remote else Path(path).absolute()
        self._grouped: Callable[[Snapshot], SegmentGroup] = SegmentGroup.local
        self._group = self._open(SegmentGroup.local)
        self._writer: Writer | None = None
        self._unwarned: int | None = None  # the thread that has made changes, and was not told yet that it sees none
        self._closed = False
        self._made: dict[str, Assigner] = {}  # by the fingerprint of its vocabulary
        self._making = threading.Lock()
        self.images = ImageOptions()
        self.store = StoreOptions()

    @property
    def place(self) -> str:
        """Where the index is: its path, or its URL."""
        return self._remote.url if self._remote else str(self.path)

    @staticmethod
    def exists(path: Place) -> bool:
        """Whether there is an index, sound or not."""
        return Remote(str(path)).exists() if is_url(path) else (Path(path) / MANIFEST).exists()

    @classmethod
    def create(
        cls,
        path: Place,
        *,
        features: FeatureOptions | None = None,
        vocabulary: Vocabulary | None = None,
        indexing: IndexingOptions | None = None,
    ) -> Index:
        """A new, empty index; by default with the vocabulary that ships with resight for these features."""
        features = features or FeatureOptions()
        require_known_detector(features)
        indexing = indexing or IndexingOptions()
        if vocabulary:
            _require_words_of(features, vocabulary)
        else:
            vocabulary = Vocabulary.ready(features.detector, codes=indexing.keep == "codes")
        if is_url(path):
            Remote(str(path)).create(vocabulary, features=features, indexing=indexing)
        else:
            create(Path(path), vocabulary, features=features, indexing=indexing)
        return cls(path)

    @classmethod
    def open(
        cls,
        path: Place,
        *,
        features: FeatureOptions | None = None,
        vocabulary: Vocabulary | None = None,
        indexing: IndexingOptions | None = None,
    ) -> Index:
        """An existing index. Options or a vocabulary given here must be those it was made with."""
        index = cls(path)
        try:
            index._require_made_with(features, vocabulary, indexing)
        except BaseException:
            index.close()
            raise
        return index

    def _require_made_with(
        self, features: FeatureOptions | None, vocabulary: Vocabulary | None, indexing: IndexingOptions | None
    ) -> None:
        made_with = self.snapshot.manifest.vocabulary_fingerprint
        if vocabulary and vocabulary.fingerprint != made_with:
            raise VocabularyError(
                f"{self.place} was made with vocabulary {made_with}, not {vocabulary.fingerprint}; "
                "leave the vocabulary out, or make a new index"
            )
        for given, made in ((features, self.settings.features), (indexing, self.settings.indexing)):
            if given and (names := differing(given, made)):
                pairs = (f"{made.stage}.{n}={getattr(made, n)}, not {getattr(given, n)}" for n in names)
                raise UsageError(f"{self.place} was made with {'; '.join(pairs)}; make a new index for other options")

    # What it holds

    @property
    def settings(self) -> Settings:
        """How pictures are analysed, and how their features become words: fixed when the index was made."""
        return self.snapshot.settings

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of its features."""
        return self.snapshot.vocabulary

    def __len__(self) -> int:
        return self.snapshot.pictures

    def __contains__(self, key: str) -> bool:
        return self.snapshot.find(key) is not None

    def __iter__(self) -> Iterator[str]:
        """The keys of all pictures, in no particular order."""
        return (row.key for row in self.snapshot.rows())

    def get(self, key: str) -> Row | None:
        """What is stored about a picture."""
        snapshot = self.snapshot
        row = snapshot.find(key)
        return row and _counted(row, snapshot)

    def with_content(self, data: bytes) -> Row | None:
        """What is stored about a picture whose file had exactly this content."""
        snapshot = self.snapshot
        row = snapshot.with_content(content_hash(data))
        return row and _counted(row, snapshot)

    def pictures(self, *, after: str | None = None) -> Iterator[Row]:
        """What is stored about each picture, in the order of their keys; after: only those whose keys follow this."""
        snapshot = self.snapshot
        return (_counted(row, snapshot) for row in snapshot.by_key(after))

    def changes(self, listing: Listing, *, allow_empty: bool = False) -> FolderChanges:
        """How folders (``list_pictures``) differ from what the index has from them; nothing is read but names.

        allow_empty: count pictures as gone also where their folder has none at all, as if its disk were not mounted.
        """
        return folder_changes(self.snapshot, listing, allow_empty=allow_empty)

    def info(self) -> IndexInfo:
        """What the index holds and how it was made."""
        return index_info(self.place, self.snapshot)

    # Changing it

    def add(
        self,
        source: Source,
        *,
        key: str | None = None,
        metadata: dict[str, Any] | None = None,
        path: Place | None = None,
    ) -> None:
        """Add one picture, replacing any with the same key. A file's key is its absolute path or URL unless given.

        metadata: what is stored with it; by default what is stored under this key already, or nothing.
        path: the file that a picture given as bytes will be found in.
        """
        if isinstance(source, str | Path):
            if path is not None:
                raise UsageError("path is for pictures that are given as bytes, pixels or features; leave it out")
            path = source
        file = None if path is None else absolute(path)
        name = key if key is not None else file
        if not isinstance(name, str):
            raise UsageError("a picture given as bytes, pixels or features needs a key, and a key is text")
        if metadata is None:
            known = self.writer().known(name)
            metadata = known.metadata if known else {}
        entry = self._ingester.ingest(Job(name, source, file)).entry
        assert entry  # nothing is known that could make it superfluous
        self._store(replace(entry, metadata=metadata))

    def add_files(
        self,
        paths: Iterable[Place],
        *,
        relative_to: Place | None = None,
        engine: Engine | None = None,
        one_commit: bool = False,
        changes: FolderChanges | None = None,
        retry_bad: bool = False,
    ) -> Iterator[Outcome]:
        """Add many files, here or at URLs; yields what became of each, in order, as it happens.

        A file whose content is stored already under its key is not analysed again; a changed one keeps its metadata.
        Keys are absolute paths or URLs, or what follows ``relative_to`` in them. Give each file once.

        engine: where the work is done; by default in this process. With ``LocalEngine(processes)`` call this under
            ``if __name__ == "__main__"``.
        one_commit: by default there is a commit every ``store.commit_every`` pictures. With this, and with engines that
            use several machines, workers write segments of at most ``store.shard`` pictures, and all are committed
            after the last outcome was taken. If it is broken off, nothing is committed and nothing is lost: called
            again before another commit, it does what was not done. Outcomes have no entry then.
        changes: what is gone from the folders of these files: a new file takes over the metadata of one that is gone
            and had the same content.
        retry_bad: try files again that could not be read before and have not changed since.
        """
        bad = BadFiles(self.writer(), self.images, retry=retry_bad)
        jobs = bad.known(Job.for_file(path, key=file_key(path, relative_to)) for path in paths)
        moved = changes.moved if changes else {}
        if one_commit or (engine and engine.across_machines):
            plan, workers, most = self._ingester_plan(moved), engine or LocalEngine(), self.store.shard
            built = build(self.writer(), plan, jobs, engine=workers, most=most, before_commit=bad.hand_over)
            yield from bad.noted(built)
            self.refresh()
        else:
            for outcome in bad.noted(self._add_jobs(jobs, engine, moved)):
                bad.hand_over()
                yield outcome

    def add_jobs(self, jobs: Iterable[Job], *, engine: Engine | None = None) -> Iterator[Outcome]:
        """As ``add_files``, for pictures in any form, each with a key and the file that it is found in."""
        yield from self._add_jobs(jobs, engine, {})

    def _add_jobs(self, jobs: Iterable[Job], engine: Engine | None, moved: Mapping[bytes, Moved]) -> Iterator[Outcome]:
        writer = self.writer()
        known = (replace(job, known=writer.known(job.key)) for job in jobs)
        if engine:
            done = engine.run(self._ingester_plan(moved), known, on_crash=crashed)
        else:
            done = map(replace(self._ingester, moved=moved), known)
        for outcome in done:
            if outcome.entry:
                self._store(outcome.entry)
            yield outcome

    @property
    def _ingester(self) -> Ingester:
        settings = self.settings
        return Ingester(Reader(settings.features, self.images), self._assigner_of(self.snapshot), settings.indexing)

    def _ingester_plan(self, moved: Mapping[bytes, Moved]) -> IngesterPlan:
        """For workers, which read the vocabulary themselves."""
        settings = self.settings
        return IngesterPlan(self.path / VOCABULARY, settings.features, settings.indexing, self.images, moved)

    def drop(self, changes: FolderChanges) -> None:
        """Remove the pictures whose files are gone. Takes effect at the next commit."""
        writer = self.writer()
        for row in changes.gone:
            known = writer.known(row.key)
            if known and known.path == row.path:  # else another file has got this key since
                writer.remove(row.key)
        for key in changes.gone_bad:
            writer.forget_refusal(key)

    def remove(self, key: str) -> bool:
        """Remove a picture; False if there is none with this key. Takes effect at the next commit."""
        self._unwarned = threading.get_ident()
        return self.writer().remove(key)

    def commit(self) -> None:
        """Make all changes durable and visible to searches, all at once."""
        self._require_open()
        if self._writer and self.writer().commit():
            self.refresh()

    def merge(self) -> None:
        """Commit, then rewrite all segments as one, without removed pictures."""
        self.writer().merge()
        self.refresh()

    def shrink(
        self, *, floor: int = LEAST_FEATURES, dry_run: bool = False, done: Callable[[int], None] = lambda count: None
    ) -> Shrunk:
        """Commit, then keep of each picture the features that links confirm, and the largest others up to ``floor``.

        This cannot be undone, except by indexing the files into a new index. All pictures must have links
        (``learn.links``), and all ask once more; ``done`` hears of each. Nothing changes before that is done. Links are
        kept; context terms, clusters and a learnt similarity are dropped. ``dry_run``: only say what it would do.
        """
        shrunk = shrink(self.writer(), floor=floor, dry_run=dry_run, done=done)
        self.refresh()
        return shrunk

    @property
    def learn(self) -> Learning:
        """What the index learns from its own pictures, and keeps with them."""
        return Learning(self)

    def refresh(self) -> None:
        """Let searches see the newest commit, whoever made it. Those under way finish on the one they began with."""
        self._require_open()
        if self._remote and not self._writer:  # a writer's mirror is up to date
            self._remote.pull()
        if read_manifest(self.path) != self.snapshot.manifest:
            self._group = self._open(self._grouped)

    def spread(self, searchers: Searchers) -> None:
        """Search from now on with searchers elsewhere, each of which has some of the segments; as of the newest commit.

        They must see the index at the same path. Hits and scores are the same. All else goes on here.
        """
        self._group = self._open(searchers.group)
        self._grouped = searchers.group

    def _open(self, how: Callable[[Snapshot], SegmentGroup]) -> SegmentGroup:
        """The newest commit, ready to be searched."""
        while True:
            snapshot = open_snapshot(self.path)
            try:
                return how(snapshot)
            except IndexDamagedError:
                # As for a snapshot: a merge may have removed a segment before all have opened it.
                if read_manifest(self.path).commit == snapshot.manifest.commit:
                    raise

    @property
    def snapshot(self) -> Snapshot:
        """The commit that is searched now."""
        return self._group.snapshot

    def release(self) -> None:
        """Let other processes write; changes that were not committed are dropped. Searching goes on."""
        if self._writer:
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        """Release the lock and the files; changes that were not committed are dropped."""
        self.release()
        self.snapshot.close()
        self._closed = True

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._writer:
                self._writer.commit()  # without refreshing: nobody will search
        finally:
            self.close()

    # Searching it

    def search(
        self,
        *sources: Source,
        key: str | None = None,
        top: int = 20,
        region: Region | Sequence[float] | None = None,
        recipe: str | Recipe = DEFAULT,
        min_confidence: float = 0.0,
    ) -> SearchResult:
        """Pictures that show what the query, or a region of it, shows; best first.

        sources: the query picture; or several pictures of one thing, which then ask together.
        key: an indexed picture to search with, instead or as well. It is left out of the result. It asks with its
            stored features, which have one word each, and so finds a little less than its file would.
        min_confidence: leave out hits that are less likely to show the same thing.
        """
        if not isinstance(top, int) or top < 1:
            raise UsageError(f"top must be a whole number from 1 on, not {top}")
        chosen = named_recipe(recipe) if isinstance(recipe, str) else recipe
        if min_confidence > 0 and not chosen.verify.shortlist:
            raise UsageError(
                "this recipe verifies nothing, so it cannot tell how sure hits are; leave min_confidence out"
            )
        self._warn_of_changes()
        watch = Stopwatch()

        def found_on(group: SegmentGroup) -> SearchResult:
            queries = self._queries(group, sources, key, region, chosen, watch)
            return search(group, queries, top=top, recipe=chosen, without=key, watch=watch)

        found = self._look(found_on)
        sure = tuple(hit for hit in found.hits if (hit.confidence or 0) >= min_confidence)
        return replace(found, hits=sure)

    def compare(
        self,
        *source: Source,
        key: str | None = None,
        other: str,
        region: Region | Sequence[float] | None = None,
    ) -> SearchResult:
        """What a picture, or an indexed one (``key``), has in common with the indexed picture ``other``: one hit."""
        if len(source) + (key is not None) > 1:
            raise UsageError("two pictures are compared; give one beside the key of the other")
        self._warn_of_changes()
        chosen = RECIPES["verified"]

        def found_on(group: SegmentGroup) -> SearchResult:
            (query,) = self._queries(group, source, key, region, chosen, Stopwatch())
            return compare(group, query, other, recipe=chosen)

        return self._look(found_on)

    def _warn_of_changes(self) -> None:
        """Once after each change. Who searches in another thread while one changes the index is in no doubt."""
        if self._unwarned == threading.get_ident() and self._writer and self._writer.has_changes:
            self._unwarned = None
            text = "what was added or removed since the last commit is not seen yet; call commit() first"
            warnings.warn(text, UncommittedWarning, stacklevel=3)

    def _look(self, found_on: Callable[[SegmentGroup], SearchResult]) -> SearchResult:
        """What is found in the commit that is open now: one for all of a search, though threads may refresh."""
        while True:
            group = self._group
            try:
                return found_on(group)
            except IndexDamagedError:
                # A searcher elsewhere that opens a commit again finds it gone where there was a merge since.
                if group.in_one_place or read_manifest(self.path) == group.snapshot.manifest:
                    raise
                self.refresh()

    def require_searchable(self, recipe: Recipe) -> None:
        """Raise UsageError where this index, or the way it is searched, lacks what the recipe needs; it says what."""
        require_searchable(self._group, recipe, place=self.place)

    def _queries(
        self,
        group: SegmentGroup,
        sources: Sequence[Source],
        key: str | None,
        region: Region | Sequence[float] | None,
        recipe: Recipe,
        watch: Stopwatch,
    ) -> list[Query]:
        box, count = _as_region(region), len(sources) + (key is not None)
        if not count:
            raise UsageError("nothing to search with; give a picture or the key of an indexed one")
        if box and count > 1:
            raise UsageError("a region belongs to one picture; search with one, or without the region")
        reader, assigner = Reader(group.snapshot.settings.features, self.images), self._assigner_of(group.snapshot)
        queries = [
            query_of(source, box, reader=reader, assigner=assigner, options=recipe.assign, watch=watch)
            for source in sources
        ]
        if key is not None:
            with watch.stage("features"):
                queries.append(query_of_stored(group, key, box))
        return queries

    def links(self, key: str) -> list[Hit]:
        """The indexed pictures that show the same thing as this one, as ``learn.links`` has found out; surest first.

        At once: nothing is searched. ``score`` is the number of matches that agree.
        """
        return linked_to(self._linked(), key)

    def groups(self) -> LinkedGroups:
        """The collection by thing shown, as ``learn.links`` has found out; the largest groups first.

        At once: nothing is searched. Once all pictures have asked they are the groups of ``duplicates(kind="scene")``,
        dismissed or not.
        """
        return linked_groups(self._linked())

    def _linked(self) -> SegmentGroup:
        """What is searched now; an error where no picture has looked for others."""
        self._warn_of_changes()
        group = self._group
        if not group.snapshot.manifest.linked:
            raise UsageError(f"{self.place} has no links between its pictures yet; find them with `resight link`")
        return group

    def duplicates(
        self,
        *,
        kind: str = "copy",
        min_confidence: float | None = None,
        find: Callable[[Row], Place | None] = stored_path,
        done: Callable[[int], None] = lambda count: None,
    ) -> Duplicates:
        """Groups of pictures that are ``identical``, copies of one photograph, or show the same ``scene``.

        Copies are decided by their pixels, so pictures must be in the files that they were indexed from; the result
        says how many are not. ``dismiss`` keeps a group out of later results.

        min_confidence: of scenes, how sure geometry must be of two pictures.
        find: where the file of a picture is, if it was moved.
        done: hears how much more was done, of ``steps(kind, len(index))``.
        """
        self._warn_of_changes()
        return duplicates(self.snapshot, kind=kind, min_confidence=min_confidence, find=find, done=done)

    def dismiss(self, keys: Iterable[str], *, kind: str = "copy") -> None:
        """Remember that these pictures are no duplicates of this kind; a group of them that gains another is shown."""
        self.commit()
        dismiss(self.writer(), keys, known_kind(kind))
        self.refresh()

    def undismiss(self, keys: Iterable[str] | None = None, *, kind: str = "copy") -> bool:
        """Forget that such a group was dismissed, or that any were; False if it was not."""
        self.commit()
        forgotten = undismiss(self.writer(), keys, known_kind(kind))
        self.refresh()
        return forgotten

    def _assigner_of(self, snapshot: Snapshot) -> Assigner:
        """Made once for all threads; anew, should an index with another vocabulary have taken the place of this one."""
        fingerprint = snapshot.manifest.vocabulary_fingerprint
        with self._making:
            if fingerprint not in self._made:
                self._made = {fingerprint: Assigner(snapshot.vocabulary)}
            return self._made[fingerprint]

    def writer(self) -> Writer:
        """The writer, for what there is no method for here; the first call takes its lock."""
        self._require_open()
        if self._writer is None:
            remote, options = self._remote, self.store
            writer = RemoteWriter(remote, options=options) if remote else Writer(self.path, options=options)
            if not _alike(writer.manifest, self.snapshot.manifest):
                writer.close()
                raise StoreError(f"{self.place} is another index now than the one opened; open it again")
            self._writer = writer
        self._writer.options = self.store
        return self._writer

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"this index on {self.place} was closed; open it again")

    def _store(self, entry: Entry) -> None:
        writer, self._unwarned = self.writer(), threading.get_ident()
        writer.add(entry)
        if writer.pending >= self.store.commit_every:
            self.commit()


def _as_region(region: Region | Sequence[float] | None) -> Region | None:
    if region is None or isinstance(region, Region):
        return region
    try:
        x, y, width, height = (float(number) for number in region)
    except (TypeError, ValueError):
        raise UsageError(f"a region is four numbers, x, y, width and height, not {region!r}") from None
    return Region(x, y, width, height)


def _alike(one: Manifest, other: Manifest) -> bool:
    """Whether pictures are analysed in the same way for both: else one is no later state of the other."""
    return (one.vocabulary_fingerprint, one.settings) == (other.vocabulary_fingerprint, other.settings)


def _require_words_of(features: FeatureOptions, vocabulary: Vocabulary) -> None:
    """Raise VocabularyError where words were learnt from what another detector of ours finds: much would be missed."""
    learnt_from = (vocabulary.description.get("features") or {}).get("detector")
    if {learnt_from, features.detector} <= DETECTORS.keys() and learnt_from != features.detector:
        raise VocabularyError(
            f"the vocabulary was learnt from {learnt_from} features, the index would have {features.detector} ones; "
            f"set features.detector to {learnt_from}, or train a vocabulary for {features.detector}"
        )


def _counted(row: Row, snapshot: Snapshot) -> Row:
    """With the number of its features, however many vocabularies they have words in."""
    return replace(row, features=row.features // snapshot.settings.vocabularies)
