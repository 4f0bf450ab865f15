"""Revisited Oxford and Paris (Radenović et al., CVPR 2018): the old pictures with new answers in gnd_*.pkl or .json.

The file holds {"imlist": [names], "qimlist": [names], "gnd": [{"bbx", "easy", "hard", "junk"}]}, the answers being
positions in imlist. Query pictures are not in the database. Pictures may lie anywhere below the folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..measures import Truth
from .dataset import Dataset, DatasetError, Query, box, key_of, pictures_by_stem, read_json, require
from .plain_pickle import read_plain_pickle

# Protocol → (labels that are relevant, labels that are ignored).
PROTOCOLS = {
    "easy": (("easy",), ("junk", "hard")),
    "medium": (("easy", "hard"), ("junk",)),
    "hard": (("hard",), ("junk", "easy")),
}


def load_revisited(protocol: str) -> Callable[[Path], Dataset]:
    """The loader for one protocol."""
    return lambda root: _load(root, *PROTOCOLS[protocol])


def _load(root: Path, relevant: tuple[str, ...], ignored: tuple[str, ...]) -> Dataset:
    stems = pictures_by_stem(root)
    path = _answers(root)
    content = read_json(path) if path.suffix == ".json" else read_plain_pickle(path)
    try:
        images, queries, answers = _names(content["imlist"]), _names(content["qimlist"]), list(content["gnd"])
        labels = [{label: [_index(i) for i in a[label]] for label in ("easy", "hard", "junk")} for a in answers]
        boxes = [box(root, a["bbx"], name) for a, name in zip(answers, queries, strict=True)]
        require(root, (f"{name}.jpg" for name in (*images, *queries) if name not in stems))
        keys = [key_of(root, stems[name]) for name in images]
        truths = [[frozenset(keys[i] for k in kinds for i in a[k]) for kinds in (relevant, ignored)] for a in labels]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DatasetError(
            f"{str(path)!r} is not revisited ground truth ({type(error).__name__}: {error}); download it again"
        ) from error
    return Dataset(
        name="revisited",
        root=root,
        images=tuple(zip(keys, (stems[name] for name in images), strict=True)),
        queries=tuple(
            Query(
                name=name,
                key=key_of(root, stems[name]),
                path=stems[name],
                region=region,
                truth=Truth(right, junk),
                in_database=False,
            )
            for name, region, (right, junk) in zip(queries, boxes, truths, strict=True)
            if right  # as in the published evaluation, a query without answers in this protocol does not count
        ),
        measures=("map", "mp@1", "mp@5", "mp@10"),
    )


def _answers(root: Path) -> Path:
    """The ground truth file; JSON is preferred where both are there."""
    found = sorted(p for kind in ("json", "pkl") for p in root.glob(f"gnd_*.{kind}"))
    if len({p.stem for p in found}) != 1:
        names = ", ".join(p.name for p in found) or "none"
        raise DatasetError(f"{str(root)!r} must hold one gnd_*.pkl or gnd_*.json; found: {names}")
    return found[0]


def _names(values: Any) -> list[str]:
    names = list(values)
    if any(not isinstance(name, str) for name in names):
        raise TypeError("names of pictures must be text")
    return [name.removesuffix(".jpg") for name in names]


def _index(value: Any) -> int:
    index = int(value)
    if index != value or index < 0:
        raise ValueError(f"{value!r} is not a position")
    return index
