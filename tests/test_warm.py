"""After warming up, a real search on a stored index compiles nothing more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from resight.index import Index

from .test_index import texture, write

SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
import resight.rerank.verify as verify
from resight.scoring import kernels
from resight.index import Index
from resight.recipes import RECIPES
from resight.warm import warm

compiled = lambda: {
    f"{module.__name__}.{name}": len(function.signatures)
    for module in (kernels, verify) for name, function in vars(module).items() if isinstance(function, Dispatcher)
}
warm()
before = compiled()
assert all(before.values()), before
with Index.open(sys.argv[1]) as index:
    for recipe in RECIPES:
        assert index.search(sys.argv[2], recipe=recipe).hits
assert compiled() == before, (before, compiled())
"""


def test_nothing_is_compiled_after_warming_up(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        for seed in range(3):
            index.add(texture(seed), key=str(seed))
    query = write(tmp_path / "query.png", texture(1))
    subprocess.run([sys.executable, "-c", SCRIPT, tmp_path / "i.resight", query], check=True)
