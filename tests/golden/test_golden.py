"""An index written by an earlier version is read, searched, checked and changed by this one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from resight.store import Entry, check, open_snapshot
from resight.store.manifest import FORMAT

from ..support import oracle
from ..support.stored import (
    INTER,
    QUERIES,
    change,
    coded,
    complete,
    entry,
    expected,
    possible,
    ranking,
    state,
    terms,
    tree,
)
from .make import CODED, COMPLETE, PLAIN

GOLDEN = sorted(Path(__file__).parent.glob("format-*"))

# Context terms.
TERMS = {
    "bridge": 1.14286,
    "château": 0.983909,
    "empty": 1,
    "door\udcff": 1.18258,
    "arch": 1.30992,
}

# Clusters.
CLUSTERS = {"bridge": 0, "château": 1, "door\udcff": 1, "empty": 0, "arch": 1}

# The answer to QUERIES[0], best first.
KNOWN = {
    "l1": ["bridge", "château", "door\udcff", "arch"],
    "l2": ["château", "bridge", "arch", "door\udcff"],
    "cosine": ["bridge", "door\udcff", "château", "arch"],
    "hamming": ["bridge", "château", "door\udcff", "arch"],
    "learnt": ["château", "door\udcff", "bridge", "arch"],
}


def test_the_current_format_has_a_golden_index() -> None:
    assert [path.name for path in GOLDEN] == [f"format-{number}" for number in range(1, FORMAT + 1)]


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda path: path.name)
def test_golden_index(folder: Path, tmp_path: Path) -> None:
    before, number = tree(folder), int(folder.name.removeprefix("format-"))
    held, new = PLAIN, entry("new", 40)
    if number >= 4:
        held, new = (COMPLETE, complete(new)) if number >= 6 else (CODED, coded(new))
    assert state(folder)[0] == expected(held.values())
    assert (("learnt", 0) in state(folder)[1]) == (number >= 5)
    with open_snapshot(folder) as snapshot:
        assert [s.record.shapes for s in snapshot.segments] == 2 * [number >= 6]
        for measure in possible(snapshot):
            found = ranking(snapshot, measure, QUERIES[0])
            assert [key for key, _ in found] == KNOWN.get(measure, [key for key, _ in found])
            assert dict(found) == pytest.approx(oracle.scores(held, QUERIES[0], measure), rel=1e-5)
    assert check(folder).problems == ()
    if number >= 2:
        assert terms(folder) == pytest.approx(TERMS, rel=1e-5)
    if number >= 3:
        require_clusters(folder, held)
    assert tree(folder) == before, "reading must not write"

    shutil.copytree(folder, tmp_path / "copy")
    change(tmp_path / "copy", add=[new], merge=True)
    assert state(tmp_path / "copy")[0] == expected([*held.values(), new])
    assert check(tmp_path / "copy").problems == ()
    if number >= 2:
        known = terms(tmp_path / "copy")
        assert {key: known[key] for key in TERMS} == pytest.approx(TERMS, rel=1e-5)
    if number >= 3:
        require_clusters(tmp_path / "copy", {**held, "new": new})


def require_clusters(folder: Path, held: dict[str, Entry]) -> None:
    """Each picture is in the place of its cluster, and those of the nearest cluster are found when it is visited."""
    with open_snapshot(folder) as snapshot:
        assert snapshot.clusters
        assigned = snapshot.clusters.assign(e.words.word for e in held.values())
        cluster_of = dict(zip(held, assigned.tolist(), strict=True))
        assert {key: cluster_of[key] for key in CLUSTERS} == CLUSTERS
        for segment in snapshot.segments:
            assert segment.bounds is not None
            for row in segment.table.all():
                mine = cluster_of.get(row.key, 0)
                assert not segment.alive[row.ordinal] or (
                    segment.bounds[mine] <= row.ordinal < segment.bounds[mine + 1]
                )
        nearest = snapshot.clusters.visit(QUERIES[0].word)[0]
        visited = [key for key, cluster in cluster_of.items() if cluster == nearest]
        for measure in possible(snapshot):
            if measure == INTER:
                continue  # weights depend on what is visited
            found = dict(ranking(snapshot, measure, QUERIES[0], probe=1))
            right = oracle.scores(held, QUERIES[0], measure, visited)
            assert found == pytest.approx(right, rel=1e-5)
            assert len(right) < len(oracle.scores(held, QUERIES[0], measure))
