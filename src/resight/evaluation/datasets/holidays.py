"""INRIA Holidays: six digits .jpg; number // 100 is the group, and number % 100 == 0 is the group's one query.

The query is removed from its own ranking, as in the evaluation package of the set.
"""

from __future__ import annotations

from pathlib import Path

from ..measures import Truth
from .dataset import Dataset, Query, key_of, numbered_pictures, require


def load_holidays(root: Path) -> Dataset:
    stems = numbered_pictures(root, ("jpg", "images"), r"\d{6}", "100000.jpg")
    groups: dict[str, set[str]] = {}
    for stem, path in stems.items():
        groups.setdefault(stem[:4], set()).add(key_of(root, path))
    no_query = [f"{group}00.jpg" for group in groups if f"{group}00" not in stems]
    no_answer = [f"{group}01.jpg" for group, keys in groups.items() if f"{group}00" in stems and len(keys) == 1]
    require(next(iter(stems.values())).parent, no_query + no_answer)
    queries = []
    for group, keys in groups.items():
        path = stems[f"{group}00"]
        key = key_of(root, path)
        queries.append(Query(name=key, key=key, path=path, truth=Truth(frozenset(keys - {key}), frozenset({key}))))
    return Dataset(
        name="holidays",
        root=root,
        images=tuple((key_of(root, path), path) for path in stems.values()),
        queries=tuple(queries),
        measures=("map", "eer", "anr"),
    )
