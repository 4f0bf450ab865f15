"""Whatever was added, replaced, removed, merged and reopened: an index answers as if only its survivors had ever been.

Scores must be equal to the last bit, and ties must fall alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from resight import learn
from resight.errors import UsageError
from resight.options import ClusterOptions, IndexingOptions, StoreOptions
from resight.store import (
    LINK,
    Entry,
    Known,
    Segment,
    Snapshot,
    Writer,
    check,
    create,
    open_snapshot,
    picture_id,
)

from ..support import oracle
from ..support.stored import (
    KEEPING_CODES,
    NO_DETECTOR,
    QUERIES,
    RECIPES_ASKED,
    QuickDisk,
    Ranking,
    build,
    change,
    coded,
    entry,
    expected,
    keep_similarity,
    leftovers,
    rankings,
    shaped,
    similarity,
    state,
    state_of,
    vocabulary,
)

KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f", "ä", "\udcff"])
SEEDS = st.integers(0, 6)  # few, so that ties are common; seed 4 is given no features


def made(key: str, seed: int) -> Entry:
    return entry(key, seed, features=0 if seed == 4 else None)


Found = tuple[str, int, int, float]  # key and seed of a picture, inliers, likeness


def links_of(snapshot: Snapshot, seeds: dict[str, int]) -> dict[str, set[Found]]:
    """What each picture that has asked has found, of what there still is."""
    rows = {picture_id(row): row for row in snapshot.rows()}
    found: dict[str, set[Found]] = {}
    for segment in snapshot.segments:
        for row, asked, links in zip(segment.table.all(), *asked_links(segment), strict=True):
            if asked and segment.alive[row.ordinal]:
                known = [(rows[link["other"]].key, link) for link in links if link["other"] in rows]
                found[row.key] = {(key, seeds[key], int(k["inliers"]), float(k["likeness"])) for key, k in known}
    return found


def asked_links(segment: Segment) -> tuple[Sequence[bool], Sequence[npt.NDArray[Any]]]:
    if segment.links is None:
        return [False] * segment.record.pictures, [np.zeros(0, LINK)] * segment.record.pictures
    return segment.links.asked.tolist(), segment.links.each()


class Operations(RuleBasedStateMachine):
    """``committed`` and ``pending`` say which seed each key should hold, now and after the next commit."""

    def __init__(self) -> None:
        super().__init__()
        self._place = tempfile.TemporaryDirectory()
        self.folder = Path(self._place.name, "index")
        self.committed: dict[str, int] = {}
        self.pending: dict[str, int] = {}
        self.clusters = 0
        self.kept: int | None = None  # the seed of a similarity
        self.found: dict[str, set[Found]] = {}  # what each picture that has asked has found
        self.replaced: set[str] = set()  # pictures that were added or removed since the last commit
        self.compared = 0

    @initialize(merge_factor=st.integers(2, 4), codes=st.booleans(), shapes=st.booleans())
    def start(self, merge_factor: int, codes: bool, shapes: bool) -> None:
        self.codes, self.shapes = codes, shapes
        create(
            self.folder,
            vocabulary(codes=codes),
            features=NO_DETECTOR,
            indexing=KEEPING_CODES if codes else IndexingOptions(),
            disk=QuickDisk(),
        )
        self.options = StoreOptions(merge_factor=merge_factor)
        self.writer = self.open()

    def open(self) -> Writer:
        return Writer(self.folder, options=self.options, disk=QuickDisk())

    def made(self, key: str, seed: int) -> Entry:
        e = coded(made(key, seed)) if self.codes else made(key, seed)
        return shaped(e) if self.shapes else e

    @rule(key=KEYS, seed=SEEDS)
    def add_or_replace(self, key: str, seed: int) -> None:
        self.writer.add(self.made(key, seed))
        self.pending[key] = seed
        self.replaced.add(key)
        new, known = self.made(key, seed), self.writer.known(key)
        assert known == Known(new.content, new.path, new.metadata)

    @rule(key=KEYS)
    def remove(self, key: str) -> None:
        assert self.writer.remove(key) == (key in self.pending)
        self.pending.pop(key, None)
        self.replaced.add(key)
        assert self.writer.known(key) is None

    @rule()
    def commit(self) -> None:
        before = self.writer.manifest.commit
        assert self.writer.commit() == (self.writer.manifest.commit > before)
        self.committed = dict(self.pending)
        self.compare()

    @rule()
    def merge(self) -> None:
        self.writer.merge()
        self.committed = dict(self.pending)
        assert len(self.writer.manifest.segments) <= 1
        assert not any(s.dead_pictures for s in self.writer.manifest.segments)
        self.compare()

    @rule(count=st.integers(1, 4), kind=st.sampled_from(["k-means", "random"]))
    def cluster(self, count: int, kind: str) -> None:
        options = ClusterOptions(count=count, kind=kind, dimensions=4)
        if count <= len(self.pending):
            learn.learn_clusters(self.writer, options)
            self.clusters = count
        else:  # commits all the same
            with pytest.raises(UsageError):
                learn.learn_clusters(self.writer, options)
        self.committed = dict(self.pending)
        self.compare()

    @rule()
    def uncluster(self) -> None:
        learn.learn_clusters(self.writer, ClusterOptions())
        self.committed, self.clusters = dict(self.pending), 0
        self.compare()

    @rule(seed=st.integers(0, 1))
    def keep_similarity(self, seed: int) -> None:
        learn.keep_similarity(self.writer, similarity(seed))
        self.committed, self.kept = dict(self.pending), seed
        self.compare()

    @rule()
    def forget_similarity(self) -> None:
        assert learn.forget_similarity(self.writer) == (self.kept is not None)
        self.committed, self.kept = dict(self.pending), None
        self.compare()

    @rule(again=st.booleans())
    def link(self, again: bool) -> None:
        """Who has not asked finds what it would find in a new index; the others know what they knew."""
        asked = learn.link_pictures(self.writer, again=again)
        self.committed = dict(self.pending)
        known = {} if again else {key: found for key, found in self.found.items() if key not in self.replaced}
        assert asked == len(self.committed.keys() - known.keys())
        new = self.folder.with_name(f"linked-{self.compared}")
        build(new, [self.made(*one) for one in self.committed.items()], codes=self.codes)
        with Writer(new, disk=QuickDisk()) as writer:
            learn.link_pictures(writer)
            fresh = links_of(writer.snapshot, self.committed)
        self.found = fresh | known
        self.replaced.clear()
        self.compare()

    @rule()
    def close_without_commit(self) -> None:
        self.writer.close()
        self.writer = self.open()
        self.pending = dict(self.committed)
        self.replaced.clear()
        self.compare()

    def compare(self) -> None:
        self.compared += 1
        self.found = {key: found for key, found in self.found.items() if key not in self.replaced}
        self.replaced.clear()
        survivors = {key: self.made(key, seed) for key, seed in self.committed.items()}
        fresh = self.folder.with_name(f"fresh-{self.compared}")
        right = state_of(survivors, fresh, codes=self.codes, kept=self.kept)
        assert state(self.folder) == right
        assert right[0] == expected(survivors.values())
        assert check(self.folder).problems == ()
        assert leftovers(self.folder) == set()
        with open_snapshot(self.folder) as snapshot:
            assert links_of(snapshot, self.committed) == {
                key: {one for one in found if self.committed.get(one[0]) == one[1]} for key, found in self.found.items()
            }
            assert ("learnt", 0) in right[1] or self.kept is None
            assert len(snapshot.clusters.entries if snapshot.clusters else ()) == self.clusters
            if self.clusters:
                assert rankings(snapshot, probe=self.clusters) == right[1]
                self.visit_one(snapshot, right[1])

    def visit_one(self, snapshot: Snapshot, right: dict[tuple[str, int], Ranking]) -> None:
        """Pictures of the nearest cluster score what they score among all."""
        assert snapshot.clusters
        for (measure, number), found in rankings(snapshot, probe=1).items():
            (nearest,) = snapshot.clusters.visit(QUERIES[number].word, 1).clusters
            keys = {key for key, _ in right[measure, number]}
            shown = [made(key, self.committed[key]).words.word for key in keys]
            placed = snapshot.clusters.place(shown)
            visited = {key for key, c in zip(keys, placed.cluster, strict=True) if c == nearest}
            assert {key for key, _ in found} == visited
            assert found == [pair for pair in right[measure, number] if pair[0] in visited]

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close()
        self._place.cleanup()


Operations.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestOperations = Operations.TestCase


def test_scores_are_those_of_the_formulas(tmp_path: Path) -> None:
    """The comparison above shows that the store does not matter; this one that the answers are right."""
    entries = {key: coded(entry(key, seed)) for seed, key in enumerate("abcdefgh")}
    gone = coded(entry("a", 99)), coded(entry("z", 5))
    build(tmp_path / "index", [gone[0], *(entries[key] for key in "bcd"), gone[1]], [entries["a"]])
    keep_similarity(tmp_path / "index")
    change(tmp_path / "index", add=[entries[key] for key in "efgh"], remove=["z"])
    with open_snapshot(tmp_path / "index") as snapshot:
        assert len(snapshot.segments) == 3
        found = rankings(snapshot)
    assert {measure for measure, _ in found} == set(RECIPES_ASKED)
    for (measure, number), ranking in found.items():
        right = oracle.scores(entries, QUERIES[number], measure)
        assert len(right) > (3 if measure != "knn" or number else 1)
        assert dict(ranking) == pytest.approx(right, rel=1e-5)
        assert ranking == sorted(ranking, key=lambda pair: (-pair[1], pair[0]))


def test_ties_are_settled_by_key_across_segments(tmp_path: Path) -> None:
    build(tmp_path / "index", [entry("c", 3), entry("other", 1)], [entry("a", 3)], [entry("b", 3)])
    with open_snapshot(tmp_path / "index") as snapshot:
        for (_, number), ranking in rankings(snapshot).items():
            tied = [(key, score) for key, score in ranking if key in "abc"]
            assert [key for key, _ in tied] == ["a", "b", "c"]
            assert len({score for _, score in tied}) == 1
            assert number == 0 or ranking[0][0] == "a"
