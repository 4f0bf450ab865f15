"""Imports only point upwards in the order of the data (docs/ARCHITECTURE.md), and some libraries have one home."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import resight

ROOT = Path(resight.__file__).parent
ORDER = [
    *(
        "errors",
        "types",
        "arrays",
        "timing",
        "wording",
        "connected",
        "machine",
        "options",
        "urls",
        "_faiss",
        "_numba",
        "images",
        "colours",
        "folders",
        "features",
        "vocabulary",
        "postings",
        "scoring",
    ),
    *(
        "learning_to_rank",
        "context",
        "clusters",
        "rerank",
        "recipes",
        "store",
        "search",
        "warm",
        "engine",
        "ingest",
        "draw",
        "duplicates",
        "learn",
        "index",
    ),
    *("evaluation", "interop", "server", "demo", "cli", "__main__"),
]
# Library → the modules that may import it.
HOMES = {
    "ray": {"engine"},
    "fsspec": {"urls"},
    "PIL": {"images", "draw", "demo"},
    "pillow_heif": {"images"},
    "rawpy": {"images"},
    "watchfiles": {"cli"},
    "faiss": {"_faiss"},
    "pickle": {"evaluation"},  # a reader that refuses everything but plain data
    "joblib": set[str](),  # joblib and shelve are pickle under another name
    "shelve": set[str](),
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(source: ast.Module, package: tuple[str, ...]) -> Iterator[str]:
    """Absolute dotted names of everything imported anywhere in a source; ``package`` is where the file lies."""
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = [*base, *(node.module.split(".") if node.module else [])]
            # `from . import x` may name a module; `from .a import b` is at least an import of .a
            yield from (".".join([*start, alias.name]) for alias in node.names)


@cache
def imports(path: Path, package: tuple[str, ...]) -> list[str]:
    return list(imported(parsed(path), package))


def files() -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """(top-level module, file, package) of every source file except resight/__init__.py, which is above the order."""
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT)
        if relative.parts == ("__init__.py",):
            continue
        yield relative.parts[0].removesuffix(".py"), path, ("resight", *relative.parts[:-1])


def wrong_layer(module: str, name: str) -> bool:
    """Whether ``module`` may not import this absolute name."""
    parts = name.split(".")
    if parts[0] != "resight" or len(parts) == 1 or parts[1] == "__version__":
        return False
    return parts[1] not in ORDER[: ORDER.index(module) + 1]


def test_every_module_has_a_place_in_the_order() -> None:
    on_disk = {
        p.stem if p.is_file() else p.name for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert on_disk - {"__init__"} <= set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


def test_imports_point_upwards() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for module, path, package in files()
        for name in imports(path, package)
        if wrong_layer(module, name)
    ]
    assert wrong == []


@pytest.mark.parametrize("library", HOMES)
def test_library_has_one_home(library: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {library}"
        for module, path, package in files()
        for name in imports(path, package)
        if name.split(".")[0] == library and module not in HOMES[library]
    ]
    assert wrong == []


def test_numpy_never_unpickles() -> None:
    calls = [
        (path.name, keyword.value)
        for _, path, _ in files()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "allow_pickle"
    ]
    assert calls  # resight.vocabulary says so explicitly
    assert all(isinstance(value, ast.Constant) and value.value is False for _, value in calls)


def test_types_and_errors_import_nothing_of_resight() -> None:
    for module in ("errors", "types"):
        names = list(imported(parsed(ROOT / f"{module}.py"), ("resight",)))
        assert [n for n in names if n.startswith("resight")] == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from ..store import Row", ["resight.store.Row"]),
        ("from . import segment", ["resight.scoring.segment"]),
        ("from .. import index", ["resight.index"]),
        ("import resight.cli as c, os.path", ["resight.cli", "os.path"]),
        ("def f():\n    from ..search import search", ["resight.search.search"]),
        ("if TYPE_CHECKING:\n    from resight.server import app", ["resight.server.app"]),
    ],
)
def test_the_parser_sees_every_kind_of_import(source: str, names: list[str]) -> None:
    assert list(imported(ast.parse(source), ("resight", "scoring"))) == names
    assert any(wrong_layer("scoring", n) for n in names) == (names != ["resight.scoring.segment"])
