"""After warming up, a real search on a stored index compiles nothing more."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from resight import learn
from resight._numba import telling
from resight.index import Index
from resight.options import ClusterOptions, IndexingOptions
from resight.store import Writer
from resight.vocabulary import Vocabulary

from .support.pictures import texture, write
from .support.quantised import similarity

SCRIPT = """
import sys
from numba.core.dispatcher import Dispatcher
from resight.index import Index
from resight.options import ClusterOptions, ExpandOptions, HammingOptions
from resight.recipes import RECIPES, Recipe
from resight.warm import warm

compiled = lambda: {
    f"{name}.{kernel}": len(function.signatures)
    for name, module in sys.modules.items() if name.startswith("resight.")
    for kernel, function in vars(module).items() if isinstance(function, Dispatcher)
}
warm()
before = compiled()
for warmed in ("scoring.kernels.scan_product", "scoring.voting.add_votes", "rerank.verify._verify_each"):
    assert before[f"resight.{warmed}"], before
chosen = [HammingOptions(weak_geometry=weak, inter=inter) for weak in (False, True) for inter in (False, True)]
union = Recipe(description="", expand=ExpandOptions(kind="union"))
for path in sys.argv[2:]:
    with Index.open(path) as index:
        facts = index.info()
        if facts.clusters:
            index.search(sys.argv[1], recipe=Recipe(description="", clusters=ClusterOptions(probe=1)))
        kept = ("nothing", facts.settings.indexing.keep)
        able = [name for name, recipe in RECIPES.items() if recipe.indexing.keep in kept]
        if not facts.similarity:
            able.remove("learnt")
        for recipe in [*able, union, *(Recipe(description="", scoring=scoring) for scoring in chosen)]:
            result = index.search(sys.argv[1], recipe=recipe)
            assert result.hits
    assert 0 < result.hits[0].inliers < 0.8 * result.query_features, "nothing to expand the query with"
told = []
warm(compiling=told.append)
assert not told, "all was compiled before"
late = [name for name, count in compiled().items() if count != before.get(name)]
assert not late, late
"""


def test_nothing_is_compiled_after_warming_up(tmp_path: Path) -> None:
    ready = Vocabulary.ready()
    halves = replace(ready, vocabularies=2, cells=None)
    places = []
    coded = Vocabulary.ready(codes=True)
    kinds = (ready, "nothing"), (halves, "nothing"), (coded, "codes"), (ready, "descriptors")
    for number, (vocabulary, keep) in enumerate(kinds):
        indexing = IndexingOptions(keep=keep)
        with Index.create(tmp_path / f"{number}.resight", vocabulary=vocabulary, indexing=indexing) as index:
            places.append(index.path)
            for seed in range(3):
                index.add(texture(seed, grain=20), key=str(seed))
            for name in ("context", "context-l1"):
                index.learn.context(name)
            index.learn.links()
            if number == 0:
                index.learn.clusters(ClusterOptions(count=2))
        if vocabulary.vocabularies == 1:
            with Writer(index.path) as writer:
                learn.keep_similarity(writer, similarity(vocabulary.words))
    query = write(tmp_path / "query.png", np.hstack([texture(1, grain=20), texture(9, grain=20)]))
    subprocess.run([sys.executable, "-c", SCRIPT, query, *places], check=True)


LOADS = """
import sys
from resight.options import HammingOptions
from resight.warm import warm

warm(scoring=[HammingOptions()])
print(*(name for name in ("numba.np.arraymath", "numba.np.npyimpl") if name in sys.modules))
"""


def test_what_numba_needs_to_compile_is_not_imported_to_load_kernels() -> None:
    """A kernel that has numpy reduce an array, or do arithmetic with whole ones, would have it imported."""
    shown = [subprocess.run([sys.executable, "-c", LOADS], capture_output=True, check=True).stdout for _ in range(2)]
    assert not shown[1].strip()  # the first may have to compile


KERNEL = """
from resight._numba import kernel

@kernel
def twice(number):
    return 2 * number
"""


def test_compiling_is_told_of_only_where_the_cache_lacks_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(KERNEL)
    told: list[list[bool]] = []
    for _ in range(2):  # as by two programs
        found = spec_from_file_location("twice", tmp_path / "twice.py")
        assert found
        assert found.loader
        module = module_from_spec(found)
        found.loader.exec_module(module)
        told.append([])
        with telling(told[-1].append):
            assert module.twice(21) == 42
            assert module.twice(2.5) == 5.0
    assert told == [[True], []]
