"""Own sets: ``groups``, one folder per place or object, as the Lola frames; ``pairs``, a query and what it should find.

Pairs come as a folder reference/ and a folder query/ with the same file names (SMVS: Reference/ and one folder per
phone), extensions aside, or as pairs.tsv: a query, a tab and a reference in each line, as paths below the root.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ...folders import find_pictures
from ..measures import Truth
from .dataset import Dataset, DatasetError, Query, as_root, group_queries, key_of, read_text, require


def load_groups(root: Path) -> Dataset:
    """Each picture is a query for the others of its folder; one that is alone there is only searched, never asked."""
    groups: dict[str, list[Path]] = {}
    for path in find_pictures([as_root(root)]):
        groups.setdefault(path.relative_to(root).parts[0], []).append(path)
    if loose := sorted(p.name for paths in groups.values() for p in paths if p.parent == root):
        raise DatasetError(
            f"{str(root)!r} has {len(loose)} picture(s) in no group: {', '.join(loose[:5])}; "
            "put each into the folder of its group"
        )
    several = [paths for paths in groups.values() if len(paths) > 1]
    if not several:
        raise DatasetError(f"{str(root)!r} has no folder with two or more pictures; make one folder per group")
    return Dataset(
        name="groups",
        root=root,
        images=tuple((key_of(root, path), path) for paths in groups.values() for path in paths),
        queries=tuple(group_queries(root, several, exclude_self=True)),
        measures=("anr", "map", "eer"),
    )


def load_pairs(root: Path) -> Dataset:
    """A query that is also a reference of another does not count in its own ranking."""
    table = as_root(root) / "pairs.tsv"
    pairs = list(_from_table(table) if table.exists() else _from_folders(root))
    relevant: dict[str, set[str]] = {}
    for query, reference in pairs:
        relevant.setdefault(query, set()).add(reference)
    # References that nobody asks for are searched too.
    images = dict.fromkeys(reference for _, reference in pairs)
    if not table.exists():
        images |= dict.fromkeys(key_of(root, p) for p in find_pictures([_subfolders(root)["reference"]]))
    require(root, (key for key in (*images, *relevant) if not (root / key).is_file()))
    return Dataset(
        name="pairs",
        root=root,
        images=tuple((key, root / key) for key in sorted(images)),
        queries=tuple(
            Query(
                name=key,
                key=key,
                path=root / key,
                truth=Truth(frozenset(references), frozenset({key} & images.keys())),
                in_database=key in images,
            )
            for key, references in sorted(relevant.items())
        ),
        measures=("recall@1", "recall@10", "map"),
    )


def _from_table(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        keys = [PurePosixPath(field) for field in fields]
        if len(fields) != 2 or any(k.is_absolute() or ".." in k.parts or not k.name for k in keys):
            raise DatasetError(
                f"{str(path)!r}, line {number}: wanted two paths below {str(path.parent)!r} with a tab between, "
                f"not {line!r}; correct the line"
            )
        yield str(keys[0]), str(keys[1])


def _from_folders(root: Path) -> Iterator[tuple[str, str]]:
    folders = _subfolders(root)
    reference = folders.pop("reference", None)
    asking = [folders["query"]] if "query" in folders else list(folders.values())
    if not reference or not asking:
        raise DatasetError(f"{str(root)!r} must hold folders query and reference, or a file pairs.tsv")
    references = _by_name(reference)
    for folder in asking:
        queries = _by_name(folder)
        require(reference, (f"{name}.*" for name in queries.keys() - references.keys()))
        yield from ((key_of(root, path), key_of(root, references[name])) for name, path in queries.items())


def _subfolders(root: Path) -> dict[str, Path]:
    """Lower-case name → folder."""
    return {p.name.lower(): p for p in sorted(root.iterdir()) if p.is_dir() and not p.name.startswith(".")}


def _by_name(folder: Path) -> dict[str, Path]:
    """Path below the folder without extension → path."""
    names: dict[str, Path] = {}
    for path in find_pictures([folder]):
        if (other := names.setdefault(path.relative_to(folder).with_suffix("").as_posix(), path)) != path:
            raise DatasetError(f"{str(other)!r} and {str(path)!r} have the same name; remove one of them")
    return names
