"""Fit and judge the confidence of hits.

    python benchmarks/confidence.py [CACHE]

With each detector, queries of the four shared datasets are asked in their dataset (of UKbench one in four); the first
20 results of each are samples: how many matches agree, how far the score is above the background, and whether the
result is right. Prints the weights for src/resight/rerank/confidence.py, one pair for results that geometry confirms
and one for the others, and for each dataset how well weights that were fitted on the other three predict it: the mean
confidence and the share of right results in ten equal ranges of confidence. Then the same for small collections: 2 to
50 pictures drawn from each dataset, asked with queries that some of them answer, and the weights of all.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from resight import Index
from resight.cli.evaluating import default_cache
from resight.evaluation.cache import read
from resight.evaluation.datasets import Dataset, Query, load
from resight.evaluation.runner import Runner
from resight.features import DETECTORS
from resight.machine import processors
from resight.options import FeatureOptions
from resight.recipes import RECIPES
from resight.rerank.confidence import MOST_UNVERIFIED
from resight.search import SegmentGroup, evidence, quantise, rank
from resight.store import Snapshot, open_snapshot
from resight.timing import Stopwatch
from resight.types import Float64
from resight.vocabulary import Assigner

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = {"ukbench": "ukbench", "holidays": "holidays", "oxford": "oxford_dev", "smvs": "smvs_dvd"}
FIRST = 20
MOST = 300  # queries of a dataset
SMALL = [2, 3, 4, 5, 8, 12, 20, 30, 50] * 4  # pictures of small collections


def samples(dataset: Dataset, detector: str, cache: Path) -> Float64:
    """(n, 3): inliers, lift, right or not."""
    prepared = Runner(cache=cache, processes=processors()).prepare(dataset, FeatureOptions(detector=detector))
    asked = [(q, f) for q, f in zip(dataset.queries, prepared.queries, strict=True) if f is not None]
    with open_snapshot(prepared.index) as snapshot:
        return answers(snapshot, asked[:: 1 + len(asked) // MOST])


def answers(snapshot: Snapshot, asked: Sequence[tuple[Query, Path]]) -> Float64:
    recipe, rows = RECIPES["expanded"], []
    assigner, group = Assigner(snapshot.vocabulary), SegmentGroup.local(snapshot)
    for query, file in asked:
        found, background = rank(
            group, [quantise(assigner, read(file), recipe.assign)], count=FIRST, recipe=recipe, watch=Stopwatch()
        )
        assert background is not None  # the recipe verifies
        for candidate in found[:FIRST]:
            key = candidate.row.key
            if key != query.key and key not in query.truth.junk:
                rows.append((*evidence(candidate, background), key in query.truth.relevant))
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def small_collections(dataset: Dataset, cache: Path, folder: Path) -> Float64:
    """As ``samples``, with the default detector, in collections of a few pictures: a query's answers, and others."""
    prepared = Runner(cache=cache, processes=processors()).prepare(dataset, FeatureOptions())
    features = {q.name: f for q, f in zip(dataset.queries, prepared.queries, strict=True) if f is not None}
    choose, rows = random.Random(0), []
    paths = dict(dataset.images)
    for number, size in enumerate(SMALL):
        query = choose.choice([q for q in dataset.queries if q.name in features and q.truth.relevant])
        answering = sorted(query.truth.relevant)[: max(1, size // 4)]
        others = sorted(paths.keys() - query.truth.relevant - query.truth.junk - {query.key})
        keys = [*answering, *choose.sample(others, min(len(others), size - len(answering)))]
        with Index.create(folder / f"{dataset.name}-{number}.resight") as index:
            for key in keys:
                index.add(paths[key], key=key)
            index.commit()
            rows.append(answers(index.snapshot, [(query, features[query.name])]))
    return np.concatenate(rows)


def fit(values: Float64, column: int) -> Float64:
    """Constant and weight of log(1 + value): logistic regression by Newton's method."""
    x = np.column_stack([np.ones(len(values)), np.log1p(values[:, column])])
    beta = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ beta)))
        gradient = x.T @ (values[:, 2] - p) - 1e-3 * beta
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(2)
        beta += np.linalg.solve(hessian, gradient)
    return beta


def fitted(sets: Iterable[Float64]) -> tuple[Float64, Float64]:
    """The weights for hits that geometry confirms, and for the others."""
    values = np.concatenate(list(sets))
    verified = values[:, 0] > 0
    return fit(values[verified], 0), fit(values[~verified], 1)


def predict(weights: tuple[Float64, Float64], values: Float64) -> Float64:
    (constant, of_inliers), (other, of_lift) = weights
    verified = 1 / (1 + np.exp(-(constant + of_inliers * np.log1p(values[:, 0]))))
    unverified = 1 / (1 + np.exp(-(other + of_lift * np.log1p(values[:, 1]))))
    p: Float64 = np.where(values[:, 0] > 0, verified, np.minimum(unverified, MOST_UNVERIFIED))
    return p


def judge(name: str, weights: tuple[Float64, Float64], values: Float64) -> None:
    p, right = predict(weights, values), values[:, 2]
    bins = np.minimum((p * 10).astype(int), 9)
    used = [b for b in range(10) if (bins == b).any()]
    error = sum(abs(p[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in used)
    cells = "  ".join(f"{p[bins == b].mean():.2f}:{right[bins == b].mean():.2f} ({(bins == b).sum()})" for b in used)
    print(f"{name}: {len(p)} results, mean error {error:.3f}; confidence:right  {cells}", flush=True)


def main(cache: Path) -> None:
    datasets = [load(name, DATA / folder) for name, folder in SETS.items()]
    found = {detector: {d.name: samples(d, detector, cache) for d in datasets} for detector in DETECTORS}
    for detector, sets in found.items():
        for name, values in sets.items():
            judge(f"{detector}, {name}", fitted(v for other, v in sets.items() if other != name), values)
    common = fitted(values for sets in found.values() for values in sets.values())
    print("VERIFIED, OF_INLIERS = {:.2f}, {:.2f}".format(*common[0]))
    print("UNVERIFIED, OF_LIFT = {:.2f}, {:.2f}".format(*common[1]))
    for detector, sets in found.items():
        judge(f"{detector}, with those weights", common, np.concatenate(list(sets.values())))
    with tempfile.TemporaryDirectory() as folder:
        for dataset in datasets:
            judge(f"small collections of {dataset.name}", common, small_collections(dataset, cache, Path(folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default_cache())
