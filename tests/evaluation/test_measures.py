"""Every measure against numbers worked out by hand, and AP against Oxford's published loop, written again here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resight.errors import UsageError
from resight.evaluation.measures import (
    LEVELS,
    Truth,
    anr,
    average_precision,
    drop,
    eer,
    ns_score,
    precision_at,
    precision_recall,
    recall_at,
    score,
)
from resight.evaluation.neighbourhoods import diagnose, first_of, most_returned, never_seen, returned, reversibility


def compute_ap(ranked: Sequence[Hashable], ok: Set[Hashable], junk: Set[Hashable]) -> Fraction:
    """Oxford's compute_ap.cpp, step by step, in exact numbers."""
    old_recall, old_precision, area = Fraction(0), Fraction(1), Fraction(0)
    hits = seen = 0
    for name in ranked:
        if name in junk:
            continue
        hits += name in ok
        seen += 1
        recall, precision = Fraction(hits, len(ok)), Fraction(hits, seen)
        area += (recall - old_recall) * (old_precision + precision) / 2
        old_recall, old_precision = recall, precision
    return area


# Ranking, relevant, junk, AP; letters are pictures, and x, y, z are wrong ones.
OXFORD = [
    # recall 0→1 at the first place, precision 1 and 1.
    ("a", "a", "", 1.0),
    ("abxy", "ab", "", 1.0),
    # Place 1: recall 0→0. Place 2: recall 0→1, precision 0 and 1/2: (0 + 1/2)/2.
    ("xa", "a", "", 0.25),
    # 1: recall 0→1/2 · (1 + 1)/2 = 1/2. 2: precision 1/2. 3: recall 1/2→1 · (1/2 + 2/3)/2 = 7/24. Together 19/24.
    ("axb", "ab", "", 19 / 24),
    # 1: 0. 2: 1/3 · (0 + 1/2)/2 = 1/12. 3: 1/3 · (1/2 + 2/3)/2 = 7/36. c is never found. Together 10/36.
    ("xab", "abc", "", 10 / 36),
    # Junk does not advance the rank: as "axb" and "a".
    ("ajxkb", "ab", "jk", 19 / 24),
    ("jka", "a", "jk", 1.0),
    # Junk after the last hit, or junk that is not ranked at all, changes nothing.
    ("axbj", "ab", "jkl", 19 / 24),
    # 1: 1/4 · 1. 2: 1/4 · 1. 5: precision at 4 is 2/4, at 5 is 3/5: 1/4 · (1/2 + 3/5)/2 = 11/80. Together 51/80.
    ("abxycz", "abcd", "", 51 / 80),
    ("xyz", "a", "", 0.0),
    ("", "a", "", 0.0),
    ("jk", "a", "jk", 0.0),
]


@pytest.mark.parametrize(("ranked", "relevant", "junk", "wanted"), OXFORD)
def test_average_precision_by_hand(ranked: str, relevant: str, junk: str, wanted: float) -> None:
    assert average_precision(ranked, set(relevant), set(junk)) == pytest.approx(wanted, abs=1e-12)
    assert float(compute_ap(ranked, set(relevant), set(junk))) == pytest.approx(wanted, abs=1e-12)


@given(st.permutations(range(12)), st.integers(0, 12), st.sets(st.integers(0, 14), min_size=1), st.data())
def test_average_precision_is_oxfords(order: list[int], stop: int, relevant: set[int], data: st.DataObject) -> None:
    junk = data.draw(st.sets(st.integers(0, 14))) - relevant
    ranked = order[:stop]
    assert average_precision(ranked, relevant, junk) == pytest.approx(float(compute_ap(ranked, relevant, junk)))
    assert average_precision(drop(ranked, junk), relevant) == average_precision(ranked, relevant, junk)


def test_holidays_is_oxford_without_the_query() -> None:
    # The query q comes first in its own ranking. Without it: "xab", relevant a and b:
    # 2: 1/2 · (0 + 1/2)/2 = 1/8. 3: 1/2 · (1/2 + 2/3)/2 = 7/24. Together 10/24.
    assert drop("qxab", {"q"}) == ["x", "a", "b"]
    assert average_precision(drop("qxab", {"q"}), set("ab")) == pytest.approx(10 / 24)
    assert average_precision("qxab", set("ab"), {"q"}) == pytest.approx(10 / 24)


@pytest.mark.parametrize(
    ("ranked", "ns", "rate"), [("abcd", 4, 1.0), ("axbyc", 2, 0.5), ("xyzwabcd", 0, 0.0), ("ab", 2, 0.5), ("", 0, 0.0)]
)
def test_ns_is_four_times_eer_for_groups_of_four(ranked: str, ns: int, rate: float) -> None:
    assert ns_score(ranked, set("abcd")) == ns
    assert eer(ranked, set("abcd")) == rate


def test_eer_looks_at_as_many_as_are_relevant() -> None:
    assert eer("axb", set("ab")) == 1 / 2  # first two: a, x
    assert eer("ajb", set("ab"), set("j")) == 1.0  # first two that count: a, b
    assert eer("a", set("abc")) == 1 / 3


def test_anr() -> None:
    assert anr("abxyz", set("ab"), database=5) == 0.0
    # Ranks 2 and 5: (7 − 3) / (5 · 2). The worst order of five: (9 − 3) / 10.
    assert anr("xayzb", set("ab"), database=5) == pytest.approx(0.4)
    assert anr("xyzab", set("ab"), database=5) == pytest.approx(0.6)
    # j is not in the database then: as "xab" among 4 pictures, (5 − 3) / (4 · 2).
    assert anr("xajb", set("ab"), set("j"), database=5) == pytest.approx(0.25)
    assert anr([7, 3], {3}, database=10) == pytest.approx(0.1)


def test_anr_of_pictures_that_were_not_returned() -> None:
    # Places 3, 4, 5 are left over, 4 in the mean: ranks 1 and 4, (5 − 3) / (5 · 2).
    assert anr("ax", set("ab"), database=5) == pytest.approx(0.2)
    # Nothing returned: chance. Ranks 5.5 for one of ten: (5.5 − 1) / 10.
    assert anr("", set("a"), database=10) == pytest.approx(0.45)
    # Only relevant ones are left: perfect, whatever their order.
    assert anr("a", set("abc"), database=3) == 0.0
    # It is the mean over all ways to go on: b at 3, 4 or 5.
    ways = [anr(r, set("ab"), database=5) for r in ("axbyz", "axybz", "axyzb")]
    assert anr("ax", set("ab"), database=5) == pytest.approx(np.mean(ways))


def test_anr_refuses_a_database_that_is_too_small() -> None:
    with pytest.raises(UsageError, match="3 pictures ranked and 1 relevant"):
        anr("axy", set("ab"), database=3)


def test_recall_at() -> None:
    assert [recall_at("xajb", set("ab"), set("j"), k=k) for k in (1, 2, 3, 10)] == [0, 1 / 2, 1, 1]
    assert recall_at("a", set("abc"), k=5) == pytest.approx(1 / 3)


def test_precision_at_is_that_of_the_revisited_protocol() -> None:
    # Ranks 1 and 3. k = 1: 1/1. k = 2: 1/2. k ≥ 3: k' = 3, 2/3.
    assert [precision_at("axbyz", set("ab"), k=k) for k in (1, 2, 3, 10)] == pytest.approx([1, 1 / 2, 2 / 3, 2 / 3])
    assert precision_at("ajb", set("ab"), set("j"), k=5) == 1.0
    # b is not ranked, so it comes later than any k: 1/5.
    assert precision_at("ax", set("ab"), k=5) == pytest.approx(1 / 5)
    assert precision_at("", set("a"), k=5) == 0.0
    with pytest.raises(UsageError, match="at least 1"):
        precision_at("a", set("a"), k=0)


def test_precision_recall_curve() -> None:
    # "axb": precision 1 at recall 1/2, 2/3 at recall 1; levels above 1/2 get 2/3.
    one = precision_recall(["axb"], [Truth(frozenset("ab"))])
    assert one == pytest.approx([1] * 6 + [2 / 3] * 5)
    # "xa" of a, b: 1/2 up to recall 1/2, then nothing. "xab": the later 2/3 lifts the earlier 1/2.
    assert precision_recall(["xa"], [Truth(frozenset("ab"))]) == pytest.approx([1 / 2] * 6 + [0] * 5)
    assert precision_recall(["xab"], [Truth(frozenset("ab"))]) == pytest.approx([2 / 3] * 11)
    both = precision_recall(["axb", ""], [Truth(frozenset("ab"))] * 2, LEVELS[[0, 10]])
    assert both == pytest.approx([1 / 2, 1 / 3])
    # Three relevant ones: a recall of 1/3 as a level must count as reached, whatever its rounding.
    thirds = precision_recall(["axbyc"], [Truth(frozenset("abc"))], np.array([1 / 3, 2 / 3, 1]))
    assert thirds == pytest.approx([1, 2 / 3, 3 / 5])


def test_score_gives_means_and_single_values() -> None:
    truths = [Truth(frozenset("ab")), Truth(frozenset("c"), frozenset("q"))]
    scores = score(["axb", "qc"], truths, ["map", "ns", "eer", "anr", "recall@1", "mp@2"], database=4)
    assert {name: list(values) for name, values in scores.per_query.items()} == {
        "map": [pytest.approx(19 / 24), 1.0],
        "ns": [2.0, 1.0],
        "eer": [0.5, 1.0],
        "anr": [pytest.approx(1 / 8), 0.0],  # ranks 1 and 3: (4 − 3) / (4 · 2)
        "recall@1": [0.5, 1.0],
        "mp@2": [0.5, 1.0],
    }
    assert list(scores.means) == ["map", "ns", "eer", "anr", "recall@1", "mp@2"]
    assert scores.means["map"] == pytest.approx(43 / 48)
    assert scores.means["anr"] == pytest.approx(1 / 16)


@pytest.mark.parametrize("name", ["mAP", "recall", "recall@", "recall@0", "recall@-1", "mp@x", "ns@4", ""])
def test_unknown_measures_are_refused_with_a_list(name: str) -> None:
    with pytest.raises(UsageError, match=r"known: map, ns, eer, anr, recall@K, mp@K"):
        score(["a"], [Truth(frozenset("a"))], [name], database=1)


def test_rankings_and_queries_must_match() -> None:
    with pytest.raises(UsageError, match="2 rankings for 1 queries"):
        score(["a", "b"], [Truth(frozenset("a"))], ["map"], database=2)
    with pytest.raises(UsageError, match="0 rankings for 0 queries"):
        score([], [], ["map"], database=2)


@pytest.mark.parametrize("measure", [average_precision, ns_score, eer])
def test_what_does_not_fit_together_is_refused(measure: Callable[..., float]) -> None:
    with pytest.raises(UsageError, match="'b' is ranked more than once"):
        measure("abcb", set("a"))
    with pytest.raises(UsageError, match="'b' is both relevant and junk"):
        measure("abc", set("ab"), set("bc"))
    with pytest.raises(UsageError, match="no picture is relevant"):
        measure("abc", set[str]())
    with pytest.raises(UsageError, match="'b' is both relevant and junk"):
        Truth(frozenset("ab"), frozenset("bc"))


def test_neighbourhoods() -> None:
    # 0 ↔ 1, 2 → 0, 3 → 0: rates 1, 1, 0, 0. Nobody returns 2 or 3; three return 0.
    chain = np.array([[1], [0], [0], [0]])
    assert (reversibility(chain), never_seen(chain), most_returned(chain)) == (0.5, 0.5, 3)
    # 0: {1, 2}, 1: {0, 2}, 2: {0, 3}, 3: {0, 1}. Mutual: 0–1, 0–2. Rates 1, 1/2, 1/2, 0. Returned 3, 2, 2, 1 times.
    pairs = np.array([[1, 2], [0, 2], [0, 3], [0, 1]])
    assert (reversibility(pairs), never_seen(pairs), most_returned(pairs)) == (0.5, 0.0, 3)
    assert reversibility(pairs[:, ::-1]) == 0.5
    # Short rows: 0: {1}, 1: {0, 2}, 2: none. Rates 1, 1/2, 0.
    short = np.array([[1, -1], [0, 2], [-1, -1]])
    assert (reversibility(short), never_seen(short), most_returned(short)) == (0.5, 0.0, 1)


def test_diagnosis_of_rankings() -> None:
    """The query is left out of its own ranking wherever it stands; at most ten others count."""
    keys = [f"{i:02}" for i in range(20)]
    star = [[keys[0], *keys[1:]] if i == 0 else [keys[i], keys[0]] for i in range(20)]
    # 00 has ten neighbours, each of which has only 00; the other nine have 00 too, and nobody has them.
    near = first_of(keys, star)
    assert returned(near).tolist() == [19] + [1] * 10 + [0] * 9
    assert diagnose(near) == {
        "reversibility": pytest.approx((1 + 10) / 20),
        "never-seen": pytest.approx(9 / 20),
        "most-returned": 19.0,
    }


@given(st.integers(2, 8), st.integers(1, 4), st.integers(0, 1000))
def test_reversibility_is_equation_3(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [rng.permutation([j for j in range(n) if j != i])[: min(k, n - 1)] for i in range(n)]
    wanted = sum(sum(i in rows[j] for j in rows[i]) / len(rows[i]) for i in range(n)) / n
    assert reversibility(np.array(rows)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("neighbours", "message"),
    [
        ([[1, 0], [0, 1]], "picture 0 is its own neighbour"),
        ([[1, 1], [0, -1]], "listed twice"),
        ([[2], [0]], "0 to 1"),
        ([[-2], [0]], "0 to 1"),
        ([[], []], "shape"),
        ([1, 0], "shape"),
    ],
)
def test_wrong_neighbours_are_refused(neighbours: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        reversibility(np.array(neighbours, np.int64))
