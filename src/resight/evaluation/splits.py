"""Measures that are fitted to some pictures, judged on others: random halves of a dataset (LEARN-14 §4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..learning import Asked, examples, learn
from ..options import AssignOptions, LearnOptions, ScoringOptions
from ..postings import Lists, build, count
from ..scoring import Part, Query, Similarity, idf_weights, together
from ..scoring import score as scores_of
from ..search import question
from ..store import drawn, open_snapshot
from ..types import Int32, Int64
from ..vocabulary import Assigner
from .cache import read
from .datasets import Dataset
from .measures import Truth, score
from .runner import Prepared, measures_of

EQUAL = 1e-9  # means that differ by no more are equally good
ONE_WORD = AssignOptions(neighbours=1)


@dataclass(frozen=True)
class Half:
    """Some pictures of a dataset, and the queries whose answers are among them."""

    keys: Sequence[str]
    lists: Lists
    words: Sequence[Int32]  # of each query
    truths: Sequence[Truth]
    things: Sequence[int]  # that queries ask for
    measures: tuple[str, ...]  # the first counts

    @property
    def part(self) -> Part:
        df = count(self.lists, np.ones(len(self.keys), np.bool_))[0]
        return Part.of(self.lists, pictures=len(self.keys), idf=idf_weights(df, len(self.keys)))

    @property
    def counts(self) -> Int64:
        return np.diff(self.lists.offsets)

    def judge(self, options: ScoringOptions, similarity: Similarity | None = None) -> dict[str, float]:
        """The measures of all rankings by these options."""
        parts, rankings = together([self.part], lambda: similarity), []
        for word in self.words:
            (found,) = scores_of(Query.of_words(word), parts, options=options)
            order = np.argsort(-found, kind="stable")
            rankings.append([self.keys[i] for i in order.tolist() if found[i] > 0])
        return score(rankings, self.truths, self.measures, database=len(self.keys)).means

    def asked(self) -> list[Asked]:
        place = {key: number for number, key in enumerate(self.keys)}
        places = [
            [np.array(sorted(place[key] for key in keys), np.int64) for keys in (truth.relevant, truth.junk)]
            for truth in self.truths
        ]
        return [Asked(word, relevant, junk) for word, (relevant, junk) in zip(self.words, places, strict=True)]


def halves(dataset: Dataset, seed: int) -> tuple[Int64, Int64, Int64]:
    """The half (0 or 1) of each picture and of each query, and the thing that each query asks for.

    A query and its relevant pictures are in the same half; so are queries that share a relevant picture. Of the things
    asked for, and of the other pictures, half go to each.
    """
    number = {key: i for i, (key, _) in enumerate(dataset.images)}
    leader = list(range(len(number)))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for query in dataset.queries:
        first, *others = sorted(number[key] for key in query.truth.relevant | {query.key} if key in number)
        for other in others:
            leader[find(other)] = find(first)
    thing = np.array([find(number[min(query.truth.relevant)]) for query in dataset.queries])
    of_picture = np.array([find(i) for i in range(len(number))])
    rng, half = np.random.default_rng(seed), np.zeros(len(number), np.int64)
    for things in (np.unique(thing), np.setdiff1d(of_picture, thing)):
        half[things] = rng.permutation(len(things)) % 2
    return half[of_picture], half[thing], thing


def cut(dataset: Dataset, prepared: Prepared, seed: int) -> tuple[Half, Half]:
    """The dataset's halves, from its index and the features of its queries."""
    with open_snapshot(prepared.index) as snapshot:
        (span,) = snapshot.spans
        words = {key: picture for key, _, picture in drawn(snapshot, snapshot.pictures, 0, span)}
        assigner = Assigner(snapshot.vocabulary)
        asked = [None if f is None else question(assigner, read(f), ONE_WORD).words.word for f in prepared.queries]
    of_picture, of_query, thing = halves(dataset, seed)
    found = []
    for half in (0, 1):
        keys = [key for (key, _), mine in zip(dataset.images, of_picture == half, strict=True) if mine and key in words]
        queries = [i for i in np.flatnonzero(of_query == half).tolist() if asked[i] is not None]
        there = frozenset(keys)
        truths = [dataset.queries[i].truth for i in queries]
        found.append(
            Half(
                keys,
                build([words[key] for key in keys], words=len(span)),
                [word for i in queries if (word := asked[i]) is not None],
                [Truth(truth.relevant & there, truth.junk & there) for truth in truths],
                thing[queries].tolist(),
                measures_of(dataset),
            )
        )
    return found[0], found[1]


@dataclass(frozen=True)
class Fitted:
    """A measure and the values of its options among which the training half chooses; of ``learnt``, how it learns."""

    choices: Sequence[ScoringOptions]
    learning: LearnOptions | None = None

    def judge(self, training: Half, test: Half) -> dict[str, float]:
        """Fitted to one half, measured on the other."""
        if self.learning:
            asked = training.asked()
            given = examples(
                training.lists, asked, training.things,
                pictures=len(training.keys), counts=training.counts, options=self.learning,
            )  # fmt: skip
            return test.judge(self.choices[0], learn(given, self.learning).similarity(test.counts))
        first = training.measures[0]
        best = self.choices[0]
        if len(self.choices) > 1:
            best = max(self.choices, key=lambda options: training.judge(options)[first])
        return test.judge(best)


def judge_splits(
    dataset: Dataset, prepared: Prepared, systems: Mapping[str, Fitted], *, seeds: Iterable[int]
) -> dict[str, dict[str, float]]:
    """Of each system the mean of each measure over some splits, and ``wins``: in how many of them it is the best."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
    wins = dict.fromkeys(systems, 0)
    for seed in seeds:
        training, test = cut(dataset, prepared, seed)
        for name, system in systems.items():
            found[name].append(system.judge(training, test))
        first = test.measures[0]
        most = max(figures[-1][first] for figures in found.values())
        for name, figures in found.items():
            wins[name] += figures[-1][first] >= most - EQUAL
    means = {
        name: {measure: float(np.mean([each[measure] for each in figures])) for measure in figures[0]}
        for name, figures in found.items()
    }
    return {name: {**means[name], "wins": float(wins[name])} for name in systems}
