"""Segments that a build has written join the others as if their pictures had been added."""

from __future__ import annotations

import os
import resource
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from resight.errors import StoreError, UsageError
from resight.store import check, open_snapshot
from resight.store.writer import SPARE_FILES

from ..support.stored import (
    build,
    build_in_shards,
    change,
    cluster,
    entry,
    keep_similarity,
    learn_context,
    rankings,
    shaped,
    terms,
)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_clusters_contexts_and_similarities_as_for_any_added_picture(most: int, tmp_path: Path) -> None:
    old, new = [entry(key, seed) for seed, key in enumerate("abcdef")], [entry(f"{n}", 10 + n) for n in range(8)]
    changed = entry("b", 9, metadata=old[1].metadata)
    plain, built = tmp_path / "plain", tmp_path / "built"
    build(plain, old)
    learn_context(plain)
    cluster(plain, 2)
    keep_similarity(plain)
    shutil.copytree(plain, built)
    change(plain, add=[*new, changed])
    assert len(build_in_shards(built, [*new[:4], changed, old[0], *new[4:]], most=most)) == 10
    assert terms(built) == terms(plain)
    with closing(open_snapshot(plain)) as one, closing(open_snapshot(built)) as other:
        assert other.manifest.commit == one.manifest.commit
        for probe in (0, 1):
            assert rankings(other, probe=probe) == rankings(one, probe=probe)
    assert check(built).problems == ()


def test_shapes_must_agree(tmp_path: Path) -> None:
    build(tmp_path / "index", [entry("a")])
    with pytest.raises(UsageError, match="some features are ellipses, others of this index are circles"):
        build_in_shards(tmp_path / "index", [shaped(entry("b"))])


def test_too_many_segments_for_the_open_files_that_are_allowed(tmp_path: Path) -> None:
    pictures = [entry(f"{n}", n) for n in range(8)]
    build(tmp_path / "index", [entry("a")])
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = len(os.listdir("/dev/fd")) + 1 + len(pictures) + SPARE_FILES  # but for those that the writer itself holds
    resource.setrlimit(resource.RLIMIT_NOFILE, (enough, most))
    try:
        with pytest.raises(StoreError, match=rf"may open {enough} files; what was done is kept: .*`ulimit -n \d+`"):
            build_in_shards(tmp_path / "index", pictures, most=1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    assert build_in_shards(tmp_path / "index", pictures, most=1) == []
    with closing(open_snapshot(tmp_path / "index")) as snapshot:
        assert snapshot.pictures == 9
