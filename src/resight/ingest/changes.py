"""Folders, and what an index has from them → what is new there, and what is gone."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field

from ..folders import Listing, is_walked
from ..images import is_picture_name
from ..store import Row, Snapshot
from ..urls import Place, absolute, is_url
from .jobs import Moved


@dataclass(frozen=True)
class FolderChanges:
    """How folders differ from what an index has from them.

    Where a folder has not a single picture, those of the index do not count as gone: a disk may not be mounted.
    """

    new: list[Place]  # pictures that the index does not have
    gone: list[Row] = field(default_factory=list)  # pictures of the index whose files are gone, or left out now
    gone_bad: list[str] = field(default_factory=list)  # the same of files that could not be read: their keys
    empty: Counter[str] = field(default_factory=Counter)  # such folders, and how many pictures the index has from there

    @property
    def moved(self) -> dict[bytes, Moved]:
        """By content, what a new picture takes over from one that is gone; from the first of several."""
        return {row.content: Moved(row.key, row.metadata) for row in reversed(self.gone)}


def folder_changes(snapshot: Snapshot, listing: Listing, *, allow_empty: bool = False) -> FolderChanges:
    """Only pictures whose path or URL lies in one of the listed folders can be gone.

    allow_empty: also where a folder has no pictures at all.
    """
    listed, excluded = {absolute(picture) for picture in listing.pictures}, {*listing.excluded}
    filled = {listing.root_of(path) for path in listed}
    known: set[str] = set()
    changes = FolderChanges([])

    def is_gone(path: str | None) -> bool:
        if path is None or path in listed or (root := listing.root_of(path)) is None:
            return False
        if path not in excluded and not _is_missing(path, root):
            return False
        if root in filled or allow_empty:
            return True
        changes.empty[root] += 1
        return False

    for row in snapshot.rows():
        if row.path in listed:
            known.add(row.path)
        elif is_gone(row.path):
            changes.gone.append(row)
    changes.gone_bad.extend(key for key, refusal in snapshot.refused.items() if is_gone(refusal.path))
    changes.new.extend(picture for picture in listing.pictures if absolute(picture) not in known)
    return changes


def _is_missing(path: str, root: str) -> bool:
    """Whether a file that was not listed is gone for sure."""
    if is_url(path):  # a listing of the URL would have named it, if it is one that is looked for
        *folders, name = path.removeprefix(root).strip("/").split("/")
        return all(map(is_walked, folders)) and not name.startswith(".") and is_picture_name(name)
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # a folder that may not be looked into, a disk that fails
        return False
    return False
