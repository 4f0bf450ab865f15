"""Looking after indexes."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from fnmatch import translate
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..options import LEAST_FEATURES
from ..urls import absolute, as_place, is_url
from ..wording import count
from .app import AnIndex, AsJson, Set, command, default_index
from .arguments import chosen_recipe, split_index
from .output import counting, printable, say_compiling, say_json

if TYPE_CHECKING:
    from ..store import Snapshot


@command
def info(place: AnIndex = None, as_json: AsJson = False) -> int:
    """Say what an index holds and how it was made."""
    from ..index import Index

    with Index.open(place or default_index()) as target:
        facts = target.info()
    if as_json:
        say_json(facts.as_dict())
        return 0
    per_picture = f" ({facts.size / facts.pictures / 1024:.1f} KiB per picture)" if facts.pictures else ""
    typer.echo(f"index        {printable(facts.path)}")
    typer.echo(f"pictures     {facts.pictures} ({facts.removed} more removed, not yet merged away)")
    kept = f", {count(facts.kept, 'byte')} kept of each descriptor" if facts.kept else ""
    shape = " with affine shape" if facts.shapes else ""
    typer.echo(f"features     {facts.features}{shape}, {facts.settings.features.detector}{kept}")
    typer.echo(f"size         {facts.size / 2**20:.1f} MiB{per_picture}")
    typer.echo(f"segments     {facts.segments}, commit {facts.commit}")
    several = f"{facts.vocabularies} × " if facts.vocabularies > 1 else ""
    typer.echo(f"vocabulary   {several}{count(facts.words // facts.vocabularies, 'word')}, {facts.vocabulary}")
    typer.echo(f"settings     {json.dumps(facts.as_dict()['settings'])}")
    if facts.clusters:
        typer.echo(f"clusters     {facts.clusters}")
    if facts.contexts:
        typer.echo(f"contexts     {', '.join(facts.contexts)}")
    if facts.similarity:
        typer.echo(f"similarity   {facts.similarity}")
    if facts.linked:
        typer.echo(f"links        of {facts.linked} of {count(facts.pictures)}")
    return 0


@command
def remove(
    keys: Annotated[
        list[str],
        typer.Argument(
            metavar="[INDEX] KEY...",
            help="Keys or paths of indexed pictures, or patterns of these in quotes, such as '*/holiday/*.jpg'.",
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: AsJson = False,
) -> int:
    """Remove pictures from an index (the picture files stay).

    In patterns `*` and `?` stand for any characters, also for `/`, and `[ab]` for one of these. Case matters.
    """
    from ..index import Index

    place, wanted = split_index(keys)
    if not wanted:
        raise UsageError("give at least one key: resight remove [INDEX] KEY…")
    with Index.open(place) as target:
        found = {word: _matching(target.snapshot, word) for word in wanted}
        removed = list(dict.fromkeys(key for keys in found.values() for key in keys))
        for key in removed if not dry_run else ():
            target.remove(key)
        target.commit()
        left = len(target)
    unknown = [word for word, keys in found.items() if not keys]
    if as_json:
        say_json({"index": str(place), "removed": removed, "unknown": unknown, "dry_run": dry_run, "pictures": left})
    elif dry_run:
        for key in removed:
            typer.echo(printable(key))
        typer.echo(f"{len(removed)} of {count(left)} would be removed")
    else:
        typer.echo(f"{len(removed)} removed; {count(left)} left")
    for key in unknown:
        typer.echo(f"not in the index: {printable(key)}", err=True)
    return 1 if unknown else 0


def _matching(snapshot: Snapshot, word: str) -> list[str]:
    """The key that this is, though it may hold the signs of a pattern; else those whose key or path matches it."""
    if exact := [key for key in (word, absolute(word)) if snapshot.find(key)]:
        return exact[:1]
    pattern = word if is_url(word) else os.path.abspath(os.path.join(escape(os.getcwd()), word))
    matches = re.compile(f"{translate(word)}|{translate(pattern)}").match
    return [row.key for row in snapshot.rows() if matches(row.key) or (row.path and matches(row.path))]


@command
def check(place: AnIndex = None, as_json: AsJson = False) -> int:
    """Read every byte of an index and compare it with what was written."""
    from ..store import Remote
    from ..store import check as check_index

    found = as_place(place) if place else default_index()
    report = Remote(str(found)).check() if is_url(found) else check_index(Path(found))
    if as_json:
        say_json({"index": str(found), "pictures": report.pictures, "features": report.features, "size": report.size,
                  "problems": list(report.problems)})  # fmt: skip
    elif not report.problems:
        typer.echo(
            f"{printable(str(found))} is sound: {count(report.pictures)}, "
            f"{count(report.features, 'feature')}, {count(report.size, 'byte')}"
        )
    for problem in report.problems:
        typer.echo(printable(problem), err=True)
    return 3 if report.problems else 0


@command
def merge(place: AnIndex = None, as_json: AsJson = False) -> int:
    """Rewrite an index as one segment, freeing the place of removed pictures."""
    from ..index import Index

    with Index.open(place or default_index()) as target:
        before = target.info().size
        target.merge()
        after = target.info()
    if as_json:
        say_json({"index": after.path, "size_before": before, "size": after.size, "pictures": after.pictures})
    else:
        typer.echo(f"{before / 2**20:.1f} MiB → {after.size / 2**20:.1f} MiB, {count(after.pictures)}")
    return 0


@command
def shrink(
    place: AnIndex = None,
    floor: Annotated[
        int, typer.Option(min=0, help="Features that a picture keeps, if it has as many: the largest, if need be.")
    ] = LEAST_FEATURES,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how small the index would be.")] = False,
    as_json: AsJson = False,
) -> int:
    """Keep only the features by which pictures were found to show the same thing, and some of each picture.

    This cannot be undone, except by indexing the files into a new index, and searches find less: try it on a copy
    first. `resight link` must come before. Pictures that are indexed later come with all their features, as do files
    that have changed or moved; unchanged ones stay as they are. Links stay. What `resight context`, `resight learn` and
    `--clusters` made of the old features is dropped. If interrupted, the index is as it was.
    """
    from ..index import Index
    from ..warm import warm

    with Index.open(place or default_index()) as target:
        warm(detectors=[], compiling=say_compiling)
        with counting(len(target), text="asking") as done:
            shrunk = target.shrink(floor=floor, dry_run=dry_run, done=done)
    if as_json:
        say_json({"index": target.place, "floor": floor, "dry_run": dry_run, **asdict(shrunk)})
        return 0
    at_most = "at most " if dry_run else ""
    typer.echo(
        f"{count(shrunk.pictures)}: {shrunk.features_before} features → {shrunk.features}, "
        f"{shrunk.size_before / 2**20:.1f} MiB → {at_most}{shrunk.size / 2**20:.1f} MiB"
    )
    if shrunk.dropped:
        typer.echo(f"{'would be dropped' if dry_run else 'dropped'}: {', '.join(shrunk.dropped)}")
    return 0


@command
def context(
    place: AnIndex = None,
    recipe: Annotated[str, typer.Option(help="A recipe with context, or a TOML file.")] = "context",
    forget: Annotated[bool, typer.Option("--forget", help="Forget what was learnt for this recipe.")] = False,
    settings: Set = None,
    as_json: AsJson = False,
) -> int:
    """Learn how crowded the neighbourhood of each picture is (CDM-10), for searches with this recipe.

    Pictures that you add later get their terms then. Learn again when the collection has changed a lot.
    """
    from ..index import Index

    with Index.open(place or default_index()) as target:
        facts: dict[str, Any] = {"index": target.place, "pictures": len(target)}
        if forget:
            own = recipe in target.info().contexts or settings
            facts["forgotten"] = target.learn.forget_context(chosen_recipe(recipe, settings) if own else recipe)
            text = "forgotten" if facts["forgotten"] else "there was nothing to forget"
        else:
            with counting(len(target) * target.vocabulary.vocabularies, text="comparing") as done:
                learnt = target.learn.context(chosen_recipe(recipe, settings), done=done)
            references, uncertain = len(learnt[0].terms.delta), sum(r.terms.uncertain for r in learnt)
            spreads = max((r.terms.spreads for r in learnt), key=lambda s: s[-1:])  # of the least even vocabulary
            before, after = spreads[:1], spreads[-1:]
            facts |= {"references": references, "uncertain": uncertain, "spreads": list(spreads)}
            evened = f"; neighbourhoods differ by {after[0]:.1%} instead of {before[0]:.1%}" if before else ""
            text = f"{count(facts['pictures'])} measured against {references}{evened}"
            if uncertain:
                text += f"; {uncertain} might be more exact with a larger context.kept"
    if as_json:
        say_json(facts)
    else:
        typer.echo(text)
    return 0
