"""What shrinking keeps: known answers from pictures of walls, and what it must not lose."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resight import Index
from resight.errors import UsageError
from resight.options import ClusterOptions, FeatureOptions
from resight.postings import SHAPED, decode
from resight.store import Snapshot, check
from resight.types import Float32

from ..support.pictures import SIZE, panorama, part, texture, wall_in_parts, write
from ..support.stored import Stored, contents
from ..support.vocabularies import learnt_from

Feature = tuple[int, int, bytes]  # word, signature, geometry


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wall in three parts that overlap by half, and a picture like no other; one was removed."""
    with Index.create(tmp_path_factory.mktemp("made") / "i.resight") as index:
        for key, pixels in (wall_in_parts() | {"lonely": texture(7), "gone": texture(9)}).items():
            index.add(pixels, key=key, metadata={"name": key})
        index.commit()
        index.learn.links()
        index.remove("gone")
        index.commit()
    return index.path


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Index:
    return Index.open(shutil.copytree(made, tmp_path / "i.resight"))


def kept(snapshot: Snapshot) -> dict[str, set[Feature]]:
    """The features of each picture."""
    size = SHAPED.itemsize

    def features(found: Stored) -> set[Feature]:
        geometry = [found.geometry[start : start + size] for start in range(0, len(found.geometry), size)]
        return set(zip(found.words, found.signatures, geometry, strict=True))

    return {key: features(found) for key, found in contents(snapshot).items()}


def places(snapshot: Snapshot, key: str) -> tuple[Float32, Float32]:
    located = snapshot.locate(key)
    assert located
    segment, row = located
    xy, scale, _, _ = decode(segment.picture(row)[1], max(row.width, row.height))
    return xy, scale


def test_what_agrees_is_kept_and_nothing_else(index: Index) -> None:
    """Neighbours show the same half of each other: nothing of the other half is kept."""
    before, links = kept(index.snapshot), {key: index.links(key) for key in index}
    shrunk = index.shrink(floor=0)
    after = kept(index.snapshot)
    assert all(after[key] <= before[key] for key in before)
    assert not after["lonely"]
    assert places(index.snapshot, "wall 0")[0][:, 0].min() > SIZE / 2 - 5
    assert places(index.snapshot, "wall 2")[0][:, 0].max() < SIZE / 2 + 5
    most = max(hit.inliers or 0 for hits in links.values() for hit in hits)
    assert most <= len(after["wall 1"]) < len(before["wall 1"])
    assert {key: index.links(key) for key in index} == links
    assert [hit.key for hit in index.search(part(panorama(1), 20)).hits[:1]] == ["wall 0"]
    row = index.get("wall 1")
    assert row
    assert row.metadata == {"name": "wall 1"}
    assert (shrunk.pictures, shrunk.features) == (4, index.info().features)
    assert shrunk.features == sum(len(features) for features in after.values())
    assert shrunk.size == index.info().size < shrunk.size_before
    assert index.info().removed == 0
    assert check(index.path).problems == ()


def test_the_largest_others_fill_up_to_the_floor(index: Index) -> None:
    scales = {key: np.sort(places(index.snapshot, key)[1])[::-1] for key in index}
    sure = {key: len(features) for key, features in kept(_shrunk(index, 0)).items()}
    floor = sure["wall 0"] + 10
    assert index.shrink(floor=floor).features == index.info().features
    for key, features in kept(index.snapshot).items():
        assert len(features) == min(max(sure[key], floor), len(scales[key]))
    assert np.array_equal(np.sort(places(index.snapshot, "lonely")[1])[::-1], scales["lonely"][:floor])


def _shrunk(index: Index, floor: int) -> Snapshot:
    copy = Index.open(shutil.copytree(index.path, index.path.with_name(f"floor-{floor}")))
    copy.shrink(floor=floor)
    return copy.snapshot


def test_a_floor_above_all_changes_no_answer(index: Index) -> None:
    query = part(panorama(1), 60)
    before, found = kept(index.snapshot), index.search(query)
    shrunk = index.shrink(floor=10_000)
    assert shrunk.features == shrunk.features_before
    assert kept(index.snapshot) == before
    assert index.search(query) == found


def test_segments_do_not_matter(index: Index, tmp_path: Path) -> None:
    """Nor does the order in which pictures were added."""
    with Index.create(tmp_path / "other.resight") as other:
        for key, pixels in ({"lonely": texture(7)} | wall_in_parts()).items():
            other.add(pixels, key=key)
            other.commit()
        other.learn.links()
        assert other.info().segments == 4
        index.shrink(floor=20)
        other.shrink(floor=20)
        assert kept(other.snapshot) == kept(index.snapshot)


def test_clusters_do_not_matter(index: Index, tmp_path: Path) -> None:
    """Verification reads forward indexes where there are clusters; what is kept is told by places in the lists."""
    shutil.copytree(index.path, tmp_path / "other.resight")
    with Index.open(tmp_path / "other.resight") as other:
        other.learn.clusters(ClusterOptions(count=2))
        index.shrink(floor=20)
        other.shrink(floor=20)
        assert kept(other.snapshot) == kept(index.snapshot)


def test_a_dry_run_says_what_would_be(index: Index) -> None:
    commit = index.info().commit
    heard: list[int] = []
    said = index.shrink(floor=20, dry_run=True, done=heard.append)
    assert sum(heard) == said.pictures == 4
    assert index.info().commit == commit
    did = index.shrink(floor=20)
    assert did.size <= said.size < said.size_before
    assert replace(said, size=did.size) == did


def test_what_was_learnt_from_all_features_is_dropped(index: Index) -> None:
    index.learn.clusters(ClusterOptions(count=2))
    index.learn.context("context-l1")
    dropped = index.shrink().dropped
    assert [name.split("-")[0] for name in sorted(dropped)] == ["clusters", "context"]
    facts = index.info()
    assert (facts.clusters, facts.contexts, facts.linked) == (0, [], 4)
    with pytest.raises(UsageError, match="resight context"):
        index.search(texture(1), recipe="context-l1")
    assert check(index.path).problems == ()


def test_pictures_must_have_links(index: Index) -> None:
    index.add(texture(20), key="new")
    with pytest.raises(UsageError, match=r"1 picture .* `resight link`"):
        index.shrink()
    with pytest.raises(UsageError, match="floor of 0 or more"):
        index.shrink(floor=-1)


def test_an_interruption_leaves_the_index_as_it_was(index: Index) -> None:
    commit, before = index.info().commit, kept(index.snapshot)

    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.shrink(done=interrupt)
    assert (index.info().commit, kept(index.snapshot)) == (commit, before)
    index.shrink(floor=10)


def test_unchanged_files_are_not_indexed_again(tmp_path: Path) -> None:
    file = write(tmp_path / "a.png", texture(1))
    with Index.create(tmp_path / "i.resight") as index:
        list(index.add_files([file]))
        index.learn.links()
        index.shrink(floor=30)
        (outcome,) = index.add_files([file])
        assert outcome.unchanged
        index.commit()
        assert index.info().features == 30
        write(file, texture(2))
        list(index.add_files([file]))
        index.commit()
        assert index.info().features > 30


def test_a_feature_keeps_its_words_in_all_vocabularies(tmp_path: Path) -> None:
    features, walls = FeatureOptions(max_features=300), wall_in_parts()
    three = learnt_from(walls.values(), features=features, words=50, vocabularies=3)
    with Index.create(tmp_path / "i.resight", features=features, vocabulary=three) as index:
        for key, pixels in walls.items():
            index.add(pixels, key=key)
        index.learn.links()
        shrunk = index.shrink(floor=20)
        assert 60 <= shrunk.features < shrunk.features_before
        for found in contents(index.snapshot).values():
            geometry = np.sort(np.frombuffer(found.geometry, SHAPED).reshape(3, -1))  # by word, and so by vocabulary
            assert np.array_equal(geometry[0], geometry[1])
            assert np.array_equal(geometry[1], geometry[2])
        assert {hit.key for hit in index.search(key="wall 1").hits if hit.inliers} == {"wall 0", "wall 2"}
