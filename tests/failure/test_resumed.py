"""A build that dies at any operation can be repeated: what was recorded is not done again; the index is the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from resight.errors import StoreError
from resight.store import Disk, Writer, check, shards
from resight.store import manifest as manifests
from resight.store.segment import FOLDER

from ..support.stored import QuickDisk, build, build_in_shards, change, leftovers
from .children import kill
from .disks import CountingDisk, Fate, FullDisk, VolatileDisk, strikes
from .scenarios import KEPT_A, NO_FEATURES, OTHER_A, SCENARIOS, A, B, C, D, E, Judge, copy, files_of, last_commit

REMEDY = "No space left on device; what was committed before is safe: free some space"
WANTED = [B, E, OTHER_A, NO_FEATURES]  # as in the scenario "build"


def done(folder: Path) -> set[str]:
    """Keys whose shards are recorded."""
    commit = manifests.read(folder).commit
    return {outcome["key"] for built in shards.unfinished(folder, commit) for outcome in built.outcomes}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Builds name segments by chance. Here they number them from now on, so that equal indexes have equal files."""

    def number() -> None:
        numbers = count()
        monkeypatch.setattr("secrets.token_hex", lambda size: f"{next(numbers):0{2 * size}x}")

    return number


def test_repeated_after_death_at_every_operation(names: Callable[[], None], tmp_path: Path) -> None:
    scenario, judge, prepared = SCENARIOS["build"], Judge(tmp_path), tmp_path / "prepared"
    scenario.prepare(prepared)
    last, survey = last_commit(prepared), CountingDisk()
    assert last
    scenario.act(copy(prepared, tmp_path / "survey"), survey)
    left_over = set()
    for at, half in strikes(survey.done):
        folder = copy(prepared, tmp_path / "killed")
        kill("build", folder, at, half)
        before = done(folder)
        committed = last_commit(folder) == last + 1
        assert check(folder).problems == ()  # what is there of a build is no damage
        names()
        asked = build_in_shards(folder, WANTED)
        # After the commit all are analysed again, and found to be unchanged.
        assert asked == [e.key for e in WANTED if committed or e.key not in before]
        assert last_commit(folder) == last + 1  # there is nothing to commit twice
        assert leftovers(folder) == set()
        assert judge.committed(files_of(folder), scenario, last=last)
        left_over.add(len(asked))
        shutil.rmtree(folder)
    assert len(left_over) >= 3


def test_repeated_after_the_disk_was_full_at_every_operation(names: Callable[[], None], tmp_path: Path) -> None:
    scenario, judge, prepared = SCENARIOS["build"], Judge(tmp_path), tmp_path / "prepared"
    scenario.prepare(prepared)
    last, survey = last_commit(prepared), CountingDisk()
    scenario.act(copy(prepared, tmp_path / "survey"), survey)
    for at, half in strikes(survey.done):
        folder = copy(prepared, tmp_path / "full")
        names()
        with pytest.raises(StoreError, match=REMEDY):
            build_in_shards(folder, WANTED, disk=FullDisk(at, half=half))
        build_in_shards(folder, WANTED)
        assert leftovers(folder) == set()
        assert judge.committed(files_of(folder), scenario, last=last)
        shutil.rmtree(folder)


def broken_off(folder: Path, disk: Disk | None = None) -> set[str]:
    """A build of d, c, e with shards of one picture, broken off at e; what is recorded of it."""
    assert build_in_shards(folder, [D, C, E], most=1, deadly="e", disk=disk) == ["d", "c"]
    return done(folder)


def test_a_recorded_shard_survives_a_power_failure(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    build(root / "index", [A, B])
    with closing(VolatileDisk(root)) as disk:
        for path in (root, *root.rglob("*")):
            disk.sync(path)
        assert broken_off(root / "index", disk) == {"d", "c"}
        left = disk.remains(Fate.NEWEST_LOST)
    for name, data in left.items():
        path = tmp_path / "left" / name
        path.mkdir(parents=True) if data is None else path.write_bytes(data)
    assert done(tmp_path / "left" / "index") == {"d", "c"}


def test_another_commit_ends_a_build(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(folder, [A, B])
    assert broken_off(folder) == {"d", "c"}
    with Writer(folder, disk=QuickDisk()):  # a writer that changes nothing
        assert done(folder) == {"d", "c"}
    change(folder, remove=["b"])
    assert done(folder) == leftovers(folder) == set()


def test_another_build_takes_nothing_of_this_one(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(folder, [A, B])
    broken_off(folder)
    asked = build_in_shards(folder, [C, OTHER_A], most=1)  # c is to be analysed in another way than before
    assert asked == ["c", "a"]
    assert leftovers(folder) == set()
    Judge(tmp_path).goes_on(folder, [KEPT_A, B, C])


@pytest.mark.parametrize("spoilt", ["record", "segment"])
def test_what_is_damaged_is_made_again(spoilt: str, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(folder, [A, B])
    assert broken_off(folder) == {"d", "c"}
    path = min((folder / shards.FOLDER).glob("*.json"))
    built = shards.read(folder, path.stem)
    assert built
    assert built.segment
    if spoilt == "record":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        (folder / FOLDER / built.segment.name / "df.npy").unlink()
    assert sorted(build_in_shards(folder, [D, C, E], most=1)) == sorted([built.outcomes[0]["key"], "e"])
    Judge(tmp_path).goes_on(folder, [A, B, C, D, E])
