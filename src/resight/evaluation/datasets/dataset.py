"""What every dataset becomes: pictures to index, queries to ask, and the known answers."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...folders import find_pictures
from ...images import is_picture_name
from ...types import Region
from ..measures import Truth


class DatasetError(UsageError):
    """A folder is not the dataset it was said to be, or a part of it is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question with a known answer."""

    name: str  # unique within the dataset
    key: str  # of the picture: its path relative to the dataset's root
    path: Path
    truth: Truth
    region: Region | None = None  # the part of the picture to search for
    in_database: bool = True  # whether the picture is also one of Dataset.images

    @property
    def exclude_self(self) -> bool:
        """Whether the query does not count in its own ranking. It is junk then, so measures leave it out unasked."""
        return self.key in self.truth.junk


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Pictures, queries, and what is usually measured."""

    name: str
    root: Path
    images: tuple[tuple[str, Path], ...]  # (key, path) of the pictures to search in
    queries: tuple[Query, ...]
    measures: tuple[str, ...]  # names for ``measures.score``; the first is the headline

    def __post_init__(self) -> None:
        if not self.images or not self.queries:
            what = "queries" if self.images else "pictures"
            raise DatasetError(f"{self.name}: {str(self.root)!r} has no {what}; give the folder that holds the dataset")
        (key, count), *_ = Counter(key for key, _ in self.images).most_common(1)
        if count > 1:
            raise DatasetError(f"{self.name}: {count} pictures have the key {key!r}; rename one of their folders")
        keys = {key for key, _ in self.images}
        for query in self.queries:
            unknown = (query.truth.relevant | query.truth.junk | ({query.key} if query.in_database else set())) - keys
            require(self.root, unknown)


def require(root: Path, missing: Iterable[str]) -> None:
    """Raise an error that names what is missing: the first few, and how many."""
    names = sorted(set(missing))
    if names:
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        raise DatasetError(f"{str(root)!r} lacks {len(names)} file(s): {shown}; download or copy the set again")


def as_root(path: Path) -> Path:
    """The path, if it is a folder."""
    if not path.is_dir():
        raise DatasetError(f"{str(path)!r} is not a folder; give the folder that holds the dataset")
    return path


def key_of(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def numbered_pictures(root: Path, subfolders: Sequence[str], pattern: str, example: str) -> dict[str, Path]:
    """Pictures whose stem matches, directly in the first of root, root/subfolders… that has any; in sorted order."""
    for folder in (as_root(root), *(root / s for s in subfolders)):
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        if found := by_stem(p for p in files if is_picture_name(p) and re.fullmatch(pattern, p.stem)):
            return found
    places = " nor in ".join([repr(str(root)), *subfolders])
    raise DatasetError(f"no pictures named like {example} in {places}; give the folder that holds the dataset")


def by_stem(paths: Iterable[Path]) -> dict[str, Path]:
    """File name without extension → path."""
    stems: dict[str, Path] = {}
    for path in paths:
        if (other := stems.setdefault(path.stem, path)) != path:
            raise DatasetError(f"{str(other)!r} and {str(path)!r} have the same name; remove one of them")
    return stems


def pictures_by_stem(root: Path) -> dict[str, Path]:
    """Every picture anywhere under the root, by the name that ground truth files use."""
    return by_stem(find_pictures([as_root(root)]))


def box(root: Path, corners: Any, name: str) -> Region:
    """A region from [left, top, right, bottom]."""
    try:
        left, top, right, bottom = (float(c) for c in corners)
    except (TypeError, ValueError):
        left = top = right = bottom = math.nan
    if not (left < right < math.inf and top < bottom < math.inf):  # false for NaN too
        raise DatasetError(f"{str(root)!r}: box of {name!r} is {corners!r}, not left, top, right, bottom; correct it")
    return Region(left, top, right - left, bottom - top)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"cannot read {str(path)!r} ({error}); download it again") from error


def read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise DatasetError(f"{str(path)!r} is not JSON ({error}); download it again") from error


def group_queries(root: Path, groups: Iterable[Collection[Path]], *, exclude_self: bool) -> Iterable[Query]:
    """Every picture of every group as a query for its group."""
    for group in groups:
        keys = {key_of(root, path): path for path in group}
        for key, path in keys.items():
            out = frozenset({key} if exclude_self else ())
            yield Query(name=key, key=key, path=path, truth=Truth(frozenset(keys) - out, out))
