"""λ of density-ratio scores (DRE-12), fitted: the one with which pictures with known answers are ranked best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from ..recipes import Recipe, change
from .datasets import Dataset
from .runner import Runner

# About three per decade; 0.006, 0.06 and 0.1 are DRE-12's.
MIXTURES = (0.0003, 0.001, 0.003, 0.006, 0.01, 0.03, 0.06, 0.1, 0.3, 0.6)
EQUAL = 1e-9  # mAP that differ by no more are equally good


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How good each λ is."""

    figures: dict[float, float]  # λ → mAP
    skipped: tuple[str, ...]  # pictures that could not be read, with the reason


def fit_mixture(runner: Runner, dataset: Dataset, recipe: Recipe) -> Fit:
    """Ask with every λ; pictures are indexed, and the words of a query looked for, once for all of them."""
    evaluation = runner.evaluate(dataset, {str(mixture): with_mixture(recipe, mixture) for mixture in MIXTURES})
    figures = {mixture: row.means["map"] for mixture, row in zip(MIXTURES, evaluation.rows, strict=True)}
    return Fit(figures=figures, skipped=evaluation.skipped)


def best(figures: Mapping[float, float], default: float) -> float:
    """The λ of the greatest mAP; of equally good ones that nearest to the default, in ratio.

    >>> best({0.01: 0.5, 0.1: 0.7, 0.6: 0.7}, default=0.06)
    0.1
    """
    most = max(figures.values())
    good = [mixture for mixture, value in figures.items() if value >= most - EQUAL]
    return min(good, key=lambda mixture: abs(log(mixture / default)))


def with_mixture(recipe: Recipe, mixture: float) -> Recipe:
    return change(recipe, {"scoring": {"mixture": mixture}})
