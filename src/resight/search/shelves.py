"""All shelves of an index: a search asks each of them, and puts together what they say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..recipes import RECIPES, Recipe
from ..rerank import aggregate
from ..scoring import IN_ONE_PLACE, Wanted, best
from ..store import Manifest, Row, Snapshot
from .candidates import Candidate
from .question import Question
from .shelf import Asking, Letter, Shelf, Spectrum, Standing


class Shelves(ABC):
    """The shelves of one commit. May be asked from several threads at once."""

    in_one_place: ClassVar[bool] = False  # all segments are on one shelf in this process

    def __init__(self, snapshot: Snapshot, dealt: Sequence[Sequence[int]]) -> None:
        self.snapshot, self._dealt = snapshot, dealt
        self._shelf_of = {number: shelf for shelf, numbers in enumerate(dealt) for number in numbers}
        self._known: dict[str, npt.NDArray[Any]] = {}  # counts over all shelves that stay true

    @abstractmethod
    def _send(self, letters: Mapping[int, Letter]) -> dict[int, Any]:
        """What each shelf answers."""

    def ask(self, step: str, *arguments: Any, asking: Asking) -> list[Any]:
        """What each shelf answers, in the order of shelves."""
        answers = self._answers(dict.fromkeys(range(len(self._dealt)), Letter(step, arguments, asking)))
        return [answers[shelf] for shelf in range(len(self._dealt))]

    def ask_of(self, step: str, items: Sequence[tuple[int, Any]], *, asking: Asking | None = None) -> list[Any]:
        """What is said of each item by the shelf that has its segment, the number of which comes first in it."""
        mine: dict[int, list[int]] = {}
        for place, (number, _) in enumerate(items):
            mine.setdefault(self._shelf_of[number], []).append(place)
        letters = {shelf: Letter(step, ([items[i] for i in some],), asking) for shelf, some in mine.items()}
        found: list[Any] = [None] * len(items)
        for shelf, answers in self._answers(letters).items():
            for place, answer in zip(mine[shelf], answers, strict=True):
                found[place] = answer
        return found

    def stored(self, pictures: Sequence[tuple[int, Row]]) -> list[Question]:
        """What indexed pictures ask."""
        return self.ask_of("stored", pictures)

    def locate(self, asking: Asking, candidates: Sequence[Candidate]) -> None:
        """Ask geometry about each candidate, which is told in place."""
        found = self.ask_of("locate", [(c.part, c.row) for c in candidates], asking=asking)
        for candidate, located in zip(candidates, found, strict=True):
            candidate.checked, candidate.located = True, located

    def _answers(self, letters: Mapping[int, Letter]) -> dict[int, Any]:
        """What each shelf answers, once all of them are told the counts that they want to know of all.

        A shelf may have lost what it was told: it then wants to know it again.
        """
        answers = self._send(letters)
        while wanting := {shelf: a for shelf, a in answers.items() if isinstance(a, Wanted)}:
            lessons, ready = {}, []
            for shelf, wanted in wanting.items():
                asking = letters[shelf].asking
                known = self._known if wanted.lasting or asking is None else asking.known
                if wanted.name not in known:
                    counts = [w.mine for w in wanting.values() if w.name == wanted.name]
                    if len(counts) < len(self._dealt):
                        continue  # the others have not come as far: they must be told something else first
                    known[wanted.name] = np.max(counts, axis=0) if wanted.peak else np.sum(counts, axis=0)
                ready.append(shelf)
                if wanted.lasting:
                    lessons[shelf] = Letter("learn", (wanted.name, known[wanted.name]))
            assert ready, f"{[*wanting.values()]}: a step that counts must be asked of all shelves"
            self._send(lessons)
            answers |= self._send({shelf: letters[shelf] for shelf in ready})
        return answers


class Searchers(Protocol):
    """Places where segments can be searched."""

    def shelves(self, snapshot: Snapshot) -> Shelves:
        """The segments of a commit, each in one of the places."""


class OneShelf(Shelves):
    """All segments on one shelf in this process; no shelf, if there are none."""

    in_one_place = True

    def __init__(self, snapshot: Snapshot) -> None:
        self._shelf = Shelf.whole(snapshot)
        super().__init__(snapshot, [self._shelf.numbers] if snapshot.segments else [])

    def _send(self, letters: Mapping[int, Letter]) -> dict[int, Any]:
        return {shelf: self._shelf.answer(letter) for shelf, letter in letters.items()}


def deal(manifest: Manifest, shelves: int) -> list[list[int]]:
    """The numbers of the segments that go on each of so many shelves: about equally many features; no shelf is empty.

    The largest first, each to the shelf that has least; of equal ones to that with fewer segments, or to the first.
    """
    dealt: list[list[int]] = [[] for _ in range(min(shelves, len(manifest.segments)))]
    load = [0] * len(dealt)
    sizes = [segment.features for segment in manifest.segments]
    for number in sorted(range(len(sizes)), key=lambda n: (-sizes[n], n)):
        least = min(range(len(dealt)), key=lambda shelf: (load[shelf], len(dealt[shelf])))
        dealt[least].append(number)
        load[least] += sizes[number]
    return [sorted(numbers) for numbers in dealt]


def insist_on_spreadable(recipe: Recipe) -> None:
    """Raise UsageError where a search needs all pictures in one place."""
    if recipe.scoring.measure in IN_ONE_PLACE:
        fit = [name for name, each in RECIPES.items() if each.scoring.measure not in IN_ONE_PLACE]
        raise UsageError(
            f"the measure {recipe.scoring.measure} needs all pictures in one place; leave --engine out, "
            f"or search with one of the recipes {', '.join(fit)}"
        )


def shortlist(shelves: Shelves, standings: Sequence[Standing], count: int, recipe: Recipe) -> list[Candidate]:
    """The best ``count`` living pictures by score, in order; by the ranks in each vocabulary, if there are several."""
    if not standings:
        return []
    part, ordinal, scores = (np.concatenate(column, axis=-1) for column in zip(*standings, strict=True))
    several = len(scores) > 1
    total = scores[0]
    if several:
        total = aggregate([*scores], quantile=recipe.aggregate.quantile, depth=depth(recipe, count))
    chosen = best(total, count)
    rows = shelves.ask_of("rows", list(zip(part[chosen].tolist(), ordinal[chosen].tolist(), strict=True)))
    candidates = [
        Candidate(int(part[i]), row, float(total[i]), plain=float(scores[0][i]) if several else None)
        for i, row in zip(chosen, rows, strict=True)
    ]
    return sorted(candidates, key=lambda c: c.by_score)[:count]


def standings(shelves: Shelves, step: str, *arguments: Any, count: int, asking: Asking) -> list[Standing]:
    """The best pictures of each shelf: as many as ``shortlist`` needs to find the best ``count`` of all."""
    several = shelves.snapshot.manifest.vocabularies > 1
    wanted = depth(asking.recipe, count) if several else count
    return shelves.ask(step, *arguments, wanted, asking=asking)


def depth(recipe: Recipe, count: int) -> int:
    """Ranks that count, where there are several vocabularies."""
    return max(recipe.aggregate.depth, count)


def background(shelves: Shelves, asking: Asking) -> float:
    """The median score of pictures that share anything with the questions.

    Clusters near the query are no background, so where only some are visited, others are too: see ``spread``.
    """
    spectra: list[Spectrum] = shelves.ask("spectrum", asking=asking)
    size, place = np.unique(np.concatenate([np.zeros(0, np.int64), *(s.size for s in spectra)]), return_inverse=True)
    if not len(size):
        return 0.0
    below = np.zeros(len(size) + 1, np.int64)  # how many are smaller
    np.add.at(below, place + 1, np.concatenate([s.many for s in spectra]))
    below = np.cumsum(below)
    middle = np.array([(below[-1] - 1) // 2, below[-1] // 2])
    bins = np.unique(np.searchsorted(below, middle, side="right") - 1)
    scores = np.sort(np.concatenate(shelves.ask("scores_of", size[bins], asking=asking)))
    return float(scores[middle - below[bins[0]]].mean(dtype=np.float64))
