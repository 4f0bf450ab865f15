"""Move the pictures of groups that are not worth keeping into a folder, and back. Nothing is ever overwritten."""

from __future__ import annotations

import csv
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import ImageError, UsageError
from ..images import read_bytes
from ..ingest import content_hash
from ..urls import is_url
from .groups import Group, Member

LOG = "moved.csv"  # in the folder: where each file came from


@dataclass(frozen=True, slots=True)
class Move:
    """A file that is to be moved."""

    keys: tuple[str, ...]  # several if it was indexed under several
    source: Path
    target: Path


def planned(groups: Iterable[Group], folder: Path) -> list[Move]:
    """All but the picture to keep of each group, if they are files on this machine; by their paths from one folder.

    The picture to keep, and those that are to be moved, must still be as they were indexed. One file may be several
    pictures of a group, by links or under several keys: the one to keep is never moved.
    """
    keys: dict[Path, list[str]] = defaultdict(list)
    for group in groups:
        kept = next((p for p in group.pictures if group.keep and p.key == group.keep.key), None)
        if kept is None or not _is_as_indexed(kept):
            continue
        for picture in group.pictures:
            path = picture.path
            if path and not is_url(path) and _is_as_indexed(picture) and not _are_one_file(picture, kept):
                keys[_place(path)].append(picture.key)
    if not keys:
        return []
    common = os.path.commonpath([source.parent for source in keys])
    moves = [Move(tuple(same), source, folder / source.relative_to(common)) for source, same in keys.items()]
    for move in moves:
        if os.path.lexists(move.target):
            raise UsageError(f"{move.target} exists already; give a folder that has no such file")
    return moves


def _place(path: str) -> Path:
    """Where a file, or a link to one, really lies: folders may have several paths."""
    return Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _is_as_indexed(picture: Member) -> bool:
    try:
        return picture.path is not None and content_hash(read_bytes(picture.path)).hex() == picture.content
    except ImageError:
        return False


def _are_one_file(one: Member, other: Member) -> bool:
    try:
        return bool(one.path and other.path) and os.path.samefile(str(one.path), str(other.path))
    except OSError:
        return False


def carry_out(moves: Iterable[Move], folder: Path) -> Iterator[Move]:
    """Yields each when it is done. The log says where a file came from before it is moved."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOG, "a", newline="", encoding="utf-8", errors="surrogateescape") as file:
        log = csv.writer(file)
        for move in moves:
            move.target.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(move.target):
                raise UsageError(f"{move.target} has come into being meanwhile; give another folder")
            log.writerow((move.source, move.target.relative_to(folder)))
            file.flush()
            shutil.move(move.source, move.target)
            yield move


def move_back(folder: Path) -> tuple[int, list[Path]]:
    """Undo all moves into a folder: how many files are back, and which are not, since others are in their place."""
    try:
        with open(folder / LOG, newline="", encoding="utf-8", errors="surrogateescape") as file:
            lines = [(Path(source), folder / target) for source, target in csv.reader(file)]
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {folder / LOG}: {error}; give a folder that duplicates were moved to") from None
    back, taken = 0, []
    for source, target in lines:
        if not os.path.lexists(target):
            continue  # it was never moved, or is back already
        if os.path.lexists(source):
            taken.append(source)
            continue
        source.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(target, source)
        back += 1
    return back, taken
