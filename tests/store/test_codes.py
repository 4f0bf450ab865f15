"""What is kept of descriptors is stored, checked and read back; what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resight.errors import IndexDamagedError, UsageError, VocabularyError
from resight.options import IndexingOptions
from resight.store import Entry, Writer, check, create, open_snapshot
from resight.store import manifest as manifests
from resight.store.checked import BLOCK
from resight.types import Bytes

from ..support.stored import (
    CODES,
    KEEPING_CODES,
    NO_DETECTOR,
    WORDS,
    QuickDisk,
    build,
    change,
    cluster,
    coded,
    entry,
    vocabulary,
)


def test_pictures_come_back_with_their_codes(tmp_path: Path) -> None:
    entries = {key: coded(entry(key, seed)) for seed, key in enumerate("abcdef")}
    build(tmp_path / "i", [entries[key] for key in "abc"], [entries[key] for key in "def"])
    change(tmp_path / "i", remove=["b"])

    def expect(segments: int) -> None:
        with open_snapshot(tmp_path / "i") as snapshot:
            assert len(snapshot.segments) == segments
            for key in "acdef":
                located = snapshot.locate(key)
                assert located
                words, geometry = located[0].picture(located[1])
                added = entries[key]
                order = np.argsort(added.words.word, kind="stable")
                assert np.array_equal(words.word, added.words.word[order])
                assert words.code is not None
                assert added.words.code is not None
                assert np.array_equal(words.code, added.words.code[order])
                assert np.array_equal(geometry, added.geometry[order])
        assert check(tmp_path / "i").problems == ()

    expect(2)
    change(tmp_path / "i", merge=True)
    expect(1)
    cluster(tmp_path / "i", 3)
    expect(1)


def test_the_column_is_there_without_bytes_where_nothing_is_kept(tmp_path: Path) -> None:
    build(tmp_path / "i", [entry("a", 1), entry("b", 2)], [entry("c", 3)])
    change(tmp_path / "i", merge=True)
    with open_snapshot(tmp_path / "i") as snapshot:
        (segment,) = snapshot.segments
        assert "code.npy" not in segment.files
        lists = segment.lists(np.array([1], np.int32), "image", "code")
        assert lists.code.shape == (len(lists.image), 0)
        row = snapshot.find("a")
        assert row
        assert segment.picture(row)[0].code is None


def test_lists_that_are_mapped_and_those_that_are_built_are_of_one_type(tmp_path: Path) -> None:
    """To numba: read-only, of the same kind, in the same order."""
    from resight.postings import build as build_lists

    def kind(code: Bytes) -> tuple[object, ...]:
        return code.dtype, code.ndim, code.flags.writeable, code.flags.c_contiguous

    for name, e in (("plain", entry("a", 1)), ("coded", coded(entry("a", 1)))):
        build(tmp_path / name, [e])
        with open_snapshot(tmp_path / name) as snapshot:
            stored = snapshot.segments[0].lists(None, "code").code
            built = build_lists([(e.words, e.geometry)], words=WORDS).code
            assert np.array_equal(stored, built)
            assert kind(stored) == kind(built) == (np.dtype(np.uint8), 2, False, True)


def fitting(e: Entry, code: Bytes | None) -> Entry:
    return replace(e, words=replace(e.words, code=code))


@pytest.mark.parametrize("features", [0, 5])
def test_codes_that_do_not_fit_are_refused_at_once(features: int, tmp_path: Path) -> None:
    plain = entry("a", 1, features=features)
    shapes = [(features, CODES - 1), (features, CODES + 1), (features + 1, CODES), (features, 0), (0, 0)]
    wrong = [fitting(plain, None), *(fitting(plain, np.zeros(shape, np.uint8)) for shape in shapes)]
    build(tmp_path / "codes", [coded(entry("b", 2))])
    with Writer(tmp_path / "codes", disk=QuickDisk()) as writer:
        for e in wrong:
            with pytest.raises(UsageError, match=f"'a' comes with .* this index keeps {CODES} of each; quantise"):
                writer.add(e)
        writer.add(coded(plain))
        assert writer.commit()
    build(tmp_path / "plain", [entry("b", 2)])
    with Writer(tmp_path / "plain", disk=QuickDisk()) as writer:
        for e in [coded(plain), *wrong[1:]]:
            with pytest.raises(UsageError, match="this index keeps 0 of each"):
                writer.add(e)
        writer.add(plain)
        assert writer.commit()


def test_blocks_are_checked_when_they_are_used(tmp_path: Path) -> None:
    """In the lists of the words that are asked for, and in the rows of a picture."""
    folder = tmp_path / "i"
    build(folder, [coded(entry("large", 1, features=3 * BLOCK // CODES)), coded(entry("small", 2))])
    path = folder / "segments" / "00000001" / "code.npy"
    damaged = bytearray(path.read_bytes())
    assert len(damaged) > 3 * BLOCK
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    first, last = np.array([0], np.int32), np.array([WORDS - 1], np.int32)
    with open_snapshot(folder) as snapshot:
        (segment,) = snapshot.segments
        segment.lists(first, "image", "code")
        segment.lists(last, "image", "signature", "geometry")
        with pytest.raises(IndexDamagedError, match=r"code\.npy is damaged"):
            segment.lists(last, "code")
        row = snapshot.find("large")
        assert row
        with pytest.raises(IndexDamagedError, match=r"code\.npy is damaged"):
            segment.picture(row)
    assert "code.npy is damaged" in check(folder).problems[0]


def test_a_vocabulary_without_codebooks_makes_no_such_index(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="cannot make codes"):
        create(tmp_path / "i", vocabulary(), features=NO_DETECTOR, indexing=KEEPING_CODES, disk=QuickDisk())
    assert list(tmp_path.iterdir()) == []


def test_check_compares_the_number_of_bytes(tmp_path: Path) -> None:
    build(tmp_path / "i", [coded(entry("a", 1))])
    manifest = manifests.read(tmp_path / "i")
    assert (manifest.settings.codes, manifest.settings.indexing.keep) == (CODES, "codes")
    for codes, problem in ((0, "with code.npy, of 0 bytes each"), (3, "bytes for .* features, not 3 each")):
        forged = replace(manifest, settings=replace(manifest.settings, codes=codes))
        manifests.write(tmp_path / "i", forged, QuickDisk())
        told, damaged = check(tmp_path / "i").problems
        assert told == f"{CODES} bytes are kept of each descriptor, {codes} recorded"
        with pytest.raises(IndexDamagedError, match=problem) as caught:
            open_snapshot(tmp_path / "i")
        assert str(caught.value) == damaged
    other = replace(manifest.settings, indexing=IndexingOptions(keep="descriptors"))
    bare = replace(manifest, settings=other)
    manifests.write(tmp_path / "i", bare, QuickDisk())
    assert check(tmp_path / "i").problems == (f"4 bytes are kept of each descriptor, {CODES} recorded",)
