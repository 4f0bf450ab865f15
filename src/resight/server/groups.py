"""Groups of pictures that belong together: found in the background, one kind at a time, kept until the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ..duplicates import Duplicates, Group, Kind, dismissed_groups, is_dismissed, steps
from ..index import Index
from .collection import Collection
from .problems import Problem

log = logging.getLogger("uvicorn.error")
JobState = Literal["idle", "running", "done", "failed"]


class _Stopped(Exception):  # noqa: N818
    """The server ends."""


@dataclass
class Job:
    """What was asked for, and how far it has come."""

    kind: Kind
    min_confidence: float | None
    total: int
    commit: int
    done: int = 0
    found: Duplicates | None = None  # once it is done
    failed: bool = False

    @property
    def state(self) -> JobState:
        return "failed" if self.failed else "running" if self.found is None else "done"


class Groups:
    """Asked from any thread; the work runs in one of its own."""

    def __init__(self) -> None:
        self._job: Job | None = None
        self._starting, self._stop = threading.Lock(), threading.Event()

    def start(self, collection: Collection, *, kind: Kind, min_confidence: float | None) -> Job:
        """Begin. Raises Problem while other work goes on."""
        with self._starting:
            if (job := self._job) and job.state == "running":
                raise Problem("already-running", f"{job.done} of {job.total} steps are done; wait until all are")
            facts = collection.index.info()
            self._job = job = Job(kind, min_confidence, steps(kind, facts.pictures), facts.commit)
        threading.Thread(target=self._work, args=(collection, job), name="duplicates", daemon=True).start()
        return job

    def job(self, kind: Kind, min_confidence: float | None) -> Job | None:
        """What has become of this work, if it was the last."""
        job = self._job
        return job if job and (job.kind, job.min_confidence) == (kind, min_confidence) else None

    def close(self) -> None:
        self._stop.set()

    def _work(self, collection: Collection, job: Job) -> None:
        def done(count: int) -> None:
            job.done += count
            if self._stop.is_set():
                raise _Stopped

        try:
            job.found = collection.duplicates(kind=job.kind, min_confidence=job.min_confidence, done=done)
        except Exception:
            job.failed = True
            if not self._stop.is_set():  # what fails then fails because the index is closed
                log.exception("looking for duplicates failed")


def still_shown(groups: Iterable[Group], index: Index, kind: Kind) -> list[Group]:
    """Without pictures that were removed since, groups of fewer than two, and groups that were dismissed since."""
    dismissed = dismissed_groups(index.snapshot, kind)
    left = (replace(g, pictures=tuple(p for p in g.pictures if p.key in index)) for g in groups)
    return [group for group in left if len(group.pictures) > 1 and not is_dismissed(group, dismissed)]
