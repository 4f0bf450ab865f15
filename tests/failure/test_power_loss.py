"""A power failure may lose all that was not synced. Whatever it leaves opens as the last commit or the new one.

The whole life of an index is played once. Before every operation the tests ask what a failure now would leave (see
``VolatileDisk``) and open that. A commit that has returned must never be lost again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from resight.errors import IndexDamagedError
from resight.options import IndexingOptions
from resight.store import Disk, Entry, create

from ..support.stored import (
    KEEPING_CODES,
    build_in_shards,
    change,
    cluster,
    complete,
    forget_similarity,
    keep_similarity,
    largest,
    learn_context,
    link,
    shrink,
    vocabulary,
)
from .disks import Fate, VolatileDisk
from .scenarios import LARGE, MERGE_EARLY, NO_FEATURES, OTHER_A, A, B, C, D, E, Judge


def _learn(folder: Path, disk: Disk) -> None:
    learn_context(folder, disk=disk)


def _forget(folder: Path, disk: Disk) -> None:
    assert forget_similarity(folder, disk=disk)


@dataclass(frozen=True)
class Step:
    """Of a life: what the index holds when it has returned, and what it does."""

    entries: list[Entry]
    act: Callable[[Path, Disk], object]
    kept: int | None = None  # the seed of its similarity


def life(*, codes: bool) -> list[Step]:
    """All that happens to an index, which keeps codes, and has ellipses, or not."""

    def of(*entries: Entry) -> list[Entry]:
        return [complete(e) for e in entries] if codes else list(entries)

    indexing = KEEPING_CODES if codes else IndexingOptions()
    all_of_them = of(OTHER_A, B, NO_FEATURES, E, LARGE, C, D)
    return [
        Step([], lambda folder, disk: create(folder, vocabulary(codes=codes), indexing=indexing, disk=disk)),
        Step(of(A, B, C), lambda folder, disk: change(folder, add=of(A, B, C), disk=disk)),
        Step(of(A, B, C, D), lambda folder, disk: change(folder, add=of(D), disk=disk)),
        Step(  # replaces, empties a segment, and merges by itself
            of(OTHER_A, B, NO_FEATURES),
            lambda folder, disk: change(
                folder, add=of(OTHER_A, NO_FEATURES), remove=["c", "d"], disk=disk, options=MERGE_EARLY
            ),
        ),
        Step(of(OTHER_A, B, NO_FEATURES), _learn),
        Step(of(OTHER_A, B, NO_FEATURES), lambda folder, disk: link(folder, disk=disk)),
        Step(of(OTHER_A, B, NO_FEATURES), lambda folder, disk: keep_similarity(folder, 0, disk=disk), 0),
        Step(of(OTHER_A, B, NO_FEATURES, E), lambda folder, disk: change(folder, add=of(E), disk=disk), 0),
        Step(of(OTHER_A, B, NO_FEATURES, E), lambda folder, disk: change(folder, merge=True, disk=disk), 0),
        Step(of(OTHER_A, B, NO_FEATURES, E), lambda folder, disk: cluster(folder, 2, disk=disk), 0),
        Step(of(OTHER_A, B, NO_FEATURES, E, LARGE), lambda folder, disk: change(folder, add=of(LARGE), disk=disk), 0),
        Step(all_of_them, lambda folder, disk: build_in_shards(folder, of(C, B, D), most=1, disk=disk), 0),
        Step(all_of_them, lambda folder, disk: keep_similarity(folder, 1, disk=disk), 1),
        Step(all_of_them, lambda folder, disk: cluster(folder, 3, disk=disk), 1),
        Step(all_of_them, _forget),
        Step(all_of_them, lambda folder, disk: cluster(folder, 0, disk=disk)),
        Step(all_of_them, lambda folder, disk: link(folder, disk=disk)),
        Step([largest(e, 5) for e in all_of_them], lambda folder, disk: shrink(folder, 5, disk=disk)),
        Step([], lambda folder, disk: change(folder, remove=[e.key for e in all_of_them], disk=disk)),
    ]


LIFE = life(codes=False)


class Watcher:
    """Cuts the power (on a copy) before operations, and knows which states are right at that moment."""

    def __init__(self, place: Path, judge: Judge, *, fates: Sequence[Fate]) -> None:
        self.root = place / "root"
        self.root.mkdir(parents=True)
        self.folder = self.root / "new" / "index"
        self.allowed: list[Step | None] = [None]  # the last one whose commit returned, then the one under way
        self.looked = 0
        self._judge, self._fates = judge, fates

    def play(self, disk: VolatileDisk, life: Sequence[Step]) -> None:
        for step in life:
            self.allowed.append(step)
            step.act(self.folder, disk)
            del self.allowed[:-1]
            self.cut_power(disk)

    def cut_power(self, disk: VolatileDisk) -> None:
        for fate in self._fates:
            left = disk.remains(fate)
            self.looked += 1
            found = self._judge.found(left, "new/index")
            right = [step and self._judge.right(step.entries, step.kept) for step in self.allowed]
            assert found in right, fate.value


def test_what_was_synced_is_enough(tmp_path: Path) -> None:
    """Of an index with all kinds of files."""
    watcher = Watcher(tmp_path, Judge(tmp_path, codes=True), fates=list(Fate))
    with closing(VolatileDisk(watcher.root)) as disk:
        disk.watch = lambda operation: watcher.cut_power(disk)
        watcher.play(disk, life(codes=True))
        assert len(disk.syncs) > 150
    assert watcher.looked > 320 * len(Fate)


class KilledError(Exception):
    """Stands for a death after which the power stays on for a while."""


def life_after_death(tmp_path: Path, *, sync_when_opening: bool) -> None:
    """A merge dies when its manifest has its name but is not synced; then another writer goes on."""
    watcher = Watcher(tmp_path, Judge(tmp_path), fates=[Fate.NEWEST_LOST, Fate.REMOVALS_KEPT])
    with closing(VolatileDisk(watcher.root)) as disk:
        watcher.play(disk, LIFE[:3])
        opening = len(disk.syncs)

        def die(number: int, path: Path) -> bool:
            if path == watcher.folder and number > opening:
                raise KilledError
            return False

        disk.forget = die
        with pytest.raises(KilledError):
            change(watcher.folder, merge=True, disk=disk)
        opening = len(disk.syncs)
        disk.forget = lambda number, path: number == opening and not sync_when_opening
        disk.watch = lambda operation: watcher.cut_power(disk)
        watcher.play(disk, [Step([A, B, C, D, E], lambda f, disk: change(f, add=[E], disk=disk))])


def test_a_writer_makes_sure_of_the_manifest_it_finds(tmp_path: Path) -> None:
    life_after_death(tmp_path / "with", sync_when_opening=True)
    with pytest.raises(IndexDamagedError):  # the old manifest is back, but its segments were swept
        life_after_death(tmp_path / "without", sync_when_opening=False)


def harmful(
    watcher: Watcher, forget: Callable[[int, Path], bool], *, first: int = 0, lived: Sequence[Step] = LIFE[:4]
) -> bool:
    """Whether it is noticed that syncs, none before ``first``, are left out.

    Looks where old files go, and when a commit has returned.
    """
    with closing(VolatileDisk(watcher.root, forget=forget)) as disk:
        disk.watch = lambda op: watcher.cut_power(disk) if op == "remove" and len(disk.syncs) > first else None
        try:
            watcher.play(disk, lived)
        except (AssertionError, IndexDamagedError):
            return True
    return False


@pytest.mark.parametrize("folders", [False, True], ids=["files", "folders"])
def test_without_syncs_of_a_kind_an_index_is_lost(folders: bool, tmp_path: Path) -> None:
    """The tests above can fail: they do as soon as files, or folders, are not synced."""
    watcher = Watcher(tmp_path, Judge(tmp_path), fates=[Fate.NEWEST_LOST])
    assert harmful(watcher, lambda number, path: path.is_dir() == folders)


def test_no_sync_can_be_left_out(tmp_path: Path) -> None:
    """Each sync by itself is needed. The only exception: that of an opening writer, if the last one did not die."""
    judge, fates = Judge(tmp_path, codes=True), [Fate.NEWEST_LOST, Fate.REMOVALS_KEPT]
    openings: list[int] = []
    lived = life(codes=True)[:4]
    watcher = Watcher(tmp_path / "survey", judge, fates=[])
    with closing(VolatileDisk(watcher.root)) as disk:
        for step in lived:
            openings.append(len(disk.syncs))
            watcher.play(disk, [step])
        syncs = list(disk.syncs)
    assert sum(path.name == "code.npy" for path in syncs) == 4
    assert len(syncs) > 40
    harmless = []
    for number, path in enumerate(syncs):
        watcher = Watcher(tmp_path / str(number), judge, fates=fates)
        if not harmful(watcher, lambda n, _, left_out=number: n == left_out, first=number, lived=lived):  # type: ignore[misc]
            harmless.append((number, path.name))
        shutil.rmtree(tmp_path / str(number))
    assert harmless == [(number, "index") for number in openings[1:]]
