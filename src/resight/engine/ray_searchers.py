"""Searchers as actors of a Ray cluster: each has some segments, wherever there is room for it."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ..errors import EngineError, ResightError
from ..search import Letter, Shelves, deal
from ..store import Snapshot
from ._ray import connect
from .searchers import Assigned, Searcher

PROCESSORS = 0.5  # that each takes up: no machine gets many, and there is room for those of a machine that has died
PATIENCE = 300.0  # seconds for one step: a lost machine's searchers are back in a tenth of that, if there is room


class RaySearchers:
    """Make as many as the cluster has processors, or as are asked for; but none before it has something to do.

    A searcher that dies with its machine is started again on another one, and answers what it was asked.
    """

    def __init__(self, address: str | None = None, *, count: int | None = None) -> None:
        self._ray = connect(address)
        self._count = count or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
        options = {"num_cpus": PROCESSORS, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": "SPREAD"}
        self._kind = self._ray.remote(**options)(Searcher)
        self._actors: list[Any] = []
        self._closed = False

    def shelves(self, snapshot: Snapshot) -> Shelves:
        if self._closed:
            raise EngineError("these searchers were closed; make others")
        dealt = deal(snapshot.manifest, self._count)
        self._actors += [self._kind.remote() for _ in range(len(dealt) - len(self._actors))]
        if resting := [idle.rest.remote() for idle in self._actors[len(dealt) :]]:
            self._ray.wait(resting, num_returns=len(resting), timeout=PATIENCE)
        return _RayShelves(self._ray, snapshot, dict(zip(self._actors, dealt, strict=False)))

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


class _RayShelves(Shelves):
    def __init__(self, ray: Any, snapshot: Snapshot, dealt: Mapping[Any, list[int]]) -> None:
        super().__init__(snapshot, list(dealt.values()))
        self._ray, self._actors = ray, list(dealt)
        self._assigned = Assigned.shares(snapshot, dealt.values())
        self._send(dict.fromkeys(range(len(self._actors))))  # they hold their files open from now on

    def _send(self, letters: Mapping[int, Letter | None]) -> dict[int, Any]:
        sent = [self._actors[n].answer.remote(self._assigned[n], letter) for n, letter in letters.items()]
        try:
            answers = self._ray.get(sent, timeout=PATIENCE)
        except self._ray.exceptions.GetTimeoutError:
            raise EngineError(
                f"a searcher has not answered for {PATIENCE:.0f} s; see `ray status` whether the cluster has room for "
                f"{len(self._actors)} searchers"
            ) from None
        except self._ray.exceptions.RayError as error:
            raise EngineError(f"a searcher has failed ({error}); see `ray status`") from error
        for answer in answers:
            if isinstance(answer, ResightError):
                raise answer
        return dict(zip(letters, answers, strict=True))
