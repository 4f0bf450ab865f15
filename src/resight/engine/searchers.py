"""What searches some segments of an index in a process of its own, wherever that runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from ..clusters import Visit
from ..errors import ResightError
from ..options import ScoringOptions
from ..recipes import Recipe
from ..scoring import CollectionStatistics, Query
from ..search import LocalSearcher, Nearest, Place, ScoreHistogram, SearchId, SearchRequest, TopK
from ..search.candidates import Located
from ..store import Manifest, Row, Snapshot
from ..types import Float32, Int64

T = TypeVar("T")
Read = Callable[[LocalSearcher], T]  # what a searcher shall do: a method of LocalSearcher with its other arguments
Search = Callable[[LocalSearcher, SearchRequest], T]
COMMITS = 2  # that are held open: searches under way finish on the one they began with
SEARCHES = 4  # whose scores are kept between calls


@dataclass(frozen=True)
class Shard:
    """What one searcher has of an index: some segments of a commit. Goes with each call, so it can never be lost."""

    folder: Path
    manifest: Manifest  # with these segments alone
    numbers: tuple[int, ...]  # which they are in the commit

    @classmethod
    def of(cls, snapshot: Snapshot, shards: Iterable[Sequence[int]]) -> list[Shard]:
        """All of a commit, as shared out."""
        manifest = snapshot.manifest
        return [
            cls(snapshot.folder, replace(manifest, segments=tuple(manifest.segments[n] for n in some)), tuple(some))
            for some in shards
        ]


class SearcherProcess:
    """Does what it is told with a shard. All that it remembers only saves time."""

    def __init__(self) -> None:
        self._opened: deque[tuple[Shard, LocalSearcher]] = deque()
        self._searches: deque[SearchId] = deque(maxlen=SEARCHES)  # their scores live as long as these
        self._collections: deque[CollectionStatistics] = deque(maxlen=16)

    def read(self, shard: Shard, job: Read[T]) -> T | ResightError:
        """What the job returns, or the error that it ends with."""
        try:
            return job(self._open(shard))
        except ResightError as error:
            return error

    def search(
        self, shard: Shard, job: Search[T], request: SearchRequest, collections: Sequence[CollectionStatistics]
    ) -> T | ResightError:
        """The same for a job that needs a request, which came without its collections."""
        request = replace(request, collections=[self._known(collection) for collection in collections])
        if request.id not in self._searches:
            self._searches.append(request.id)
        return self.read(shard, partial(_with_request, job=job, request=request))

    def _open(self, shard: Shard) -> LocalSearcher:
        for known, searcher in self._opened:
            if known == shard:
                return searcher
        while len(self._opened) >= COMMITS:
            self._opened.popleft()[1].close()
        searcher = LocalSearcher(Snapshot(shard.folder, shard.manifest), shard.numbers)
        self._opened.append((shard, searcher))
        return searcher

    def _known(self, collection: CollectionStatistics) -> CollectionStatistics:
        """The copy that came first: what segments keep is for that one."""
        for known in self._collections:
            if known.id == collection.id:
                return known
        self._collections.append(collection)
        return collection

    def rest(self) -> None:
        """Hold nothing until there is work again; what others have removed would else stay on disk."""
        while self._opened:
            self._opened.popleft()[1].close()
        self._searches.clear()
        self._collections.clear()


def _with_request(searcher: LocalSearcher, *, job: Search[T], request: SearchRequest) -> T:
    return job(searcher, request)


class RemoteSearcher(ABC):
    """A ``SegmentSearcher`` that has its work done by a ``SearcherProcess``."""

    @abstractmethod
    def _read(self, job: Read[T]) -> T:
        """``SearcherProcess.read``, there; errors are raised here."""

    @abstractmethod
    def _search(self, job: Search[T], request: SearchRequest) -> T:
        """``SearcherProcess.search``, there; errors are raised here."""

    def open(self) -> None:
        """Hold the files open from now on."""
        self._read(_nothing)

    def count_words(self, scoring: ScoringOptions) -> list[Int64]:
        return self._read(partial(LocalSearcher.count_words, scoring=scoring))

    def statistics(self, request: SearchRequest) -> list[list[Int64]]:
        return self._search(LocalSearcher.statistics, request)

    def nearest(self, visits: Sequence[Visit], count: int, recipe: Recipe | None) -> list[Nearest]:
        return self._read(partial(LocalSearcher.nearest, visits=visits, count=count, recipe=recipe))

    def top_k(self, request: SearchRequest, count: int) -> TopK:
        return self._search(partial(LocalSearcher.top_k, count=count), request)

    def rows(self, places: Sequence[Place]) -> list[Row]:
        return self._read(partial(LocalSearcher.rows, places=places))

    def stored_queries(self, pictures: Sequence[tuple[int, Row]], *, descriptors: bool) -> list[Query]:
        return self._read(partial(LocalSearcher.stored_queries, pictures=pictures, descriptors=descriptors))

    def verify(self, request: SearchRequest, pictures: Sequence[tuple[int, Row]]) -> list[Located | None]:
        return self._search(partial(LocalSearcher.verify, pictures=pictures), request)

    def scores(self, request: SearchRequest, places: Sequence[Place]) -> list[float]:
        return self._search(partial(LocalSearcher.scores, places=places), request)

    def score_histogram(self, request: SearchRequest) -> ScoreHistogram:
        return self._search(LocalSearcher.score_histogram, request)

    def scores_in(self, request: SearchRequest, bins: Int64) -> Float32:
        return self._search(partial(LocalSearcher.scores_in, bins=bins), request)


def _nothing(searcher: LocalSearcher) -> None:
    """To have a shard opened."""
