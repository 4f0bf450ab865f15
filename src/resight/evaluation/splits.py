"""Measures that are fitted to some pictures, judged on others: random halves of a dataset (LEARN-14 §4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..connected import Connected
from ..learn import sample_pictures
from ..learning_to_rank import Examples, TrainingQuery, examples, learn
from ..options import AssignOptions, LearnOptions, ScoringOptions
from ..postings import Lists, build
from ..scoring import Query, Scope, SegmentView, Similarity, collection_statistics, score_all
from ..search import quantise
from ..store import open_snapshot
from ..types import Int32, Int64, Words
from ..vocabulary import Assigner
from .cache import read
from .datasets import Dataset
from .measures import Truth, score
from .runner import Prepared, measures_of

EQUAL = 1e-9  # means that differ by no more are equally good
ONE_WORD = AssignOptions(neighbours=1)


@dataclass(frozen=True)
class Contents:
    """The words of a dataset's pictures and queries."""

    pictures: Mapping[str, tuple[Words, npt.NDArray[Any]]]  # by key; unreadable ones are missing
    queries: Sequence[Int32]  # in the dataset's order; an unreadable one has no words
    words: int  # of the vocabulary

    @classmethod
    def read(cls, prepared: Prepared) -> Contents:
        with open_snapshot(prepared.index) as snapshot:
            (span,) = snapshot.spans
            pictures = {p.key: (p.words, p.geometry) for p in sample_pictures(snapshot, snapshot.pictures, 0, span)}
            assigner, none = Assigner(snapshot.vocabulary), np.zeros(0, np.int32)
            with threadpool_limits(1):  # as in Runner._index
                asked = [quantise(assigner, read(f), ONE_WORD).words.word if f else none for f in prepared.queries]
        return cls(pictures, asked, len(span))


@dataclass(frozen=True)
class Half:
    """Some pictures of a dataset, and the queries whose answers are among them."""

    keys: Sequence[str]
    lists: Lists
    words: Sequence[Int32]  # of each query
    queries: Sequence[str]  # the key of each
    truths: Sequence[Truth]
    things: Sequence[str]  # that queries ask for
    measures: tuple[str, ...]  # the first counts

    @property
    def counts(self) -> Int64:
        return np.diff(self.lists.offsets)

    def judge(self, options: ScoringOptions, similarity: Similarity | None = None) -> dict[str, float]:
        """The measures of all rankings by these options."""
        segments, rankings = [SegmentView.of(self.lists, pictures=len(self.keys))], []
        scope = Scope(options, collection_statistics(segments, options, similarity=similarity))
        for word in self.words:
            (found,) = score_all(Query.of_words(word), segments, scope)
            order = np.argsort(-found, kind="stable")
            rankings.append([self.keys[i] for i in order.tolist() if found[i] > 0])
        return score(rankings, self.truths, self.measures, database=len(self.keys)).means

    def examples(self, options: LearnOptions) -> Examples:
        """What can be learnt from: queries that have words and relevant pictures here, other than themselves."""
        place = {key: number for number, key in enumerate(self.keys)}

        def places(keys: frozenset[str]) -> Int64:
            return np.array(sorted(place[key] for key in keys if key in place), np.int64)

        asked, things = [], []
        for word, key, truth, thing in zip(self.words, self.queries, self.truths, self.things, strict=True):
            relevant = places(truth.relevant - {key})
            if len(word) and len(relevant):
                asked.append(TrainingQuery(word, relevant, places(truth.junk | {key})))
                things.append(thing)
        return examples(self.lists, asked, things, pictures=len(self.keys), counts=self.counts, options=options)


def halves(dataset: Dataset, seed: int) -> tuple[Int64, Int64, list[str]]:
    """The half (0 or 1) of each picture and of each query, and the thing that each query asks for.

    A query, its relevant pictures and its junk, which shows the same thing, are in the same half; so are queries that
    share such a picture. Of the things asked for, and of the other pictures, half go to each.
    """
    same = Connected()
    for query in dataset.queries:
        for key in query.truth.relevant | query.truth.junk:
            same.connect(query.key, key)
    things = [same.leader(query.key) for query in dataset.queries]
    alone = [leader for key, _ in dataset.images if (leader := same.leader(key)) not in {*things}]
    rng, half = np.random.default_rng(seed), dict[str, int]()
    for names in (sorted({*things}), alone):
        half |= zip(names, (rng.permutation(len(names)) % 2).tolist(), strict=True)
    of_pictures = [half[same.leader(key)] for key, _ in dataset.images]
    return np.array(of_pictures), np.array([half[thing] for thing in things]), things


def cut(dataset: Dataset, contents: Contents, seed: int) -> tuple[Half, Half]:
    """The dataset's halves. Pictures that could not be read are in neither, and are not found where relevant."""
    of_picture, of_query, things = halves(dataset, seed)

    def half(number: int) -> Half:
        shown = [dataset.images[i][0] for i in np.flatnonzero(of_picture == number).tolist()]
        keys = [key for key in shown if key in contents.pictures]
        queries = np.flatnonzero(of_query == number).tolist()
        return Half(
            keys,
            build([contents.pictures[key] for key in keys], words=contents.words),
            [contents.queries[i] for i in queries],
            [dataset.queries[i].key for i in queries],
            [dataset.queries[i].truth for i in queries],
            [things[i] for i in queries],
            measures_of(dataset),
        )

    return half(0), half(1)


@dataclass(frozen=True)
class Fitted:
    """A measure and the values of its options among which the training half chooses; of ``learnt``, how it learns."""

    choices: Sequence[ScoringOptions]
    learning: LearnOptions | None = None

    def judge(self, training: Half, test: Half) -> dict[str, float]:
        """Fitted to one half, measured on the other."""
        if self.learning:
            found = learn(training.examples(self.learning), self.learning)
            return test.judge(self.choices[0], found.similarity(test.counts))
        first = training.measures[0]
        best = self.choices[0]
        if len(self.choices) > 1:
            best = max(self.choices, key=lambda options: training.judge(options)[first])
        return test.judge(best)


def judge_splits(
    dataset: Dataset, contents: Contents, systems: Mapping[str, Fitted], *, seeds: Iterable[int]
) -> dict[str, dict[str, float]]:
    """Of each system the mean of each measure over some splits, and ``wins``: in how many of them it is the best."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
    wins = dict.fromkeys(systems, 0)
    for seed in seeds:
        training, test = cut(dataset, contents, seed)
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
