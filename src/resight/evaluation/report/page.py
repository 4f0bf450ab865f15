"""Evaluations → one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ... import __version__
from ...errors import UsageError
from ..measures import LOWER_IS_BETTER, style
from ..results import Evaluation
from . import plots, strips
from .text import escape

# The browser itself sees to it that the page loads nothing from anywhere.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
MEANINGS = {  # measure, without its @K → what it says
    "map": "mean average precision: the area under the precision–recall curve; 1 is perfect",
    "ns": "how many of the first four results show the query's object; 4 is perfect",
    "eer": "precision of the first R results, where R pictures are relevant; 1 is perfect",
    "anr": "average normalised rank of the relevant pictures; 0 is perfect, chance is near 0.5",
    "reversibility": "share of the ten nearest pictures that have the query among their own ten; 1 is perfect",
    "never-seen": "share of pictures that are among the ten nearest of no other; 0 is perfect",
    "most-returned": "how many pictures have the most popular one among their ten nearest; 10 is perfect",
    "recall": "share of the relevant pictures among the first K results; 1 is perfect",
    "mp": "precision of the first K results, or of fewer where the last relevant one is found before; 1 is perfect",
    "ms per query": "assignment, scoring and verification, without the extraction of the query's features",
    "bytes per picture": "size of the index, without its vocabulary",
}


def write_report(evaluations: Sequence[Evaluation], folder: Path) -> Path:
    """Write folder/index.html, one file that needs no other, and return its path."""
    page = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page.write_text("".join(_page(evaluations)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {str(page)!r}: {error.strerror}; name another folder") from error
    return page


@dataclass(frozen=True, slots=True)
class Column:
    """One column of figures, a value for each line of a table; None where there is none."""

    title: str
    values: Sequence[float | None]
    style: str = ".3f"
    lower_is_better: bool = False

    def cells(self) -> list[str]:
        """The values as cells, the best marked. What looks equal is equally good; if all are, none is marked."""
        texts = ["–" if value is None else format(value, self.style) for value in self.values]
        known = sorted((v, t) for v, t in zip(self.values, texts, strict=True) if v is not None)
        best = known[0 if self.lower_is_better else -1][1] if len({text for _, text in known}) > 1 else None
        star = ' <span class="star">★</span>'
        return [f'<td class="best">{t}{star}</td>' if t == best else f"<td>{t}</td>" for t in texts]


def table(caption: str, names: Sequence[str], columns: Sequence[Column]) -> str:
    """Recipes × columns; wider than the screen, it scrolls by itself."""
    heads = "".join(f'<th scope="col">{escape(column.title)}</th>' for column in columns)
    lines = zip(names, *(column.cells() for column in columns), strict=True)
    body = "".join(f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>\n' for name, *cells in lines)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>\n'
        f"<caption>{escape(caption)}; ★ best of the column</caption>\n"
        f'<thead><tr><th scope="col">recipe</th>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>\n'
    )


def _page(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    title = "Evaluation of " + ", ".join(dict.fromkeys(e.dataset.name for e in evaluations))
    yield (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>{files(__package__).joinpath('style.css').read_text('utf-8')}</style></head>\n"
        f"<body><header><h1>{escape(title)}</h1></header><main>\n"
    )
    if len(evaluations) > 1:
        yield _summary(evaluations)
    for number, evaluation in enumerate(evaluations, 1):
        yield f'<section id="set-{number}">\n{"".join(_dataset(evaluation))}</section>\n'
    yield f"</main><footer>Made by resight {escape(__version__)}.</footer></body></html>\n"


def _summary(evaluations: Sequence[Evaluation]) -> str:
    names = list(dict.fromkeys(row.recipe for e in evaluations for row in e.rows))
    columns = []
    for evaluation in evaluations:
        headline = evaluation.dataset.measures[0]
        found = {row.recipe: row.means[headline] for row in evaluation.rows}
        title = f"{evaluation.dataset.name}: {headline}"
        columns.append(Column(title, [found.get(n) for n in names], lower_is_better=headline in LOWER_IS_BETTER))
    links = (f'<li><a href="#set-{i}">{escape(e.dataset.name)}</a></li>' for i, e in enumerate(evaluations, 1))
    contents = f'<nav aria-label="Datasets"><ul>{"".join(links)}</ul></nav>\n'
    return f"<section><h2>Summary</h2>\n{table('Main measures', names, columns)}{contents}</section>\n"


def _dataset(evaluation: Evaluation) -> Iterator[str]:
    dataset = evaluation.dataset
    yield f"<h2>{escape(dataset.name)}</h2>\n{_facts(evaluation)}{_figures(evaluation)}"
    drawn = [
        ("Accuracy", plots.bars(evaluation)),
        ("Precision and recall", plots.precision_recall(evaluation)),
        ("Time and accuracy", plots.trade_off(evaluation)),
    ]
    if any(len(row.reliability) for row in evaluation.rows):
        drawn.append(("Confidence and truth", plots.reliability(evaluation)))
    if "most-returned" in evaluation.rows[0].means:
        drawn.append(("How often pictures are returned", plots.returned(evaluation)))
    yield '<div class="plots">'
    yield from (f"<figure><figcaption>{title}</figcaption>{svg}</figure>\n" for title, svg in drawn)
    yield "</div>\n"
    first = evaluation.rows[0]
    numbers = strips.worst(evaluation, first)
    yield f"<h3>Worst queries of {escape(first.recipe)}</h3>\n"
    yield (
        f"<p>The {len(numbers)} with the worst {escape(dataset.measures[0])}: the query, its first {strips.RESULTS} "
        "results, and the first relevant picture that is not among them. Ranks do not count pictures that are neither "
        "right nor wrong.</p>\n"
    )
    yield from (strips.strip(evaluation, first, number) for number in numbers)


def _facts(evaluation: Evaluation) -> str:
    facts = {
        "pictures": f"{len(evaluation.dataset.images):,}",
        "queries": f"{len(evaluation.dataset.queries):,}",
        "vocabulary from": evaluation.trained_on,
        "time": _duration(evaluation.seconds),
        "memory at most": f"{evaluation.peak_memory / 2**20:,.0f} MiB",
    }
    terms = "".join(f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    skipped = "".join(f"<li>{escape(problem)}</li>" for problem in evaluation.skipped)
    if skipped:
        count = f"{len(evaluation.skipped)} skipped: they could not be read"
        skipped = f"<details><summary>{count}</summary><ul>{skipped}</ul></details>\n"
    return f"<dl>{terms}</dl>\n{skipped}"


def _figures(evaluation: Evaluation) -> str:
    rows = evaluation.rows
    columns = [
        *(Column(m, [r.means[m] for r in rows], style(m), lower_is_better=m in LOWER_IS_BETTER) for m in rows[0].means),
        Column("ms per query", [r.query_ms for r in rows], ".1f", lower_is_better=True),
        Column("bytes per picture", [r.bytes_per_image for r in rows], ",.0f", lower_is_better=True),
    ]
    named = ((c.title, MEANINGS.get(c.title.partition("@")[0])) for c in columns)
    terms = "".join(f"<div><dt>{escape(title)}</dt><dd>{meaning}</dd></div>" for title, meaning in named if meaning)
    meanings = f'<details><summary>What the columns mean</summary><dl class="meanings">{terms}</dl></details>\n'
    return table("Means over all queries", [r.recipe for r in rows], columns) + meanings


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
