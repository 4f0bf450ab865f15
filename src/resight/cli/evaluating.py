"""Measuring recipes on datasets with known answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..machine import cache_folder
from ..recipes import DEFAULT, RECIPES, Recipe
from ..recipes import recipe as named_recipe
from ..wording import count
from .app import NAMES_SHOWN, AsJson, Processes, command
from .output import printable, progress, say_json, say_table

if TYPE_CHECKING:
    from ..evaluation.results import Evaluation


default_cache = cache_folder


@command
def evaluate(
    sets: Annotated[list[str], typer.Argument(metavar="DATASET PATH...", help="Each dataset's name and its folder.")],
    recipe: Annotated[list[str] | None, typer.Option(help="A recipe's name or TOML file; repeatable.")] = None,
    distractors: Annotated[
        list[Path] | None, typer.Option(help="A folder of other pictures to add; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use about this many pictures of each dataset.")] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="A vocabulary made by `resight train`. Default: the ready one for each recipe's detector."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Where to keep features and indexes. Default: $RESIGHT_CACHE or your cache folder."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", file_okay=False, help="Also write DIR/index.html: tables, plots and the worst queries."
        ),
    ] = None,
    processes: Processes = None,
    as_json: AsJson = False,
) -> int:
    """Measure recipes on datasets with known answers. Keeps the features, so that a second run is quick."""
    from ..evaluation.datasets import load
    from ..evaluation.runner import Runner, parse_sets
    from ..machine import processors
    from ..vocabulary import Vocabulary

    write_report = report_writer() if report else None
    recipes: dict[str, Recipe] = {}
    for given in recipe or [DEFAULT]:
        name = Path(given).stem if given.endswith(".toml") else given
        if name in recipes:
            raise UsageError(
                f"two recipes are named {name!r}, as {given} would be; rename the file, or give one of them"
            )
        recipes[name] = named_recipe(given)
    datasets = [load(name, path, limit=limit, distractors=distractors or ()) for name, path in parse_sets(sets)]
    runner = Runner(
        cache=cache or default_cache(),
        vocabulary=Vocabulary.load(vocabulary) if vocabulary else None,
        processes=processes or processors(),
        progress=progress,
    )
    found = []
    for dataset in datasets:
        found.append(runner.evaluate(dataset, recipes))
        if not as_json:
            show(found[-1])
        for problem in found[-1].skipped[:NAMES_SHOWN]:
            typer.echo(f"skipped {printable(problem)}", err=True)
    if report and write_report:
        typer.echo(f"report: {printable(str(write_report(found, report)))}", err=True)
    if as_json:
        values = [evaluation.as_dict() for evaluation in found]
        say_json(values[0] if len(values) == 1 else {"evaluations": values})
    return 1 if any(evaluation.skipped for evaluation in found) else 0


def report_writer() -> Callable[[Sequence[Evaluation], Path], Path]:
    """``write_report``, asked for before any work is done: what it needs may not be installed."""
    try:
        from ..evaluation.report import write_report
    except ModuleNotFoundError as error:
        raise UsageError(f"--report needs {error.name}, which is not installed: pip install resight[report]") from None
    return write_report


@command
def recipes(as_json: AsJson = False) -> int:
    """List the named recipes."""
    if as_json:
        say_json({name: {"description": r.description, "default": name == DEFAULT} for name, r in RECIPES.items()})
        return 0
    width = max(map(len, RECIPES))
    for name, r in RECIPES.items():
        typer.echo(f"{name:<{width}} {r.description}{' (default)' if name == DEFAULT else ''}")
    return 0


def show(evaluation: Evaluation) -> None:
    """A table of recipes × measures."""
    from rich.table import Table

    from ..evaluation.measures import style

    dataset = evaluation.dataset
    typer.echo(
        f"{dataset.name}: {count(len(dataset.images))}, {count(len(dataset.queries), 'query', 'queries')}, "
        f"vocabulary from {evaluation.trained_on}; {evaluation.seconds:.0f} s, "
        f"{evaluation.peak_memory / 2**20:.0f} MiB at most"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("recipe")
    for measure in (*evaluation.rows[0].means, "ms/query", "bytes/picture"):
        table.add_column(measure, justify="right")
    for row in evaluation.rows:
        values = (format(value, style(measure)) for measure, value in row.means.items())
        table.add_row(row.recipe, *values, f"{row.query_ms:.1f}", f"{row.bytes_per_image:.0f}")
    say_table(table)
