"""Draws docs/learnt.svg for docs/LEARNT.md: ``python docs/learnt.py [--data DATA] [--cache CACHE]``.

LEARN-14 figure 3: how well pictures are ranked that were not learnt from, round by round, by either objective; and
figure 4: the weights, in the pattern of eight bins that mergers lead to. Both from UKbench, with the ready vocabulary,
five groups of words, counts up to 3, symmetric.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resight.cli.evaluating import default_cache
from resight.cli.experimenting import default_data
from resight.evaluation.datasets import load
from resight.evaluation.experiments.experiment import DOG
from resight.evaluation.runner import Runner
from resight.evaluation.splits import Contents, Half, cut
from resight.learning_to_rank.descent import OBJECTIVES, descend
from resight.learning_to_rank.pairs import Pairs
from resight.learning_to_rank.patterns import coarser, finest
from resight.machine import processors
from resight.options import CosineOptions, LearnOptions, LearntOptions
from resight.scoring import Similarity
from resight.scoring.similarity import groups_by_frequency

DOCS = Path(__file__).parent
GROUPS, MOST, BINS, ROUNDS = 5, 3, 8, 200
SHOWN = [*range(0, 10), *range(10, 50, 5), *range(50, ROUNDS, 10), ROUNDS - 1]  # rounds
NAMES = {"nearest": "eq. 11: against the best irrelevant picture", "pairs": "eq. 9: against all of them"}
OPTIONS = LearnOptions()


def rounds(pairs: Pairs, test: Half, name: str) -> list[float]:
    """N-S of the other half after each of the rounds shown."""
    pattern = finest(MOST, symmetric=True)
    group, figures = groups_by_frequency(test.counts, GROUPS), []

    def judge(number: int, value: float, weights: Any) -> bool:
        if number in SHOWN:
            similarity = Similarity(pattern, weights.reshape(GROUPS, -1).astype(np.float32), group)
            figures.append(test.judge(LearntOptions(), similarity)["ns"])
        return True

    descend(pairs.within(pattern), OBJECTIVES[name], regularisation=OPTIONS.regularisation, rounds=ROUNDS, judge=judge)
    return figures


def weights_of(pairs: Pairs) -> Any:
    """(groups, n + 1, n + 1), in the pattern of so many bins."""
    start, objective = finest(MOST, symmetric=True), OBJECTIVES["nearest"]
    for pattern, weights in coarser(pairs, start, objective=objective, regularisation=OPTIONS.regularisation):
        if int(pattern.max()) + 1 == BINS:
            return weights.reshape(GROUPS, BINS)[:, pattern]
    raise AssertionError


def draw_rounds(axes: Axes, figures: dict[str, list[float]], cosine: float) -> None:
    for name, values in figures.items():
        axes.plot(SHOWN, values, label=NAMES[name])
    axes.axhline(cosine, color="grey", linestyle=":", label="weighted cosine")
    axes.set(xlabel="round", ylabel="N-S of the other half", title="as LEARN-14 figure 3")
    axes.set_ylim(bottom=min(min(values[3:]) for values in figures.values()) - 0.05)
    axes.legend()


def draw_weights(axes: Axes, table: Any) -> None:
    """In units of the largest weight of a word that both have once."""
    table = table - table[:, :1, :1]
    table = table / table[:, 1, 1].max()
    pairs = [(1, 1), (2, 2), (3, 3), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    width = 0.8 / GROUPS
    for group in range(GROUPS):
        places = np.arange(len(pairs)) + width * (group - (GROUPS - 1) / 2)
        axes.bar(places, [table[group, j, n] for j, n in pairs], width, label=f"group {group + 1}")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(pairs)), [f"{j}, {n}" for j, n in pairs])
    axes.set(xlabel="counts in query and picture", ylabel="weight, absent in both: 0", title="as LEARN-14 figure 4")
    axes.legend(title="words, rare to frequent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--cache", type=Path, default=default_cache())
    asked = parser.parse_args()
    dataset = load("ukbench", asked.data / "ukbench")
    runner = Runner(cache=asked.cache, processes=processors())
    training, test = cut(dataset, Contents.read(runner.prepare(dataset, DOG)), seed=0)
    cosine = test.judge(CosineOptions())["ns"]
    pairs = training.examples(OPTIONS).pairs(GROUPS, MOST)
    found = {name: rounds(pairs, test, name) for name in NAMES}
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_rounds(left, found, cosine)
    draw_weights(right, weights_of(pairs))
    figure.savefig(DOCS / "learnt.svg", metadata={"Date": None})
    for name, figures in found.items():
        print(name, *(f"{number}: {value:.3f}" for number, value in zip(SHOWN, figures, strict=True)))
    print(f"weighted cosine {cosine:.3f}")


if __name__ == "__main__":
    main()
