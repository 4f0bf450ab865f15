"""Work on this machine's processors."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, ClassVar, TypeVar

from ..errors import EngineError, ResightError

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

WINDOW = 16  # jobs under way per process: enough to keep all busy behind one slow job, little enough to bound memory

_worker: Callable[[Any], Any]  # in a worker process: what it was started for


@dataclass(frozen=True)
class LocalEngine:
    """So many processes of this machine; with one the work is done here, where a crash ends all."""

    processes: int = 1
    across_machines: ClassVar[bool] = False

    def searchers(self) -> AbstractContextManager[None]:
        """As ``Engine`` says."""
        return nullcontext()

    def run(
        self,
        plan: Callable[[], Callable[[JobT], ResultT]],
        jobs: Iterable[JobT],
        *,
        on_crash: Callable[[JobT], ResultT],
    ) -> Iterator[ResultT]:
        """As ``Engine`` says. With several processes call this under ``if __name__ == "__main__"``."""
        if self.processes <= 1:
            worker = plan()
            yield from (worker(job) for job in jobs)
            return
        waiting = iter(jobs)
        under_way: deque[tuple[JobT, Future[ResultT] | None]] = deque()
        pool = _start(plan, self.processes)
        try:
            while True:
                alone = any(future is None for _, future in under_way)  # suspects: nothing else may run beside them
                for job in islice(waiting, 0 if alone else WINDOW * self.processes - len(under_way)):
                    under_way.append((job, _submit(pool, job)))
                if not under_way:
                    return
                job, future = under_way[0]
                try:
                    result = (future or _submit(pool, job)).result()
                except BrokenProcessPool:
                    pool.shutdown(wait=False, cancel_futures=True)
                    pool = _start(plan, self.processes)
                    if future is None:  # it was alone: it is the culprit, unless no worker lives at all
                        _require_living_workers(pool)
                        result = on_crash(job)
                    else:  # any that had begun may be: try each alone
                        under_way, rest = _suspects(under_way, self.processes)
                        waiting = chain(rest, waiting)
                        continue
                under_way.popleft()
                yield result
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _suspects(
    under_way: deque[tuple[JobT, Future[ResultT] | None]], processes: int
) -> tuple[deque[tuple[JobT, Future[ResultT] | None]], list[JobT]]:
    """Those under way, without a future if they may have killed their worker; and the jobs that come after them.

    Jobs begin in order, so the first ones that have no result had begun; twice as many as there are processes, for some
    results may have been on their way. Should the culprit be another one, it will strike again.
    """
    kept: deque[tuple[JobT, Future[ResultT] | None]] = deque()
    suspected = 0
    for job, future in under_way:
        if suspected == 2 * processes:
            break
        done = future is not None and future.done() and future.exception() is None
        kept.append((job, future if done else None))
        suspected += not done
    return kept, [job for job, _ in islice(under_way, len(kept), None)]


def _start(plan: Callable[[], Callable[[Any], Any]], processes: int) -> ProcessPoolExecutor:
    # Spawned, not forked: the libraries used here keep threads, and a fork of a threaded process can hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_become, initargs=(plan,))
    # Ctrl-C belongs to the parent, from the workers' first instant on: an ignored signal stays so in a new process.
    if threading.current_thread() is not threading.main_thread():
        return pool
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for _ in range(processes):  # each starts a process
            pool.submit(_nothing)
    finally:
        signal.signal(signal.SIGINT, before)
    return pool


def _nothing() -> None:
    """A job that cannot fail."""


def _require_living_workers(pool: ProcessPoolExecutor) -> None:
    try:
        pool.submit(_nothing).result()
    except BrokenProcessPool:
        raise EngineError(
            'worker processes die at their start; in a script, call this under `if __name__ == "__main__":`, '
            "and see the messages above; or use one process"
        ) from None


def _submit(pool: ProcessPoolExecutor, job: Any) -> Future[Any]:
    try:
        return pool.submit(_work, job)
    except BrokenProcessPool as error:  # a worker died since the last result: this job's turn will tell
        failed: Future[Any] = Future()
        failed.set_exception(error)
        return failed


def _become(plan: Callable[[], Callable[[Any], Any]]) -> None:
    """Set a worker process up."""
    global _worker  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # should it have started later than the others
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_thread_each()
    try:
        _worker = plan()
    except ResightError as error:  # raised again where a result is waited for; here it would look like a crash
        _worker = _Failed(error)


def _end_with_parent() -> None:
    """A parent that was killed tells nobody; its workers would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    assert parent
    parent.join()
    os._exit(1)


def one_thread_each() -> None:
    """Let each library of this process use one thread: where work comes in parallel, more would be in their way."""
    import cv2
    from threadpoolctl import threadpool_limits

    from .._faiss import load

    cv2.setNumThreads(1)
    load()  # before the limit, so that it holds for its threads too
    threadpool_limits(1)


class _Failed:
    """A worker that could not be set up: says why to every job."""

    def __init__(self, error: ResightError) -> None:
        self._error = error

    def __call__(self, job: Any) -> Any:
        raise self._error


def _work(job: Any) -> Any:
    return _worker(job)
