"""Files that could not be read before are not tried again until they change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..images import reader_fingerprint
from ..options import ImageOptions
from ..store import Refusal, Writer
from ..urls import file_state, is_url
from .jobs import Job, Outcome


class BadFiles:
    """What a writer knows of files that could not be read, kept up to date while jobs become outcomes."""

    def __init__(self, writer: Writer, images: ImageOptions, *, retry: bool) -> None:
        self._writer, self._retry = writer, retry
        self._reader = reader_fingerprint(images)
        self._begun: dict[str, Job] = {}
        self._found: list[tuple[str, Refusal | None]] = []  # by key; None: it can be read

    def known(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """The jobs of files; those that were refused, and have not changed, say so."""
        for job in jobs:
            assert job.path
            refusal = self._writer.refused.get(job.key)
            # Before the file is read: should it change meanwhile, it is tried again. What is at a URL is replaced as a
            # whole, and asking takes a request, so it is asked only if there is something to compare with.
            state = self._state(job.path) if refusal or not is_url(job.path) else None
            reason = refusal.reason if refusal and refusal.state == state and not self._retry else None
            self._begun[job.key] = begun = replace(job, state=state, refused=reason)
            yield begun

    def noted(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """The outcomes of these jobs; ``hand_over`` tells the writer what they say about files."""
        for outcome in outcomes:
            job = self._begun.pop(outcome.key, None)  # None: the key came twice
            if not outcome.skipped:
                self._found.append((outcome.key, None))
            elif job and job.path and not (outcome.known_bad or outcome.unreachable):
                state = job.state or (self._state(job.path) if is_url(job.path) else None)
                if state:
                    self._found.append((outcome.key, Refusal(job.path, state, outcome.skipped)))
            yield outcome

    def hand_over(self) -> None:
        """Let the next commit keep what was found."""
        for key, refusal in self._found:
            if refusal:
                self._writer.refuse(key, refusal)
            else:
                self._writer.forget_refusal(key)
        self._found.clear()

    def _state(self, path: str) -> str | None:
        """Of a file, and of what tries to read it."""
        state = file_state(path)
        return state and f"{state} {self._reader}"
