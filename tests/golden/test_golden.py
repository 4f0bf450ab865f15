"""An index written by an earlier version is read, searched, checked and changed by this one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from resight.store import check, open_snapshot
from resight.store.manifest import FORMAT

from ..store import oracle
from ..store.support import QUERIES, RECIPE_OF, change, entry, expected, ranking, state, terms, tree
from .make import ENTRIES

GOLDEN = sorted(Path(__file__).parent.glob("format-*"))

# Context terms.
TERMS = {
    "bridge": 1.14286,
    "château": 0.983909,
    "empty": 1,
    "door\udcff": 1.18258,
    "arch": 1.30992,
}

# The answer to QUERIES[0], best first.
KNOWN = {
    "l1": ["bridge", "château", "door\udcff", "arch"],
    "l2": ["château", "bridge", "arch", "door\udcff"],
    "cosine": ["bridge", "door\udcff", "château", "arch"],
    "hamming": ["bridge", "château", "door\udcff", "arch"],
}


def test_the_current_format_has_a_golden_index() -> None:
    assert [path.name for path in GOLDEN] == [f"format-{number}" for number in range(1, FORMAT + 1)]


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda path: path.name)
def test_golden_index(folder: Path, tmp_path: Path) -> None:
    before = tree(folder)
    assert state(folder)[0] == expected(ENTRIES.values())
    with open_snapshot(folder) as snapshot:
        assert len(snapshot.segments) == 2
        for measure in RECIPE_OF:
            found = ranking(snapshot, measure, QUERIES[0])
            assert [key for key, _ in found] == KNOWN[measure]
            assert dict(found) == pytest.approx(oracle.scores(ENTRIES, QUERIES[0], measure), rel=1e-5)
    assert check(folder).problems == ()
    if folder.name != "format-1":
        assert terms(folder) == pytest.approx(TERMS, rel=1e-5)
    assert tree(folder) == before, "reading must not write"

    shutil.copytree(folder, tmp_path / "copy")
    change(tmp_path / "copy", add=[entry("new", 40)], merge=True)
    assert state(tmp_path / "copy")[0] == expected([*ENTRIES.values(), entry("new", 40)])
