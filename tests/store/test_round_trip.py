"""Everything that can be stored comes back as it was, at the edges too."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resight.errors import IndexMissingError, UsageError
from resight.options import IndexingOptions
from resight.store import Entry, Settings, Writer, check, open_snapshot
from resight.store.entry import decode_text, encode_text
from resight.store.table import Row
from resight.types import Words

from ..support.stored import (
    NO_DETECTOR,
    WORDS,
    QuickDisk,
    build,
    change,
    contents,
    entry,
    expected,
    leftovers,
    rankings,
    state,
    statistics,
    vocabulary,
)

KEYS = [
    "",
    " ",
    "plain",
    "with space/and\\slash",
    "line\nbreak\r\n\ttab",
    "nul\0inside",
    "\0",
    "Ünïcödé – 图片 – صورة",
    "e\u0301",  # not the same as the next
    "é",
    "🏛️",
    "\udcff",
    "caf\udce9/\udc80\udcfe",
    "'; DROP TABLE pictures; --",
    "%_*?#",
    "x" * 5000,
    "x" * 4999 + "y",
]


def test_keys(tmp_path: Path) -> None:
    entries = [replace(entry(key, seed), path=key) for seed, key in enumerate(KEYS)]
    build(tmp_path / "index", entries[::2], entries[1::2])
    for _ in range(2):
        assert state(tmp_path / "index")[0] == expected(entries)
        with open_snapshot(tmp_path / "index") as snapshot:
            for key in KEYS:
                row = snapshot.find(key)
                assert row
                assert (row.key, row.path) == (key, key)
            assert snapshot.find("plai") is None
            assert snapshot.find("PLAIN") is None
        assert check(tmp_path / "index").problems == ()
        change(tmp_path / "index", merge=True)
    change(tmp_path / "index", remove=KEYS)
    assert state(tmp_path / "index")[0] == {}


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\udcc3\udca9"], ids=ascii)
def test_keys_that_no_file_can_have_are_refused_at_once(text: str, tmp_path: Path) -> None:
    """Half a surrogate pair cannot be encoded; escaped bytes that spell 'é' would come back as 'é'."""
    build(tmp_path / "index")
    with Writer(tmp_path / "index", disk=QuickDisk()) as writer:
        for refused in (entry(text, 1), replace(entry("a", 1), path=text)):
            with pytest.raises(UsageError, match="choose another key or path"):
                writer.add(refused)
        writer.add(entry("a", 1))
        assert writer.commit()
    assert state(tmp_path / "index")[0].keys() == {"a"}


@given(st.binary(max_size=50))
def test_every_file_name_survives(name: bytes) -> None:
    text = name.decode("utf-8", "surrogateescape")  # as Python reads file names
    assert encode_text(text) == name
    assert decode_text(encode_text(text)) == text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(metadata=st.dictionaries(st.text(max_size=9), JSON, max_size=4))
def test_metadata(metadata: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("metadata") / "index"
    build(folder, [entry("a", 1, metadata=metadata)])
    with open_snapshot(folder) as snapshot:
        row = snapshot.find("a")
    assert row
    assert row.metadata == metadata


@pytest.mark.parametrize("metadata", [{"a": b"bytes"}, {"a": {1, 2}}, {"a": np.float32(1)}, {1: 2, "b": 3}], ids=repr)
def test_metadata_that_is_no_json_is_refused_at_once(metadata: dict[str, Any], tmp_path: Path) -> None:
    build(tmp_path / "index")
    with Writer(tmp_path / "index", disk=QuickDisk()) as writer:
        with pytest.raises(UsageError, match="the metadata of 'a' cannot be stored as JSON"):
            writer.add(entry("a", 1, metadata=metadata))
        assert not writer.commit()


def test_facts(tmp_path: Path) -> None:
    e = Entry("k", entry("", 3).words, entry("", 3).geometry, 65535, 1, bytes(range(256)), "/a/b", {"n": math.pi})
    build(tmp_path / "index", [e])
    with open_snapshot(tmp_path / "index") as snapshot:
        (row,) = snapshot.rows()
        assert snapshot.settings == Settings(
            features=NO_DETECTOR, indexing=IndexingOptions(), words=WORDS, vocabularies=1, codes=0
        )
        assert snapshot.vocabulary.fingerprint == vocabulary().fingerprint
        assert snapshot.vocabulary.description == {"seed": 0}
    assert (row.key, row.content, row.path, row.width, row.height) == ("k", bytes(range(256)), "/a/b", 65535, 1)
    assert (row.features, row.metadata) == (7, {"n": math.pi})


def test_numbers_of_numpy_are_stored_as_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sized = replace(entry("a", 1), width=np.int64(640), height=np.uint16(480))  # type: ignore[arg-type]
    build(tmp_path / "sound", [sized])
    with open_snapshot(tmp_path / "sound") as snapshot:
        assert [(row.width, row.height) for row in snapshot.rows()] == [(640, 480)]
    assert not check(tmp_path / "sound").problems
    values = Row.values
    monkeypatch.setattr(Row, "values", lambda row: (*values(row)[:4], b"\x80\x02", *values(row)[5:]))
    build(tmp_path / "odd", [sized])
    (problem,) = check(tmp_path / "odd").problems
    assert "1 pictures have a size that is no number, such as 'a'; add them again" in problem


def test_keys_that_two_segments_have_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [entry("a", 1), entry("b", 2)], [entry("b", 3), entry("c", 4)], [entry("c", 5), entry("\udcff", 6)]
    build(tmp_path / "sound", *batches)
    assert not check(tmp_path / "sound").problems
    monkeypatch.setattr(Writer, "remove", lambda writer, key: False)
    build(tmp_path / "twice", *batches)
    assert check(tmp_path / "twice").problems == ("2 keys are alive in another segment too",)


def test_rows_that_are_not_those_of_the_lists_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = Row.values
    changes = {
        "number 1 is missing, or one too many": lambda row: (2 * row.ordinal, *values(row)[1:]),
        "feature counts of 2 pictures differ": lambda row: (*values(row)[:6], 99, *values(row)[7:]),
    }
    for number, (message, changed) in enumerate(changes.items()):
        monkeypatch.setattr(Row, "values", changed)
        build(tmp_path / str(number), [entry("a", 1), entry("b", 2)])
        (problem,) = check(tmp_path / str(number)).problems
        assert message in problem


def test_a_check_holds_some_rows_at_a_time(tmp_path: Path) -> None:
    picture = entry("", 1)
    build(tmp_path / "index", [replace(picture, key=str(n), metadata={"text": "x" * 1500}) for n in range(12_000)])
    tracemalloc.start()
    assert not check(tmp_path / "index").problems
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_000 * 1500


# Nothing, in all its forms


def test_no_pictures(tmp_path: Path) -> None:
    build(tmp_path / "index")
    found, answers, counts = state(tmp_path / "index")
    assert found == {}
    assert all(ranking == [] for ranking in answers.values())
    assert (counts["pictures"], counts["features"]) == (0, 0)
    assert check(tmp_path / "index").problems == ()
    with Writer(tmp_path / "index", disk=QuickDisk()) as writer:
        assert not writer.commit()
        assert not writer.remove("a")
        writer.merge()
        assert writer.manifest.commit == 0


def test_pictures_without_features(tmp_path: Path) -> None:
    """In a segment of their own, merged with their like, and merged with others."""
    folder = tmp_path / "index"
    held = [entry(key, seed, features=0) for seed, key in enumerate("abc")]
    build(folder, held[:1], held[1:])

    def expect(segments: int) -> None:
        found, answers, _ = state(folder)
        assert found == expected(held)
        assert {key for ranking in answers.values() for key, _ in ranking} <= {"d"}
        assert check(folder).problems == ()
        assert _segments(folder) == segments

    expect(2)
    change(folder, merge=True)
    expect(1)
    held.append(entry("d", 3))
    change(folder, add=held[3:])
    expect(2)
    change(folder, merge=True)
    expect(1)


def _segments(folder: Path) -> int:
    with open_snapshot(folder) as snapshot:
        return len(snapshot.segments)


def test_query_without_features(tmp_path: Path) -> None:
    build(tmp_path / "index", [entry("a", 1)])
    nothing = Words(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint64))
    with open_snapshot(tmp_path / "index") as snapshot:
        assert all(ranking == [] for ranking in rankings(snapshot, [nothing]).values())


def test_removing_everything_and_beginning_again(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(folder, [entry("a", 1), entry("b", 2)], [entry("c", 3)])
    change(folder, remove=["a"])
    change(folder, remove=["b", "c"])
    assert state(folder)[0] == {}
    assert _segments(folder) == 0
    assert leftovers(folder) == set()
    change(folder, add=[entry("a", 4)])
    assert state(folder)[0] == expected([entry("a", 4)])


def test_removing_twice(tmp_path: Path) -> None:
    build(tmp_path / "index", [entry("a", 1), entry("b", 2), entry("c", 3)])
    with Writer(tmp_path / "index", disk=QuickDisk()) as writer:
        assert writer.remove("a")
        assert not writer.remove("a")
        assert writer.commit()
        assert not writer.remove("a")
        assert not writer.commit()
    assert state(tmp_path / "index")[0].keys() == {"b", "c"}


def test_changes_of_one_key_within_a_commit(tmp_path: Path) -> None:
    build(tmp_path / "index", [entry("a", 1), entry("b", 2), entry("c", 3), entry("d", 4)])
    with Writer(tmp_path / "index", disk=QuickDisk()) as writer:
        writer.add(entry("new", 5))
        writer.add(entry("new", 6))
        writer.add(entry("a", 7))
        writer.add(entry("a", 8))
        writer.add(entry("b", 9))
        assert writer.remove("b")
        assert not writer.remove("b")
        assert writer.remove("c")
        writer.add(entry("c", 10))
        writer.add(entry("brief", 11))
        assert writer.remove("brief")
        assert writer.pending == 3
        writer.commit()
        assert writer.pending == 0
    right = [entry("a", 8), entry("c", 10), entry("d", 4), entry("new", 6)]
    assert state(tmp_path / "index")[0] == expected(right)
    assert check(tmp_path / "index").problems == ()


# Large and wrong


def test_a_picture_whose_features_share_one_word(tmp_path: Path) -> None:
    """Σ tf² is beyond 32 bits."""
    count, folder = 70_000, tmp_path / "index"
    e = entry("a", 1, features=count)
    build(folder, [replace(e, words=replace(e.words, word=np.full(count, 5, np.int32)))])
    with open_snapshot(folder) as snapshot:
        assert snapshot.segments[0].squared.tolist() == [count**2]
        assert statistics(snapshot)["df"][5] == 1
    assert check(folder).problems == ()


def test_words_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    build(tmp_path / "index")
    wrong = entry("a", 1)
    wrong.words.word[0] = WORDS
    with Writer(tmp_path / "index", disk=QuickDisk()) as writer:
        with pytest.raises(UsageError, match=f"'a' has a word beyond this index's {WORDS}"):
            writer.add(wrong)
        assert not writer.commit()


def test_no_index(tmp_path: Path) -> None:
    for act in (open_snapshot, Writer, check):
        with pytest.raises(IndexMissingError, match=r"there is no index at .*; make one with"):
            act(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_index_survives_tools_that_forget_empty_folders(tmp_path: Path) -> None:
    build(tmp_path / "index")
    (tmp_path / "index" / "segments").rmdir()
    assert state(tmp_path / "index")[0] == {}
    change(tmp_path / "index", add=[entry("a", 1)])
    assert state(tmp_path / "index")[0] == expected([entry("a", 1)])


@pytest.mark.parametrize("name", ["q?mode=rw#x%41", "späce é", "file:x"])
def test_awkward_folder_names(name: str, tmp_path: Path) -> None:
    build(tmp_path / name, [entry("a", 1)])
    with open_snapshot(tmp_path / name) as snapshot:
        assert contents(snapshot) == expected([entry("a", 1)])
    assert check(tmp_path / name).problems == ()
