"""The Python interface: make, fill and search an index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from .analyse import AnalyserPlan, Job, Outcome, content_hash, crashed, make_entry
from .asking import Reader, Source, ask_stored
from .building import build
from .context import METHODS, Reference, context_name, name_of
from .duplicates import SURE, Group, duplicates
from .engine import Engine, LocalEngine
from .errors import IndexDamagedError, StoreError, UsageError, VocabularyError
from .features import DETECTORS, require_known_detector
from .info import IndexInfo, index_info
from .learning import Tried
from .options import (
    ClusterOptions,
    FeatureOptions,
    ImageOptions,
    IndexingOptions,
    LearnOptions,
    StoreOptions,
    from_dict,
    to_dict,
)
from .recipes import DEFAULT, RECIPES, Recipe
from .recipes import recipe as named_recipe
from .scoring import Query
from .search import Searchers, SegmentGroup, compare, require_searchable, search
from .store import (
    Entry,
    Manifest,
    Remote,
    RemoteWriter,
    Row,
    Snapshot,
    Writer,
    create,
    open_snapshot,
    read_manifest,
)
from .store.manifest import NAME as MANIFEST
from .store.snapshot import VOCABULARY
from .teach import Agreed, Groups, Lesson, learn_similarity, verified_groups
from .timing import Stopwatch
from .types import Features, Region, SearchResult
from .urls import Place, absolute, is_url
from .vocabulary import Assigner, Vocabulary


class Index:
    """An index on disk or at a URL, for searching and, one process at a time, for writing.

    Searching sees the last commit. Adding and removing take the writer's lock at the first change and keep it until
    ``close``; a ``with`` statement closes, and commits first unless an exception is on its way.

    >>> import numpy as np, tempfile
    >>> noise = np.random.default_rng(0).integers(0, 256, (60, 80), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    >>> with Index.create(tempfile.mkdtemp() + "/tiny.resight") as index:
    ...     index.add(noise, key="noise")
    ...     index.add(noise[:, ::-1], key="mirrored")
    ...     index.commit()
    ...     index.search(noise[40:200, 60:260]).hits[0].key
    'noise'
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
        settings = {"features": to_dict(features), "indexing": to_dict(indexing)}
        if vocabulary:
            _require_words_of(features, vocabulary)
        else:
            vocabulary = Vocabulary.ready(features.detector, codes=indexing.keep == "codes")
        if is_url(path):
            Remote(str(path)).create(vocabulary, settings)
        else:
            create(Path(path), vocabulary, settings)
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
        made_with = self._snapshot.manifest.vocabulary_fingerprint
        if vocabulary and vocabulary.fingerprint != made_with:
            raise VocabularyError(
                f"{self.place} was made with vocabulary {made_with}, not {vocabulary.fingerprint}; "
                "leave the vocabulary out, or make a new index"
            )
        for given, made in ((features, self.features), (indexing, self.indexing)):
            if given and given != made:
                raise UsageError(f"{self.place} was made with {made}, not {given}; make a new index for other options")

    # What it holds

    @property
    def features(self) -> FeatureOptions:
        """How pictures are analysed: fixed when the index was made."""
        return _features_of(self._snapshot)

    @property
    def indexing(self) -> IndexingOptions:
        """How features become words: fixed when the index was made."""
        return from_dict(IndexingOptions, self._snapshot.manifest.settings.get("indexing", {}))

    @property
    def clusters(self) -> ClusterOptions:
        """How pictures were put into clusters; ``count`` is 0 if they were not."""
        clusters = self._snapshot.clusters
        return clusters.options if clusters else ClusterOptions()

    @property
    def vocabulary(self) -> Vocabulary:
        return self._snapshot.vocabulary

    def __len__(self) -> int:
        return self._snapshot.pictures

    def __contains__(self, key: str) -> bool:
        return self._snapshot.find(key) is not None

    def get(self, key: str) -> Row | None:
        """What is stored about a picture."""
        snapshot = self._snapshot
        row = snapshot.find(key)
        return row and _counted(row, snapshot)

    def with_content(self, data: bytes) -> Row | None:
        """What is stored about a picture whose file had exactly this content."""
        snapshot = self._snapshot
        row = snapshot.with_content(content_hash(data))
        return row and _counted(row, snapshot)

    def page(self, *, after: str | None = None, limit: int) -> list[Row]:
        """What is stored about the next ``limit`` pictures whose keys follow this one, in the order of their keys."""
        snapshot = self._snapshot
        return [_counted(row, snapshot) for row in islice(snapshot.by_key(after), limit)]

    def keys(self) -> Iterator[str]:
        """The keys of all pictures, in no particular order."""
        return (row.key for row in self._snapshot.rows())

    def info(self) -> IndexInfo:
        return index_info(self.place, self._snapshot)

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

        path: the file that a picture given as bytes will be found in.
        """
        if isinstance(source, str | Path):
            path = source
        file = None if path is None else absolute(path)
        name = key if key is not None else file
        if not isinstance(name, str):
            raise UsageError("a picture given as bytes, pixels or features needs a key, and a key is text")
        features, content = Reader(self.features, self.images).features(source, name=name)
        facts: dict[str, Any] = {"key": name, "content": content, "path": file, "metadata": metadata or {}}
        self._store(make_entry(features, self._assigner, indexing=self.indexing, **facts))

    def add_files(
        self, paths: Iterable[Place], *, relative_to: Place | None = None, processes: int = 1
    ) -> Iterator[Outcome]:
        """Add many files, here or at URLs; yields what became of each, in order, as it happens.

        Commits every ``store.commit_every``. A file whose content is stored already under its key is not analysed
        again; a changed one keeps its metadata. Keys are absolute paths or URLs, or what follows ``relative_to`` in
        them. With several processes call this under ``if __name__ == "__main__"``.
        """
        writer = self._writing()
        keyed = ((file_key(path, relative_to), path) for path in paths)
        jobs = (Job(key, path, writer.content_of(key), writer.path_of(key)) for key, path in keyed)
        for outcome in LocalEngine(processes).run(self._analyser, jobs, on_crash=crashed):
            if outcome.entry:
                known = writer.metadata_of(outcome.key) if outcome.replaces else {}
                self._store(replace(outcome.entry, metadata=known))
            yield outcome

    def build(
        self, paths: Iterable[Place], *, relative_to: Place | None = None, engine: Engine | None = None
    ) -> Iterator[Outcome]:
        """Add many files as ``add_files`` does, but all of them in one commit, after the last outcome was taken.

        Workers of the engine write segments of at most ``store.shard`` pictures. If this is broken off, nothing is
        committed and nothing is lost: called again before another commit, it does what was not done. Outcomes have
        no entry.
        """
        jobs = (Job(file_key(path, relative_to), path) for path in paths)
        chosen = engine or LocalEngine()
        yield from build(self._writing(), self._analyser, jobs, engine=chosen, most=self.store.shard)
        self.refresh()

    @property
    def _analyser(self) -> AnalyserPlan:
        return AnalyserPlan(self.path / VOCABULARY, self.features, self.indexing, self.images)

    def update(self, features: Features, *, key: str, path: str | None = None) -> Outcome:
        """Add a picture by features of your own, unless it is stored with the same ones. Keeps its metadata.

        path: the picture's file, if there is one.
        """
        own, content = Reader(self.features, self.images).features(features, name=key)
        writer = self._writing()
        known = writer.content_of(key)
        if known == content and writer.path_of(key) == path:
            return Outcome(key, unchanged=True)
        facts: dict[str, Any] = {"key": key, "content": content, "path": path, "metadata": writer.metadata_of(key)}
        entry = make_entry(own, self._assigner, indexing=self.indexing, **facts)
        self._store(entry)
        return Outcome(key, entry, replaces=known is not None)

    def remove(self, key: str) -> bool:
        """Remove a picture; False if there is none with this key. Takes effect at the next commit."""
        return self._writing().remove(key)

    def commit(self) -> None:
        """Make all changes durable and visible to searches, all at once."""
        if self._writer and self._writer.commit():
            self.refresh()

    def merge(self) -> None:
        """Commit, then rewrite all segments as one, without removed pictures."""
        self._writing().merge()
        self.refresh()

    def learn_context(
        self, recipe: str | Recipe = "context", *, done: Callable[[int], None] = lambda count: None
    ) -> list[Reference]:
        """Commit, then give every picture the context term that the recipe needs; later ones get theirs when added.

        There is a reference set for each vocabulary of the index. Memory: the features of all, ``context.references``
        pictures at most in each. ``done`` hears how many more pictures were compared; all are, in each vocabulary.
        """
        chosen = _contextual(recipe)
        self.commit()
        references = self._writing().learn_context(chosen.scoring, chosen.context, done=done)
        self.refresh()
        return references

    def forget_context(self, recipe: str | Recipe = "context") -> bool:
        """Commit, then drop the context terms of a recipe, or of this name in ``info``; False if there were none."""
        self.commit()
        name = recipe if isinstance(recipe, str) else ""
        if name not in {name_of(stored)[0] for stored in self._snapshot.manifest.contexts}:
            chosen = _contextual(recipe)
            name = context_name(chosen.scoring, chosen.context)
        known = self._writing().forget_context(name)
        self.refresh()
        return known

    def learn(
        self,
        groups: Groups,
        *,
        unsure: Sequence[tuple[str, str]] = (),
        options: LearnOptions | None = None,
        report: Callable[[Tried], None] = lambda tried: None,
    ) -> Lesson:
        """Commit, then learn the similarity that the recipe ``learnt`` searches with (LEARN-14), and keep it.

        groups: keys of pictures that show the same thing, by any name for it; unsure: pairs that may show the same, and
        are not learnt from. ``report`` hears of each choice of groups of words and weight pattern. An interrupted run
        goes on where it was, if nothing has changed since: what it has found stands in a file beside the index until
        the index has kept it.
        """
        self.commit()
        writer = self._writing()  # before anything is learnt that could then not be kept
        self.refresh()
        lesson = learn_similarity(
            self._snapshot,
            groups,
            options or LearnOptions(),
            unsure=unsure,
            state=self._learning,
            report=report,
        )
        writer.keep_similarity(lesson.similarity)
        self._learning.unlink(missing_ok=True)
        self.refresh()
        return lesson

    def verified_groups(
        self, *, options: LearnOptions | None = None, done: Callable[[int], None] = lambda count: None
    ) -> Agreed:
        """Pictures that geometry confirms to show the same thing, as examples to learn from; ``done`` hears of each.

        ``options.pictures`` of them at most, drawn at random, ask for others.
        """
        return verified_groups(self._snapshot, options or LearnOptions(), done)

    def forget_learnt(self) -> bool:
        """Commit, then drop the learnt similarity, and what an interrupted run has left; False if there was none."""
        self.commit()
        known = self._writing().forget_similarity()
        self._learning.unlink(missing_ok=True)
        self.refresh()
        return known

    @property
    def _learning(self) -> Path:
        """Where an interrupted ``learn`` goes on from."""
        return self.path.with_name(f"{self.path.name}.learning")

    def cluster(self, options: ClusterOptions) -> None:
        """Commit, then put all pictures into clusters, so that ``recipe.clusters.probe`` of them can be searched alone.

        Learnt from a sample of the pictures; those added later go into the nearest cluster. All of the index is
        rewritten. With a count of 0 there are none afterwards. A search that visits all clusters finds what it found
        before; context terms whose neighbours were looked for in clusters (``context.probe``) are forgotten.
        """
        self.commit()
        self._writing().cluster(options)
        self.refresh()

    def refresh(self) -> None:
        """Let searches see the newest commit, whoever made it. Those under way finish on the one they began with."""
        if self._remote and not self._writer:  # a writer's mirror is up to date
            self._remote.pull()
        if read_manifest(self.path) != self._snapshot.manifest:
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
    def _snapshot(self) -> Snapshot:
        return self._group.snapshot

    def release(self) -> None:
        """Let other processes write; changes that were not committed are dropped. Searching goes on."""
        if self._writer:
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        """Release the lock and the files; changes that were not committed are dropped."""
        self.release()
        self._snapshot.close()
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
        if top < 1:
            raise UsageError(f"top must be at least 1, not {top}")
        chosen = named_recipe(recipe) if isinstance(recipe, str) else recipe
        if min_confidence > 0 and not chosen.verify.shortlist:
            raise UsageError(
                "this recipe verifies nothing, so it cannot tell how sure hits are; leave min_confidence out"
            )
        watch = Stopwatch()

        def found_on(group: SegmentGroup) -> SearchResult:
            asked = self._asked(group, sources, key, region, chosen, watch)
            return search(group, asked, top=top, recipe=chosen, without=key, watch=watch)

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
        chosen = RECIPES["verified"]

        def found_on(group: SegmentGroup) -> SearchResult:
            asked = self._asked(group, source, key, region, chosen, Stopwatch())
            if len(asked) > 1:
                raise UsageError("two pictures are compared; give one beside the key of the other")
            return compare(group, asked[0], other, recipe=chosen)

        return self._look(found_on)

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
        require_searchable(self._group, recipe)

    def _asked(
        self,
        group: SegmentGroup,
        sources: Sequence[Source],
        key: str | None,
        region: Region | Sequence[float] | None,
        recipe: Recipe,
        watch: Stopwatch,
    ) -> list[Query]:
        box = region if region is None or isinstance(region, Region) else Region(*region)
        reader = Reader(_features_of(group.snapshot), self.images)
        assigner = self._assigner_of(group.snapshot)
        asked = [reader.ask(source, box, assigner, recipe.assign, watch) for source in sources]
        if key is not None:
            with watch.stage("features"):
                asked.append(ask_stored(group, key, box))
        if not asked:
            raise UsageError("nothing to search with; give a picture or the key of an indexed one")
        if box and len(asked) > 1:
            raise UsageError("a region belongs to one picture; search with one, or without the region")
        return asked

    def duplicates(
        self,
        *,
        kind: str = "copy",
        min_confidence: float = SURE,
        done: Callable[[int], None] = lambda count: None,
    ) -> list[Group]:
        """Groups of pictures that are copies of one another, or (``scene``) show the same thing; the largest first.

        Every picture is searched for; ``done`` hears of each.
        """
        return duplicates(self._snapshot, kind=kind, min_confidence=min_confidence, done=done)

    def path_of(self, key: str) -> str | None:
        """The file or URL that the picture with this key was read from, if it came from one."""
        row = self._snapshot.find(key)
        return row.path if row else None

    @property
    def _assigner(self) -> Assigner:
        return self._assigner_of(self._snapshot)

    def _assigner_of(self, snapshot: Snapshot) -> Assigner:
        """Made once for all threads; anew, should an index with another vocabulary have taken the place of this one."""
        fingerprint = snapshot.manifest.vocabulary_fingerprint
        with self._making:
            if fingerprint not in self._made:
                self._made = {fingerprint: Assigner(snapshot.vocabulary)}
            return self._made[fingerprint]

    def _writing(self) -> Writer:
        if self._closed:
            raise StoreError(f"this index on {self.place} was closed; open it again")
        if self._writer is None:
            remote, options = self._remote, self.store
            writer = RemoteWriter(remote, options=options) if remote else Writer(self.path, options=options)
            if not _alike(writer.manifest, self._snapshot.manifest):
                writer.close()
                raise StoreError(f"{self.place} is another index now than the one opened; open it again")
            self._writer = writer
        return self._writer

    def _store(self, entry: Entry) -> None:
        writer = self._writing()
        writer.add(entry)
        if writer.pending >= self.store.commit_every:
            self.commit()


def _features_of(snapshot: Snapshot) -> FeatureOptions:
    return from_dict(FeatureOptions, snapshot.manifest.settings["features"])


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


def _contextual(recipe: str | Recipe) -> Recipe:
    chosen = named_recipe(recipe) if isinstance(recipe, str) else recipe
    if chosen.context.method == "none":
        raise UsageError(
            f"this recipe has no context; take `context`, or set context.method to one of {', '.join(METHODS)}"
        )
    return chosen


def file_key(path: Place, relative_to: Place | None) -> str:
    """The key of a picture file."""
    whole = absolute(path)
    if relative_to is None:
        return whole
    base = absolute(relative_to).rstrip("/") + "/"
    if is_url(path) != is_url(relative_to) or not f"{whole}/".startswith(base):
        raise UsageError(f"{path} is not inside {relative_to}; index it without relative keys, or move it")
    return whole[len(base) :]


def _counted(row: Row, snapshot: Snapshot) -> Row:
    """With the number of its features, however many vocabularies they have words in."""
    return replace(row, features=row.features // snapshot.manifest.vocabularies)
