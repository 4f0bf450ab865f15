"""From pictures of things to a similarity that ranks others better than a formula does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from resight.errors import UsageError
from resight.learning_to_rank import Examples, TrainingQuery, Trial, examples, learn
from resight.learning_to_rank.learn import _fit
from resight.learning_to_rank.patterns import finest
from resight.options import CosineOptions, LearnOptions

from ..support.things import all_asked, dense, lists_of, things

K, EACH = 300, 4
OPTIONS = LearnOptions(word_groups=3, rounds=60)


def made(seed: int, count: int = 25, options: LearnOptions = OPTIONS) -> Examples:
    pictures = things(count, each=EACH, k=K, seed=seed)
    lists, (asked, thing) = lists_of(pictures, K), all_asked(pictures, EACH)
    return examples(lists, asked, thing, pictures=len(pictures), counts=np.diff(lists.offsets), options=options)


def ranked(given: Examples, found: Trial) -> float:
    most = len(found.pattern) - 1
    return given.pairs(found.word_groups, most).within(found.pattern).map(found.weights.ravel())


def plain(given: Examples) -> float:
    """mAP by the number of words in common."""
    pattern = np.array([[0, 0], [0, 1]], np.uint8)
    return given.pairs(1, 1).within(pattern).map(np.array([0.0, 1.0]))


@dataclass(frozen=True)
class Learnt:
    """The choice, and all that were tried."""

    found: Trial
    heard: list[Trial]


@pytest.fixture(scope="module")
def learnt() -> Learnt:
    heard: list[Trial] = []
    return Learnt(learn(made(0), OPTIONS, report=heard.append), heard)


def test_learnt_weights_rank_other_pictures_better_than_counting(learnt: Learnt) -> None:
    others = made(1)
    assert ranked(others, learnt.found) > plain(others) + 0.05


def test_learning_is_reproducible(learnt: Learnt) -> None:
    first, second = learnt.found, learn(made(0), OPTIONS)
    assert (first.pattern == second.pattern).all()
    assert first.weights.tolist() == second.weights.tolist()


def test_known_choices_are_not_tried_again(learnt: Learnt) -> None:
    whole, heard = learnt.found, learnt.heard
    assert [t.word_groups for t in heard] == sorted(t.word_groups for t in heard)
    known = [t for t in heard if t.word_groups < 3]
    again: list[Trial] = []
    resumed = learn(made(0), OPTIONS, known=known, report=again.append)
    assert {t.word_groups for t in again} == {3}
    assert resumed.weights.tolist() == whole.weights.tolist()


def test_the_choice_ranks_held_out_queries_best(learnt: Learnt) -> None:
    found, heard = learnt.found, learnt.heard
    best = max(heard, key=lambda t: t.map)
    assert (found.word_groups, found.bins) == (best.word_groups, best.bins)
    assert {t.word_groups for t in heard} == {1, 2, 3}


def test_symmetric_weights(learnt: Learnt) -> None:
    found = learnt.found
    assert (found.pattern == found.pattern.T).all()
    similarity = found.similarity(np.arange(K))
    assert (similarity.table == similarity.table.transpose(0, 2, 1)).all()
    heard: list[Trial] = []
    learn(made(0), replace(OPTIONS, symmetric=False, word_groups=1), report=heard.append)
    assert (heard[0].pattern != heard[0].pattern.T).any()


@pytest.mark.parametrize("rounds", [1, 5, 10])
def test_few_rounds_learn_something(rounds: int) -> None:
    assert learn(made(0), replace(OPTIONS, rounds=rounds, word_groups=1)).weights.any()


def test_queries_for_one_thing_share_a_fold() -> None:
    given = made(0)
    folds = given.fold.reshape(-1, EACH)
    assert (folds == folds[:, :1]).all()
    assert sorted(np.unique(folds[:, 0], return_counts=True)[1].tolist()) == [6, 6, 6, 7]


def test_rivals_are_irrelevant_pictures_the_most_alike_and_some_others() -> None:
    given = made(0, options=replace(OPTIONS, rivals=8))
    scored = given.scores(CosineOptions())
    for query, rivals, scores in zip(given.asked, given.rivals, scored, strict=True):
        assert len(rivals) == 8 + 2
        assert not {*rivals.tolist()} & {*query.relevant.tolist(), *query.ignored.tolist()}
        irrelevant = np.setdiff1d(np.arange(25 * EACH), [*query.relevant, *query.ignored])
        assert {*irrelevant[np.argsort(-scores[irrelevant], kind="stable")[:8]].tolist()} <= {*rivals.tolist()}
    everything = made(0, options=replace(OPTIONS, rivals=1000))
    assert all(len(rivals) == 25 * EACH - EACH for rivals in everything.rivals)


def test_what_a_similarity_ranks_best_becomes_a_rival() -> None:
    given = made(0, options=replace(OPTIONS, rivals=3))
    similarity = learn(given, replace(OPTIONS, rivals=3)).similarity(given.counts)
    harder, table = given.against(similarity, 3), similarity.table
    added = 0
    for query, before, after in zip(given.asked, given.rivals, harder.rivals, strict=True):
        own = dense(query.word, K, similarity.most)
        pictures = [dense(given.asked[i].word, K, similarity.most) for i in range(25 * EACH)]
        scores = np.array([table[similarity.group, own, each].sum() for each in pictures])
        irrelevant = np.setdiff1d(np.arange(25 * EACH), [*query.relevant, *query.ignored])
        best = irrelevant[np.argmax(scores[irrelevant])]
        assert best in after
        assert {*before.tolist()} <= {*after.tolist()} <= {*irrelevant.tolist()}
        assert len(after) <= len(before) + 3
        added += len(after) - len(before)
    assert added


def test_rivals_that_were_chosen_before_do_not_mislead() -> None:
    """With very noisy words and few rivals, weights that beat those rivals alone would rank all pictures worse."""
    options = replace(OPTIONS, rivals=24, word_groups=1, rounds=200)

    def noisy(seed: int, options: LearnOptions) -> Examples:
        pictures = things(60, each=EACH, k=1000, seed=seed, own=10, noise=30)
        lists, (asked, thing) = lists_of(pictures, 1000), all_asked(pictures, EACH)
        counts = np.diff(lists.offsets)
        return examples(lists, asked, thing, pictures=len(pictures), counts=counts, options=options)

    found, everything = learn(noisy(0, options), options), noisy(1, replace(options, rivals=1000))
    given = noisy(0, options)
    before = _fit(given.pairs(1, 3), finest(3, symmetric=True), given.fold, options)
    assert ranked(everything, found) > ranked(everything, before) + 0.05
    assert before.map > ranked(everything, before) + 0.3  # which looked good
    assert found.map < ranked(everything, found) + 0.1


def test_many_relevant_pictures_are_drawn_from() -> None:
    few = TrainingQuery(np.zeros(0, np.int32), np.arange(10), np.array([17])).fewer(4, np.random.default_rng(0))
    assert len(few.relevant) == 4
    assert sorted([*few.relevant.tolist(), *few.ignored.tolist()]) == [*range(10), 17]
    assert all(len(a.relevant) == 2 for a in made(0, options=replace(OPTIONS, rivals=2)).asked)


def test_fewer_queries_can_choose() -> None:
    few = made(0).some(10, seed=1)
    assert len(few.asked) == len(few.rivals) == 8
    assert sorted(few.fold.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sorted(made(0).some(2, seed=1).fold.tolist()) == [0, 1, 2, 3]
    found = learn(made(0), replace(OPTIONS, queries=20))
    assert ranked(made(1), found) > plain(made(1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"things": ["0"] * 8}, "at least two"),
        ({"outside": False}, "add other pictures"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(change: dict[str, Any], message: str) -> None:
    pictures = things(2, each=EACH, k=K)
    asked, thing = all_asked(pictures, EACH)
    if not change.get("outside", True):  # all but the relevant pictures are junk
        asked = [TrainingQuery(a.word, a.relevant, np.setdiff1d(np.arange(8), a.relevant)) for a in asked]
    lists = lists_of(pictures, K)
    with pytest.raises(UsageError, match=message):
        examples(lists, asked, change.get("things", thing), pictures=8, counts=np.diff(lists.offsets), options=OPTIONS)
