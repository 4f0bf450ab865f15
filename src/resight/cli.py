"""The command line: thin commands over the Python interface.

Exit codes: 0 all well; 1 nothing found, or some pictures or keys failed (named); 2 wrong usage; 3 index damaged.
"""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from . import __version__
from .errors import ImageError, OptionError, ResightError, UsageError
from .options import (
    AssignOptions,
    FeatureOptions,
    ImageOptions,
    Options,
    ScoringOptions,
    StoreOptions,
    VerifyOptions,
    VocabularyOptions,
    parse_value,
)
from .recipes import DEFAULT, RECIPES, Recipe
from .recipes import recipe as named_recipe

if TYPE_CHECKING:
    from .types import Hit, SearchResult

app = typer.Typer(
    name="resight",
    help="Find every picture of the same thing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)

T = TypeVar("T")
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
MANIFEST = "manifest"  # store.manifest.NAME, without loading the store for --help
NAMES_SHOWN = 20  # skipped pictures named in text output; JSON names all


def default_index() -> Path:
    """$RESIGHT_INDEX, or a place in the user's data folder."""
    if named := os.environ.get("RESIGHT_INDEX"):
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    if data.startswith("~"):
        raise UsageError("there is no home folder to keep an index in; name one, or set $RESIGHT_INDEX")
    return Path(data) / "resight" / "pictures.resight"


def command(function: Callable[..., int]) -> Callable[..., None]:
    """Register a command that returns its exit code; errors become messages and codes here and nowhere else."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> None:
        try:
            code = function(*args, **options)
        except ResightError as error:
            if options.get("as_json"):
                say_json({"error": str(error), "kind": type(error).__name__})
            typer.echo(f"error: {printable(str(error))}", err=True)
            code = error.exit_code
        except KeyboardInterrupt:
            typer.echo("interrupted; what was committed is kept", err=True)
            code = 1
        except BrokenPipeError:  # the reader of our output has gone: `resight search … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        raise typer.Exit(code)

    app.command(name=function.__name__)(wrapped)
    return wrapped


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"resight {__version__}")
        raise typer.Exit(0)


@command
def index(
    pictures: Annotated[list[Path], typer.Argument(help="Folders (searched through) and picture files.")],
    into: Annotated[
        Path | None, typer.Option(help="The index; made if missing. Default: $RESIGHT_INDEX or your data folder.")
    ] = None,
    relative_to: Annotated[
        Path | None, typer.Option(help="Use paths relative to this folder as keys, not absolute ones.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="A vocabulary made by `resight train`, for a new index.")
    ] = None,
    processes: Processes = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Add pictures to an index. Unchanged pictures are skipped, changed ones updated."""
    from .engine import processors
    from .images import find_pictures
    from .index import Index, file_key
    from .vocabulary import Vocabulary

    place = into or default_index()
    changed = parse_settings(settings, FeatureOptions, ImageOptions, StoreOptions)
    features = build(FeatureOptions, changed) if changed[FeatureOptions] else None
    own = Vocabulary.load(vocabulary) if vocabulary else None
    roots = list(pictures)
    for root in roots if relative_to else []:
        file_key(root, relative_to)  # one that lies outside is refused before any work
    total = sum(1 for _ in find_pictures(roots))
    started = time.monotonic()
    exists = (place / MANIFEST).exists()
    opened = (
        Index.open(place, features=features, vocabulary=own)
        if exists
        else Index.create(place, features=features, vocabulary=own)
    )
    added = updated = unchanged = 0
    skipped: list[tuple[str, str]] = []
    with opened as target, stoppable() as stop:
        target.images, target.store = build(ImageOptions, changed), build(StoreOptions, changed)
        outcomes = target.add_files(
            find_pictures(roots), relative_to=relative_to, processes=min(processes or processors(), max(total, 1))
        )
        for outcome in progress(outcomes, total=total, text="indexing"):
            if outcome.skipped:
                skipped.append((outcome.key, outcome.skipped))
            elif outcome.entry is None:
                unchanged += 1
            else:
                updated += outcome.replaces
                added += not outcome.replaces
            if stop.wanted:
                break
        target.commit()
        now = len(target)
    seconds = time.monotonic() - started
    summary = {
        "index": str(place), "added": added, "updated": updated, "unchanged": unchanged,
        "skipped": [{"key": key, "reason": reason} for key, reason in skipped],
        "pictures": now, "interrupted": stop.wanted, "seconds": round(seconds, 3),
    }  # fmt: skip
    if as_json:
        say_json(summary)
    else:
        rate = f", {(added + updated) / seconds:.1f} pictures/s" if added + updated else ""
        typer.echo(
            f"{added} added, {updated} updated, {unchanged} unchanged, {len(skipped)} skipped in {seconds:.1f} s{rate}"
        )
        typer.echo(f"{printable(str(place))} holds {now} pictures")
    for _, reason in skipped[:NAMES_SHOWN]:
        typer.echo(f"skipped {printable(reason)}", err=True)
    if len(skipped) > NAMES_SHOWN:
        typer.echo(f"… and {len(skipped) - NAMES_SHOWN} more; --json names all", err=True)
    if total == 0:
        typer.echo("no pictures found; resight reads JPEG, PNG, WebP, TIFF, BMP and HEIC files", err=True)
    if stop.wanted:
        typer.echo("interrupted: what was done is kept; run the same command to go on", err=True)
    return 1 if skipped or stop.wanted or total == 0 else 0


@command
def search(
    queries: Annotated[
        list[Path], typer.Argument(metavar="[INDEX] QUERY...", help="Query pictures; first, optionally, the index.")
    ],
    top: Annotated[int, typer.Option(min=1, help="Results for each query.")] = 20,
    region: Annotated[
        str | None, typer.Option(metavar="X,Y,W,H", help="Search with this part of the query, in pixels.")
    ] = None,
    recipe: Annotated[str, typer.Option(help=f"How to search: {', '.join(RECIPES)}.")] = DEFAULT,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Find pictures that show the same thing as a query picture."""
    from .index import Index
    from .warm import warm

    place, pictures = split_index([str(q) for q in queries])
    if not pictures:
        raise UsageError("give at least one query picture: resight search [INDEX] QUERY…")
    box, chosen = parse_region(region), chosen_recipe(recipe, settings)
    results: list[dict[str, Any]] = []
    complete = True
    with Index.open(place) as target:
        with patience("compiling the search kernels for this machine, this once …"):
            warm()
        for query in pictures:
            try:
                result = target.search(Path(query), top=top, region=box, recipe=chosen)
            except (ImageError, UsageError) as error:
                if len(pictures) == 1:
                    raise
                results.append({"query": query, "error": str(error)})
                typer.echo(f"error: {printable(str(error))}", err=True)
                complete = False
                continue
            complete &= found(result, chosen) > 0
            results.append({"query": query, **result_values(result)})
            if not as_json:
                show_result(query, result, chosen)
    if as_json:
        say_json({"index": str(place), "results": results})
    return 0 if complete else 1


@command
def info(
    place: Annotated[Path | None, typer.Argument(metavar="INDEX", help="The index.")] = None, as_json: AsJson = False
) -> int:
    """Say what an index holds and how it was made."""
    from .index import Index

    with Index.open(place or default_index()) as target:
        facts = target.info()
    if as_json:
        say_json(facts.as_dict())
        return 0
    per_picture = f" ({facts.size / facts.pictures / 1024:.1f} KiB per picture)" if facts.pictures else ""
    typer.echo(f"index        {printable(facts.path)}")
    typer.echo(f"pictures     {facts.pictures} ({facts.removed} more removed, not yet merged away)")
    typer.echo(f"features     {facts.features}")
    typer.echo(f"size         {facts.size / 2**20:.1f} MiB{per_picture}")
    typer.echo(f"segments     {facts.segments}, commit {facts.commit}")
    typer.echo(f"vocabulary   {facts.words} words, {facts.vocabulary}")
    typer.echo(f"settings     {json.dumps(facts.settings)}")
    return 0


@command
def remove(
    keys: Annotated[list[str], typer.Argument(metavar="[INDEX] KEY...", help="Keys or paths of indexed pictures.")],
    as_json: AsJson = False,
) -> int:
    """Remove pictures from an index (the picture files stay)."""
    from .index import Index

    place, wanted = split_index(keys)
    if not wanted:
        raise UsageError("give at least one key: resight remove [INDEX] KEY…")
    with Index.open(place) as target:
        gone = [key for key in wanted if target.remove(key) or target.remove(os.path.abspath(key))]
        target.commit()
        left = len(target)
    unknown = [key for key in wanted if key not in gone]
    if as_json:
        say_json({"index": str(place), "removed": gone, "unknown": unknown, "pictures": left})
    else:
        typer.echo(f"{len(gone)} removed; {left} pictures left")
    for key in unknown:
        typer.echo(f"not in the index: {printable(key)}", err=True)
    return 1 if unknown else 0


@command
def check(
    place: Annotated[Path | None, typer.Argument(metavar="INDEX", help="The index.")] = None, as_json: AsJson = False
) -> int:
    """Read every byte of an index and compare it with what was written."""
    from .store import check as check_index

    folder = place or default_index()
    report = check_index(folder)
    if as_json:
        say_json({"index": str(folder), "pictures": report.pictures, "features": report.features, "size": report.size,
                  "problems": list(report.problems)})  # fmt: skip
    elif not report.problems:
        typer.echo(
            f"{printable(str(folder))} is sound: {report.pictures} pictures, {report.features} features, "
            f"{report.size} bytes"
        )
    for problem in report.problems:
        typer.echo(printable(problem), err=True)
    return 3 if report.problems else 0


@command
def merge(
    place: Annotated[Path | None, typer.Argument(metavar="INDEX", help="The index.")] = None, as_json: AsJson = False
) -> int:
    """Rewrite an index as one segment, freeing the place of removed pictures."""
    from .index import Index

    with Index.open(place or default_index()) as target:
        before = target.info().size
        target.merge()
        after = target.info()
    if as_json:
        say_json({"index": after.path, "size_before": before, "size": after.size, "pictures": after.pictures})
    else:
        typer.echo(f"{before / 2**20:.1f} MiB → {after.size / 2**20:.1f} MiB, {after.pictures} pictures")
    return 0


@command
def train(
    pictures: Annotated[list[Path], typer.Argument(help="Folders and picture files to learn from.")],
    out: Annotated[Path, typer.Option(help="The vocabulary file to write.")],
    words: Annotated[int | None, typer.Option(min=1, help="Number of visual words.")] = None,
    processes: Processes = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Make a vocabulary from your own pictures, for `resight index --vocabulary`."""
    from .analyse import DescriberPlan, Job
    from .engine import processors, run
    from .images import find_pictures
    from .vocabulary import sample
    from .vocabulary import train as train_vocabulary

    changed = parse_settings(settings, FeatureOptions, ImageOptions, VocabularyOptions)
    if words is not None:
        changed[VocabularyOptions]["words"] = words
    options, features = build(VocabularyOptions, changed), build(FeatureOptions, changed)
    if not out.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {out.absolute().parent} to write {out.name} into; make it first")
    roots = list(pictures)
    total = sum(1 for _ in find_pictures(roots))
    plan = DescriberPlan(features, build(ImageOptions, changed))
    jobs = (Job(str(path), path) for path in find_pictures(roots))
    count = min(processes or processors(), max(total, 1))
    skipped: list[str] = []

    def descriptors() -> Iterator[Any]:
        results = run(plan, jobs, processes=count, on_crash=lambda job: f"{job.path}: the decoder crashed")
        for result in progress(results, total=total, text="reading"):
            if isinstance(result, str):
                skipped.append(result)
            else:
                yield result

    rows = sample(descriptors(), size=options.sample, seed=options.seed)
    typer.echo(f"training {options.words} words on {len(rows)} descriptors …", err=True)
    source = f"{total - len(skipped)} pictures of {', '.join(sorted({root.name for root in roots}))}"
    vocabulary = train_vocabulary(rows, options=options, source=source, features=features)
    vocabulary.save(out)
    facts = {"vocabulary": str(out), "fingerprint": vocabulary.fingerprint, "words": vocabulary.words,
             "descriptors": len(rows), "pictures": total - len(skipped), "skipped": skipped}  # fmt: skip
    if as_json:
        say_json(facts)
    else:
        typer.echo(
            f"{printable(str(out))}: {vocabulary.words} words from {len(rows)} descriptors "
            f"of {total - len(skipped)} pictures"
        )
    for reason in skipped[:NAMES_SHOWN]:
        typer.echo(f"skipped {printable(reason)}", err=True)
    return 1 if skipped else 0


# Reading what the user typed


def split_index(words: list[str]) -> tuple[Path, list[str]]:
    """The index is the first word if it looks like one, else the default."""
    if late := [word for word in words[1:] if looks_like_index(word)]:
        raise UsageError(f"name one index, and name it first, before the others: {late[0]!r}")
    if words and looks_like_index(words[0]):
        return Path(words[0]), words[1:]
    return default_index(), words


def looks_like_index(word: str) -> bool:
    return word.rstrip("/").endswith(".resight") or os.path.isfile(os.path.join(word, MANIFEST))


def parse_region(text: str | None) -> tuple[float, float, float, float] | None:
    if text is None:
        return None
    try:
        x, y, width, height = (float(number) for number in text.split(","))
    except ValueError:
        raise UsageError(f"a region is four numbers X,Y,W,H, not {text!r}") from None
    return x, y, width, height


def parse_settings(settings: list[str] | None, *kinds: type[Options]) -> dict[type[Options], dict[str, Any]]:
    """`--set stage.option=value` words, by stage."""
    by_stage = {kind.stage: kind for kind in kinds}
    parsed: dict[type[Options], dict[str, Any]] = {kind: {} for kind in kinds}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        stage, _, option = name.partition(".")
        if stage not in by_stage or not equals:
            raise OptionError(
                f"cannot read {setting!r}; write STAGE.OPTION=VALUE with one of the stages {', '.join(by_stage)}"
            )
        parsed[by_stage[stage]][option] = parse_value(by_stage[stage], option, value)
    return parsed


def build(kind: type[T], changed: dict[type[Options], dict[str, Any]]) -> T:
    return kind(**changed[kind])  # type: ignore[index]


def chosen_recipe(name: str, settings: list[str] | None) -> Recipe:
    """A named recipe with some options changed."""
    chosen = named_recipe(name)
    changed = parse_settings(settings, AssignOptions, ScoringOptions, VerifyOptions)
    return replace(
        chosen,
        assign=replace(chosen.assign, **changed[AssignOptions]),
        scoring=replace(chosen.scoring, **changed[ScoringOptions]),
        verify=replace(chosen.verify, **changed[VerifyOptions]),
    )


# Saying what was found


def printable(text: str) -> str:
    """File names may hold newlines, control characters and bytes that are no text: show them escaped."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    return shown.encode("utf-8", "backslashreplace").decode()


def say_json(values: dict[str, Any]) -> None:
    typer.echo(json.dumps(values))


def result_values(result: SearchResult) -> dict[str, Any]:
    return asdict(result)


def found(result: SearchResult, recipe: Recipe) -> int:
    """How many hits count as found: where geometry is checked, those it confirmed."""
    return sum(hit.inliers is not None for hit in result.hits) if recipe.verify.shortlist else len(result)


def show_result(query: str, result: SearchResult, recipe: Recipe) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sure = found(result, recipe)
    weak = f", {len(result) - sure} weak candidates" if sure < len(result) else ""
    typer.echo(f"{printable(query)}: {sure} found{weak} ({result.query_features} features)")
    if not result.hits:
        return
    table = Table(box=None, pad_edge=False)
    for title, side in (
        ("rank", "right"),
        ("score", "right"),
        ("inliers", "right"),
        ("where (x,y,w,h)", "left"),
        ("picture", "left"),
    ):
        table.add_column(title, justify=side, overflow="fold")  # type: ignore[arg-type]
    for rank, hit in enumerate(result.hits, 1):
        inliers = "" if hit.inliers is None else str(hit.inliers)
        table.add_row(str(rank), f"{hit.score:.3f}", inliers, where(hit), Text(printable(short(hit.key))))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def where(hit: Hit) -> str:
    r = hit.region
    return f"{r.x:.0f},{r.y:.0f},{r.width:.0f},{r.height:.0f}" if r else ""


def short(key: str) -> str:
    """A path below the current folder, from there."""
    here = os.getcwd() + os.sep
    return key.removeprefix(here)


def progress(items: Iterable[T], *, total: int, text: str) -> Iterator[T]:
    """Pass items on, with a bar on stderr (rate, time left) where that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich import progress as bars
    from rich.console import Console

    class Rate(bars.ProgressColumn):
        def render(self, task: bars.Task) -> str:
            return f"{task.speed:.1f}/s" if task.speed else ""

    columns = (bars.TextColumn(text), bars.BarColumn(), bars.MofNCompleteColumn(), Rate(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(text, total=total)
        for item in items:
            yield item
            bar.advance(task)


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


def main() -> None:
    for stream in (sys.stdout, sys.stderr):  # names that the terminal cannot show are escaped, not fatal
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()
