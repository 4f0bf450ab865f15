"""Draws docs/density.svg for docs/DENSITY.md from what the experiments found: ``python docs/density.py FOLDER``.

FOLDER holds dre-words.json, dre-nearest.json and dre-codes.json, each made by `resight experiment NAME --json`.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

DOCS = Path(__file__).parent
KENTUCKY = "ukbench"
SETS = {"ukbench": "tab:blue", "holidays": "tab:orange", "oxford": "tab:green"}
KINDS = {"SA": "tab:blue", "MA3": "tab:orange", "MA5": "tab:green"}

Rows = list[dict[str, Any]]


def series(rows: Rows, label: str, dataset: str) -> tuple[list[float], list[float]]:
    """(x, mAP) of the rows whose label is this, with the number {x} in it."""
    pattern = re.compile(re.escape(label).replace(r"\{x\}", r"([\d.]+)") + "$")
    found = [(float(m[1]), row["ours"][dataset]["map"]) for row in rows if (m := pattern.match(row["label"]))]
    return [x for x, _ in found], [y for _, y in found]


def level(rows: Rows, label: str, dataset: str) -> float:
    return float(next(row["ours"][dataset]["map"] for row in rows if row["label"] == label))


def printed(axes: Axes, x: float, y: float, colour: str, text: str, *, above: bool = True) -> None:
    """What the paper says."""
    axes.plot([x], [y], "*", color=colour, markersize=12, markeredgecolor="black", markeredgewidth=0.6)
    offset = (0, 8) if above else (0, -16)
    axes.annotate(text, (x, y), xytext=offset, textcoords="offset points", ha="center", fontsize=8)


def words(axes: Axes, rows: Rows) -> None:
    for dataset, colour in SETS.items():
        axes.plot(*series(rows, "DRE, λ = {x}", dataset), "o-", color=colour, markersize=3, label=f"{dataset}, DRE")
        for label, style in (("tf · idf", "--"), ("tf", ":")):
            axes.axhline(level(rows, label, dataset), color=colour, linestyle=style, linewidth=1)
    printed(axes, 0.06, 0.811, SETS[KENTUCKY], "paper, Kentucky: 0.811", above=False)
    axes.set(title="figure 1: bag of words\n(dashed: tf · idf, dotted: tf)", xlabel="λ")


def nearest(axes: Axes, rows: Rows) -> None:
    for label, colour, place, value in (
        ("DRE, λ = 0.1", "tab:blue", 20, 0.912),
        ("votes of 1", "tab:red", 10, 0.902),
    ):
        axes.plot(*series(rows, f"{label}, k = {{x}}", KENTUCKY), "o-", color=colour, markersize=3, label=label)
        printed(axes, place, value, colour, f"paper: {value}", above=label != "votes of 1")
    axes.set_xticks(ticks := [5, 10, 20, 50], [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set(title="figure 2: exact nearest descriptors,\nukbench, 400 pictures", xlabel="k")


def codes(axes: Axes, rows: Rows) -> None:
    for name, colour in KINDS.items():
        values = series(rows, f"DRE, {name}, λ = {{x}}", KENTUCKY)
        axes.plot(*values, "o-", color=colour, markersize=3, label=f"DRE, {name}")
    axes.axhline(level(rows, "IDF, SA, k = 6", KENTUCKY), color="tab:red", linestyle="--", linewidth=1, label="IDF, SA")
    printed(axes, 0.006, 0.898, KINDS["MA5"], "paper, MA5: 0.898", above=False)
    axes.axhline(0.869, color="black", linestyle=":", linewidth=1, label="paper, best DRE, SA: 0.869")
    axes.set(title="figure 3: by codes of 8 bytes,\nukbench", xlabel="λ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    panels = {"dre-words": words, "dre-nearest": nearest, "dre-codes": codes}
    for axes, (name, draw) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        axes.set_xscale("log")
        draw(axes, json.loads((folder / f"{name}.json").read_text())["rows"])
        axes.set_ylabel("mAP")
        axes.grid(linewidth=0.5)
        axes.legend(fontsize=8, framealpha=1)
    figure.savefig(DOCS / "density.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
