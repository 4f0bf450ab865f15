"""Which pictures are worth matching: `name1 name2` lines for hloc and COLMAP."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..errors import UsageError
from ..index import Index
from ..recipes import DEFAULT, Recipe

NAMED = 5  # pictures that a message names


def names_for_pairs(index: Index, relative_to: Path | None = None) -> dict[str, str]:
    """Key → name of each picture, sorted by name: its path from a folder, as COLMAP and hloc name pictures.

    Without a folder: absolute paths from their common one, and other keys as they are.
    """
    keys = list(index)
    if relative_to is None and keys and all(map(os.path.isabs, keys)):
        relative_to = Path(os.path.commonpath([os.path.dirname(key) for key in keys]))
    folder = relative_to and os.path.abspath(relative_to)
    if folder and (outside := [key for key in keys if not Path(os.path.abspath(key)).is_relative_to(folder)]):
        raise UsageError(f"not inside {folder}: {_some(outside)}; give a folder that holds all pictures")
    names = {key: os.path.relpath(key, folder) if folder else key for key in keys}
    # Both programs split lines at white space, and COLMAP passes over lines that begin with a hash.
    if bad := [name for name in names.values() if name.split() != [name] or name.startswith("#")]:
        raise UsageError(
            f"{len(bad)} names have white space in them or begin with '#', which a list of pairs cannot hold: "
            f"{_some(sorted(bad))}; rename these pictures and index them again"
        )
    return dict(sorted(names.items(), key=lambda item: item[1]))


def best_pairs(
    index: Index,
    names: dict[str, str],
    *,
    top: int,
    recipe: str | Recipe = DEFAULT,
    done: Callable[[int], None] = lambda count: None,
) -> Iterator[tuple[str, str]]:
    """Every picture with its ``top`` best others, each pair once, whichever found the other; sorted.

    Each picture asks with its stored features. ``done`` hears of each. Memory: 8 bytes for each result.
    """
    number = {key: i for i, key in enumerate(names)}
    top = min(top, len(number))
    found = np.full((len(number), top), -1, np.int64)
    for key, mine in number.items():
        others = [number[hit.key] for hit in index.search(key=key, top=top, recipe=recipe).hits]
        found[mine, : len(others)] = [min(mine, other) * len(number) + max(mine, other) for other in others]
        done(1)
    pairs, ordered = np.unique(found), list(names.values())
    return ((ordered[pair // len(number)], ordered[pair % len(number)]) for pair in pairs[pairs >= 0])


def linked_pairs(index: Index, names: dict[str, str], *, top: int) -> Iterator[tuple[str, str, int]]:
    """Every picture with its ``top`` strongest links, each pair once, and how many matches agree; sorted.

    Nothing is searched.
    """
    number, found = {key: i for i, key in enumerate(names)}, dict[tuple[int, int], int]()
    for key, mine in number.items():
        for hit in index.links(key)[:top]:
            other = number[hit.key]
            found[min(mine, other), max(mine, other)] = hit.inliers or 0
    ordered = list(names.values())
    return ((ordered[one], ordered[other], inliers) for (one, other), inliers in sorted(found.items()))


def _some(names: Sequence[str]) -> str:
    """A few of them, for a message."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more
