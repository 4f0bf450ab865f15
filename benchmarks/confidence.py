"""Fit and judge the confidence of hits.

    python benchmarks/confidence.py [CACHE]

With each detector, every query of the four shared datasets is asked in its dataset; the first 20 results of each are
samples: how many matches agree, how far the score is above the background, and whether the result is right.
Prints the weights for src/resight/rerank/confidence.py, and for each dataset how well weights that were fitted on the
other three predict it: the mean confidence and the share of right results in ten equal ranges of confidence. In the
end, how well one set of weights does for each detector.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from resight.cli.evaluating import default_cache
from resight.evaluation.cache import read
from resight.evaluation.datasets import Dataset, load
from resight.evaluation.runner import Runner
from resight.features import DETECTORS
from resight.machine import processors
from resight.options import FeatureOptions
from resight.recipes import DEFAULT, RECIPES
from resight.search import SegmentGroup, evidence, quantise, rank
from resight.store import open_snapshot
from resight.timing import Stopwatch
from resight.types import Float64
from resight.vocabulary import Assigner

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = {"ukbench": "ukbench", "holidays": "holidays", "oxford": "oxford_dev", "smvs": "smvs_dvd"}
FIRST = 20


def samples(dataset: Dataset, detector: str, cache: Path) -> Float64:
    """(n, 3): log(1 + inliers), log(1 + lift), right or not."""
    recipe, rows = RECIPES[DEFAULT], []
    prepared = Runner(cache=cache, processes=processors()).prepare(dataset, FeatureOptions(detector=detector))
    with open_snapshot(prepared.index) as snapshot:
        assigner, group = Assigner(snapshot.vocabulary), SegmentGroup.local(snapshot)
        for query, file in zip(dataset.queries, prepared.queries, strict=True):
            if file is None:
                continue
            asked = quantise(assigner, read(file), recipe.assign)
            found, background = rank(group, [asked], count=FIRST, recipe=recipe, watch=Stopwatch())
            assert background is not None  # the recipe verifies
            for candidate in found[:FIRST]:
                key = candidate.row.key
                if key != query.key and key not in query.truth.junk:
                    inliers, lift = evidence(candidate, background)
                    rows.append((np.log1p(inliers), np.log1p(lift), key in query.truth.relevant))
    return np.array(rows, dtype=np.float64)


def fit(sets: list[Float64]) -> Float64:
    """Logistic regression by Newton's method."""
    values = np.concatenate(sets)
    x = np.column_stack([np.ones(len(values)), values[:, :2]])
    beta = np.zeros(3)
    for _ in range(50):
        p = predict(beta, values)
        gradient = x.T @ (values[:, 2] - p) - 1e-6 * beta
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(3)
        beta += np.linalg.solve(hessian, gradient)
    return beta


def predict(beta: Float64, values: Float64) -> Float64:
    p: Float64 = 1 / (1 + np.exp(-(beta[0] + values[:, :2] @ beta[1:])))
    return p


def judge(name: str, beta: Float64, values: Float64) -> None:
    p, right = predict(beta, values), values[:, 2]
    bins = np.minimum((p * 10).astype(int), 9)
    used = [b for b in range(10) if (bins == b).any()]
    error = sum(abs(p[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in used)
    cells = "  ".join(f"{p[bins == b].mean():.2f}:{right[bins == b].mean():.2f} ({(bins == b).sum()})" for b in used)
    print(f"{name}: {len(p)} results, mean error {error:.3f}; confidence:right  {cells}")


def fitted(name: str, sets: list[Float64]) -> Float64:
    """The weights for all of these, printed, and how well they do."""
    beta = fit(sets)
    print("CONSTANT, OF_INLIERS, OF_LIFT = " + ", ".join(f"{b:.2f}" for b in beta))
    judge(name, beta, np.concatenate(sets))
    return beta


def main(cache: Path) -> None:
    datasets = [load(name, DATA / folder) for name, folder in SETS.items()]
    found = {detector: {d.name: samples(d, detector, cache) for d in datasets} for detector in DETECTORS}
    for detector, sets in found.items():
        for name, values in sets.items():
            judge(f"{detector}, {name}", fit([v for other, v in sets.items() if other != name]), values)
        fitted(f"{detector}, all", list(sets.values()))
    common = fitted("all detectors", [values for sets in found.values() for values in sets.values()])
    for detector, sets in found.items():
        judge(f"{detector}, with those weights", common, np.concatenate(list(sets.values())))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default_cache())
