"""Ingesters whose workers die. Each worker imports this module when it starts, so it imports little itself."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from resight.ingest import Ingester, IngesterPlan, Job, Outcome


@dataclass(frozen=True)
class Fragile:
    """An ingester that two pictures kill: one always, one the first time."""

    plan: IngesterPlan
    deadly: str
    once: Path  # a picture named like this file kills as long as the file is there

    def __call__(self) -> Callable[[Job], Outcome]:
        ingest = self.plan()
        return lambda job: self._ingest(job, ingest)

    def _ingest(self, job: Job, ingest: Ingester) -> Outcome:
        if self.once.exists() and job.key == self.once.name:
            self.once.unlink()
            self._die()
        if job.key == self.deadly:
            self._die()
        return ingest(job)

    def _die(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.abort()


@dataclass(frozen=True)
class Hopeless:
    """Workers die, but not while they ingest a picture."""

    def __call__(self) -> Callable[[Job], Outcome]:
        return lambda job: Outcome(job.key, entry=_Deadly())  # type: ignore[arg-type]


class _Deadly:
    """Something that cannot even be looked at."""

    def __getattr__(self, name: str) -> None:
        os._exit(1)
