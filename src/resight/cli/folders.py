"""What `resight index` and `resight watch` have in common: options of folders, and what became of the files in them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..urls import Place
from ..wording import count as counted
from .app import NAMES_SHOWN
from .output import printable, say_json

if TYPE_CHECKING:
    from ..folders import Listing
    from ..index import Index
    from ..ingest import FolderChanges, Outcome

Into = Annotated[
    str | None,
    typer.Option(
        metavar="INDEX",
        help="The index, a folder or a URL; a new one is made. Default: $RESIGHT_INDEX or your data folder.",
    ),
]
RelativeTo = Annotated[
    str | None, typer.Option(metavar="FOLDER", help="Name pictures by their paths from this folder or URL.")
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Of the pictures in folders, take those whose path from the folder on, or name, matches, such as "
        "'*/2024/*.jpg', in upper or lower case; repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Leave out those that match, as for --include; repeatable."),
]
AllowEmpty = Annotated[
    bool,
    typer.Option(
        "--allow-empty",
        help="Drop pictures also if their folder has none left; else they are kept, as its disk may not be mounted.",
    ),
]


@dataclass
class Tally:
    """What became of files."""

    listing: Listing
    changes: FolderChanges | None = None
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)
    known_bad: list[dict[str, str]] = field(default_factory=list)
    moved: list[dict[str, str]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    committed: bool = False
    started: float = field(default_factory=time.monotonic)

    def count(self, outcome: Outcome) -> None:
        if outcome.skipped:
            named = {"key": outcome.key, "reason": outcome.skipped}
            (self.known_bad if outcome.known_bad else self.skipped).append(named)
        elif outcome.unchanged:
            self.unchanged += 1
        else:
            self.updated += outcome.replaces
            self.added += not outcome.replaces
        if outcome.moved_from:
            self.moved.append({"from": outcome.moved_from, "to": outcome.key})

    def drop(self, index: Index) -> None:
        """Remove what is gone; the caller commits."""
        if self.changes:
            index.drop(self.changes)
            self.dropped = [row.key for row in self.changes.gone]

    @property
    def gone(self) -> list[str]:
        """Pictures whose files are gone, and that are still in the index."""
        return [] if self.dropped or not self.changes else [row.key for row in self.changes.gone]

    @property
    def empty(self) -> dict[str, int]:
        """Folders without pictures, and how many the index keeps from there."""
        return dict(self.changes.empty) if self.changes else {}

    def as_dict(self) -> dict[str, Any]:
        return {
            "added": self.added, "updated": self.updated, "unchanged": self.unchanged, "moved": self.moved,
            "dropped": self.dropped, "gone": self.gone, "empty": self.empty, "skipped": self.skipped,
            "known_bad": self.known_bad, "excluded": len(self.listing.excluded),
            "other_kinds": dict(self.listing.other_kinds.most_common()),
        }  # fmt: skip

    def tell(self, place: Place, *, pictures: int, interrupted: bool, as_json: bool) -> None:
        """All of it, at the end of a run; pictures: those that the index holds now."""
        seconds = time.monotonic() - self.started
        if as_json:
            whole = {"pictures": pictures, "interrupted": interrupted, "seconds": round(seconds, 3)}
            say_json({"index": str(place), **self.as_dict(), **whole})
        else:
            new = self.added + self.updated
            rate = f", {new / seconds:.1f} pictures/s" if new and seconds and not self.unchanged else ""
            typer.echo(
                f"{self.added} added, {self.updated} updated, {self.unchanged} unchanged, "
                f"{len(self.skipped)} skipped in {seconds:.1f} s{rate}"
            )
            for line in self._lines():
                typer.echo(line)
            typer.echo(f"{printable(str(place))} holds {counted(pictures)}")
        self.tell_failures()
        if interrupted:
            typer.echo("interrupted: what was done is kept; run the same command to go on", err=True)

    def _lines(self) -> list[str]:
        """What is said only if there is something to say."""
        kinds = ", ".join(f"{printable(kind)} {count}" for kind, count in self.listing.other_kinds.most_common())
        return [
            line
            for number, line in (
                (len(self.moved), f"{len(self.moved)} of these have moved, and keep their metadata"),
                (len(self.dropped), f"{len(self.dropped)} dropped, whose files are gone"),
                (
                    len(self.gone),
                    f"{counted(len(self.gone))} of the index gone from these folders; --sync drops what is gone",
                ),
                (
                    len(self.known_bad),
                    f"{counted(len(self.known_bad), 'known bad file')} skipped (--retry-bad tries them again)",
                ),
                (len(self.listing.excluded), f"{len(self.listing.excluded)} left out by --include and --exclude"),
                (len(kinds), f"not read: {kinds}"),
            )
            if number
        ]

    def tell_failures(self) -> None:
        for one in self.skipped[:NAMES_SHOWN]:
            typer.echo(f"skipped {printable(one['reason'])}", err=True)
        if len(self.skipped) > NAMES_SHOWN:
            typer.echo(f"… and {len(self.skipped) - NAMES_SHOWN} more; --json names all", err=True)
        for folder, count in self.empty.items():
            typer.echo(
                f"no pictures in {printable(folder)}, but {counted(count)} of the index came from there; they are "
                "kept, since a disk may not be mounted: to drop them, add --sync --allow-empty",
                err=True,
            )
