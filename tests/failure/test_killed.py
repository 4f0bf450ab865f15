"""A process killed at any operation leaves the last commit or the new one, whole; the next writer goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from resight.store import Disk

from .children import kill
from .disks import CountingDisk
from .scenarios import SCENARIOS, Judge, copy, files_of, last_commit, watch


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_operation(name: str, tmp_path: Path) -> None:
    """A process that goes on lets see what would be left; that a kill leaves just that is shown below."""
    scenario, judge, folder = SCENARIOS[name], Judge(tmp_path), tmp_path / "index"
    scenario.prepare(folder)
    last = last_commit(folder)
    left = watch(scenario, folder)
    assert {judge.committed(files, scenario, last=last) for files in left.values()} == {False, True}
    assert judge.committed(files_of(folder), scenario, last=last)


@pytest.mark.parametrize("name", ["create", "change and merge with all columns"])
def test_a_kill_leaves_what_could_be_seen_at_that_moment(name: str, tmp_path: Path) -> None:
    prepared = tmp_path / "prepared"
    SCENARIOS[name].prepare(prepared)
    for (at, half), files in watch(SCENARIOS[name], copy(prepared, tmp_path / "watched")).items():
        folder = copy(prepared, tmp_path / "killed")
        kill(name, folder, at, half)
        assert files_of(folder) == files
        shutil.rmtree(folder, ignore_errors=True)  # a killed ``create`` may have left nothing


def test_one_of_these_has_operations_of_every_kind(tmp_path: Path) -> None:
    scenario, survey = SCENARIOS["change and merge with all columns"], CountingDisk()
    scenario.prepare(tmp_path / "index")
    scenario.act(tmp_path / "index", survey)
    assert {*survey.done} == {name for name in vars(Disk) if not name.startswith("_")}
