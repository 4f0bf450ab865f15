"""Saying what was found, and how far work has come."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from ..recipes import Recipe

if TYPE_CHECKING:
    from rich.table import Table

    from ..types import Hit, SearchResult

T = TypeVar("T")


def printable(text: str) -> str:
    """File names may hold newlines, control characters and bytes that are no text: show them escaped."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    return shown.encode("utf-8", "backslashreplace").decode()


def say_json(values: dict[str, Any]) -> None:
    typer.echo(json.dumps(values))


def say_table(table: Table, *, width: int | None) -> None:
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # as everything else that we say; rich would end the program

    Plain(width=width).print(table)


def found(result: SearchResult, recipe: Recipe) -> int:
    """How many hits count as found: where geometry is checked, those it confirmed."""
    return sum(hit.inliers is not None for hit in result.hits) if recipe.verify.shortlist else len(result)


def show_result(query: str, result: SearchResult, recipe: Recipe) -> None:
    from rich.table import Table
    from rich.text import Text

    confirmed = found(result, recipe)
    weak = f", {len(result) - confirmed} weak candidates" if confirmed < len(result) else ""
    typer.echo(f"{printable(query)}: {confirmed} found{weak} ({result.query_features} features)")
    if not result.hits:
        return
    table = Table(box=None, pad_edge=False)
    for title, side in (
        ("rank", "right"),
        ("score", "right"),
        ("sure", "right"),
        ("inliers", "right"),
        ("where (x,y,w,h)", "left"),
        ("picture", "left"),
    ):
        table.add_column(title, justify=side, overflow="fold")  # type: ignore[arg-type]
    for rank, hit in enumerate(result.hits, 1):
        inliers = "" if hit.inliers is None else str(hit.inliers)
        sure = "" if hit.confidence is None else f"{hit.confidence:.0%}"
        table.add_row(str(rank), f"{hit.score:.3f}", sure, inliers, where(hit), Text(printable(short(hit.key))))
    say_table(table, width=None if sys.stdout.isatty() else 200)


def show_timings(result: SearchResult) -> None:
    """How long each stage took, on stderr."""
    stages = ", ".join(f"{stage} {1000 * seconds:.1f}" for stage, seconds in result.timings.items())
    typer.echo(f"milliseconds: {stages}; in all {1000 * sum(result.timings.values()):.1f}", err=True)


def where(hit: Hit) -> str:
    r = hit.region
    return f"{r.x:.0f},{r.y:.0f},{r.width:.0f},{r.height:.0f}" if r else ""


def short(key: str) -> str:
    """A path below the current folder, from there."""
    here = os.getcwd() + os.sep
    return key.removeprefix(here)


def progress(items: Iterable[T], *, total: int, text: str) -> Iterator[T]:
    """Pass items on, with a bar."""
    with counting(total, text=text) as done:
        for item in items:
            yield item
            done(1)


@contextmanager
def counting(total: int, *, text: str) -> Iterator[Callable[[int], None]]:
    """A bar on stderr (rate, time left) where that is a terminal; what is given hears how much more was done."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich import progress as bars
    from rich.console import Console

    class Rate(bars.ProgressColumn):
        def render(self, task: bars.Task) -> str:
            return f"{task.speed:.1f}/s" if task.speed else ""

    columns = (bars.TextColumn(text), bars.BarColumn(), bars.MofNCompleteColumn(), Rate(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(text, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def patience(text: str, *, after: float = 1.5) -> Iterator[None]:
    """Say on stderr what is being waited for, if it takes longer than ``after`` seconds."""
    timer = threading.Timer(after, typer.echo, [text], {"err": True})
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Stop:
    """Whether the user has pressed Ctrl-C."""

    wanted = False

    def is_set(self) -> bool:
        """As a threading.Event, for libraries that take one."""
        return self.wanted


@contextmanager
def stoppable() -> Iterator[Stop]:
    """The first Ctrl-C asks for an orderly end, so that work done so far is committed; a second one breaks off."""
    stop = Stop()

    def ask(number: int, frame: Any) -> None:
        if stop.wanted:
            raise KeyboardInterrupt
        stop.wanted = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
