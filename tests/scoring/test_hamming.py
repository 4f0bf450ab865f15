"""The Hamming measure, with every combination of its options, against the slow reference."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from resight.options import HammingOptions
from resight.scoring import hamming
from resight.scoring.voting import INTRA

from ..support import quantised
from ..support.hamming import hamming_scores
from ..support.quantised import Collection, random_collection, score

COMBINATIONS = [
    quantised.hamming(
        closest_only=closest, intra=intra, inter=inter, weak_geometry=weak, size_power=power, idf_power=2 - power
    )
    for closest, intra, inter, weak, power in product((False, True), INTRA, (False, True), (False, True), (0.0, 0.7))
]


def named(options: HammingOptions) -> str:
    chosen = [name for name in ("closest_only", "inter", "weak_geometry") if getattr(options, name)]
    return ", ".join([options.intra, *chosen, *(["size, less idf"] if options.size_power else [])])


def small_collection(seed: int) -> Collection:
    """Few words, so that bursts are common; multiple assignment; some pictures removed."""
    return random_collection(seed, k=4 + seed % 9, pictures=11, features=25, assigned=1 + seed % 3, removed=0.25)


@pytest.mark.parametrize("options", COMBINATIONS, ids=named)
def test_scores_equal_the_reference(options: HammingOptions) -> None:
    for seed, (threshold, sigma) in enumerate([(24, 16.0), (64, 10.0), (20, 64.0), (26, 16.0)]):
        chosen = replace(options, threshold=threshold, sigma=sigma)
        collection = small_collection(seed)
        found = np.concatenate(score(collection.query, collection.segments([0, 3, 3, 4, 11]), options=chosen)).tolist()
        alive, idf = collection.alive.tolist(), collection.idf.tolist()
        right = hamming_scores(collection.query, collection.pictures, alive=alive, idf=idf, options=chosen)
        assert found == pytest.approx(right, rel=1e-4), seed
        for a, b in permutations(range(len(right)), 2):
            assert right[a] <= right[b] * (1 + 3e-4) or found[a] > found[b], seed
        assert sum(value > 0 for value in right) > 3
        assert not all(alive)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("intra", ["none", "root-share", "log-share"])
def test_scores_equal_the_reference_where_weights_vanish(intra: str, sigma: float) -> None:
    collection = small_collection(0)
    options = quantised.hamming(intra=intra, inter=True, sigma=sigma)
    (found,) = score(collection.query, [collection.segment], options=options)
    alive, idf = collection.alive.tolist(), collection.idf.tolist()
    right = hamming_scores(collection.query, collection.pictures, alive=alive, idf=idf, options=options)
    assert found.tolist() == pytest.approx(right, rel=1e-4, abs=1e-9)  # what is less than a unit is lost


@pytest.mark.parametrize("inter", [False, True])
@pytest.mark.parametrize("weak_geometry", [False, True])
def test_large_segments_are_cut_and_scored_the_same(
    inter: bool, weak_geometry: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = random_collection(4, assigned=2, removed=0.2)
    options = quantised.hamming(intra="root-share", inter=inter, weak_geometry=weak_geometry)
    segments = collection.segments([0, 9, 9, 25])
    whole = score(collection.query, segments, options=options)
    monkeypatch.setattr(hamming, "SMALL", 2)
    monkeypatch.setattr(hamming, "processors", lambda: 3)
    assert hamming._cut(16) == [(0, 5), (5, 10), (10, 16)]
    pieces = score(collection.query, segments, options=options)
    assert [p.tobytes() for p in pieces] == [w.tobytes() for w in whole]
