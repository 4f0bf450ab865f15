"""Move the pictures of groups that are not worth keeping into a folder, and back. Nothing is ever overwritten."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..urls import is_url
from .groups import Group

LOG = "moved.csv"  # in the folder: where each file came from


@dataclass(frozen=True, slots=True)
class Move:
    """A file that is to be moved."""

    key: str
    source: Path
    target: Path


def planned(groups: Iterable[Group], folder: Path) -> list[Move]:
    """All but the picture to keep of each group, if they are files on this machine; by their paths from one folder."""
    sources = {
        picture.key: Path(picture.path)
        for group in groups
        for picture in group.pictures
        if group.keep and picture.key != group.keep.key and picture.path and not is_url(picture.path)
        if os.path.isfile(picture.path)
    }
    if not sources:
        return []
    common = os.path.commonpath([source.parent for source in sources.values()])
    moves = [Move(key, source, folder / source.relative_to(common)) for key, source in sources.items()]
    for move in moves:
        if move.target.exists():
            raise UsageError(f"{move.target} exists already; give a folder that has no such file")
    return moves


def carry_out(moves: Iterable[Move], folder: Path) -> Iterator[Move]:
    """Yields each when it is done. The log says where a file came from before it is moved."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOG, "a", newline="", encoding="utf-8", errors="surrogateescape") as file:
        log = csv.writer(file)
        for move in moves:
            move.target.parent.mkdir(parents=True, exist_ok=True)
            if move.target.exists():
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
        if not target.exists():
            continue  # it was never moved, or is back already
        if source.exists():
            taken.append(source)
            continue
        source.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(target, source)
        back += 1
    return back, taken
