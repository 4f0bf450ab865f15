"""Where work runs: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..errors import UsageError
from ..machine import processors
from .local import LocalEngine, one_thread_each

if TYPE_CHECKING:
    from ..search import Searchers

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


class Engine(Protocol):
    """Does many jobs of a kind, and searches."""

    @property
    def across_machines(self) -> bool:
        """Whether workers may be on other machines: then they write what they find to disk, and do not send it."""
        ...

    def run(
        self,
        plan: Callable[[], Callable[[JobT], ResultT]],
        jobs: Iterable[JobT],
        *,
        on_crash: Callable[[JobT], ResultT],
    ) -> Iterator[ResultT]:
        """``plan()(job)`` for every job, results in the order of the jobs, which are taken as they are needed.

        A worker calls ``plan`` once. What a dead worker had begun is done again; a job that kills its workers is given
        to ``on_crash``, and the others go on. An exception in a job is raised here.
        """
        ...

    def searchers(self) -> AbstractContextManager[Searchers | None]:
        """What an index can be searched by elsewhere (``Index.spread``), until closed; None: only where it is open."""
        ...


def _local(processes: int | None, address: str | None, jobs: int | None) -> Engine:
    if address:
        raise UsageError("--ray-address says where a Ray cluster is; add --engine ray, or leave it out")
    wanted = processes or processors()
    return LocalEngine(wanted if jobs is None else max(min(wanted, jobs), 1))


def _ray(processes: int | None, address: str | None, jobs: int | None) -> Engine:
    from ._ray import load
    from .ray import RayEngine

    if processes:
        raise UsageError("--processes is for the engine `local`; Ray uses all processors of its cluster: leave it out")
    load()  # who has not installed Ray hears it before any work is done
    return RayEngine(address)


ENGINES: dict[str, Callable[[int | None, str | None, int | None], Engine]] = {"local": _local, "ray": _ray}


def engine_named(
    name: str, *, processes: int | None = None, address: str | None = None, jobs: int | None = None
) -> Engine:
    """By name: ``local`` with so many processes, ``ray`` on the cluster at this address.

    jobs: how many there will be, if that is known; no more processes are started.
    """
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}; engines: {', '.join(ENGINES)}")
    return ENGINES[name](processes, address, jobs)


__all__ = ["ENGINES", "Engine", "LocalEngine", "engine_named", "one_thread_each"]
