"""Folder → pictures, queries and known answers. One file per family; a new set is a function and a line in DATASETS.

Nothing is decoded here, and nothing but the ground truth is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...folders import find_pictures
from ..measures import Truth
from .dataset import Dataset, DatasetError, Query, as_root
from .folders import load_groups, load_pairs
from .holidays import load_holidays
from .oxford import load_oxford
from .revisited import load_revisited
from .ukbench import load_ukbench

DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "ukbench": load_ukbench,
    "holidays": load_holidays,
    "oxford": load_oxford,
    "paris": load_oxford,
    "revisited": load_revisited("medium"),
    "revisited-easy": load_revisited("easy"),
    "revisited-medium": load_revisited("medium"),
    "revisited-hard": load_revisited("hard"),
    "groups": load_groups,
    "pairs": load_pairs,
    "smvs": load_pairs,
}


def load(name: str, path: Path, *, limit: int | None = None, distractors: Sequence[Path] = ()) -> Dataset:
    """The dataset in this folder.

    limit: keep at most this many pictures to search: the first queries with all that is relevant or junk to them, then,
        where places are left, pictures that no query is about. Distractors are not counted.
    distractors: every picture below these folders is added under distractors/<folder>/…, relevant to nothing.
    """
    if name not in DATASETS:
        raise DatasetError(f"unknown dataset {name!r}; known: {', '.join(DATASETS)}")
    dataset = replace(DATASETS[name](Path(os.path.abspath(path))), name=name)
    if limit is not None:
        dataset = _first(dataset, limit)
    added = tuple(_distractors(dataset, [Path(folder) for folder in distractors]))
    return replace(dataset, images=dataset.images + added)


def _first(dataset: Dataset, limit: int) -> Dataset:
    def about(query: Query) -> set[str]:
        return {*query.truth.relevant, *query.truth.junk, *([query.key] if query.in_database else [])}

    queries: list[Query] = []
    kept: set[str] = set()
    for query in dataset.queries:
        more = about(query) - kept
        if len(kept) + len(more) > limit:
            break
        kept |= more
        queries.append(query)
    if not queries:
        least = len(about(dataset.queries[0]))
        raise DatasetError(f"limit {limit} is too small for {dataset.name}: its first query needs {least} pictures")
    taken = set[str]().union(*(about(query) for query in dataset.queries))
    free = [key for key, _ in dataset.images if key not in taken]
    kept.update(free[: limit - len(kept)])
    return replace(
        dataset, queries=tuple(queries), images=tuple((key, path) for key, path in dataset.images if key in kept)
    )


def _distractors(dataset: Dataset, folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    root = dataset.root.resolve()
    own = {root / key for key in (*(key for key, _ in dataset.images), *(query.key for query in dataset.queries))}
    for folder in folders:
        place = as_root(folder).resolve()
        found = list(find_pictures([folder]))
        if not found:
            raise DatasetError(f"no pictures below {str(folder)!r}; give folders that hold distractors")
        for path in found:
            below = path.relative_to(folder)
            if place / below in own:
                raise DatasetError(f"{str(path)!r} is a picture of the dataset; give other folders as distractors")
            yield f"distractors/{place.name}/{below.as_posix()}", path


__all__ = ["DATASETS", "Dataset", "DatasetError", "Query", "Truth", "load"]
