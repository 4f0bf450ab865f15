"""Work on the processors of a Ray cluster, as tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..errors import EngineError
from ._ray import connect
from .local import WINDOW, one_thread_each

if TYPE_CHECKING:
    from .ray_searchers import RaySearchers

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

AHEAD = 2  # jobs that a processor has or is about to get: no more are left behind when a run is given up
RETRIES = 3  # of a job whose worker or node has died; after as many more deaths the job is to blame

_made: tuple[Any, Callable[[Any], Any]] | None = None  # in a worker: the plan's reference, and what the plan has made


@dataclass(frozen=True)
class RayEngine:
    """All processors of the cluster at this address; None: of one that is started on this machine.

    Jobs and results go through Ray's object store, so what is under way is bounded. On all nodes resight must be
    installed, and paths must mean the same files. When a run is given up, what was begun comes to its end unseen: of a
    job that is cancelled in the instant in which it completes Ray 2.60 may die, and this process with it.
    """

    address: str | None = None
    across_machines: ClassVar[bool] = True

    def run(
        self,
        plan: Callable[[], Callable[[JobT], ResultT]],
        jobs: Iterable[JobT],
        *,
        on_crash: Callable[[JobT], ResultT],
    ) -> Iterator[ResultT]:
        """As ``Engine`` says."""
        ray = connect(self.address)
        try:
            yield from self._run(ray, plan, jobs, on_crash)
        except ray.exceptions.RayError as error:
            raise EngineError(f"the cluster cannot do its work ({error}); see `ray status`") from error

    def _run(
        self,
        ray: Any,
        plan: Callable[[], Callable[[JobT], ResultT]],
        jobs: Iterable[JobT],
        on_crash: Callable[[JobT], ResultT],
    ) -> Iterator[ResultT]:
        work = ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
        shared = ray.put(plan)
        waiting = iter(jobs)
        under_way: deque[tuple[JobT, Any]] = deque()
        pending: list[Any] = []  # of those, the ones that are not known to be done
        while True:
            processors = _processors(ray)
            room = min(WINDOW * processors - len(under_way), AHEAD * processors - len(pending))
            for job in islice(waiting, max(room, 0)):
                pending.append(work.remote([shared], job))
                under_way.append((job, pending[-1]))
            if not under_way:
                return
            job, reference = under_way[0]
            if reference in pending:  # whichever is done first makes room for another
                _, pending = ray.wait(pending)
                continue
            try:
                result = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except (
                ray.exceptions.WorkerCrashedError,
                ray.exceptions.NodeDiedError,
                ray.exceptions.ObjectLostError,
            ):
                result = on_crash(job)
            under_way.popleft()
            yield result

    def searchers(self) -> RaySearchers:
        """As ``Engine`` says."""
        from .ray_searchers import RaySearchers

        return RaySearchers(self.address)


def _processors(ray: Any) -> int:
    """Of the cluster, as it is now: nodes come and go."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _work(shared: list[Any], job: Any) -> Any:
    """One job, in a worker. The plan's reference comes in a list: Ray would fetch the plan itself for every job."""
    global _made  # noqa: PLW0603
    if _made is None or _made[0] != shared[0]:
        import ray

        one_thread_each()
        _made = shared[0], ray.get(shared[0])()
    return _made[1](job)
