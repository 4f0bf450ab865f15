"""A learnt similarity scores every picture, whenever it came, until it is replaced or forgotten."""

from __future__ import annotations

import io
import shutil
import zlib
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resight import learn
from resight.errors import IndexDamagedError, UsageError
from resight.scoring import Similarity
from resight.store import Entry, Writer, check, create, open_snapshot
from resight.store import manifest as manifests
from resight.store.manifest import LEARNT, OPTIONAL, SIMILARITY, TERMS, FileRecord
from resight.store.segment import FOLDER, terms_to_bytes

from ..support import oracle
from ..support.stored import (
    NEVER_MERGE,
    NO_DETECTOR,
    QUERIES,
    WORDS,
    QuickDisk,
    build,
    change,
    cluster,
    entry,
    expected,
    forget_similarity,
    keep_similarity,
    learn_context,
    leftovers,
    ranking,
    rankings,
    similarity,
    state,
    state_of,
    terms,
    tree,
    vocabulary,
)

ENTRIES = [entry(f"{i:02d}", i) for i in range(9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two segments, of which one picture was removed."""
    build(tmp_path / "i", [*ENTRIES[:3], entry("gone", 50)], ENTRIES[3:6])
    change(tmp_path / "i", remove=["gone"])
    return tmp_path / "i"


def alone(folder: Path) -> dict[str, float]:
    """What is stored of all living pictures, by key."""
    with closing(open_snapshot(folder)) as snapshot:
        return {
            row.key: float(segment.terms[LEARNT][row.ordinal])
            for segment in snapshot.segments
            for row in segment.table.all()
            if segment.alive[row.ordinal]
        }


def by_hand(entries: Iterable[Entry]) -> dict[str, float]:
    """s(0, d) − s(0, 0) of LEARN-14 eq. 5."""
    nothing = Counter[int]()
    empty = oracle.learnt(nothing, nothing)
    return {e.key: oracle.learnt(nothing, Counter(e.words.word.tolist())) - empty for e in entries}


def expect(folder: Path, entries: list[Entry], kept: int, fresh: Path) -> None:
    """The index answers as one of these pictures that had the similarity before the first of them."""
    assert state(folder) == state_of({e.key: e for e in entries}, fresh, kept=kept)
    assert check(folder).problems == ()
    assert leftovers(folder) == set()


def test_scores_against_nothing_follow_their_pictures(folder: Path, tmp_path: Path) -> None:
    keep_similarity(folder)
    assert alone(folder) == by_hand(ENTRIES[:6])
    assert len({*alone(folder).values()}) > 4
    change(folder, add=ENTRIES[6:], remove=["01"])
    held = [e for e in ENTRIES if e.key != "01"]
    assert alone(folder) == by_hand(held)
    cluster(folder, 3)
    assert alone(folder) == by_hand(held)
    change(folder, add=[ENTRIES[1]], merge=True)
    assert alone(folder) == by_hand(ENTRIES)
    expect(folder, ENTRIES, 0, tmp_path / "fresh")


def test_another_one_takes_its_place(folder: Path, tmp_path: Path) -> None:
    keep_similarity(folder)
    before, files = state(folder), {path.name for path in folder.rglob("*learnt*")}
    keep_similarity(folder, 1)
    assert state(folder)[1]["learnt", 0] != before[1]["learnt", 0]
    expect(folder, ENTRIES[:6], 1, tmp_path / "fresh")
    assert len([*folder.glob("optional/similarity-*.npz")]) == 1
    assert not files & {path.name for path in folder.rglob("*learnt*")}


def test_forgotten(folder: Path) -> None:
    learn_context(folder)
    before, known = state(folder), terms(folder)
    assert not forget_similarity(folder)
    commit = manifests.read(folder).commit
    keep_similarity(folder)
    assert terms(folder) == known
    assert forget_similarity(folder)
    assert manifests.read(folder).commit == commit + 2
    assert (state(folder), terms(folder)) == (before, known)
    assert not [*folder.glob("optional/similarity-*.npz"), *folder.rglob("*learnt*")]
    assert check(folder).problems == ()
    with open_snapshot(folder) as snapshot:
        assert snapshot.similarity is None
        with pytest.raises(UsageError, match="there is no learnt similarity here; learn one with `resight learn`"):
            ranking(snapshot, "learnt", QUERIES[0])


def test_what_is_pending_is_committed_first(folder: Path, tmp_path: Path) -> None:
    with Writer(folder, options=NEVER_MERGE, disk=QuickDisk()) as writer:
        for e in ENTRIES[6:]:
            writer.add(e)
        learn.keep_similarity(writer, similarity())
        assert writer.pending == 0
        writer.remove("08")
        assert learn.forget_similarity(writer)
        learn.keep_similarity(writer, similarity(1))
        writer.add(ENTRIES[8])
        writer.commit()
    expect(folder, ENTRIES, 1, tmp_path / "fresh")


def test_an_empty_index_can_have_one(folder: Path, tmp_path: Path) -> None:
    keep_similarity(folder)
    change(folder, remove=[e.key for e in ENTRIES[:6]])
    assert check(folder).problems == ()
    cluster(folder, 0)
    change(folder, add=ENTRIES)
    expect(folder, ENTRIES, 0, tmp_path / "fresh")


def test_a_reader_keeps_that_of_its_commit(folder: Path) -> None:
    """It may need it for the first time when it is gone."""
    keep_similarity(folder)
    with open_snapshot(folder) as asked, open_snapshot(folder) as not_yet:
        before = rankings(asked)
        keep_similarity(folder, 1)
        with open_snapshot(folder) as newer:
            forget_similarity(folder)
            assert rankings(not_yet) == rankings(asked) == before
            assert rankings(newer)["learnt", 0] != before["learnt", 0]
            assert newer.similarity
            assert newer.similarity.fingerprint == similarity(1).fingerprint


def test_damage_harms_nothing_else(folder: Path, tmp_path: Path) -> None:
    """The file is read when it is needed: not by other measures, nor to drop or to replace it."""
    before = state(folder)[1]
    keep_similarity(folder)
    learnt = state(folder)[1]
    (path,) = folder.glob("optional/similarity-*.npz")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with open_snapshot(folder) as snapshot:
        for (measure, number), right in before.items():
            assert ranking(snapshot, measure, QUERIES[number]) == right
        with pytest.raises(
            IndexDamagedError, match="drop it with `resight learn --forget`, or learn it again"
        ) as error:
            ranking(snapshot, "learnt", QUERIES[0])
        assert str(path) in str(error.value)
    with pytest.raises(IndexDamagedError, match="resight learn --forget"):
        change(folder, add=ENTRIES[6:])
    change(folder, remove=["05"], merge=True)
    (problem,) = check(folder).problems
    assert str(path) in problem
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    keep_similarity(folder)
    assert forget_similarity(other)
    for place in (folder, other):
        assert check(place).problems == ()
        change(place, add=[ENTRIES[5]])
    assert state(folder)[1] == learnt
    assert state(other)[1] == before


GOOD = similarity()


@pytest.mark.parametrize(
    "bad",
    [
        replace(GOOD, pattern=GOOD.pattern[:, :2]),
        replace(GOOD, pattern=GOOD.pattern[0]),
        replace(GOOD, pattern=GOOD.pattern[:1, :1]),
        replace(GOOD, pattern=GOOD.pattern + np.uint8(1)),
        replace(GOOD, pattern=GOOD.pattern.astype(np.int64)),
        replace(GOOD, weights=GOOD.weights[:, :7]),
        replace(GOOD, weights=GOOD.weights[:2]),
        replace(GOOD, weights=GOOD.weights[0]),
        replace(GOOD, weights=GOOD.weights * np.float32(np.nan)),
        replace(GOOD, weights=GOOD.weights.astype(np.float64)),
        replace(GOOD, group=GOOD.group + np.uint8(1)),
        replace(GOOD, group=GOOD.group.astype(np.int8)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(folder: Path, bad: Similarity) -> None:
    require_refusal(folder, bad, "do not fit together; learn it again with `resight learn`")


def require_refusal(folder: Path, bad: Similarity, message: str) -> None:
    before = tree(folder)
    with Writer(folder, disk=QuickDisk()) as writer:
        writer.add(ENTRIES[6])
        with pytest.raises(UsageError, match=message):
            learn.keep_similarity(writer, bad)
        assert tree(folder) == before
        assert writer.commit(), "it goes on"
    assert check(folder).problems == ()


@pytest.mark.parametrize("group", [GOOD.group[1:], GOOD.group[None], GOOD.group[:0]])
def test_other_words_are_refused(folder: Path, group: Any) -> None:
    message = f"a similarity of {group.size} words does not fit the {WORDS} of this vocabulary; learn one with it"
    require_refusal(folder, replace(GOOD, group=group), message)


def test_several_vocabularies_are_refused(tmp_path: Path) -> None:
    create(tmp_path / "i", replace(vocabulary(), vocabularies=2), features=NO_DETECTOR, disk=QuickDisk())
    with pytest.raises(UsageError, match=r"is of one vocabulary, .* has 2; index the pictures with one"):
        keep_similarity(tmp_path / "i")
    assert not forget_similarity(tmp_path / "i")


def forge(folder: Path, values: Any) -> None:
    """Other terms in the only segment, with the right checksum."""
    manifest = manifests.read(folder)
    (record,) = manifest.segments
    data, name = terms_to_bytes(values), record.terms[LEARNT].name
    (folder / FOLDER / record.name / name).write_bytes(data)
    forged = replace(record, optional={f"{TERMS}{LEARNT}": FileRecord(name, len(data), zlib.crc32(data))})
    manifests.write(folder, replace(manifest, segments=(forged,)), QuickDisk())


def test_check_notices_what_checksums_cannot(folder: Path) -> None:
    keep_similarity(folder)
    change(folder, merge=True)
    with open_snapshot(folder) as snapshot:
        (values,) = (segment.terms[LEARNT] for segment in snapshot.segments)
        before = ranking(snapshot, "learnt", QUERIES[0])
    for place in range(6):
        wrong = values.copy()
        wrong[place] = np.nextafter(wrong[place], np.float32(100))
        forge(folder, wrong)
        (problem,) = check(folder).problems
        assert problem.endswith("terms of the similarity differ from the lists")
    forge(folder, values + 3)
    with open_snapshot(folder) as snapshot:  # what is stored is what is used
        assert dict(ranking(snapshot, "learnt", QUERIES[0])) == {key: score + 3 for key, score in before}
    forge(folder, values)
    assert check(folder).problems == ()


def test_check_compares_the_manifest_with_its_segments(folder: Path) -> None:
    keep_similarity(folder)
    whole = manifests.read(folder)
    without = tuple(record.keeping_terms(()) for record in whole.segments)
    manifests.write(folder, replace(whole, segments=without), QuickDisk())
    assert check(folder).problems == tuple(f"segment {record.name} has no terms named learnt" for record in without)
    data = replace(GOOD, group=GOOD.group[1:]).to_bytes()
    (folder / OPTIONAL / "similarity-00000000.npz").write_bytes(data)
    short = FileRecord(f"{OPTIONAL}/similarity-00000000.npz", len(data), zlib.crc32(data))
    manifests.write(folder, replace(whole, optional={SIMILARITY: short}), QuickDisk())
    assert len(check(folder).problems) == 2
    assert all("11 words does not fit the 12" in problem for problem in check(folder).problems)


def test_files_are_as_documented(folder: Path) -> None:
    keep_similarity(folder)
    (path,) = folder.glob("optional/similarity-*.npz")
    assert path.name == f"similarity-{manifests.read(folder).commit:08d}.npz"
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
        kinds = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    assert kinds == {"pattern": ("|u1", (3, 3)), "weights": ("<f4", (3, 8)), "group": ("|u1", (WORDS,))}
    found = [np.load(file) for file in sorted(folder.rglob("terms-learnt-*.npy"))]
    assert [(array.dtype.str, array.shape) for array in found] == [("<f4", (4,)), ("<f4", (3,))]
    assert state(folder)[0] == expected(ENTRIES[:6])
