"""Queries with known answers → a similarity; groups and patterns by cross-validation (LEARN-14 §3.3, §4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..options import CosineOptions, LearnOptions, LearntOptions, ScoringOptions
from ..postings import Lists
from ..scoring import Query, Scope, SegmentView, best, collection_statistics, score_all
from ..scoring.similarity import Similarity, groups_by_frequency
from ..types import Bytes, Float32, Float64, Int64
from .descent import OBJECTIVES, descend
from .pairs import Pairs, Problem, TrainingQuery, pair_up, truncation
from .patterns import coarser, finest

MOST_COUNTS = 5  # larger ones are not told apart, whatever the rule for the truncation says
MOST_BINS = 9  # of the patterns that are tried, besides the finest
LEAST_BINS = 3  # with two there is nothing but whether the words are shared
EVERY = 10  # rounds after which queries that were held out are ranked
PATIENCE = 5  # such rankings without a better one that end a descent
WEIGHED = 4  # times as many queries as choose say what the weights are
HARDENED = 2  # times that further rivals are looked for


@dataclass(frozen=True)
class Trial:
    """A choice of groups and pattern, and how well it ranks queries that were held out."""

    pattern: Bytes
    weights: Float64  # (groups, bins), the mean of those of all folds
    map: float
    loss: float  # what the objective came to, for each query that was learnt from

    def as_dict(self) -> dict[str, Any]:
        plain = {"pattern": self.pattern.tolist(), "weights": self.weights.tolist()}
        return {**plain, "map": self.map, "loss": self.loss}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        pattern, weights = np.array(values["pattern"], np.uint8), np.array(values["weights"], np.float64)
        return cls(pattern, weights, float(values["map"]), float(values["loss"]))

    @property
    def word_groups(self) -> int:
        return len(self.weights)

    @property
    def bins(self) -> int:
        return int(self.weights.shape[1])

    def similarity(self, counts: Int64) -> Similarity:
        """For a collection in which words occur so often."""
        return Similarity(self.pattern, self.weights.astype(np.float32), groups_by_frequency(counts, self.word_groups))


@dataclass(frozen=True)
class Examples:
    """A collection, and queries with known answers."""

    lists: Lists
    pictures: int
    counts: Int64  # (K,) how often words occur in the collection that will be searched: this one, or it is part of it
    asked: Sequence[TrainingQuery]
    rivals: Sequence[Int64]  # irrelevant pictures that each query is compared with
    fold: Int64  # of each query

    def some(self, count: int, seed: int) -> Examples:
        """With no more than so many queries, drawn at random, equally many of each fold, and one at least."""
        rng, folds = np.random.default_rng(seed), np.unique(self.fold)
        each = max(count // len(folds), 1)
        chosen = [rng.permutation(np.flatnonzero(self.fold == number))[:each] for number in folds]
        drawn = np.sort(np.concatenate(chosen)).tolist()
        asked, rivals = [self.asked[i] for i in drawn], [self.rivals[i] for i in drawn]
        return replace(self, asked=asked, rivals=rivals, fold=self.fold[drawn])

    def against(self, similarity: Similarity, count: int) -> Examples:
        """With further rivals: so many that this similarity takes for the most similar of the irrelevant pictures."""
        found = self.scores(LearntOptions(), similarity)
        every = zip(self.asked, self.rivals, found, strict=True)
        return replace(self, rivals=[np.union1d(known, _most_alike(a, scores, count)) for a, known, scores in every])

    def scores(self, options: ScoringOptions, similarity: Similarity | None = None) -> Iterator[Float32]:
        """Of all pictures, for each query."""
        segments = [SegmentView.of(self.lists, pictures=self.pictures)]
        scope = Scope(options, collection_statistics(segments, options, similarity=similarity))
        return (score_all(Query.of_words(query.word), segments, scope)[0] for query in self.asked)

    def pairs(self, word_groups: int, most: int) -> Pairs:
        group = groups_by_frequency(self.counts, word_groups)
        found = pair_up(self.asked, self.lists, pictures=self.pictures, group=group, most=most, candidates=self.rivals)
        return found.levelled


def examples(
    lists: Lists,
    asked: Sequence[TrainingQuery],
    things: Sequence[str],
    *,
    pictures: int,
    counts: Int64,
    options: LearnOptions,
) -> Examples:
    """With folds, of which queries for the same thing share one, and each query's rivals: most like it, or drawn."""
    names, number = np.unique(np.asarray(things), return_inverse=True)
    if len(names) < 2:
        raise UsageError("one group cannot both be learnt from and be checked with; give at least two")
    rng = np.random.default_rng(options.seed)
    fold = (rng.permutation(len(names)) % options.folds)[number]
    asked = [query.fewer(options.rivals, rng) for query in asked]
    given = Examples(lists, pictures, counts, asked, [], fold)
    rivals = []
    for query, scores in zip(asked, given.scores(CosineOptions()), strict=True):
        near = _most_alike(query, scores, options.rivals)
        others = rng.permutation(np.setdiff1d(np.flatnonzero(_irrelevant(query, pictures)), near))
        rivals.append(np.union1d(near, others[: -(-options.rivals // 4)]))
    if not all(len(irrelevant) for irrelevant in rivals):
        raise UsageError("there is no picture outside of a group to tell its pictures from; add other pictures")
    return replace(given, rivals=rivals)


def _irrelevant(query: TrainingQuery, pictures: int) -> npt.NDArray[np.bool_]:
    found = np.ones(pictures, np.bool_)
    found[query.relevant] = found[query.ignored] = False
    return found


def _most_alike(query: TrainingQuery, scores: Float32, count: int) -> Int64:
    """The irrelevant pictures with the best scores above 0."""
    near = best(scores * _irrelevant(query, len(scores)), count)
    return near[np.lexsort((near, -scores[near]))][:count]


def learn(
    given: Examples,
    options: LearnOptions,
    *,
    known: Sequence[Trial] = (),
    report: Callable[[Trial], None] = lambda tried: None,
) -> Trial:
    """The choice that ranks queries best that were held out, its weights from more queries.

    ``report`` hears of each choice; numbers of groups that are among those known already are not tried again.
    """
    most = min(truncation(given.lists), MOST_COUNTS)
    more = _hardened(given.some(WEIGHED * options.queries, options.seed), most, options)
    few, tried = more.some(options.queries, options.seed), list(known)
    for word_groups in range(1, options.word_groups + 1):
        if all(t.word_groups != word_groups for t in known):
            for each in _try(few, few.pairs(word_groups, most), options):
                tried.append(each)
                report(each)
    chosen = max(tried, key=lambda t: (t.map, -t.word_groups, -t.bins))
    return _fit(more.pairs(chosen.word_groups, most), chosen.pattern, more.fold, options)


def _hardened(given: Examples, most: int, options: LearnOptions) -> Examples:
    """With rivals that are hard not for cosine alone, but for learnt weights, too.

    Eq. 11 is about the best irrelevant picture by the weights that are looked for. Judged by rivals that were chosen
    without any, weights would seem better than they are, and those that do well against these alone would be chosen.
    """
    pattern = finest(most, symmetric=options.symmetric)
    for _ in range(HARDENED):
        found = _fit(given.pairs(1, most), pattern, given.fold, options)
        given = given.against(found.similarity(given.counts), options.rivals)
    return given


def _try(given: Examples, pairs: Pairs, options: LearnOptions) -> Iterator[Trial]:
    """Coarser and coarser patterns."""
    start = finest(int(np.sqrt(pairs.counts.shape[2])) - 1, symmetric=options.symmetric)
    for pattern, _ in coarser(
        pairs, start, objective=OBJECTIVES[options.objective], regularisation=options.regularisation
    ):
        if pattern is start or LEAST_BINS <= int(pattern.max()) + 1 <= MOST_BINS:
            yield _fit(pairs, pattern, given.fold, options)


def _fit(pairs: Pairs, pattern: Bytes, fold: Int64, options: LearnOptions) -> Trial:
    """For each fold the weights from all others, as they were when they ranked it best; then the mean."""
    problem, objective, found = pairs.within(pattern), OBJECTIVES[options.objective], []
    for number in np.unique(fold).tolist():
        learning, checking = problem.of(np.flatnonzero(fold != number)), problem.of(np.flatnonzero(fold == number))
        judge = _Best(checking, options.rounds)
        descend(learning, objective, regularisation=options.regularisation, rounds=options.rounds, judge=judge)
        found.append((judge.weights, judge.map, judge.value / len(learning.relevant)))
    weights, maps, losses = zip(*found, strict=True)
    groups = pairs.counts.shape[1]
    return Trial(pattern, np.mean(weights, axis=0).reshape(groups, -1), float(np.mean(maps)), float(np.mean(losses)))


class _Best:
    """Keeps the weights that rank some queries best, and says when it has been long since they got better."""

    def __init__(self, checking: Problem, rounds: int) -> None:
        self._checking, self._rounds, self._since = checking, rounds, 0
        self.map, self.value, self.weights = -1.0, 0.0, np.zeros(0)

    def __call__(self, number: int, value: float, weights: Float64) -> bool:
        if number % EVERY and number != self._rounds:
            return True
        found = self._checking.map(weights)
        self._since += 1
        if found > self.map:
            self.map, self.value, self.weights, self._since = found, value, weights, 0
        return self._since < PATIENCE
