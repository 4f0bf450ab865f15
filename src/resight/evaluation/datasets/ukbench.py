"""The Kentucky set of Nistér and Stewénius: ukbench00000.jpg, ukbench00001.jpg, …; four in a row show one object.

Any first part of the set will do, in any size, as long as it ends with a whole object. Every picture is a query, and
is itself one of its four relevant pictures, as in the papers.
"""

from __future__ import annotations

from pathlib import Path

from .dataset import Dataset, group_queries, key_of, numbered_pictures, require


def load_ukbench(root: Path) -> Dataset:
    stems = numbered_pictures(root, ("full", "images"), r"ukbench\d{5}", "ukbench00000.jpg")
    end = max(int(stem[-5:]) for stem in stems) // 4 * 4 + 4
    names = [f"ukbench{number:05}" for number in range(end)]
    require(next(iter(stems.values())).parent, (f"{name}.jpg" for name in names if name not in stems))
    paths = [stems[name] for name in names]
    return Dataset(
        name="ukbench",
        root=root,
        images=tuple((key_of(root, path), path) for path in paths),
        queries=tuple(group_queries(root, (paths[i : i + 4] for i in range(0, end, 4)), exclude_self=False)),
        measures=("ns", "map", "eer", "anr"),
    )
