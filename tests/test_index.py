"""The Python interface, on pictures made here."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from resight import Index
from resight.engine import LocalEngine
from resight.errors import (
    ImageError,
    IndexExistsError,
    IndexLockedError,
    IndexMissingError,
    KeyMissingError,
    StoreError,
    UncommittedWarning,
    UsageError,
    VocabularyError,
)
from resight.features import DETECTORS
from resight.options import FeatureOptions, IndexingOptions, StoreOptions, VocabularyOptions
from resight.store import check
from resight.vocabulary import Vocabulary, train

from .support.pictures import texture, write


def test_add_search_remove(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        for seed in range(5):
            index.add(texture(seed), key=f"t{seed}", metadata={"seed": seed})
        assert len(index) == 0  # not committed
        with pytest.warns(UncommittedWarning, match=r"call commit\(\) first") as told:
            assert index.search(texture(3)).hits == ()
        assert told[0].filename == __file__
        assert index.search(texture(3)).hits == ()  # once is enough: warnings are errors here
        index.commit()
        assert len(index) == 5
        best = index.search(texture(3)).hits[0]
        assert (best.key, best.metadata) == ("t3", {"seed": 3})
        assert best.transform is not None
        assert np.allclose(best.transform, [[1, 0, 0], [0, 1, 0]], atol=0.05)
        assert index.remove("t3")
        assert not index.remove("t3")
        with pytest.warns(UncommittedWarning):
            index.compare(key="t3", other="t0")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(index.search, key="t3").result()  # who changes nothing expects nothing
        index.commit()
        assert "t3" not in index
        assert all(hit.key != "t3" for hit in index.search(texture(3)).hits)
        assert sorted(index) == ["t0", "t1", "t2", "t4"]


def test_with_commits_unless_an_exception_passes(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(0), key="kept")
    with pytest.raises(ZeroDivisionError), Index.open(tmp_path / "i.resight") as index:  # noqa: PT012
        index.add(texture(1), key="dropped")
        _ = 1 / 0
    with Index.open(tmp_path / "i.resight") as index:
        assert list(index) == ["kept"]


def test_files_bytes_and_pixels_are_the_same_picture(tmp_path: Path) -> None:
    path = write(tmp_path / "a.png", texture(1))
    with Index.create(tmp_path / "i.resight") as index:
        index.add(path)
        index.commit()
        scores = {index.search(source).hits[0].score for source in (path, str(path), path.read_bytes(), texture(1))}
        assert len(scores) == 1
        row = index.get(str(path))
        assert row is not None
        assert row.path == str(path)


def test_unchanged_files_are_skipped_and_changed_ones_updated(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.png", texture(1)), write(tmp_path / "b.png", texture(2))
    with Index.create(tmp_path / "i.resight") as index:
        assert [bool(o.entry) for o in index.add_files([a, b])] == [True, True]
        index.commit()
        write(b, texture(3))
        again = list(index.add_files([a, b]))
        assert again[0].unchanged
        assert again[1].replaces
        index.commit()
        assert len(index) == 2
        assert index.search(texture(3)).hits[0].key == str(b)


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{seed}.png", texture(seed)) for seed in range(6)]
    found = []
    for processes in (1, 2):
        with Index.create(tmp_path / f"{processes}.resight") as index:
            list(index.add_files(paths, engine=LocalEngine(processes)))
            index.commit()
            found.append([index.search(texture(seed)[20:200, 30:220]) for seed in range(3)])
    assert found[0] == found[1]
    first, second = (sorted((tmp_path / f"{n}.resight/segments").rglob("*.npy")) for n in (1, 2))
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_commits_by_itself(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.store = StoreOptions(commit_every=2)
        for seed in range(3):
            index.add(texture(seed), key=str(seed))
        assert len(index) == 2


def test_a_picture_without_features_is_kept_and_never_found(tmp_path: Path) -> None:
    blank = np.full((50, 60), 128, np.uint8)
    with Index.create(tmp_path / "i.resight") as index:
        index.add(blank, key="blank")
        index.add(texture(1), key="texture")
        index.commit()
        assert "blank" in index
        assert index.search(blank).hits == ()
        for recipe in ("verified", "hamming", "bow-l1", "bow-l2", "bow-cosine"):
            hits = index.search(texture(1), recipe=recipe).hits
            assert [h.key for h in hits] == ["texture"]
            assert all(np.isfinite(h.score) for h in hits)


def test_another_vocabulary_or_other_features_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    options = VocabularyOptions(words=16, iterations=2)
    mine, other = (
        train(rng.integers(0, 90, (200, 128), dtype=np.uint8), options=options, source="test") for _ in range(2)
    )
    Index.create(tmp_path / "i.resight", vocabulary=mine).close()
    Index.open(tmp_path / "i.resight", vocabulary=mine).close()
    with pytest.raises(VocabularyError, match=rf"{mine.fingerprint}.*{other.fingerprint}"):
        Index.open(tmp_path / "i.resight", vocabulary=other)
    with pytest.raises(UsageError, match=r"was made with features\.max_side=1024, not 64; make a new index"):
        Index.open(tmp_path / "i.resight", features=FeatureOptions(max_side=64))


def test_a_new_index_takes_the_words_of_its_detector(tmp_path: Path) -> None:
    for detector in DETECTORS:
        ready = Vocabulary.ready(detector)
        with Index.create(tmp_path / detector, features=FeatureOptions(detector=detector)) as index:
            assert index.vocabulary.fingerprint == ready.fingerprint
        other = FeatureOptions(detector=next(name for name in DETECTORS if name != detector))
        with pytest.raises(VocabularyError, match=rf"from {detector} features.*set features.detector to {detector}"):
            Index.create(tmp_path / "mixed", features=other, vocabulary=ready)
    assert not (tmp_path / "mixed").exists()


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(IndexMissingError, match="resight index"):
        Index.open(tmp_path / "nothing.resight")
    index = Index.create(tmp_path / "i.resight")
    with pytest.raises(IndexExistsError, match="already an index"):
        Index.create(tmp_path / "i.resight")
    with pytest.raises(UsageError, match="needs a key"):
        index.add(texture(0))
    with pytest.raises(ImageError, match=r"missing\.jpg"):
        index.search(tmp_path / "missing.jpg")
    with pytest.raises(UsageError, match="top"):
        index.search(texture(0), top=0)
    with pytest.raises(UsageError, match="outside"):
        index.search(texture(0), region=(1000, 0, 10, 10))
    with pytest.raises(UsageError, match="positive"):
        index.search(texture(0), region=(0, 0, 0, 10))
    with pytest.raises(UsageError, match="known: linked,"):
        index.search(texture(0), recipe="magic")
    index.close()
    with pytest.raises(IndexExistsError, match="not an index"):
        Index.create(tmp_path)


def test_changing_folders_does_not_move_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Index.create("i.resight") as index:
        index.add(texture(0), key="a")
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with Index.open(tmp_path / "i.resight") as index:
        assert list(index) == ["a"]


def test_an_index_moved_away_is_not_written_to(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "i.resight")
    index.add(texture(0), key="a")
    (tmp_path / "i.resight").rename(tmp_path / "j.resight")
    with pytest.raises(IndexMissingError):
        index.commit()
    assert not (tmp_path / "i.resight").exists()
    index.close()


def test_metadata_is_copied_and_survives_an_update(tmp_path: Path) -> None:
    path = write(tmp_path / "a.png", texture(1))
    with Index.create(tmp_path / "i.resight") as index:
        metadata = {"year": 2024}
        index.add(path, metadata=metadata)
        metadata["year"] = 1999
        index.commit()
        write(path, texture(2))
        assert [o.replaces for o in index.add_files([path])] == [True]
        index.commit()
        row = index.get(str(path))
        assert row is not None
        assert row.metadata == {"year": 2024}


def test_one_file_has_one_key(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    path = write(tmp_path / "a.png", texture(1))
    with Index.create(tmp_path / "i.resight") as index:
        index.add(path)
        index.add(tmp_path / "sub" / ".." / "a.png")
        assert [o.unchanged for o in index.add_files([str(tmp_path / "sub" / ".." / "a.png")])] == [True]
        index.commit()
        assert list(index) == [str(path)]


def test_readers_finish_on_the_commit_they_began_with(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        for seed in range(3):
            index.add(texture(seed), key=str(seed))
        index.commit()
        keys = index
        for key in keys:  # each round commits and refreshes under the iterator
            assert index.remove(key)
            index.commit()
        assert len(index) == 0


def test_a_closed_index_stays_closed(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "i.resight")
    index.add(texture(0), key="a")
    index.commit()
    index.close()
    with pytest.raises(StoreError, match="closed"):
        index.remove("a")
    with Index.open(tmp_path / "i.resight") as other:
        assert other.remove("a")


def test_a_thumbnail_finds_its_large_original(tmp_path: Path) -> None:
    large = np.asarray(cv2.resize(texture(5, size=400), (6000, 6000), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)
    small = np.asarray(cv2.resize(large, (400, 400), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    with Index.create(tmp_path / "i.resight") as index:
        index.add(large, key="large")
        index.add(texture(6), key="other")
        index.commit()
        best = index.search(small).hits[0]
        assert best.key == "large"
        assert best.transform is not None
        assert best.transform[0][0] == pytest.approx(15, rel=0.02)


def test_several_words_for_each_feature(tmp_path: Path) -> None:
    """CDM-10's multiple assignment: as many postings more, sound after all that can happen to them."""
    once, thrice = (tmp_path / f"{words}.resight" for words in (1, 3))
    for folder, words in ((once, 1), (thrice, 3)):
        with Index.create(folder, indexing=IndexingOptions(words=words)) as index:
            for seed in range(3):
                index.add(texture(seed), key=str(seed))
            index.commit()
            index.add(write(tmp_path / "3.png", texture(3)), key="3")
            index.remove("0")
    with Index.open(once) as one, Index.open(thrice) as three:
        assert three.settings.indexing.words == 3
        assert three.info().features == 3 * one.info().features
        three.merge()
        assert check(thrice).problems == ()
        hits = three.search(texture(2), recipe="bow-l1-ma").hits
        assert hits[0].key == "2"
        assert hits[0].score == pytest.approx(1, rel=1e-4)
        assert three.search(key="2", recipe="bow-l1-ma").hits[0].score < 1
    with pytest.raises(UsageError, match=r"made with indexing\.words=3, not 2; make"):
        Index.open(thrice, indexing=IndexingOptions(words=2))


def test_threads_search_while_others_commit(tmp_path: Path) -> None:
    """A search keeps the snapshot that it began with; the next one sees the commit."""
    place = tmp_path / "i.resight"
    with Index.create(place) as index:
        for seed in range(4):
            index.add(texture(seed), key=f"t{seed}")
    with Index.open(place) as index, Index.open(place) as writer, ThreadPoolExecutor(3) as pool:
        asked = []
        for number in range(3):
            asked += [(f"t{seed}", pool.submit(index.search, texture(seed), key=f"t{3 - seed}")) for seed in range(4)]
            writer.add(texture(10 + number), key=f"late{number}")
            writer.remove(f"late{number - 2}")
            writer.commit()
            index.refresh()
            assert index.search(texture(10 + number)).hits[0].key == f"late{number}"
        for key, found in asked:
            assert found.result().hits[0].key == key


def test_compare(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        for seed in range(3):
            index.add(texture(seed), key=f"t{seed}")
        index.add(texture(0)[20:200, 30:220], key="part")
        index.commit()
        # As a search says it, where the picture is found.
        (found,) = (h for h in index.search(texture(0), recipe="verified").hits if h.key == "part")
        (same,) = index.compare(texture(0), other="part").hits
        assert same == found
        assert same.matches is not None
        assert len(same.matches) == same.inliers
        (stored,) = index.compare(key="part", other="t0").hits
        assert stored.transform is not None
        assert np.allclose(stored.transform, [[1, 0, 30], [0, 1, 20]], atol=0.5)
        (none,) = index.compare(key="t1", other="t0").hits
        assert (none.inliers, none.transform, none.matches) == (None, None, None)
        (part,) = index.compare(texture(0), other="part", region=(0, 0, 120, 240)).hits
        assert part.query_region is not None
        assert part.query_region.x + part.query_region.width <= 120
        with pytest.raises(KeyMissingError, match="'elsewhere'"):
            index.compare(key="t0", other="elsewhere")
        with pytest.raises(UsageError, match="two pictures"):
            index.compare(texture(0), key="t1", other="t0")


def test_pages_go_by_key_over_all_segments(tmp_path: Path) -> None:
    names = ["", "B", "a", "b", "ä", "z\udcff", "z\udcffa", "\U0001f600"]
    with Index.create(tmp_path / "i.resight") as index:
        index.store = StoreOptions(merge_factor=100)
        for number, key in enumerate([*names[::-1], "gone"]):
            index.add(texture(number, 64), key=key)
            if number % 3 == 2:
                index.commit()
        index.remove("gone")
        index.commit()
        assert index.info().segments > 1
        assert sorted(names, key=os.fsencode) == [row.key for row in index.pictures()]
        assert [row.key for row in index.pictures(after="b")] == ["z\udcff", "z\udcffa", *names[4:5], names[-1]]
        assert list(index.pictures(after="\U0001f600")) == []


def test_a_picture_is_known_by_its_content(tmp_path: Path) -> None:
    file = write(tmp_path / "a.png", texture(1))
    with Index.create(tmp_path / "i.resight") as index:
        index.add(file.read_bytes(), key="a", path=file)
        index.add(texture(1), key="pixels")
        index.commit()
        known = index.with_content(file.read_bytes())
        assert known is not None
        assert (known.key, known.path) == ("a", str(file))
        index.remove("a")
        index.commit()
        assert index.with_content(file.read_bytes()) is None


def test_released_others_can_write(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index, Index.open(tmp_path / "i.resight") as other:
        index.add(texture(0), key="dropped")
        with pytest.raises(IndexLockedError):
            other.add(texture(1), key="b")
        index.release()
        other.add(texture(1), key="b")
        other.commit()
        other.release()
        index.add(texture(2), key="c")
        index.commit()
        assert sorted(index) == ["b", "c"]


def test_metadata_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index, pytest.raises(UsageError, match="cannot be stored as JSON"):
        index.add(texture(0), key="a", metadata={"x": float("nan")})


def test_an_index_that_was_replaced_is_left_alone(tmp_path: Path) -> None:
    """Also where both have had as many commits."""
    places = [tmp_path / name for name in ("live", "next", "old")]
    for place, seeds in zip(places[:2], (range(3), range(3, 8)), strict=True):
        with Index.create(place) as index:
            for seed in seeds:
                index.add(texture(seed), key=str(seed))
    with Index.open(places[0]) as index:
        index.add(texture(20), key="new")
        places[0].rename(places[2])
        places[1].rename(places[0])
        with pytest.raises(StoreError, match="another index now"):
            index.commit()
        index.release()
    assert not check(places[0]).problems
    with Index.open(places[0]) as index:
        assert sorted(index) == list("34567")


def test_one_that_was_replaced_before_it_is_written_to(tmp_path: Path) -> None:
    """By an index of other features; what was analysed for the one opened must not get into it."""
    live, later = tmp_path / "live", tmp_path / "next"
    Index.create(live).close()
    Index.create(later, features=FeatureOptions(detector="sift")).close()
    with Index.open(live) as index:
        assert not index.search(texture(1)).hits  # its vocabulary is read
        live.rename(tmp_path / "old")
        later.rename(live)
        with pytest.raises(StoreError, match="another index now"):
            index.add(texture(1), key="a")
        index.refresh()
        index.add(texture(1), key="a")
        index.commit()
        assert [hit.key for hit in index.search(texture(1), min_confidence=0.5).hits] == ["a"]


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("lets_go", [False, True])
def test_the_lock_is_of_the_process_that_took_it(tmp_path: Path, lets_go: bool) -> None:
    """One that is forked off neither keeps it nor opens it for others."""
    index = Index.create(tmp_path / "i.resight")
    index.add(texture(1), key="a")
    (hears, tells), (waits, ends) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        if lets_go:
            index.release()
        os.write(tells, b"x")
        os.read(waits, 1)
        os._exit(0)
    try:
        os.read(hears, 1)
        with Index.open(index.path) as other, pytest.raises(IndexLockedError):
            other.remove("a")
        index.commit()
        index.close()
        with Index.open(index.path) as other:
            assert other.remove("a")
    finally:
        os.write(ends, b"x")
        os.waitpid(child, 0)
        for handle in (hears, tells, waits, ends):
            os.close(handle)


def test_recipes_that_do_not_verify_know_no_confidence(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(1), key="a")
        index.commit()
        assert index.search(texture(1), recipe="burst").hits
        with pytest.raises(UsageError, match="verifies nothing"):
            index.search(texture(1), recipe="burst", min_confidence=0.1)


@pytest.mark.parametrize("sharded", [False, True])
def test_a_picture_that_has_moved_has_its_new_place(tmp_path: Path, sharded: bool) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    write(before / "a.png", texture(1))
    with Index.create(tmp_path / "i.resight") as index:
        list(index.add_files([before / "a.png"], relative_to=before, one_commit=sharded))
        index.commit()
        before.rename(after)
        (moved,) = index.add_files([after / "a.png"], relative_to=after, one_commit=sharded)
        index.commit()
        assert moved.replaces
        row = index.get("a.png")
        assert row
        assert row.path == str(after / "a.png")
        (again,) = index.add_files([after / "a.png"], relative_to=after, one_commit=sharded)
        assert again.unchanged


def test_metadata_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"in": [deep]}
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(0), key="kept", metadata={"in": {"in": [1]}})
        with pytest.raises(UsageError, match="the metadata of 'a' is nested more than 100 levels deep"):
            index.add(texture(0), key="a", metadata=deep)
    with Index.open(tmp_path / "i.resight") as index:
        assert list(index) == ["kept"]


def test_bad_arguments_are_refused_with_the_remedy(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(1), key="")  # even a key without a character is one
        index.add(texture(1), key="same")
        index.commit()
        assert [hit.key for hit in index.search(key="", top=1).hits] == ["same"]
        for region in ((1, 2, 3), "1,2,30,40", ("a", 1, 2, 3)):
            with pytest.raises(UsageError, match="a region is four numbers, x, y, width and height, not"):
                index.search(texture(1), region=region)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"top must be a whole number from 1 on, not 1\.5"):
            index.search(texture(1), top=1.5)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="path is for pictures that are given as bytes"):
            index.add(write(tmp_path / "a.png", texture(2)), path=tmp_path / "b.png")


def test_options_of_the_store_can_be_set_at_any_time(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        for number in range(4):
            index.add(texture(number, 64), key=str(number))
            index.store = StoreOptions(merge_factor=100 if number < 3 else 2)
            index.commit()
            assert index.info().segments == (number + 1 if number < 3 else 1)


def test_nothing_revives_a_closed_index(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "i.resight")
    index.close()
    with Index.open(tmp_path / "i.resight") as other:
        other.add(texture(1), key="a")
    for use in (index.refresh, index.commit, lambda: index.remove("a")):
        with pytest.raises(StoreError, match="was closed; open it again"):
            use()


def test_adding_again_keeps_metadata_unless_told_otherwise(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        wanted: dict[str, int]
        for metadata, wanted in (({"year": 1}, {"year": 1}), (None, {"year": 1}), ({}, {}), (None, {})):
            index.add(texture(len(wanted)), key="a", metadata=metadata)
            index.commit()
            row = index.get("a")
            assert row
            assert row.metadata == wanted
