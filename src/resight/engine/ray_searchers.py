"""Searchers as actors of a Ray cluster: each has some segments, wherever there is room for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from ..errors import EngineError, ResightError
from ..scoring import CollectionStatistics
from ..search import SearchRequest, SegmentGroup, share_out
from ..store import Snapshot
from ._ray import connect
from .searchers import Read, RemoteSearcher, Search, SearcherProcess, Shard

T = TypeVar("T")
PROCESSORS = 0.5  # that each takes up: no machine gets many, and there is room for those of a machine that has died
PATIENCE = 300.0  # seconds for one call: a lost machine's searchers are back in a tenth of that, if there is room


class RaySearchers:
    """Make as many as the cluster has processors, or as are asked for; but none before it has something to do.

    A searcher that dies with its machine is started again on another one, and does what it was told.
    """

    def __init__(self, address: str | None = None, *, count: int | None = None) -> None:
        self._ray = connect(address)
        self._count = count or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
        options = {"num_cpus": PROCESSORS, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": "SPREAD"}
        self._kind = self._ray.remote(**options)(SearcherProcess)
        self._actors: list[Any] = []
        self._closed = False

    def group(self, snapshot: Snapshot) -> SegmentGroup:
        if self._closed:
            raise EngineError("these searchers were closed; make others")
        shards = share_out(snapshot.manifest, self._count)
        self._actors += [self._kind.remote() for _ in range(len(shards) - len(self._actors))]
        if resting := [idle.rest.remote() for idle in self._actors[len(shards) :]]:
            self._ray.wait(resting, num_returns=len(resting), timeout=PATIENCE)
        sent = SentStatistics(self._ray)
        searchers = [
            RaySearcher(self._ray, actor, shard, sent)
            for actor, shard in zip(self._actors, Shard.of(snapshot, shards), strict=False)
        ]
        with ThreadPoolExecutor(max(len(searchers), 1)) as pool:  # they hold their files open from now on
            list(pool.map(RaySearcher.open, searchers))
        return SegmentGroup(snapshot, searchers, shards)

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors.clear()
        self._closed = True

    def __enter__(self) -> RaySearchers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SentStatistics:
    """Collection statistics in Ray's object store, where all actors find them: put there once for each commit."""

    def __init__(self, ray: Any) -> None:
        self._ray, self._sent, self._lock = ray, dict[str, Any](), threading.Lock()

    def reference(self, collections: Sequence[CollectionStatistics]) -> Any:
        with self._lock:
            name = collections[0].id
            if name not in self._sent:
                self._sent[name] = self._ray.put(collections)
            return self._sent[name]


class RaySearcher(RemoteSearcher):
    """An actor, and its shard."""

    def __init__(self, ray: Any, actor: Any, shard: Shard, sent: SentStatistics) -> None:
        self._ray, self._actor, self._shard, self._sent = ray, actor, shard, sent

    def _read(self, job: Read[T]) -> T:
        found: T = self._answer(self._actor.read.remote(self._shard, job))
        return found

    def _search(self, job: Search[T], request: SearchRequest) -> T:
        reference, light = self._sent.reference(request.collections), replace(request, collections=[])
        found: T = self._answer(self._actor.search.remote(self._shard, job, light, reference))
        return found

    def _answer(self, sent: Any) -> Any:
        try:
            answer = self._ray.get(sent, timeout=PATIENCE)
        except self._ray.exceptions.GetTimeoutError:
            raise EngineError(
                f"a searcher has not answered for {PATIENCE:.0f} s; see in `ray status` whether there is room for it"
            ) from None
        except self._ray.exceptions.RayError as error:
            raise EngineError(f"a searcher has failed ({error}); see `ray status`") from error
        if isinstance(answer, ResightError):
            raise answer
        return answer
