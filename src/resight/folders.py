"""Folders and their URLs → the picture files in them. Nothing is read but names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import overload

from .errors import UsageError
from .images import is_picture_name
from .urls import Place, absolute, as_place, files_under, is_url


@dataclass(frozen=True)
class Selection:
    """Which of the pictures in a folder are wanted, by patterns as ``list_pictures`` takes them."""

    include: tuple[str, ...] = ()  # only those that one of these matches; none: all
    exclude: tuple[str, ...] = ()  # but not those that one of these matches

    def takes(self, path: str) -> bool:
        """Whether a picture at this path from the folder on is wanted."""
        return (not self.include or _matches(path, self.include)) and not _matches(path, self.exclude)


def _matches(path: str, patterns: Iterable[str]) -> bool:
    names = path.lower(), path.lower().rpartition("/")[2]
    return any(fnmatchcase(name, pattern.lower()) for pattern in patterns for name in names)


@dataclass(frozen=True)
class Listing:
    """The picture files under some roots, and what was passed over."""

    selection: Selection  # which pictures of folders are wanted
    pictures: list[Place] = field(default_factory=list)  # in sorted order: first those on this machine
    folders: list[str] = field(default_factory=list)  # those of the roots that are folders: absolute paths and URLs
    excluded: list[str] = field(default_factory=list)  # pictures that the selection leaves out
    other_kinds: Counter[str] = field(default_factory=Counter)  # files of kinds that are not read, by extension

    def root_of(self, path: str) -> str | None:
        """The folder that this path or URL lies in."""
        return next((folder for folder in self.folders if path.startswith(f"{folder.rstrip('/')}/")), None)

    def _take(self, root: str, name: str) -> bool:
        """Whether a file at this path from the root on is wanted; if not, it is counted, unless it is hidden."""
        if name.rpartition("/")[2].startswith("."):
            return False
        if not is_picture_name(name):
            self.other_kinds[Path(name).suffix.lower() or "no extension"] += 1
            return False
        if not self.selection.takes(name):
            self.excluded.append(f"{root.rstrip('/')}/{name}")
            return False
        return True


def list_pictures(roots: Iterable[Place], *, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> Listing:
    """The picture files under each root, and what else is there.

    Names starting with '.', folders ending in '.resight' (indexes) and symlinked folders are left out. A root is
    taken whatever its name: a file is listed, a folder is walked.

    include, exclude: patterns such as ``*/2024/*.jpg``, for pictures in folders alone. They are compared, whatever the
    case, with the path from the folder on and with the name; ``*`` also stands for ``/``.
    """
    listing = Listing(Selection(tuple(include), tuple(exclude)))
    places = [as_place(root) for root in roots]
    there = [picture for place in places if is_url(place) for picture in _list_url(str(place), listing)]
    listing.pictures.extend(_list_paths([Path(absolute(place)) for place in places if not is_url(place)], listing))
    listing.pictures.extend(dict.fromkeys(there))
    return listing


@overload
def find_pictures(roots: Iterable[Path]) -> Iterator[Path]: ...


@overload
def find_pictures(roots: Iterable[Place]) -> Iterator[Place]: ...


def find_pictures(roots: Iterable[Place]) -> Iterator[Place]:
    """All pictures that ``list_pictures`` finds."""
    return iter(list_pictures(roots).pictures)


def is_walked(name: str) -> bool:
    """Whether a folder of this name is looked into."""
    return not name.startswith(".") and not name.endswith(".resight")


def _list_url(url: str, listing: Listing) -> Iterator[str]:
    found = files_under(url)
    if found is None:
        yield url
        return
    listing.folders.append(url)
    for name in found:
        if all(map(is_walked, name.split("/")[:-1])) and listing._take(url, name):
            yield f"{url}/{name}"


def _list_paths(given: Iterable[Path], listing: Listing) -> Iterator[Path]:
    roots = list(dict.fromkeys(given))
    for root in roots:  # all of them first, so that a misspelt one costs no work
        if not os.path.exists(root):
            raise UsageError(f"{str(root)!r} does not exist; check the path")
    folders = {root for root in roots if root.is_dir()}
    listing.folders.extend(str(root) for root in roots if root in folders)
    unlisted: list[Path] = []
    for root in roots:
        if any(_met(root, folder, listing.selection) for folder in folders.intersection(root.parents)):
            continue
        if root not in folders:
            yield root
            continue
        for folder, subfolders, files in os.walk(root, onerror=lambda e: unlisted.append(Path(e.filename))):
            # Changed in place: os.walk goes on with what is left.
            subfolders[:] = sorted(filter(is_walked, subfolders))
            above = os.path.relpath(folder, root)
            names = (file if above == "." else f"{above}/{file}" for file in sorted(files))
            yield from (root / name for name in names if listing._take(str(root), name))
    # A folder that cannot be listed is handed on like a picture that cannot be read: whoever reads it reports it.
    yield from unlisted


def _met(path: Path, above: Path, selection: Selection) -> bool:
    """Whether a walk of the folder above comes to this picture or folder."""
    way = [path, *path.parents][: len(path.parts) - len(above.parts)]
    folders = [step for step in way if step.is_dir()]
    through = all(is_walked(folder.name) and not folder.is_symlink() for folder in folders)
    taken = not path.name.startswith(".") and is_picture_name(path) and selection.takes(str(path.relative_to(above)))
    return through and (path in folders or taken)
