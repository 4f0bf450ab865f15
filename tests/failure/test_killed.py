"""A process killed at any operation leaves the last commit or the new one, whole; the next writer goes on."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from .children import act_and_die, start
from .disks import CountingDisk, strikes
from .scenarios import SCENARIOS, Judge, copy, last_commit


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_operation(name: str, tmp_path: Path) -> None:
    scenario, judge, prepared = SCENARIOS[name], Judge(tmp_path), tmp_path / "prepared"
    scenario.prepare(prepared)
    last, survey = last_commit(prepared), CountingDisk()
    scenario.act(copy(prepared, tmp_path / "survey"), survey)
    assert judge.committed(tmp_path / "survey", scenario, last=last)
    assert len(survey.done) >= scenario.operations

    outcomes = set()
    for at, half in strikes(survey.done):
        folder = copy(prepared, tmp_path / "killed")
        child = start(act_and_die, name, folder, at, half)
        child.join()
        assert child.exitcode == -signal.SIGKILL, f"operation {at} ({survey.done[at]}) was not reached"
        outcomes.add(judge.committed(folder, scenario, last=last))
        shutil.rmtree(folder, ignore_errors=True)  # a killed ``create`` may have left nothing
    assert outcomes == {False, True}
