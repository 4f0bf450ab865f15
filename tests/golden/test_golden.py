"""An index written earlier is read, searched, checked and changed by this version; others are refused."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resight.errors import IndexDamagedError, UsageError
from resight.store import Entry, Writer, check, open_snapshot
from resight.store import manifest as manifests
from resight.store.manifest import FORMAT

from ..support import oracle
from ..support.stored import (
    QUERIES,
    change,
    complete,
    entry,
    expected,
    possible,
    ranking,
    state,
    terms,
    tree,
)
from .make import HELD

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
    before, new = tree(folder), complete(entry("new", 40))
    found = state(folder)
    assert found[0] == expected(HELD.values())
    assert ("learnt", 0) in found[1]
    with open_snapshot(folder) as snapshot:
        assert [s.record.shapes for s in snapshot.segments] == [True, True]
        for measure in possible(snapshot):
            ranked = ranking(snapshot, measure, QUERIES[0])
            assert [key for key, _ in ranked] == KNOWN.get(measure, [key for key, _ in ranked])
            assert dict(ranked) == pytest.approx(oracle.scores(HELD, QUERIES[0], measure), rel=1e-5)
    assert check(folder).problems == ()
    assert terms(folder) == pytest.approx(TERMS, rel=1e-5)
    with open_snapshot(folder) as snapshot, pytest.raises(UsageError, match="made by an early version"):
        snapshot.visits([QUERIES[0]], 1)
    assert tree(folder) == before, "reading must not write"

    shutil.copytree(folder, tmp_path / "copy")
    change(tmp_path / "copy", add=[new], merge=True)
    assert state(tmp_path / "copy")[0] == expected([*HELD.values(), new])
    assert check(tmp_path / "copy").problems == ()
    known = terms(tmp_path / "copy")
    assert {key: known[key] for key in TERMS} == pytest.approx(TERMS, rel=1e-5)
    require_clusters(tmp_path / "copy", {**HELD, "new": new})


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return shutil.copytree(GOLDEN[-1], tmp_path / "copy")


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """As another version might have written the manifest."""
    path = folder / manifests.NAME
    values = json.loads(path.read_bytes().partition(b"\n")[2])
    change(values)
    body = json.dumps(values).encode()
    path.write_bytes(f"{manifests.MAGIC} {FORMAT} {zlib.crc32(body):08x}\n".encode() + body)


def test_other_formats_are_refused_and_the_remedy_is_named(copy: Path) -> None:
    """Whatever they contain."""
    body = b"a future that cannot be read"
    for number, remedy in ((0, "index the pictures again"), (FORMAT + 1, "upgrade resight")):
        head = f"{manifests.MAGIC} {number} {zlib.crc32(body):08x}\n"
        (copy / manifests.NAME).write_bytes(head.encode() + body)
        for use in (open_snapshot, Writer):
            with pytest.raises(IndexDamagedError, match=f"has format {number}, .* format {FORMAT}; {remedy}"):
                use(copy)


def test_what_only_a_newer_version_can_have_written_is_refused(copy: Path) -> None:
    """Fields and options change what is stored, so they cannot be ignored."""
    for place in ("", "settings", "features"):

        def add(values: dict[str, Any], place: str = place) -> None:
            settings = values["settings"]
            {"": values, "settings": settings, "features": settings["features"]}[place]["novelty"] = 1

        before = (copy / manifests.NAME).read_bytes()
        rewrite(copy, add)
        with pytest.raises(IndexDamagedError, match=r"was written by another version .*novelty.*; upgrade resight"):
            open_snapshot(copy)
        (copy / manifests.NAME).write_bytes(before)


def test_optional_files_of_a_newer_version_are_ignored_and_dropped_by_the_next_commit(copy: Path) -> None:
    """They could not be kept right for what is added."""
    before, file = state(copy), copy / "optional" / "novelty-00000001.npz"
    file.write_bytes(b"new")
    record = {"name": f"optional/{file.name}", "size": 3, "crc": zlib.crc32(b"new")}
    rewrite(copy, lambda values: values["optional"].update(novelty=record))
    assert state(copy) == before
    assert check(copy).problems == ()
    change(copy, add=[complete(entry("new", 40))])
    assert "novelty" not in manifests.read(copy).optional
    assert not file.exists()
    assert manifests.read(copy).similarity


def require_clusters(folder: Path, held: dict[str, Entry]) -> None:
    """Each picture is in the place of its cluster, and those of the nearest cluster are found when it is visited."""
    with open_snapshot(folder) as snapshot:
        assert snapshot.clusters
        assigned = snapshot.clusters.place(e.words.word for e in held.values()).cluster
        cluster_of = dict(zip(held, assigned.tolist(), strict=True))
        assert {key: cluster_of[key] for key in CLUSTERS} == CLUSTERS
        for segment in snapshot.segments:
            assert segment.bounds is not None
            for row in segment.table.all():
                mine = cluster_of.get(row.key, 0)
                assert not segment.alive[row.ordinal] or (
                    segment.bounds[mine] <= row.ordinal < segment.bounds[mine + 1]
                )
        (nearest,) = snapshot.clusters.visit(QUERIES[0].word, 1).clusters
        visited = [key for key, cluster in cluster_of.items() if cluster == nearest]
        for measure in possible(snapshot):
            found = dict(ranking(snapshot, measure, QUERIES[0], probe=1))
            right = oracle.scores(held, QUERIES[0], measure, visited)
            assert found == pytest.approx(right, rel=1e-5)
            assert len(right) < len(oracle.scores(held, QUERIES[0], measure))
