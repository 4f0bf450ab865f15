"""k-NN voting against numbers worked out by hand and against a search that looks at everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import pytest

from resight.errors import UsageError
from resight.options import KnnOptions, ScoringOptions
from resight.scoring import Query, Tables, neighbours
from resight.vocabulary import Vocabulary
from resight.vocabulary.codes import decode, encode

from ..support.quantised import Array, WeighedSegment, described, picture, score, segment_of
from .twins import density_score

WORDS, DIMENSION, PIECES = 6, 4, 2
LAMBDA = 0.1
ODDS = LAMBDA / (1 - LAMBDA)


def knn(**options: Any) -> KnnOptions:
    return KnnOptions(**{"weights": "density", "mixture": LAMBDA, **options})


def keeping(descriptors: Array, word: Array | None = None, code: Array | None = None) -> Query:
    """A picture with these descriptors, which are kept as they are unless there are codes."""
    shown = picture(np.zeros(len(descriptors), np.int32) if word is None else word)
    kept = np.ascontiguousarray(descriptors).view(np.uint8) if code is None else code
    return described(replace(shown.words, code=kept), shown.geometry, descriptors)


def line(*places: int) -> Query:
    """Features on a line."""
    return keeping(np.array(places, np.uint8).reshape(-1, 1))


def scores(query: Query, segments: Sequence[WeighedSegment], options: ScoringOptions) -> Array:
    return np.concatenate(score(query, segments, options=options))


def test_by_hand() -> None:
    segment = segment_of([line(10, 20), line(13), line(30, 60, 70)], 1, np.ones(1))
    found = scores(line(11), [segment], knn(nearest=3))  # 10 is nearest, then 13, then 20: six features in all
    first = log(ODDS * 6 / (1 * 2) + 1) + log(ODDS * 6 / (3 * 2) + 1)
    assert found == pytest.approx([first, log(ODDS * 6 / (2 * 1) + 1), 0], rel=1e-6)


def test_those_equally_far_are_one_set() -> None:
    segment = segment_of([line(10, 12), line(12), line(99)], 1, np.ones(1))
    found = scores(line(11), [segment], knn(nearest=1))  # three are as near as the first
    assert found == pytest.approx([log(ODDS * 2 * 4 / (3 * 2) + 1), log(ODDS * 1 * 4 / (3 * 1) + 1), 0], rel=1e-6)


def test_fixed_votes_and_idf() -> None:
    segment = segment_of([line(10, 12), line(13), line(99)], 1, np.array([2.5]))
    assert scores(line(11, 14), [segment], knn(nearest=2, weights="fixed")).tolist() == [3, 1, 0]
    assert scores(line(11, 14), [segment], knn(nearest=2, weights="idf")).tolist() == [7.5, 2.5, 0]


def test_the_root_of_those_that_have_the_word_is_enough() -> None:
    """Two words, one with nine descriptors and one with a single one; the query's feature is nearest to the first."""
    word = np.array([0] * 9 + [1])
    segment = segment_of([keeping(np.arange(10, dtype=np.uint8).reshape(-1, 1), word)], 2, np.ones(2))
    asked = line(0)
    assert scores(asked, [segment], knn(weights="fixed")).tolist() == [3]
    other = replace(asked, words=replace(asked.words, word=np.array([1], np.int32)))
    assert scores(other, [segment], knn(weights="fixed")).tolist() == [1]


@dataclass
class Made:
    """Pictures of random descriptors near random words, and a query whose features have up to three words each."""

    vocabulary: Vocabulary
    pictures: list[Query]
    alive: Array
    query: Query

    def segment(self, begin: int = 0, end: int | None = None, *, exact: bool) -> WeighedSegment:
        shown = self.pictures[begin:end]
        if not exact:
            shown = [keeping(p.descriptors, p.words.word, self.code(p)) for p in shown if p.descriptors is not None]
        tables = Tables.of(self.vocabulary)
        segment = segment_of(shown, WORDS, np.arange(1.0, WORDS + 1), self.alive[begin:end])
        return segment if exact else replace(segment, tables=lambda: tables)

    def code(self, shown: Query) -> Array:
        assert shown.descriptors is not None
        return encode(self.vocabulary, shown.descriptors, shown.words.word)

    def wanted(self, options: KnnOptions, *, exact: bool) -> Array:
        """All distances, sorted."""
        stored = np.concatenate([p.descriptors for p in self.pictures if p.descriptors is not None]).astype(float)
        word = np.concatenate([p.words.word for p in self.pictures])
        image = np.repeat(np.arange(len(self.pictures)), [len(p.words) for p in self.pictures])
        if not exact:
            code = np.concatenate([self.code(p) for p in self.pictures])
            stored = decode(self.vocabulary, code, word).astype(float)
        asked, rows = self.query.descriptors, []
        assert asked is not None
        for feature, value in enumerate(asked.astype(float)):
            words = self.query.words.word[self.query.words.feature == feature]
            seen = self.alive[image] & (exact | np.isin(word, words))
            distance = ((stored - value) ** 2).sum(axis=1)
            most = options.nearest or max(round(np.sqrt((word[self.alive[image]] == words[0]).sum())), 1)
            limit = np.sort(distance[seen])[:most][-1] if seen.any() else -1
            rows += [(feature, distance[i], image[i]) for i in np.flatnonzero(seen & (distance <= limit))]
        whose, distance, near = (np.array(column) for column in zip(*rows, strict=True))
        lengths = np.array([len(p.words) for p in self.pictures])
        return density_score(whose, distance, near, self.alive, lengths, LAMBDA)


def made(seed: int, *, features: int = 150, removed: float = 0.3) -> Made:
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary(
        centroids=rng.integers(60, 190, (WORDS, DIMENSION), dtype=np.uint8),
        projection=np.zeros((64, DIMENSION), np.int8),
        medians=np.zeros((WORDS, 64), np.int16),
        description={},
        codebooks=rng.integers(-60, 60, (PIECES, 256, DIMENSION // PIECES), dtype=np.int16),
    )

    def shown(count: int) -> Query:
        word = rng.integers(0, WORDS, count)
        near = vocabulary.centroids[word] + rng.integers(-50, 50, (count, DIMENSION))
        return keeping(near.astype(np.uint8), word)

    pictures = [shown(int(rng.integers(0, 30))) for _ in range(25)]
    asked = shown(features)
    words = [rng.permutation(WORDS)[: rng.integers(1, 4)] for _ in range(features)]
    feature = np.repeat(np.arange(features), [len(w) for w in words])
    several = picture(np.concatenate(words), feature=feature)
    several = described(several.words, several.geometry, asked.known_features.descriptors)
    return Made(vocabulary, pictures, rng.random(25) >= removed, several)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("seed", "nearest"), [(0, 0), (1, 0), (0, 1), (1, 7), (2, 7), (0, 1000)])
def test_as_a_search_that_looks_at_everything(seed: int, nearest: int, exact: bool) -> None:
    some, options = made(seed), knn(nearest=nearest)
    found = scores(some.query, [some.segment(exact=exact)], options)
    assert found.any()
    assert found == pytest.approx(some.wanted(options, exact=exact), rel=1e-5)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_segments_do_not_matter(seed: int, exact: bool) -> None:
    some, options = made(seed), knn(nearest=5)
    whole = scores(some.query, [some.segment(exact=exact)], options)
    segments = [some.segment(a, b, exact=exact) for a, b in pairwise([0, 1, 1, 9, 25])]
    assert scores(some.query, segments, options).tolist() == whole.tolist()


@pytest.mark.parametrize("exact", [True, False])
def test_more_equally_near_than_there_is_room_for(exact: bool) -> None:
    """All descriptors are the same: each of a feature's votes is for all."""
    some = made(1, features=10, removed=0)
    alike = np.full((400, DIMENSION), 7, np.uint8)
    some.pictures = [keeping(alike, np.repeat(np.arange(2), 200))]
    some.alive = np.ones(1, np.bool_)
    options = knn(nearest=2)
    found = scores(some.query, [some.segment(exact=exact)], options)
    assert found == pytest.approx(some.wanted(options, exact=exact), rel=1e-5)


@pytest.mark.parametrize("compared", [1, 1000, 4000])
def test_a_few_descriptors_at_a_time(compared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    some, options = made(4, features=90), knn(nearest=6)
    monkeypatch.setattr(neighbours, "COMPARED", compared)
    found = scores(some.query, [some.segment(exact=True)], options)
    assert found == pytest.approx(some.wanted(options, exact=True), rel=1e-5)


def test_equal_floats_are_equally_far() -> None:
    """Whatever else is compared with them in one go."""
    rng = np.random.default_rng(2)
    same, others = rng.random((1, 37)).astype(np.float32), rng.random((40, 37)).astype(np.float32)
    shown = [keeping(np.concatenate([same, others[i : i + 2]])) for i in range(39)]
    found = scores(
        keeping(rng.random((5, 37)).astype(np.float32)), [segment_of(shown, 1, np.ones(1))], knn(nearest=200)
    )
    assert len(np.unique(found)) > 1
    alone = [keeping(same) for _ in range(17)]
    options, asked = knn(nearest=3), keeping(rng.random((5, 37)).astype(np.float32))
    assert len(np.unique(scores(asked, [segment_of(alone, 1, np.ones(1))], options))) == 1
    whole = scores(asked, [segment_of(shown, 1, np.ones(1))], options).tolist()
    halves = [segment_of(shown[:7], 1, np.ones(1)), segment_of(shown[7:], 1, np.ones(1))]
    assert scores(asked, halves, options).tolist() == whole


def test_kept_floats() -> None:
    rng = np.random.default_rng(1)
    shown = [keeping(rng.random((5, 3)).astype(np.float32)) for _ in range(4)]
    asked = shown[2]
    found = scores(asked, [segment_of(shown, 1, np.ones(1))], knn(nearest=1, weights="fixed"))
    assert found.tolist() == [0, 0, 5, 0]


def test_an_index_that_keeps_no_descriptors_says_so() -> None:
    shown = picture([0, 0])
    bare = replace(shown, words=replace(shown.words, code=None))
    segment = segment_of([bare], 1, np.ones(1))
    with pytest.raises(UsageError, match="index with --recipe knn"):
        scores(line(1), [segment], knn())
    with pytest.raises(UsageError, match="index with --recipe knn"):
        scores(replace(shown, features=None), [segment_of([shown], 1, np.ones(1))], knn())
