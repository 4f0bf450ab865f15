"""After warming up, a real search on a stored index compiles nothing more."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from resight.index import Index

from .test_index import texture, write

# Prints the kernels that were compiled, or loaded from numba's cache, after warming up.
SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
from resight.index import Index
from resight.options import ExpandOptions, ScoringOptions
from resight.recipes import RECIPES, Recipe
from resight.warm import warm

compiled = lambda: {
    f"{name}.{kernel}": len(function.signatures)
    for name, module in sys.modules.items() if name.startswith("resight.")
    for kernel, function in vars(module).items() if isinstance(function, Dispatcher)
}
warm()
before = compiled()
for warmed in ("scoring.kernels.scan_product", "scoring.voting.find_matches", "rerank.verify._verify_each"):
    assert before[f"resight.{warmed}"], before
with Index.open(sys.argv[1]) as index:
    chosen = [ScoringOptions(weak_geometry=weak, inter=inter) for weak in (False, True) for inter in (False, True)]
    union = Recipe(description="", expand=ExpandOptions(kind="union"))
    for recipe in [*RECIPES, union, *(Recipe(description="", scoring=scoring) for scoring in chosen)]:
        result = index.search(sys.argv[2], recipe=recipe)
        assert result.hits
    assert 0 < result.hits[0].inliers < 0.8 * result.query_features, "nothing to expand the query with"
print(*(name for name, count in compiled().items() if count != before.get(name)))
"""


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The kernels that warming up forgot."""
    folder = tmp_path_factory.mktemp("warm")
    with Index.create(folder / "i.resight") as index:
        for seed in range(3):
            index.add(texture(seed), key=str(seed))
    query = write(folder / "query.png", np.hstack([texture(1), texture(9)]))
    arguments = [sys.executable, "-c", SCRIPT, str(folder / "i.resight"), str(query)]
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


@pytest.mark.xdist_group("warm")
@pytest.mark.parametrize(
    "package",
    [
        "scoring",
        "rerank",
        pytest.param("vocabulary", marks=pytest.mark.xfail(strict=True, reason="_keep_nearest is not warmed")),
        pytest.param("postings", marks=pytest.mark.xfail(strict=True, reason="_find_picture is not warmed")),
    ],
)
def test_nothing_is_compiled_after_warming_up(late: list[str], package: str) -> None:
    assert [name for name in late if name.startswith(f"resight.{package}.")] == []


@pytest.mark.xdist_group("warm")
def test_all_packages_with_kernels_are_looked_at(late: list[str]) -> None:
    assert {name.split(".")[1] for name in late} <= {"scoring", "rerank", "vocabulary", "postings"}
