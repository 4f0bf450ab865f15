"""Halves of a dataset, and measures fitted to one that are judged on the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight.evaluation.datasets import Dataset, Query
from resight.evaluation.measures import Truth
from resight.evaluation.splits import Contents, Fitted, Half, cut, halves, judge_splits
from resight.options import AsymmetricOptions, CosineOptions, LearnOptions, LearntOptions

from ..support.things import Array, lists_of, shown, things

K, EACH = 300, 4
COSINE = CosineOptions()


def made_dataset(groups: int, others: int) -> Dataset:
    """Groups of three; the first picture of each asks for the two others.

    Queries 0 and 1 share a relevant picture; query 2 has junk.
    """
    keys = [f"{g}-{i}" for g in range(groups) for i in range(3)] + [f"other-{i}" for i in range(others)]
    queries = []
    for g in range(groups):
        relevant = {f"{g}-1", f"{g}-2"} | ({"0-1"} if g == 1 else set())
        junk = {f"{g}-0"} | ({"other-0"} if g == 2 else set())
        truth = Truth(frozenset(relevant), frozenset(junk))
        queries.append(Query(name=str(g), key=f"{g}-0", path=Path(f"{g}-0"), truth=truth))
    images = tuple((key, Path(key)) for key in keys)
    return Dataset(name="made", root=Path(), images=images, queries=tuple(queries), measures=("map",))


@pytest.mark.parametrize("seed", range(5))
def test_queries_are_where_their_relevant_pictures_are(seed: int) -> None:
    dataset = made_dataset(11, 20)
    pictures, queries, thing = halves(dataset, seed)
    half = {key: int(h) for (key, _), h in zip(dataset.images, pictures, strict=True)}
    for query, mine in zip(dataset.queries, queries.tolist(), strict=True):
        assert {half[key] for key in query.truth.relevant | query.truth.junk} == {mine}
    assert queries[0] == queries[1]
    assert thing[0] == thing[1]
    assert len({*thing}) == 10
    assert sorted(np.unique(queries[1:], return_counts=True)[1].tolist()) == [5, 5]
    assert pictures[-19:].sum() in (9, 10)


def made_contents(dataset: Dataset, missing: str) -> Contents:
    """Pictures of a group have words of their own; one picture could not be read, nor could the last query."""
    groups = {key: key.partition("-")[0] for key, _ in dataset.images}
    numbers = {name: i for i, name in enumerate(dict.fromkeys(groups.values()))}

    def word(key: str) -> Array:
        return np.array([numbers[groups[key]], 50, 51], np.int32)

    pictures = {key: shown(word(key)) for key, _ in dataset.images if key != missing}
    queries = [word(query.key) for query in dataset.queries]
    return Contents(pictures, [*queries[:-1], np.zeros(0, np.int32)], 60)


@pytest.mark.parametrize("seed", range(3))
def test_what_could_not_be_read_is_not_found(seed: int) -> None:
    dataset = made_dataset(12, 20)
    contents = made_contents(dataset, missing="3-1")
    both = cut(dataset, contents, seed)
    keys = [key for half in both for key in half.keys]
    assert sorted(keys) == sorted(key for key, _ in dataset.images if key != "3-1")
    aps = {}
    for half in both:
        alone = half.judge(COSINE)["map"] * len(half.queries)
        aps[alone] = len(half.queries)
        asked = half.examples(LearnOptions()).asked
        assert len(asked) == len(half.queries) - ("11-0" in half.queries)
        for each in asked:
            assert not {*each.relevant.tolist()} & {*each.ignored.tolist()}
    # All but: query 0's picture 0-1 also answers query 1, which shares no word of its own with it; half of query 3;
    # and all of the last one.
    assert sum(aps) < 12 - 1 - 0.5 + 1e-9
    assert sum(aps) > 12 - 1 - 0.5 - 1


def test_means_and_wins_of_splits() -> None:
    dataset = made_dataset(12, 20)
    contents = made_contents(dataset, missing="none")
    systems = {
        "cosine": Fitted([COSINE]),
        "same": Fitted([COSINE]),
        "asymmetric": Fitted([AsymmetricOptions(alpha=0.0)]),
    }
    found = judge_splits(dataset, contents, systems, seeds=range(4))
    cuts = [cut(dataset, contents, seed) for seed in range(4)]
    by_hand = {
        name: [fitted.judge(training, test)["map"] for training, test in cuts] for name, fitted in systems.items()
    }
    assert {name: each["map"] for name, each in found.items()} == {
        name: pytest.approx(np.mean(values)) for name, values in by_hand.items()
    }
    best = np.max([*by_hand.values()], axis=0)
    assert {name: each["wins"] for name, each in found.items()} == {
        name: (np.array(values) >= best - 1e-9).sum() for name, values in by_hand.items()
    }
    assert found["cosine"]["wins"] == found["same"]["wins"]


def test_splits_differ_by_seed_alone() -> None:
    dataset = made_dataset(11, 20)
    assert halves(dataset, 1)[0].tolist() == halves(dataset, 1)[0].tolist()
    assert halves(dataset, 1)[0].tolist() != halves(dataset, 2)[0].tolist()


def made_half(seed: int, count: int = 20) -> Half:
    """Every picture asks for the others of its thing, and is junk itself."""
    pictures = things(count, each=EACH, k=K, seed=seed)
    keys = [f"{i:03d}" for i in range(len(pictures))]
    truths = []
    for i in range(len(keys)):
        group = range(i // EACH * EACH, i // EACH * EACH + EACH)
        truths.append(Truth(frozenset(keys[j] for j in group if j != i), frozenset({keys[i]})))
    words = [word.astype(np.int32) for word in pictures]
    thing = [str(i // EACH) for i in range(len(keys))]
    return Half(keys, lists_of(pictures, K), words, keys, truths, thing, ("map", "recall@1"))


def test_learnt_weights_are_better_on_the_other_half() -> None:
    training, test = made_half(0), made_half(1)
    plain = Fitted([COSINE]).judge(training, test)
    learnt = Fitted([LearntOptions()], LearnOptions(word_groups=2, rounds=60)).judge(training, test)
    assert plain.keys() == learnt.keys() == {"map", "recall@1"}
    assert learnt["map"] > plain["map"]


def test_the_training_half_chooses() -> None:
    training, test = made_half(0), made_half(1)
    choices = [AsymmetricOptions(alpha=alpha) for alpha in (0.0, 0.5, 1.0, 3.0)]
    best = max(choices, key=lambda options: training.judge(options)["map"])
    assert Fitted(choices).judge(training, test) == test.judge(best)
    assert len({training.judge(options)["map"] for options in choices}) > 1


def test_rankings_hold_what_has_anything_in_common() -> None:
    """By hand: the query {0, 1}; picture a has both words, b one, c neither."""
    pictures: list[Array] = [np.array([0, 1]), np.array([1, 2]), np.array([3])]
    truth: Any = [Truth(frozenset({"a", "c"}))]
    half = Half(["a", "b", "c"], lists_of(pictures, 4), [np.array([0, 1], np.int32)], ["q"], truth, ["q"], ("map",))
    assert half.judge(COSINE)["map"] == pytest.approx(0.5)  # a is first, c is not found
