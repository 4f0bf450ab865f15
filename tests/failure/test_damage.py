"""No damaged byte goes unnoticed: the right answer or IndexDamagedError, never another answer, error or crash."""

from __future__ import annotations

import shutil
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from resight.context import context_name
from resight.errors import IndexDamagedError, IndexMissingError, StoreError
from resight.options import StoreOptions
from resight.store import Writer, check, open_snapshot
from resight.store.checked import BLOCK, CheckedFile, block_sums
from resight.types import Words

from ..support.stored import (
    L1,
    NEAR,
    QUERIES,
    WORDS,
    build,
    change,
    cluster,
    complete,
    contents,
    entry,
    keep_similarity,
    learn_context,
    leftovers,
    ranking,
    rankings,
    terms,
)
from .scenarios import OTHER_A, A, B, C, D, E

SMALL = 480  # bytes


def make(folder: Path, *, seed: int = 0) -> Path:
    """Two segments, with all columns, context terms, clusters and a similarity.

    Pictures were removed from the first.
    """
    others = [entry(e.key, 20 + i + seed) for i, e in enumerate([A, B, C, D, E])] if seed else [A, B, C, D, E]
    build(folder, [complete(e) for e in [*others[:3], entry("large", 30 + seed, features=21)]], vocabulary_seed=seed)
    cluster(folder, 2)
    change(folder, add=[complete(e) for e in others[3:]])
    change(folder, remove=["b"])
    learn_context(folder)
    keep_similarity(folder, seed)
    (folder / "writer.lock").unlink()
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("damage") / "index")


FIRST, SECOND = "00000002", "00000003"
FILES = [
    "manifest",
    "vocabulary.npz",
    "optional/clusters-00000002.npz",
    f"optional/context-{context_name(L1, NEAR)}-00000005.npz",
    "optional/similarity-00000006.npz",
    f"segments/{FIRST}/dead-00000004.npz",
    *(f"segments/{segment}/terms-{context_name(L1, NEAR)}-00000005.npy" for segment in (FIRST, SECOND)),
    *(f"segments/{segment}/terms-learnt-00000006.npy" for segment in (FIRST, SECOND)),
    *(
        f"segments/{segment}/{file}"
        for segment in (FIRST, SECOND)
        for file in (
            "image.npy", "signature.npy", "geometry.npy", "code.npy", "offsets.npy", "df.npy", "squared.npy",
            "bounds.npy", "axes.npy", "forward-start.npy", "forward-word.npy", "forward-signature.npy",
            "forward-geometry.npy", "forward-code.npy", "sums.npy", "pictures.db",
        )
    ),
]  # fmt: skip


def test_all_files_are_listed_here(index: Path) -> None:
    assert sorted(FILES) == sorted(p.relative_to(index).as_posix() for p in index.rglob("*") if p.is_file())
    assert {f for f in FILES if (index / f).stat().st_size > SMALL} == {f for f in FILES if not f.endswith("npy")}


def read(folder: Path) -> object:
    """All that an index answers."""
    with open_snapshot(folder) as snapshot:
        answers = [rankings(snapshot, QUERIES[:1], probe) for probe in (0, 1)]
        held = contents(snapshot), snapshot.vocabulary.fingerprint
    assert answers[0] != answers[1]
    return answers, held, terms(folder)


@dataclass(frozen=True)
class Witness:
    """Knows the right answers of an index, and where it lies, damaged."""

    right: object
    folder: Path

    def check(self) -> None:
        """Searches raise IndexDamagedError or are right; the check finds something."""
        said = ""
        try:
            assert read(self.folder) == self.right, "another answer"
        except IndexDamagedError as error:
            said = str(error)
        assert not said or (str(self.folder) in said and "; " in said)  # what is wrong; what to do about it
        try:
            problems = check(self.folder).problems
        except IndexDamagedError as error:
            problems = (str(error),)
        assert problems, "the check found nothing"


@pytest.fixture(scope="module")
def witness(index: Path) -> Witness:
    return Witness(read(index), index)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another index, whose files have the same sizes."""
    return make(tmp_path_factory.mktemp("other") / "index", seed=5)


def positions(file: str, size: int) -> list[int]:
    """The first and the last bytes, and a sample: of each byte the same checksum is computed."""
    step = 397 if size > SMALL else 7 if FIRST in file else 31
    return [p for p in range(size) if p < 12 or p >= size - 12 or p % step == 0]


@pytest.mark.parametrize("file", FILES)
def test_flipped_bytes(file: str, index: Path, witness: Witness) -> None:
    path = index / file
    whole = path.read_bytes()
    try:
        for position in positions(file, len(whole)):
            flip = 1 << position % 8 if position % 2 else 0xFF
            with path.open("r+b") as handle:
                handle.seek(position)
                handle.write(bytes([whole[position] ^ flip]))
            try:
                witness.check()
            except BaseException as error:
                error.add_note(f"byte {position} of {file}, flipped by {flip:#x}")
                raise
            with path.open("r+b") as handle:
                handle.seek(position)
                handle.write(whole[position : position + 1])
    finally:
        path.write_bytes(whole)
    assert check(index).problems == ()


def test_flipped_bits_of_the_first_line(index: Path) -> None:
    """No checksum covers the manifest's first line: every single bit of it."""
    path = index / "manifest"
    whole = path.read_bytes()
    try:
        for bit in range(8 * (whole.index(b"\n") + 1)):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            with pytest.raises(IndexDamagedError):
                open_snapshot(index)
            with pytest.raises(IndexDamagedError):
                check(index)
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("file", FILES)
def test_wrong_sizes(file: str, index: Path, witness: Witness) -> None:
    path = index / file
    whole = path.read_bytes()
    try:
        for damaged in (b"", whole[:1], whole[: len(whole) // 2], whole[:-1], whole + b"\0", whole + whole, b"\0" * 99):
            path.write_bytes(damaged)
            witness.check()
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("file", FILES)
def test_missing_file(file: str, index: Path, witness: Witness) -> None:
    path = index / file
    hidden = path.rename(index.parent / "hidden")
    try:
        if file == "manifest":
            with pytest.raises(IndexMissingError, match="there is no index at"):
                open_snapshot(index)
            with pytest.raises(IndexMissingError, match="there is no index at"):
                check(index)
        else:
            witness.check()
        path.mkdir()
        witness.check()
        path.rmdir()
    finally:
        hidden.rename(path)


@pytest.mark.parametrize("file", [*FILES, f"segments/{FIRST}", f"segments/{SECOND}"])
def test_file_of_another_index(file: str, index: Path, other: Path, witness: Witness, tmp_path: Path) -> None:
    """Sound in itself, and of the same sizes, but not this index's."""
    mixed = tmp_path / "mixed"
    shutil.copytree(index, mixed)
    if (mixed / file).is_dir():
        shutil.rmtree(mixed / file)
        shutil.copytree(other / file, mixed / file)
    else:
        same = (mixed / file).read_bytes() == (other / file).read_bytes()
        shutil.copyfile(other / file, mixed / file)
        if same:  # such as the counts of pictures that happen to agree
            assert check(mixed).problems == ()
            return
    replace(witness, folder=mixed).check()


def test_segments_in_each_others_place(index: Path, witness: Witness, tmp_path: Path) -> None:
    shutil.copytree(index, tmp_path / "mixed")
    segments = tmp_path / "mixed" / "segments"
    (segments / FIRST).rename(segments / "x")
    (segments / SECOND).rename(segments / FIRST)
    (segments / "x").rename(segments / SECOND)
    replace(witness, folder=tmp_path / "mixed").check()


def test_foreign_files_are_reported_and_left_alone(index: Path, tmp_path: Path) -> None:
    shutil.copytree(index, tmp_path / "index")
    (tmp_path / "index" / "notes.txt").write_text("mine")
    (problem,) = check(tmp_path / "index").problems
    assert "notes.txt does not belong to the index; move it away" in problem
    change(tmp_path / "index", add=[complete(OTHER_A)])
    assert leftovers(tmp_path / "index") == {"notes.txt"}


def test_blocks_of_large_files_are_checked_when_they_are_used(tmp_path: Path) -> None:
    """A damaged block does not hinder what never reads it, and stops what does."""
    folder = tmp_path / "index"
    build(folder, [entry("large", 1, features=3 * BLOCK // 8), entry("small", 2)])
    path = folder / "segments" / "00000001" / "signature.npy"
    whole = path.read_bytes()
    assert len(whole) > 3 * BLOCK
    for position in (0, 127, 128, BLOCK - 1, BLOCK, 2 * BLOCK + 5, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        (problem,) = check(folder).problems
        assert "signature.npy is damaged" in problem
        with pytest.raises(IndexDamagedError, match=r"signature\.npy is damaged"), open_snapshot(folder) as snapshot:
            contents(snapshot)
    zero, signatures = np.zeros(1, np.int32), np.frombuffer(whole[-16:], np.uint64)
    with open_snapshot(folder) as snapshot:  # the last byte is damaged, in the list of the last word
        lists = snapshot.segments[0].lists(zero, "signature")
        assert lists.offsets[1] * 8 < 2 * BLOCK
        common, rare = Words(zero, zero, lists.signature[:1]), Words(zero, zero + WORDS - 1, signatures[:1])
        assert ranking(snapshot, "hamming", common)
        with pytest.raises(IndexDamagedError, match=f"wrong checksum in bytes {3 * BLOCK} to"):
            ranking(snapshot, "hamming", rare)
    path.write_bytes(whole)
    with open_snapshot(folder) as snapshot:
        assert ranking(snapshot, "hamming", rare)


def test_threads_that_check_the_same_blocks(tmp_path: Path) -> None:
    """However threads interleave, no block may be taken for checked that was not."""
    blocks = 64
    data = np.arange(blocks * BLOCK // 8, dtype=np.uint64).view(np.uint8).copy()
    sums = block_sums(data)
    data[-1] ^= 1
    (tmp_path / "file").write_bytes(data.tobytes())
    file = CheckedFile(tmp_path / "file", size=len(data), sums=sums)
    starts = np.arange(blocks - 1, dtype=np.int64) * BLOCK
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: file.check_ranges(starts, starts + 1), range(16)))
    last = np.array([len(data) - 1], dtype=np.int64)
    with pytest.raises(IndexDamagedError, match="wrong checksum"):
        file.check_ranges(last, last + 1)


def test_each_block_that_ranges_touch_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, 20 * BLOCK + 100, dtype=np.uint8)
    (tmp_path / "file").write_bytes(data.tobytes())
    file = CheckedFile(tmp_path / "file", size=len(data), sums=block_sums(data))
    checked: list[int] = []
    crc32 = zlib.crc32

    def noted(block: memoryview) -> int:
        begin = np.frombuffer(block, np.uint8).ctypes.data - file.bytes.ctypes.data
        checked.append(begin // BLOCK)
        return crc32(block)

    monkeypatch.setattr("resight.store.checked.zlib.crc32", noted)
    expected: set[int] = set()
    for _ in range(20):
        start = rng.integers(0, len(data), 3)
        stop = np.minimum(start + rng.choice([0, 1, 50, BLOCK, 2 * BLOCK], 3), len(data))
        file.check_ranges(start, stop)
        for first, last in zip(start.tolist(), stop.tolist(), strict=True):
            expected |= {byte // BLOCK for byte in (first, *range(first, last))}
        assert sorted(checked) == sorted(expected)
    file.check_ranges(np.array([len(data)]), np.array([len(data)]))  # nothing, at the end
    file.check()
    assert sorted(checked) == list(range(21))


def test_a_merge_that_damage_prevents_says_so(tmp_path: Path) -> None:
    """The commit before it stands; the next one names the damaged file."""
    folder = tmp_path / "index"
    large = entry("large", 1, features=9000)  # the block that is damaged is not read at opening
    build(folder, [large], [B], [C])
    (first, *_) = sorted((folder / "segments").iterdir())
    data = bytearray((first / "signature.npy").read_bytes())
    data[-1] ^= 1
    (first / "signature.npy").write_bytes(data)
    with Writer(folder, options=StoreOptions(merge_factor=2)) as writer:
        writer.add(replace(large, key="as large"))  # the two are merged
        assert writer.commit()
        writer.add(E)
        with pytest.raises(StoreError, match=rf"committed, but segments could not be merged: {first}/signature.npy"):
            writer.commit()
