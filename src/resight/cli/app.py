"""The application: how commands are registered, and how errors become messages and exit codes."""

from __future__ import annotations

import functools
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..errors import ResightError, UsageError
from ..urls import Place, as_place
from .output import printable, say_json

# What most people need comes first in ``resight --help``; the rest in the order of an index's life.
FIRST = [
    "index",
    "search",
    "watch",
    "serve",
    "duplicates",
    "dismiss",
    "info",
    "remove",
    "check",
    "merge",
    "pairs",
    "train",
    "context",
    "learn",
]


class _Ordered(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))


app = typer.Typer(
    name="resight",
    cls=_Ordered,
    help="Find every picture of the same thing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="STAGE.OPTION=VALUE", help="Change one option of a stage; repeatable. See docs/OPTIONS.md."
    ),
]
Processes = Annotated[
    int | None, typer.Option("--processes", min=1, help="Worker processes; default: one per processor.")
]
GivenFeatures = Annotated[
    Path | None,
    typer.Option(
        "--features", metavar="FILE", help="Features from another program: an HDF5 file of hloc, or a COLMAP database."
    ),
]
MANIFEST = "manifest"  # store.manifest.NAME, without loading the store for --help
AnIndex = Annotated[str | None, typer.Argument(metavar="INDEX", help="The index: a folder or a URL.")]
UNREAD = 141  # exit code where nobody reads on: what shells have for a program that SIGPIPE ended
NAMES_SHOWN = 20  # skipped pictures named in text output; JSON names all


def default_index() -> Place:
    """$RESIGHT_INDEX, or a place in the user's data folder."""
    if named := os.environ.get("RESIGHT_INDEX"):
        return as_place(named)
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    if data.startswith("~"):
        raise UsageError("there is no home folder to keep an index in; name one, or set $RESIGHT_INDEX")
    return Path(data) / "resight" / "pictures.resight"


@contextmanager
def loading() -> Iterator[None]:
    """For imports: what they make stays, so looking for garbage in it is in vain, now and in later collections."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


def command(function: Callable[..., int]) -> Callable[..., None]:
    """Register a command that returns its exit code; errors become messages and codes here and nowhere else."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> None:
        try:
            code = _code(lambda: function(*args, **options), options)
        except BrokenPipeError:  # whoever reads our output, or our error, has gone: `resight search … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = UNREAD
        raise typer.Exit(code)

    app.command(name=function.__name__)(wrapped)
    return wrapped


def _code(work: Callable[[], int], options: dict[str, Any]) -> int:
    """What the work returns, or what stands for its error, which is told."""
    try:
        _require_local(options)
        return work()
    except ResightError as error:
        if options.get("as_json"):
            say_json({"error": str(error), "kind": type(error).__name__})
        typer.echo(f"error: {printable(str(error))}", err=True)
        return error.exit_code
    except KeyboardInterrupt:
        typer.echo("interrupted; what was committed is kept", err=True)
        return 1


def _require_local(options: dict[str, Any]) -> None:
    """Raise UsageError for a URL where a file or folder of this machine is wanted: as a Path it has lost a slash."""
    for name, value in options.items():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path) and re.match("[a-z][a-z0-9+.-]+:/[^/]", str(path)) and not path.exists():
                raise UsageError(
                    f"{name.replace('_', '-')} is read and written on this machine, not at {path}; copy it"
                )


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"resight {__version__}")
        raise typer.Exit(0)
