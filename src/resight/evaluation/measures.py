"""Rankings × known answers → figures, as the papers define them. Pure functions, no input or output.

A ranking is a sequence of ids, best first, each at most once; it may stop early. Junk (pictures that are neither right
nor wrong) is taken out before anything is counted, as if it were not in the database. Holidays and Lola are scored the
same way with the query as the only junk: removing it from its ranking is the whole difference (``drop`` does that).
In all formulas R is the number of relevant pictures, found or not, and rank counts from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from ..errors import UsageError
from ..types import Float64

Id = TypeVar("Id", bound=Hashable)
Ids = Set[Hashable]
Rankings = Sequence[Sequence[str]]
LEVELS: Float64 = np.linspace(0, 1, 11)  # recall levels of a precision–recall plot
LOWER_IS_BETTER = frozenset({"anr", "never-seen", "most-returned"})
_DIGITS = {"anr": 4, "most-returned": 0}


def style(measure: str) -> str:
    """How tables print this measure: a format specification."""
    return f".{_DIGITS.get(measure, 3)}f"


@dataclass(frozen=True, slots=True)
class Truth:
    """The known answer of one query."""

    relevant: frozenset[str]
    junk: frozenset[str] = frozenset()  # ignored wherever it is ranked

    def __post_init__(self) -> None:
        _check(self.relevant, self.junk)


@dataclass(frozen=True, slots=True)
class Scores:
    """What ``score`` computed; the keys are measure names, in the order asked for."""

    means: dict[str, float]
    per_query: dict[str, Float64]  # (queries,) each


class Judged(NamedTuple):
    """All that measures need to know of one ranking, junk already gone."""

    ranks: list[int]  # of the relevant pictures found, ascending
    listed: int  # length of the ranking
    relevant: int  # R
    junk: int  # how many pictures of the database are junk


def drop(ranked: Sequence[Id], unwanted: Ids) -> list[Id]:
    """The ranking without these ids; later ones move up. ``drop(ranked, {query})`` is the Holidays rule."""
    return [i for i in ranked if i not in unwanted]


def judge(ranked: Sequence[Hashable], relevant: Ids, junk: Ids = frozenset()) -> Judged:
    """Look up every id of a ranking in the known answer, once for all measures."""
    _check(relevant, junk)
    if len(set(ranked)) != len(ranked):
        raise UsageError(f"{Counter(ranked).most_common(1)[0][0]!r} is ranked more than once; list each picture once")
    kept = drop(ranked, junk)
    return Judged([r for r, i in enumerate(kept, 1) if i in relevant], len(kept), len(relevant), len(junk))


def average_precision(ranked: Sequence[Hashable], relevant: Ids, junk: Ids = frozenset()) -> float:
    """AP as Oxford's compute_ap has it: the area under the precision–recall curve, by trapezoids.

    AP = 1/R · Σ_i ((i−1)/(rank_i−1) + i/rank_i) / 2 over the relevant pictures found, with 0/0 = 1: the i-th one is
    a step of 1/R in recall between the precisions just before and at it. What is not found adds nothing. The mean over
    queries is the mAP of BURST-09 §5.1 and LEARN-14 §4.1; the Holidays package and the revisited protocol do the same.
    """
    return _average_precision(judge(ranked, relevant, junk))


def ns_score(ranked: Sequence[Hashable], relevant: Ids, junk: Ids = frozenset()) -> float:
    """N-S: how many of the first four are of the query's group, itself included; 4 is perfect (CDM-10 §V-A)."""
    return _ns_score(judge(ranked, relevant, junk))


def eer(ranked: Sequence[Hashable], relevant: Ids, junk: Ids = frozenset()) -> float:
    """EER: precision (= recall) of the first R, |{i : rank_i ≤ R}| / R (CDM-07 §5.1). On N-S sets it is N-S / 4."""
    return _eer(judge(ranked, relevant, junk))


def anr(ranked: Sequence[Hashable], relevant: Ids, junk: Ids = frozenset(), *, database: int) -> float:
    """ANR = 1/(n·R) · (Σ rank_i − R(R+1)/2): 0 is perfect, chance is near 1/2 (CDM-07 eq. 16, CDM-10 eq. 16).

    CDM-10 prints it without 1/n, but describes the value with it. n = ``database`` − junk is the length of a complete
    ranking. A relevant picture that was not returned gets the mean of the places left over, (listed + 1 + n) / 2: where
    it would be expected if the rest followed in random order. (Rank n for each would put several in one place and
    punish a list that stops where nothing but relevant pictures are left.)
    """
    return _anr(judge(ranked, relevant, junk), database)


def recall_at(ranked: Sequence[Hashable], relevant: Ids, junk: Ids = frozenset(), *, k: int) -> float:
    """The share of the relevant pictures that is among the first k, |{i : rank_i ≤ k}| / R."""
    return _recall_at(judge(ranked, relevant, junk), k)


def precision_at(ranked: Sequence[Hashable], relevant: Ids, junk: Ids = frozenset(), *, k: int) -> float:
    """The share of relevant ones among the first k' = min(k, rank_R): mP@k of the revisited Oxford and Paris protocol.

    (Radenović et al., CVPR 2018.) Stopping at the last relevant picture keeps 1 within reach where R < k. If any is
    missing from the ranking, rank_R is beyond its end, k' = k, and places that were not filled count as wrong.
    """
    return _precision_at(judge(ranked, relevant, junk), k)


def score(rankings: Rankings, truths: Sequence[Truth], names: Sequence[str], *, database: int) -> Scores:
    """Measures (map, ns, eer, anr, recall@K, mp@K) of each query, and their means, over ``database`` pictures."""
    formulas = {name: _formula(name) for name in names}
    judged = _judge_all(rankings, truths)
    per_query = {n: np.array([f(j, k or database) for j in judged], np.float64) for n, (f, k) in formulas.items()}
    return Scores({name: float(values.mean()) for name, values in per_query.items()}, per_query)


def precision_recall(rankings: Rankings, truths: Sequence[Truth], levels: Float64 = LEVELS) -> Float64:
    """Mean over queries of the interpolated precision p(r) = max {i / rank_i : i / R ≥ r}, 0 for none, for plots."""
    curves = []
    for ranks, _, relevant, _ in _judge_all(rankings, truths):
        precision = np.arange(1, len(ranks) + 1) / np.array(ranks, np.float64)
        best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)  # of this one and all after it
        first = np.ceil(np.asarray(levels) * relevant - 1e-9).astype(int) - 1  # the hit that reaches the level
        curves.append(best[np.clip(first, 0, len(ranks))])
    return np.asarray(np.mean(curves, axis=0), np.float64)


def _average_precision(judged: Judged, _: int = 0) -> float:
    steps = (((i - 1) / (r - 1) if r > 1 else 1.0) + i / r for i, r in enumerate(judged.ranks, 1))
    return sum(steps) / 2 / judged.relevant


def _ns_score(judged: Judged, _: int = 0) -> float:
    return float(_found(judged, 4))


def _recall_at(judged: Judged, k: int) -> float:
    return _found(judged, k) / judged.relevant


def _eer(judged: Judged, _: int = 0) -> float:
    return _recall_at(judged, judged.relevant)


def _anr(judged: Judged, database: int) -> float:
    n, missing = database - judged.junk, judged.relevant - len(judged.ranks)
    if judged.listed + missing > n:
        raise UsageError(
            f"{judged.listed} pictures ranked and {missing} relevant ones not found do not fit into a database of "
            f"{database} with {judged.junk} junk; pass the number of pictures that were searched"
        )
    total = sum(judged.ranks) + missing * (judged.listed + 1 + n) / 2
    return (total - judged.relevant * (judged.relevant + 1) / 2) / (n * judged.relevant)


def _precision_at(judged: Judged, k: int) -> float:
    depth = min(k, judged.ranks[-1]) if len(judged.ranks) == judged.relevant else k
    return _found(judged, depth) / depth


Formula = Callable[[Judged, int], float]
# Name → formula. The number is K for those of _AT, the size of the database for the others.
_WHOLE: dict[str, Formula] = {"map": _average_precision, "ns": _ns_score, "eer": _eer, "anr": _anr}
_AT: dict[str, Formula] = {"recall": _recall_at, "mp": _precision_at}


def _formula(name: str) -> tuple[Formula, int]:
    """The formula of this name and its K, 0 where it has none."""
    if name in _WHOLE:
        return _WHOLE[name], 0
    base, _, k = name.partition("@")
    if base in _AT and k.isdecimal() and int(k) > 0:
        return _AT[base], int(k)
    raise UsageError(f"unknown measure {name!r}; known: {', '.join([*_WHOLE, *(f'{at}@K' for at in _AT)])}")


def _judge_all(rankings: Rankings, truths: Sequence[Truth]) -> list[Judged]:
    if len(rankings) != len(truths) or not truths:
        raise UsageError(f"{len(rankings)} rankings for {len(truths)} queries; give one ranking for each query")
    return [judge(ranked, truth.relevant, truth.junk) for ranked, truth in zip(rankings, truths, strict=True)]


def _found(judged: Judged, depth: int) -> int:
    if depth < 1:
        raise UsageError(f"k must be at least 1, not {depth}")
    return sum(rank <= depth for rank in judged.ranks)


def _check(relevant: Ids, junk: Ids) -> None:
    if not relevant:
        raise UsageError("no picture is relevant to this query; leave the query out")
    if both := relevant & junk:
        raise UsageError(f"{next(iter(both))!r} is both relevant and junk; remove it from one of the two")
