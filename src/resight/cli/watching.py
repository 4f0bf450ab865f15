"""`resight watch`: the index follows folders as pictures come and go."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import IndexLockedError, UsageError
from ..options import ImageOptions, StoreOptions
from ..urls import absolute, as_place, is_url
from .app import Processes, Set, command, default_index
from .arguments import build, parse_settings
from .folders import AllowEmpty, Exclude, Include, Into, RelativeTo, Tally
from .output import Stop, printable, say_json, stoppable

if TYPE_CHECKING:
    from ..folders import Listing
    from ..index import Index

QUIET = 500  # milliseconds without a change, after which those before it are looked at …
LONGEST = 5000  # … or so many after the first
FEW = 8  # pictures that are sooner done here than another process is started
AGAIN = 1000  # milliseconds until another try where another process is writing


@command
def watch(
    folders: Annotated[list[str], typer.Argument(help="Folders, with all below them.", show_default=False)],
    into: Into = None,
    relative_to: RelativeTo = None,
    include: Include = None,
    exclude: Exclude = None,
    allow_empty: AllowEmpty = False,
    processes: Processes = None,
    settings: Set = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON objects, one a line, instead of text.")] = False,
) -> int:
    """Keep an index up to date with folders as pictures come, change, move and go. Ctrl-C ends it.

    It begins like `resight index --sync`, then commits what changes, and prints a line for each commit. Between its
    commits others can write to the index. It needs a package of its own: pip install resight[watch].
    """
    changed = parse_settings(settings, ImageOptions, StoreOptions)
    options = build(ImageOptions, changed), build(StoreOptions, changed)
    roots = _roots(folders, relative_to)
    changes_in = _watcher()

    from ..folders import list_pictures
    from ..index import Index

    place = as_place(into) if into else default_index()
    with (Index.open if Index.exists(place) else Index.create)(place) as index, stoppable() as stop:
        index.images, index.store = options
        follower = Follower(index, stop, relative_to, allow_empty, processes)
        paths: set[str] | None = None  # that have changed; None: all may have
        waiting = False  # for another process to finish
        for more in changes_in(roots, index.path, stop):
            if paths is not None:
                paths |= more
                if not paths:
                    continue
            listing = list_pictures(roots, include=include or (), exclude=exclude or ())
            try:
                tally = follower.follow(listing, paths)
            except IndexLockedError as error:
                if not waiting:
                    typer.echo(f"waiting: {printable(str(error))}", err=True)
                waiting = True
                continue  # the next time, which is soon
            if paths is None:
                tally.tell(place, pictures=len(index), interrupted=stop.wanted, as_json=as_json)
                typer.echo(f"watching {', '.join(map(printable, roots))}; Ctrl-C ends it", err=True)
            elif tally.committed:
                _tell(tally, len(index), as_json)
            elif tally.empty:
                tally.tell_failures()
            paths, waiting = set(), False
        left = len(index)
    if as_json:
        say_json({"index": str(place), "ended": True, **follower.sums, "pictures": left})
    else:
        sums = ", ".join(f"{count} {what}" for what, count in follower.sums.items())
        typer.echo(f"ended: {sums} in all; {printable(str(place))} holds {left} pictures")
    return 0


def _roots(folders: list[str], relative_to: str | None) -> list[str]:
    """The folders by their absolute paths; what cannot be watched, or named, is refused before any work."""
    from ..ingest import file_key

    for folder in folders:
        if is_url(folder) or not os.path.isdir(folder):
            raise UsageError(f"{folder!r} is not a folder of this machine; only those can be watched")
        file_key(folder, relative_to)
    return [absolute(folder) for folder in folders]


@dataclass
class Follower:
    """Brings an index up to date; holds the writer's lock only while it does."""

    index: Index
    stop: Stop
    relative_to: str | None
    allow_empty: bool
    processes: int | None
    sums: Counter[str] = field(default_factory=lambda: Counter(added=0, updated=0, dropped=0))

    def follow(self, listing: Listing, paths: set[str] | None) -> Tally:
        """Commit what is new or gone in these folders, and what has changed at these paths; None: at any."""
        from ..engine import engine_named
        from ..ingest import file_key
        from ..learn import keeps_links

        self.index.refresh()
        changes = self.index.changes(listing, allow_empty=self.allow_empty)
        tally, before = Tally(listing, changes), self.index.snapshot.manifest.commit
        new = {absolute(picture) for picture in changes.new}
        files = {
            file_key(file, self.relative_to): file
            for file in listing.pictures
            if paths is None or absolute(file) in new or absolute(file) in paths
        }
        if not (files or changes.gone or changes.gone_bad):
            return tally
        engine = engine_named("local", processes=self.processes, jobs=len(files) // FEW)
        try:
            outcomes = self.index.add_files(
                files.values(), relative_to=self.relative_to, engine=engine, changes=changes
            )
            for outcome in outcomes:
                if not outcome.unreachable or os.path.exists(files[outcome.key]):  # else it came and went
                    tally.count(outcome)
                if self.stop.wanted:
                    break
            else:
                tally.drop(self.index)
            self.index.commit()
            if keeps_links(self.index.snapshot):
                self.index.learn.links(stop=lambda: self.stop.wanted)
        finally:
            self.index.release()
        tally.committed = self.index.snapshot.manifest.commit > before
        self.sums.update(added=tally.added, updated=tally.updated, dropped=len(tally.dropped))
        return tally


def _tell(tally: Tally, pictures: int, as_json: bool) -> None:
    """One commit."""
    if as_json:
        say_json({**tally.as_dict(), "pictures": pictures})
    else:
        counts = {"added": tally.added, "updated": tally.updated, "moved": len(tally.moved),
                  "dropped": len(tally.dropped), "skipped": len(tally.skipped)}  # fmt: skip
        said = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "bad files forgotten"
        typer.echo(f"{time.strftime('%H:%M:%S')} {said}; {pictures} pictures")
    tally.tell_failures()


def _watcher() -> Callable[[list[str], Path, Stop], Iterator[set[str]]]:
    """Roots → the paths that change below them, many at a time; at first, and every second, perhaps none."""
    try:
        from watchfiles import Change
        from watchfiles import watch as watch_files
    except ImportError:
        raise UsageError("to watch folders: pip install resight[watch]") from None
    from ..folders import is_walked

    def changes_in(roots: list[str], index: Path, stop: Stop) -> Iterator[set[str]]:
        def matters(_: Change, path: str) -> bool:
            root = max((root for root in roots if path.startswith(root)), key=len, default="")
            inside = path.removeprefix(root).strip("/").split("/")
            return all(map(is_walked, inside)) and not path.startswith(f"{index}/")

        found = watch_files(
            *roots, watch_filter=matters, debounce=LONGEST, step=QUIET, rust_timeout=AGAIN, yield_on_timeout=True,
            stop_event=stop, raise_interrupt=False,
        )  # fmt: skip
        for changes in found:
            yield {path for _, path in changes}

    return changes_in
