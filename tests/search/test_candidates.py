"""In which order candidates are shown, and how sure each is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from resight.index import Index
from resight.rerank import Verified, confidence
from resight.rerank.confidence import MOST_UNVERIFIED
from resight.search.candidates import Candidate, Located
from resight.store import Row

from ..conftest import DATA

UKBENCH = DATA / "ukbench"


def candidate(ordinal: int, inliers: int, score: float) -> Candidate:
    row = Row(ordinal, "abcdefghijklmnop"[ordinal], b"", None, 1, 1, 0, {})
    agreeing = Verified(np.eye(2, 3), np.ones(inliers, np.bool_))
    located = (
        Located(agreeing, np.zeros((inliers, 4), np.float32), 0, np.zeros((inliers, 2), np.int64)) if inliers else None
    )
    return Candidate(0, row, score, checked=True, located=located)


def test_strong_evidence_comes_before_high_scores() -> None:
    found = [candidate(0, 41, 0.9), candidate(1, 41, 0.8), candidate(2, 915, 0.5), candidate(3, 0, 1.0)]
    assert [c.row.key for c in sorted(found, key=lambda c: c.by_evidence)] == ["c", "a", "b", "d"]


def test_a_score_decides_among_similar_evidence_only() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        numbers = rng.integers(0, rng.choice([8, 40, 2000]), 12)
        found = [candidate(n, int(i), rng.random()) for n, i in enumerate(numbers)]
        order = sorted(found, key=lambda c: c.by_evidence)
        for place, one in enumerate(order):
            for later in order[place + 1 :]:
                assert later.inliers < 2 * one.inliers or later.inliers <= one.inliers
                if later.inliers == one.inliers:
                    assert later.score <= one.score


def test_what_geometry_confirms_is_likely_and_nothing_else_is() -> None:
    verified = [confidence(inliers, lift) for inliers in range(4, 3000) for lift in (0.0, 1000.0)]
    unverified = [confidence(0, lift) for lift in (0.0, 0.5, 1.0, 2.0, 10.0, 1e6)]
    assert min(verified) > 0.5 > MOST_UNVERIFIED == max(unverified)
    assert verified[::2] == verified[1::2] == sorted(verified[::2])  # by inliers alone: in any collection
    assert unverified == sorted(unverified)
    assert max(verified) < 1


@pytest.mark.skipif(not UKBENCH.is_dir(), reason=f"no real pictures at {DATA}; set RESIGHT_DATA")
def test_four_views_are_as_sure_alone_as_among_others(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same pairs of pictures in an index of four, and in one of 24."""
    views = [UKBENCH / f"ukbench{number:05d}.jpg" for number in range(24)]
    sure: list[dict[str, float | None]] = []
    for size in (4, 24):
        with Index.create(tmp_path_factory.mktemp("views") / "i.resight") as index:
            for _ in index.add_files(views[4 : 4 + size] if size == 4 else views):
                pass
            index.commit()
            hits = index.search(views[4], recipe="verified").hits
            assert hits[0].key == str(views[4])
            sure.append({hit.key: hit.confidence for hit in hits if hit.inliers})
            scenes = [{p.key for p in group.pictures} for group in index.duplicates(kind="scene")]
            assert {str(view) for view in views[4:8]} in scenes
    assert sure[0].keys() == sure[1].keys() == {str(view) for view in views[4:8]}
    assert sure[0] == sure[1]
    assert all(value and value > 0.95 for value in sure[0].values())
