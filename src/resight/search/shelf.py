"""Some segments of a commit, or all of them: what they say to a search of the whole collection."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..recipes import Recipe
from ..scoring import HERE, NotAllHereError, Spread, Sums, best
from ..store import Manifest, Row, Snapshot
from ..types import Float32, Int64
from .candidates import Located, locate
from .opinions import Opinion, Scores, at_one_scale, mean_of_others, mean_scores, opinion
from .question import Question, stored_question

T = TypeVar("T")
Place = tuple[int, int]  # the number of a segment in its commit, and of a picture in it
COARSE = 16  # of a float's 32 bits, those that are left out where scores are counted by size


@dataclass(frozen=True, eq=False)
class Asking:
    """What a search asks of every shelf."""

    questions: Sequence[Question]
    recipe: Recipe
    clusters: Int64 | None = None  # where to look; None: everywhere
    background: Int64 | None = None  # clusters, of those, that stand for all; None: all do
    name: str = field(default_factory=lambda: uuid.uuid4().hex)  # tells searches apart
    known: dict[str, npt.NDArray[Any]] = field(default_factory=dict)  # counts over all shelves, as they become known


class Standing(NamedTuple):
    """The best pictures of a shelf, and all that tie with the last: by each vocabulary's scores."""

    part: Int64
    ordinal: Int64
    scores: Float32  # (vocabularies, pictures)


class Spectrum(NamedTuple):
    """How many scores there are of each size, but for their last bits."""

    size: Int64
    many: Int64


class Letter(NamedTuple):
    """A step of a search, to a shelf: the name of a method of Reading or, where nothing is asked yet, of Shelf."""

    step: str
    arguments: tuple[Any, ...] = ()
    asking: Asking | None = None


class Shelf:
    """Segments of one commit. Answers what one place with all segments would, as soon as it is told all counts."""

    def __init__(self, snapshot: Snapshot, numbers: Sequence[int], known: dict[str, npt.NDArray[Any]] | None) -> None:
        self.snapshot, self.numbers = snapshot, numbers
        self.here = {number: part for part, number in enumerate(numbers)}
        self._known = known  # counts over all shelves; None: this is all
        self._readings: WeakKeyDictionary[Asking, Reading] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @classmethod
    def whole(cls, snapshot: Snapshot) -> Shelf:
        return cls(snapshot, range(len(snapshot.segments)), None)

    @classmethod
    def some(cls, folder: Path, manifest: Manifest, numbers: Sequence[int]) -> Shelf:
        """Segments of a commit, opened: the manifest names those alone, and they have these numbers in the commit."""
        known: dict[str, npt.NDArray[Any]] = {}
        return cls(Snapshot(folder, manifest, Spread(known, lasting=True)), numbers, known)

    def close(self) -> None:
        """Let the files go. Readings know their shelf, and would hold them until garbage is collected."""
        self._readings.clear()
        self.snapshot.close()

    def answer(self, letter: Letter) -> Any:
        """What the step returns; or which counts over all shelves must be known first (``Wanted``)."""
        try:
            target = self if letter.asking is None else self._reading(letter.asking)
            return getattr(target, letter.step)(*letter.arguments)
        except NotAllHereError as error:
            return error.wanted

    def _reading(self, asking: Asking) -> Reading:
        with self._lock:
            if asking not in self._readings:
                self._readings[asking] = Reading(self, asking)
            return self._readings[asking]

    def sums(self, known: Mapping[str, npt.NDArray[Any]]) -> Sums:
        return HERE if self._known is None else Spread(known, lasting=False)

    # Steps

    def learn(self, name: str, total: npt.NDArray[Any]) -> None:
        assert self._known is not None
        self._known[name] = total

    def rows(self, places: Sequence[Place]) -> list[Row]:
        """What is stored about these pictures."""
        found = {
            (number, row.ordinal): row
            for number, ordinals in _by_segment(places).items()
            for row in self.snapshot.segments[self.here[number]].table.rows(ordinals)
        }
        return [found[place] for place in places]

    def stored(self, pictures: Sequence[tuple[int, Row]]) -> list[Question]:
        """What these indexed pictures ask."""
        asked = [stored_question(self.snapshot, self.snapshot.segments[self.here[n]], row) for n, row in pictures]
        return asked if self._known is None else [q.without_descriptors for q in asked]


def _by_segment(items: Sequence[tuple[int, T]]) -> dict[int, list[T]]:
    found: dict[int, list[T]] = {}
    for number, item in items:
        found.setdefault(number, []).append(item)
    return found


class Reading:
    """One search on one shelf. Keeps what was computed for later steps; if it is lost, it is computed again."""

    def __init__(self, shelf: Shelf, asking: Asking) -> None:
        # Not the asking itself: this must not keep alive what it is forgotten with.
        self._shelf, self._snapshot = shelf, shelf.snapshot
        self._questions, self._recipe, self._clusters = asking.questions, asking.recipe, asking.clusters
        self._background, self._sums = asking.background, shelf.sums(asking.known)
        self._opinions: dict[tuple[int, int], Opinion] = {}  # by vocabulary and question
        self._means: dict[int, Scores] = {}  # by vocabulary

    def _said(self, vocabulary: int, questions: Sequence[Question], first: int = 0) -> list[Opinion]:
        """What these questions, numbered from ``first`` on, say in one vocabulary."""
        for number, asked in enumerate(questions, first):
            if (vocabulary, number) not in self._opinions:
                sums = self._sums.within(f"{vocabulary} {number}")
                made = opinion(self._snapshot, asked, self._recipe, vocabulary, self._clusters, sums)
                self._opinions[vocabulary, number] = made
        return [self._opinions[vocabulary, number] for number in range(first, first + len(questions))]

    def _mean(self, vocabulary: int) -> Scores:
        """What all questions say there together."""
        if vocabulary not in self._means:
            self._means[vocabulary] = mean_scores(at_one_scale(self._said(vocabulary, self._questions)))
        return self._means[vocabulary]

    @property
    def _vocabularies(self) -> range:
        return range(self._snapshot.manifest.vocabularies)

    def _standing(self, totals: Sequence[Scores], count: int) -> Standing:
        together = np.stack([np.concatenate(scores) for scores in totals])
        chosen = np.unique(np.concatenate([best(scores, count) for scores in together]))
        starts = np.cumsum([0, *(len(scores) for scores in totals[0])])
        part = np.searchsorted(starts, chosen, side="right") - 1
        return Standing(np.array(self._shelf.numbers)[part], chosen - starts[part], together[:, chosen])

    # Steps

    def standing(self, count: int) -> Standing:
        """The best ``count`` pictures."""
        return self._standing([self._mean(v) for v in self._vocabularies], count)

    def again(self, questions: Sequence[Question], sources: Sequence[Place], count: int) -> Standing:
        """The same, asked by more questions, which are those of indexed pictures, the sources."""
        here = [(self._shelf.here[n], ordinal) if n in self._shelf.here else None for n, ordinal in sources]
        totals, own = [], len(self._questions)
        for v in self._vocabularies:
            both = [*self._said(v, self._questions), *self._said(v, questions, own)]
            totals.append(mean_of_others(at_one_scale(both), here))
        self._opinions = {of: said for of, said in self._opinions.items() if of[1] < own}  # no step needs the others
        return self._standing(totals, count)

    def locate(self, pictures: Sequence[tuple[int, Row]]) -> list[Located | None]:
        """Where in these pictures the questions are found."""
        found: dict[Place, Located | None] = {}
        for number, rows in _by_segment(pictures).items():
            located = locate(self._snapshot, self._shelf.here[number], self._questions, rows, self._recipe)
            found |= {(number, row.ordinal): one for row, one in zip(rows, located, strict=True)}
        return [found[number, row.ordinal] for number, row in pictures]

    def scores(self, pictures: Sequence[tuple[int, Row]]) -> list[float]:
        """Of these pictures, in the first vocabulary, as geometry and confidence are."""
        return [float(self._mean(0)[self._shelf.here[number]][row.ordinal]) for number, row in pictures]

    def spectrum(self) -> Spectrum:
        """Of the scores of pictures that share anything with the questions."""
        many = np.bincount(self._shared.view(np.uint32) >> COARSE)
        size = np.flatnonzero(many)
        return Spectrum(size, many[size])

    def scores_of(self, sizes: Int64) -> Float32:
        """Those scores, of these sizes."""
        return self._shared[np.isin(self._shared.view(np.uint32) >> COARSE, sizes)]

    @cached_property
    def _shared(self) -> Float32:
        seen = [
            s[(s > 0) & part.seen(self._background)]
            for s, part in zip(self._mean(0), self._snapshot.parts, strict=True)
        ]
        return np.concatenate(seen)
