"""Draws docs/context-*.svg for docs/CONTEXT.md: ``python docs/context.py [--cache CACHE]``.

The toy example needs nothing; how often each picture of UKbench is returned is measured on $RESIGHT_DATA.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resight.cli.evaluating import default_cache
from resight.context import METHODS, Neighbours
from resight.context.neighbours import smallest
from resight.evaluation.datasets import load
from resight.evaluation.neighbourhoods import NEIGHBOURS
from resight.evaluation.runner import Runner
from resight.machine import processors
from resight.options import ContextOptions
from resight.recipes import RECIPES
from resight.vocabulary import Vocabulary

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


def returned(cache: Path) -> Figure:
    """How often each picture of UKbench is among the ten nearest of another (CDM-10 §V-B.3)."""
    runner = Runner(cache=cache, vocabulary=Vocabulary.ready(), processes=processors())
    names = {"bow-l1": "L1", "context-l1": "L1 with CDM", "burst": "Hamming", "context": "Hamming with CDM"}
    found = runner.evaluate(load("ukbench", DATA / "ukbench"), {name: RECIPES[name] for name in names})
    keys = [query.key for query in found.dataset.queries]
    number = {key: i for i, key in enumerate(keys)}
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for row in found.rows:
        counts = np.zeros(len(keys), np.int64)
        for key, ranking in zip(keys, row.rankings, strict=True):
            others = [other for other in ranking[: NEIGHBOURS + 1] if other != key][:NEIGHBOURS]
            counts[[number[other] for other in others]] += 1
        panel = panels[0] if names[row.recipe].startswith("L1") else panels[1]
        label = f"{names[row.recipe]}: reversibility {row.means['reversibility']:.3f}, most {counts.max()}"
        panel.plot(np.sort(counts)[::-1], label=label, linestyle="--" if "CDM" in label else "-")
        print(f"{names[row.recipe]:18} {row.means}")
    for panel in panels:
        panel.axhline(NEIGHBOURS, color="grey", linewidth=0.5)
        panel.set_xlabel("pictures, the most often returned first")
        panel.legend(frameon=False, fontsize=8)
    panels[0].set_ylabel("times among the ten nearest")
    return figure


def main(cache: Path) -> None:
    toy().savefig(DOCS / "context-toy.svg", metadata={"Date": None})
    returned(cache).savefig(DOCS / "context-returned.svg", metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features and indexes are kept")
    main(parser.parse_args().cache)
