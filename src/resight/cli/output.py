"""Saying what was found, and how far work has come."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from ..recipes import Recipe
from ..wording import count

if TYPE_CHECKING:
    from rich.table import Table

    from ..types import Hit, SearchResult

T = TypeVar("T")
EVERY = 10.0  # seconds between lines that say how far work is, where no bar can be drawn


def printable(text: str) -> str:
    """File names may hold newlines, control characters and bytes that are no text: show them escaped."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    return shown.encode("utf-8", "backslashreplace").decode()


def say_json(values: dict[str, Any]) -> None:
    typer.echo(json.dumps(values))


def say_table(table: Table) -> None:
    """As wide as the terminal, with long cells on several lines; elsewhere as wide as its cells are."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # as everything else that we say; rich would end the program

    for column in table.columns:
        column.overflow = "fold"
    console = Plain()
    if not sys.stdout.isatty():
        console.width = console.measure(table, options=console.options.update(max_width=1_000_000)).maximum
    console.print(table)


def found(result: SearchResult, recipe: Recipe) -> int:
    """How many hits geometry confirmed, by links or directly; of a recipe that checks nothing, how many there are."""
    if not recipe.verify.shortlist:
        return len(result)
    return sum(hit.transform is not None and not is_unlikely(hit) for hit in result.hits)


def is_unlikely(hit: Hit) -> bool:
    """Whether its confidence is shown as 0 %; where there is none, nobody knows."""
    return hit.confidence is not None and f"{hit.confidence:.0%}" == "0%"


def show_result(query: str, result: SearchResult, recipe: Recipe, *, everything: bool = False) -> None:
    """How many were found, and a table of them; without hits of 0 %, unless ``everything`` is wanted."""
    confirmed = found(result, recipe)
    weak = len(result) - confirmed
    if not result.hits:
        said = "nothing found"
    elif not recipe.verify.shortlist:
        said = f"{count(confirmed, 'candidate')}, {'not' if confirmed == 1 else 'none'} checked by geometry"
    else:
        said = f"{confirmed} found" + (f", {count(weak, 'weak candidate')}" if weak else "")
    typer.echo(f"{printable(query)}: {said} ({count(result.query_features, 'feature')})")
    shown = [(rank, hit) for rank, hit in enumerate(result.hits, 1) if everything or not is_unlikely(hit)]
    if shown:
        _show_hits(shown)
    if left := len(result) - len(shown):
        typer.echo(f"{count(left, 'candidate')} of 0% {'is' if left == 1 else 'are'} not listed; see all with --all")


def _show_hits(hits: Iterable[tuple[int, Hit]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title, side in (
        ("rank", "right"),
        ("score", "right"),
        ("sure", "right"),
        ("inliers", "right"),
        ("where (x,y,w,h)", "left"),
        ("picture", "left"),
    ):
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    for rank, hit in hits:
        inliers = "" if hit.inliers is None else str(hit.inliers)
        sure = "" if hit.confidence is None else f"{hit.confidence:.0%}"
        name = " ← ".join(printable(short(key)) for key in (hit.key, *reversed(hit.via)))  # which links led to it
        table.add_row(str(rank), f"{hit.score:.3f}", sure, inliers, where(hit), Text(name))
    say_table(table)


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


def progress(
    items: Iterable[T], *, total: int, text: str, idle: Callable[[T], bool] = lambda item: False
) -> Iterator[T]:
    """Pass items on, with a bar. ``idle`` says which were no work: rate and time left are those of the others."""
    with counting(total, text=text) as done:
        for item in items:
            yield item
            if idle(item):
                done.leave_out(1)
            else:
                done(1)


class Tally:
    """How far work has come. Called with how much more was done."""

    def __init__(self, total: int, show: Callable[[Tally], None] = lambda tally: None) -> None:
        self.done, self.total, self._show = 0, total, show

    def __call__(self, more: int) -> None:
        self.done += more
        self._show(self)

    def leave_out(self, items: int) -> None:
        """What turned out to be no work."""
        self.total -= items
        self._show(self)


@contextmanager
def counting(total: int, *, text: str) -> Iterator[Tally]:
    """A bar on stderr (rate, time left) where that is a terminal; elsewhere a line now and then."""
    if not sys.stderr.isatty():
        tally = Tally(total)
        with _lines.about(lambda: f"{text}: {tally.done} of {tally.total}"):
            yield tally
        return
    from rich import progress as bars
    from rich.console import Console

    class Rate(bars.ProgressColumn):
        def render(self, task: bars.Task) -> str:
            return f"{task.speed:.1f}/s" if task.speed else ""

    columns = (bars.TextColumn(text), bars.BarColumn(), bars.MofNCompleteColumn(), Rate(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=Console(stderr=True)) as bar:
        number = bar.add_task(text, total=total)
        (task,) = bar.tasks

        def show(tally: Tally) -> None:
            task.total = tally.total  # not by ``update``, which would forget the rate
            bar.update(number, completed=tally.done)

        yield Tally(total, show)


class _Lines:
    """Lines about progress, one in ``EVERY`` seconds, however many short steps follow one another."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    @contextmanager
    def about(self, text: Callable[[], str]) -> Iterator[None]:
        """Inside, say what the text is by then; even if nothing gets done for long."""
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(self._said + EVERY - time.monotonic()):
                self._said = time.monotonic()
                typer.echo(text(), err=True)

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()


_lines = _Lines()


def say_compiling(kept: bool) -> None:
    """For ``warm``, which knows whether there is anything to compile."""
    later = "this once" if kept else "each time, as no folder for a cache can be written to"
    typer.echo(f"compiling the search kernels for this machine, {later} …", err=True)


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
