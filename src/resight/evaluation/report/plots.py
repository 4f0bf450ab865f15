"""An evaluation → plots, as SVG that takes its colours and fonts from the page around it."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, NullFormatter
from matplotlib.transforms import Bbox

from ...types import Float64, Int64
from .. import neighbourhoods
from ..measures import LEVELS, LOWER_IS_BETTER
from ..results import Evaluation
from .text import escape, shorten

RESAMPLES = 1000
_TICKS = (0, *(m * 10**p for p in range(6) for m in (1, 3)))  # of counts on a log scale
WIDTH = 5.0  # inches of 72 units; shown at about one unit per pixel, so a font of 11 stays readable on a phone
# Stand-ins, replaced by the page's own colours when a plot is done, so that dark mode reaches the plots.
INK, LINES = "#fd0001", "#fd0002"
SERIES = tuple(f"#fe000{i}" for i in range(8))
_COLOURS = {INK: "currentColor", LINES: "var(--line)"} | {s: f"var(--series-{i})" for i, s in enumerate(SERIES)}
MARKERS, DASHES = "os^Dv*PX", ("-", "--", "-.", ":")  # colour is not the only thing that tells recipes apart
# Where a label may stand: (x, y) in points from its mark, and the side that is aligned there. The first free one wins.
_PLACES = [
    *((8, y, "left") for y in (0, 11, -11)),
    *((-8, y, "right") for y in (0, 11, -11)),
    *((0, y, "center") for y in (13, -13)),
    *((8, y, "left") for y in (22, -22, 33, -33)),
    *((-8, y, "right") for y in (22, -22, 33, -33)),
]


def interval(values: Float64, *, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean: the middle of the means of ``RESAMPLES`` samples with replacement.

    The same seed draws the same queries for every recipe, so intervals side by side differ by the recipe alone.
    """
    draw = np.random.default_rng(seed)
    means = [values[draw.integers(len(values), size=len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def bars(evaluation: Evaluation) -> str:
    """The headline measure of every recipe, with its interval."""
    measure, rows = evaluation.dataset.measures[0], evaluation.rows
    intervals = [interval(row.per_query[measure]) for row in rows]
    with _defaults():
        figure, axes = _axes(height=0.9 + 0.6 * len(rows))
        for i, (row, (low, high)) in enumerate(zip(rows, intervals, strict=True)):
            mean = row.means[measure]
            axes.barh(i, mean, height=0.42, color=_colour(i), alpha=0.75)
            axes.plot([low, high], [i, i], color=INK, linewidth=1.5, marker="|", markersize=9)
            text = f"{mean:.3f} ({low:.3f} – {high:.3f})"
            for x, side, words in ((0.0, "left", shorten(row.recipe, 26)), (1.0, "right", text)):
                axes.text(x, i - 0.32, words, transform=axes.get_yaxis_transform(), ha=side, va="bottom")
        axes.set_xlim(0, _highest(evaluation))
        axes.set_ylim(len(rows) - 0.6, -0.85)
        axes.set_yticks([])
        axes.spines["left"].set_color(LINES)
        axes.set_xlabel(f"{measure}, mean and 95 % interval")
        said = (f"{r.recipe} {r.means[measure]:.3f}" for r in rows)
        return _svg(figure, f"Bars of {measure}: {', '.join(said)}")


def precision_recall(evaluation: Evaluation) -> str:
    """Mean precision at each level of recall, all recipes in one plot."""
    with _defaults():
        figure, axes = _axes(height=3.4 + 0.2 * ((len(evaluation.rows) + 1) // 2))
        for i, row in enumerate(evaluation.rows):
            axes.plot(LEVELS, row.precision_recall, label=shorten(row.recipe, 22), color=_colour(i), **_line(i))
        axes.set(xlabel="recall", ylabel="precision", xlim=(-0.02, 1.02), ylim=(0, 1.04))
        axes.grid()
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return _svg(figure, f"Precision by recall of {', '.join(r.recipe for r in evaluation.rows)}")


def trade_off(evaluation: Evaluation) -> str:
    """The headline measure by time per query: better recipes are further up and to the left."""
    measure, rows = evaluation.dataset.measures[0], evaluation.rows
    times = [max(row.query_ms, 0.01) for row in rows]  # 0 where no query could be read
    values = [row.means[measure] for row in rows]
    with _defaults():
        figure, axes = _axes(height=3.4)
        axes.set_xscale("log")
        for i, (x, y) in enumerate(zip(times, values, strict=True)):
            axes.plot([x], [y], color=_colour(i), **_line(i) | {"markersize": 8, "clip_on": False})
        room = max(max(values) - min(values), 0.05 * _highest(evaluation)) * 0.35
        axes.set(xlabel="ms per query (log scale)", ylabel=measure)
        top = min(max(values) + room, 1.01 * _highest(evaluation))
        axes.set(xlim=(min(times) / 2.5, max(times) * 2.5), ylim=(min(values) - room, top))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:g}"))
        few = max(times) / min(times) < 3  # then powers of ten alone might not show one number
        axes.xaxis.set_minor_formatter(FuncFormatter(_one_two_five) if few else NullFormatter())
        axes.grid(which="both" if few else "major")
        _label(figure, axes, [(x, y, shorten(r.recipe, 22)) for x, y, r in zip(times, values, rows, strict=True)])
        said = (f"{r.recipe} {r.query_ms:.1f} ms, {r.means[measure]:.3f}" for r in rows)
        return _svg(figure, f"{measure} by time per query: {'; '.join(said)}")


def reliability(evaluation: Evaluation) -> str:
    """Share of right results by confidence: on the diagonal, 80 % sure means right four times in five."""
    rows = [(i, row) for i, row in enumerate(evaluation.rows) if len(row.reliability)]
    with _defaults():
        figure, axes = _axes(height=3.4 + 0.2 * ((len(rows) + 1) // 2))
        axes.plot([0, 1], [0, 1], color=LINES, linewidth=1)
        for i, row in rows:
            confidence, right = reliability_bins(row.reliability)
            axes.plot(confidence, right, label=shorten(row.recipe, 22), color=_colour(i), **_line(i))
        axes.set(xlabel="confidence", ylabel="share of right results", xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
        axes.grid()
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return _svg(figure, f"Share of right results by confidence of {', '.join(row.recipe for _, row in rows)}")


def reliability_bins(pairs: Float64, *, least: int = 10) -> tuple[Float64, Float64]:
    """Mean confidence and share of right results in each tenth of the range that has at least a few results."""
    ranges = np.minimum((pairs[:, 0] * 10).astype(int), 9)
    filled = [pairs[ranges == i].mean(axis=0) for i in range(10) if (ranges == i).sum() >= least]
    confidence, right = np.array(filled).reshape(-1, 2).T
    return confidence, right


def returned(evaluation: Evaluation) -> str:
    """How evenly the recipes return pictures; every picture has been a query."""
    rows, keys = evaluation.rows, [query.key for query in evaluation.dataset.queries]
    counts = [neighbourhoods.returned(neighbourhoods.first_of(keys, row.rankings)) for row in rows]
    with _defaults():
        figure, axes = _axes(height=3.4 + 0.2 * ((len(rows) + 1) // 2))
        draw_returned(axes, [(shorten(row.recipe, 22), c) for row, c in zip(rows, counts, strict=True)])
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        said = (f"{row.recipe} at most {c.max()}" for row, c in zip(rows, counts, strict=True))
        return _svg(figure, f"How often pictures are among the ten nearest of others: {', '.join(said)}")


def draw_returned(axes: Axes, lines: Sequence[tuple[str, Int64]]) -> None:
    """How often each picture is among the ten nearest of another, sorted, one line for each label.

    Colours are matplotlib's current ones, so that pages without this report's style can show the plot too.
    """
    for i, (label, counts) in enumerate(lines):
        axes.plot(np.sort(counts)[::-1], label=label, markevery=0.15, **_line(i))
    even = neighbourhoods.NEIGHBOURS
    axes.axhline(even, color=matplotlib.rcParams["text.color"], linewidth=0.8)
    axes.text(1, 1.05 * even, "even share", transform=axes.get_yaxis_transform(), ha="right", va="bottom")
    axes.set_yscale("symlog", linthresh=1, linscale=0.3)  # not log, so that pictures that are never seen have a place
    top = 1.4 * max(even, *(int(counts.max()) for _, counts in lines))
    axes.set(xlabel="pictures, the most often returned first", ylabel="times returned (log scale)", ylim=(-0.1, top))
    axes.set_yticks([tick for tick in _TICKS if tick < top])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid()


def _label(figure: Figure, axes: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Names beside their points, not on top of other names or points where that can be helped."""
    figure.draw_without_rendering()  # settles where the axes are
    marks = [
        Bbox.from_extents(x - 6, y - 6, x + 6, y + 6) for x, y in axes.transData.transform([p[:2] for p in points])
    ]
    inside, taken = axes.get_window_extent(), list(marks)

    def place(point: tuple[float, float, str], where: tuple[int, int, str]) -> Annotation:
        x, y, side = where
        return axes.annotate(
            point[2], point[:2], (x, y), textcoords="offset points", ha=side, va="center", annotation_clip=False
        )

    for point in points:
        for where in _PLACES:
            label = place(point, where)
            box = label.get_window_extent()
            if box.count_overlaps(taken) == 0 and inside.containsx(box.x0) and inside.containsx(box.x1):
                break
            label.remove()
        else:
            box = place(point, _PLACES[0]).get_window_extent()
        taken.append(box)


def _one_two_five(value: float, _: int) -> str:
    return f"{value:g}" if f"{value:.0e}"[0] in "25" else ""


def _highest(evaluation: Evaluation) -> float:
    """Where the axis of the headline measure ends: at a perfect score, or, where 0 is perfect, beyond the worst."""
    measure = evaluation.dataset.measures[0]
    if measure in LOWER_IS_BETTER:
        return 1.2 * max(interval(row.per_query[measure])[1] for row in evaluation.rows) or 1.0
    return 4.0 if measure == "ns" else 1.0


def _colour(i: int) -> str:
    return SERIES[i % len(SERIES)]


def _line(i: int) -> dict[str, Any]:
    return {"marker": MARKERS[i % len(MARKERS)], "linestyle": DASHES[i % len(DASHES)], "markersize": 4.5}


@contextmanager
def _defaults() -> Iterator[None]:
    """Matplotlib's own settings instead of the user's, ours on top; all are put back afterwards."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the browser's fonts may have it
        matplotlib.rcdefaults()
        ink = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
        spines = {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": LINES, "grid.color": LINES}
        svg = {"svg.fonttype": "none", "svg.hashsalt": "resight", "text.parse_math": False}  # a name may hold $
        fonts = {"font.size": 11, "xtick.labelsize": 10, "ytick.labelsize": 10, "legend.fontsize": 10}
        ours: dict[Any, Any] = {**ink, **spines, **svg, **fonts, "axes.axisbelow": True, "grid.linewidth": 0.6}
        ours["axes.prop_cycle"] = cycler(color=SERIES)
        matplotlib.rcParams.update(ours)
        yield


def _axes(*, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.add_subplot()


def _svg(figure: Figure, alt: str) -> str:
    """The figure as an element for an HTML page: no declarations, addresses or ids of its own left."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<g) id="[^"]*"', r"\1", svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    svg = re.sub(
        r"<svg[^>]*>", lambda _: f'<svg class="plot" {box[0]} role="img" aria-label="{escape(alt)}">', svg, count=1
    )
    return re.sub("|".join(_COLOURS), lambda found: _COLOURS[found[0]], svg)
