"""Draws docs/context-* for docs/CONTEXT.md: ``python docs/context.py [--cache CACHE]``.

The toy example needs nothing, and the neighbourhoods are those of pictures that the demo makes. Rounds, and how often
each picture is returned, are measured on the UKbench pictures in $RESIGHT_DATA.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from neighbourhood import neighbourhood

from resight.cli.evaluating import default_cache
from resight.context import METHODS, Neighbours, nearest
from resight.context.neighbours import smallest
from resight.context.terms import rounds
from resight.evaluation.datasets import load
from resight.evaluation.experiments.experiment import SYSTEMS
from resight.evaluation.measures import score
from resight.evaluation.neighbourhoods import NEIGHBOURS, diagnose, first_of, returned
from resight.evaluation.report.plots import draw_returned
from resight.evaluation.runner import Runner
from resight.machine import processors
from resight.options import ContextOptions
from resight.scoring import collection_statistics
from resight.store import open_snapshot

DOCS = Path(__file__).parent
DATA = Path(os.environ.get("RESIGHT_DATA") or DOCS.parents[1] / "shared" / "data")
# A crowd, and some that stand alone.
POINTS = np.array([[0.0, 0.0], [0.5, 0.45], [0.75, -0.2], [0.2, -0.6], [2.2, 0.3], [3.6, -1.0], [3.3, 1.5]], np.float32)
COUNT = 3
CROWDED, ALONE = 2, 4  # numbers 3 and 5 in the drawing
Array = npt.NDArray[Any]


def toy() -> Figure:
    """CDM-10 figure 1: who is near point 5, before and after neighbourhoods are made equally wide."""
    distance = np.linalg.norm(POINTS[:, None] - POINTS[None], axis=2)
    near = neighbours(distance)
    terms = METHODS["cdm"](near, ContextOptions(method="cdm", neighbours=COUNT))
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw(left, distance, np.ones(len(POINTS)), "distances as they are")
    draw(right, distance, terms.delta, "with context terms")
    return figure


def neighbours(distance: Array) -> Neighbours:
    apart = distance.astype(np.float32).copy()
    np.fill_diagonal(apart, np.inf)
    order = np.array([smallest(row, len(row) - 1) for row in apart])
    return Neighbours(order, np.take_along_axis(apart, order.astype(np.int64), axis=1))


def draw(axes: Axes, distance: Array, delta: Array, title: str) -> None:
    """The points, the neighbourhoods of two of them, and who is near whom."""
    near = neighbours(distance * delta[:, None] * delta[None])
    for number, colour in ((CROWDED, "tab:blue"), (ALONE, "tab:red")):
        circle = distance[number, near.picture[number, :COUNT]].mean()
        x, y = (circle * f(np.linspace(0, 2 * np.pi, 100)) for f in (np.cos, np.sin))
        axes.plot(POINTS[number, 0] + x, POINTS[number, 1] + y, color=colour, linewidth=1, linestyle=":")
        for other in near.picture[number, :COUNT]:
            axes.annotate(
                "",
                xytext=tuple(POINTS[number]),
                xy=tuple(POINTS[other]),
                arrowprops={"arrowstyle": "->", "color": colour, "shrinkA": 8, "shrinkB": 8},
            )
    for number, (x, y) in enumerate(POINTS):
        axes.plot(x, y, "o", color="black", markersize=4)
        axes.annotate(f"{number + 1}", (x, y), xytext=(4, 5), textcoords="offset points")
    mutual = ALONE in near.picture[CROWDED, :COUNT], CROWDED in near.picture[ALONE, :COUNT]
    said = {(True, True): "3 and 5 are near each other", (False, True): "3 is near 5, but 5 is not near 3"}
    axes.set_title(f"{title}: {said.get(mutual, '3 and 5 are not near each other')}", fontsize=9)
    axes.set_aspect("equal")
    axes.axis("off")


def often(runner: Runner) -> Figure:
    """How often each picture of UKbench is among the ten nearest of another (CDM-10 §V-B.3), as `evaluate` draws it."""
    pairs = {"L1": ("bow-l1", "context-l1"), "Hamming": ("burst", "context")}
    names = [name for pair in pairs.values() for name in pair]
    found = runner.evaluate(load("ukbench", DATA / "ukbench"), {name: SYSTEMS[name] for name in names})
    keys, rows = [query.key for query in found.dataset.queries], {row.recipe: row for row in found.rows}
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for panel, (title, pair) in zip(figure.subplots(1, 2, sharey=True), pairs.items(), strict=True):
        lines = []
        for name, label in zip(pair, ("without CDM", "with CDM"), strict=True):
            counts = returned(first_of(keys, rows[name].rankings))
            lines.append((f"{label}: at most {counts.max()}", counts))
            print(f"{title}, {label}: {rows[name].means}")
        draw_returned(panel, lines)
        panel.set_title(title)
        panel.legend(frameon=False)
    return figure


def by_round(runner: Runner) -> Figure:
    """CDM-07 figure 3: accuracy and reversibility after each round, on exact distances of the UKbench pictures.

    0.1 is the α of that figure, 0.5 the one that is used.
    """
    dataset, recipe = load("ukbench", DATA / "ukbench"), SYSTEMS["context-l1"]
    with open_snapshot(runner.prepare(dataset, recipe.features).index) as snapshot:
        ((segment,),) = snapshot.views
        statistics = collection_statistics([segment], recipe.scoring)
        keys = [row.key for row in snapshot.rows()]
        near = nearest(segment, statistics, kept=segment.pictures, scoring=recipe.scoring)
    truth = {query.key: query.truth for query in dataset.queries}
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for alpha, style in ((0.1, "o-"), (0.5, "s--")):
        values = []
        for number, terms in enumerate(rounds(near, replace(recipe.context, alpha=alpha))):
            order = np.argsort(near.distance * terms.delta[near.picture], axis=1, kind="stable")[:, :NEIGHBOURS]
            first = np.take_along_axis(near.picture, order, axis=1)
            rankings = [[key, *(keys[other] for other in row)] for key, row in zip(keys, first, strict=True)]
            tenth = (near.distance * terms.delta[near.picture])[np.arange(len(keys)), order[:, -1]] * terms.delta
            ns = score(rankings, [truth[key] for key in keys], ["ns"], database=len(keys)).means["ns"]
            values.append((ns / 4, diagnose(first_of(keys, rankings))["reversibility"]))
            print(
                f"α = {alpha}, round {number:2}: N-S {ns:.3f}, EER {values[-1][0]:.3f}, "
                f"reversibility {values[-1][1]:.3f}, spread of mean distances {terms.spreads[-1]:.4f}, "
                f"of the tenth {np.abs(tenth / np.exp(np.log(tenth).mean()) - 1).mean():.4f}"
            )
        for panel, line in zip(panels, zip(*values, strict=True), strict=True):
            panel.plot(line, style, markersize=3, label=f"α = {alpha}")
    for panel, title in zip(panels, ("EER = N-S / 4", "reversibility"), strict=True):
        panel.set(title=title, xlabel="rounds of CDM")
        panel.grid(linewidth=0.5)
        panel.legend(frameon=False, loc="lower right")
    return figure


def main(cache: Path) -> None:
    runner = Runner(cache=cache, processes=processors())
    neighbourhood(DOCS / "context-neighbourhood.jpg")
    toy().savefig(DOCS / "context-toy.svg", metadata={"Date": None})
    by_round(runner).savefig(DOCS / "context-rounds.svg", metadata={"Date": None})
    often(runner).savefig(DOCS / "context-returned.svg", metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features and indexes are kept")
    main(parser.parse_args().cache)
