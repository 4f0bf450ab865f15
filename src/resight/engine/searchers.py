"""What searches some segments of an index in a process of its own, wherever that runs."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ResightError
from ..search import Asking, Letter, Shelf
from ..store import Manifest, Snapshot

COMMITS = 2  # that are held open: searches under way finish on the one they began with
SEARCHES = 4  # whose scores are kept between steps


@dataclass(frozen=True)
class Assigned:
    """What one searcher has of an index: some segments of a commit. Goes with each letter, so it can never be lost."""

    folder: Path
    manifest: Manifest  # with these segments alone
    numbers: tuple[int, ...]  # which they are in the commit
    name: str  # of the shelves that they make up: who asks can tell a searcher again only what these were told

    @classmethod
    def shares(cls, snapshot: Snapshot, dealt: Iterable[Sequence[int]]) -> list[Assigned]:
        """All of a commit, as dealt out for one who asks."""
        name, manifest = uuid.uuid4().hex, snapshot.manifest
        return [
            cls(
                snapshot.folder,
                replace(manifest, segments=tuple(manifest.segments[n] for n in some)),
                tuple(some),
                name,
            )
            for some in dealt
        ]


class Searcher:
    """Answers letters about what it is assigned. All that it remembers it can find out again, or is told again."""

    def __init__(self) -> None:
        self._shelves: deque[tuple[Assigned, Shelf]] = deque()
        self._askings: deque[Asking] = deque(maxlen=SEARCHES)

    def answer(self, assigned: Assigned, letter: Letter | None) -> Any:
        """What the shelf answers, or the error that it ends with; None: just open it."""
        try:
            shelf = self._opened(assigned)
            return letter and shelf.answer(letter._replace(asking=letter.asking and self._kept(letter.asking)))
        except ResightError as error:
            return error

    def _opened(self, assigned: Assigned) -> Shelf:
        for known, shelf in self._shelves:
            if known == assigned:
                return shelf
        while len(self._shelves) >= COMMITS:
            self._shelves.popleft()[1].close()
        shelf = Shelf.some(assigned.folder, assigned.manifest, assigned.numbers)
        self._shelves.append((assigned, shelf))
        return shelf

    def rest(self) -> None:
        """Hold nothing until there is a letter again; what others have removed would else stay on disk."""
        while self._shelves:
            self._shelves.popleft()[1].close()
        self._askings.clear()

    def _kept(self, asking: Asking) -> Asking:
        """The same as before, with which its scores are kept; it learns what has become known since."""
        for known in self._askings:
            if known.name == asking.name:
                known.known.update(asking.known)
                return known
        self._askings.append(asking)
        return asking
