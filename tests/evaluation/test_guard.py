"""Accuracy must not be lost unnoticed: some real pictures, the figures measured when they were last good."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from resight.evaluation.datasets import load
from resight.evaluation.runner import Runner
from resight.options import FeatureOptions
from resight.recipes import RECIPES

from ..conftest import DATA

GUARDED = {  # dataset, detector → pictures, measure, recipe → figure
    ("ukbench", "hessian-affine"): (40, "ns", {"expanded": 3.825, "bow-cosine": 3.625}),
    ("ukbench", "sift"): (40, "ns", {"expanded": 3.975, "bow-cosine": 3.75}),
    ("holidays", "hessian-affine"): (30, "map", {"expanded": 1.0, "bow-cosine": 0.771}),
}
POINT = {"ns": 0.04, "map": 0.01}  # one point: a hundredth of the scale


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the benchmark pictures are not at {DATA}; set RESIGHT_DATA")
@pytest.mark.parametrize(("name", "detector"), GUARDED)
def test_no_accuracy_is_lost(name: str, detector: str, tmp_path: Path) -> None:
    limit, measure, expected = GUARDED[name, detector]
    dataset = load(name, DATA / name, limit=limit)
    features = FeatureOptions(detector=detector)
    recipes = {name: replace(RECIPES[name], features=features) for name in expected}
    found = Runner(cache=tmp_path).evaluate(dataset, recipes)
    measured = {row.recipe: round(row.means[measure], 3) for row in found.rows}
    lost = {r: (measured[r], e) for r, e in expected.items() if measured[r] < e - POINT[measure]}
    assert not lost, f"{name} {measure}: {measured}"
