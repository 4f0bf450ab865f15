"""Running tables and figures of the papers again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import NAMES_SHOWN, AsJson, Processes, command
from .evaluating import default_cache
from .output import printable, progress, say_json, say_table

if TYPE_CHECKING:
    from ..evaluation.experiments import Outcome


def default_data() -> Path:
    """$RESIGHT_DATA, or ../shared/data from the project's root."""
    return Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[4] / "shared" / "data")


@command
def experiment(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The experiment; leave it out to list them.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder with the datasets. Default: $RESIGHT_DATA or ../shared/data of the project."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use about this many pictures of each dataset and of the distractors.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Where to keep features, vocabularies and indexes. Default: $RESIGHT_CACHE or your cache folder."
        ),
    ] = None,
    processes: Processes = None,
    as_json: AsJson = False,
) -> int:
    """Run one table or figure of a paper again: its figures beside ours. What was learnt is kept for a second run."""
    from ..evaluation.experiments import EXPERIMENTS, named, run
    from ..machine import processors

    if name is None:
        if as_json:
            say_json(
                {e.name: {"question": e.question, "paper": e.paper, "table": e.table} for e in EXPERIMENTS.values()}
            )
        else:
            width = max(map(len, EXPERIMENTS))
            for e in EXPERIMENTS.values():
                typer.echo(f"{e.name:<{width}} {e.question} ({e.paper} {e.table})")
        return 0
    outcome = run(
        named(name),
        data=data or default_data(),
        cache=cache or default_cache(),
        limit=limit,
        processes=processes or processors(),
        progress=progress,
    )
    if as_json:
        say_json(outcome.as_dict())
    else:
        show(outcome)
    for problem in outcome.skipped[:NAMES_SHOWN]:
        typer.echo(f"skipped {printable(problem)}", err=True)
    return 1 if outcome.skipped else 0


def show(outcome: Outcome) -> None:
    """The table, and all that keeps it from being misread."""
    from rich.table import Table

    from ..evaluation.experiments.outcome import CAUTION

    e = outcome.experiment
    typer.echo(f"{e.name}: {e.question} ({e.paper} {e.table}; {outcome.seconds:.0f} s)")
    titles, rows = outcome.table()
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right" if title.startswith("ours") else "left", no_wrap=not title)
    for cells in rows:
        table.add_row(*cells)
    say_table(table)
    typer.echo(f"{e.paper} finds: {e.finding}")
    typer.echo(f"{e.paper} has: {e.conditions}")
    typer.echo(f"ours differ: {'; '.join(outcome.differences())}")
    typer.echo(CAUTION)
    for note in outcome.notes:
        typer.echo(f"note: {printable(note)}")
