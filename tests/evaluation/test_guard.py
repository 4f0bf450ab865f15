"""Accuracy must not be lost unnoticed: a few hundred real pictures, the figures measured when they were last good."""

from __future__ import annotations

from pathlib import Path

import pytest

from resight.evaluation.datasets import load
from resight.evaluation.runner import Runner
from resight.recipes import RECIPES

from ..conftest import DATA

GUARDED = {  # dataset → folder, pictures, measure, recipe → figure
    "ukbench": ("ukbench", 120, "ns", {"expanded": 3.983, "bow-cosine": 3.817}),
    "holidays": ("holidays", 80, "map", {"expanded": 0.969, "bow-cosine": 0.876}),
}
POINT = {"ns": 0.04, "map": 0.01}  # one point: a hundredth of the scale


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the benchmark pictures are not at {DATA}; set RESIGHT_DATA")
@pytest.mark.parametrize("name", GUARDED)
def test_no_accuracy_is_lost(name: str, tmp_path: Path) -> None:
    folder, limit, measure, expected = GUARDED[name]
    dataset = load(name, DATA / folder, limit=limit)
    runner = Runner(cache=tmp_path)
    found = runner.evaluate(dataset, {recipe: RECIPES[recipe] for recipe in expected})
    measured = {row.recipe: round(row.means[measure], 3) for row in found.rows}
    lost = {r: (measured[r], e) for r, e in expected.items() if measured[r] < e - POINT[measure]}
    assert not lost, f"{name} {measure}: {measured}"
