"""How long do context terms take, and how much memory, as a collection grows?

    python benchmarks/context.py [--cache CACHE]

Bags of words with L1. Pictures of 400 features are made from real ones: each has words of one picture of Holidays or
UKbench and, to a tenth, words drawn from all. Up to 10,000 pictures are compared all with all, once with whole rows
kept and once with 200 neighbours each, which says for how many pictures that might be too few; above, 10,000 of them
are the reference set of the others. Peak memory is that of the whole process, lists included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from query import DATA, real_features

from resight.cli.evaluating import default_cache
from resight.context import Reference
from resight.evaluation.datasets import load
from resight.evaluation.experiments.experiment import DOG
from resight.evaluation.runner import Runner
from resight.learn.context import context_terms
from resight.machine import processors
from resight.options import ContextOptions, HammingOptions, L1Options
from resight.postings import GEOMETRY, Lists, build, forward, frozen
from resight.scoring import Query, SegmentView, collection_statistics, idf_weights
from resight.store import open_snapshot
from resight.types import Int32, Words

FEATURES, ELSEWHERE = 400, 0.1
SIZES = ((1_000, 0), (3_000, 0), (10_000, 0), (10_000, 200), (30_000, 200), (100_000, 200))  # pictures, kept
L1 = L1Options()


def made_lists(cache: Path, pictures: int) -> Lists:
    """The lists of made pictures."""
    dataset = load("holidays", DATA / "holidays", distractors=[DATA / "ukbench"])
    runner = Runner(cache=cache, processes=processors())
    with open_snapshot(runner.prepare(dataset, DOG).index) as snapshot:
        real = real_features(snapshot.segments[0])
    rng, words = np.random.default_rng(1), len(snapshot.segments[0].df)
    long_enough = np.flatnonzero(np.diff(real.starts) >= FEATURES)
    word: Int32 = np.empty((pictures, FEATURES), np.int32)
    for number in range(pictures):
        shown = long_enough[rng.integers(len(long_enough))]
        word[number] = rng.choice(real.word[real.starts[shown] : real.starts[shown + 1]], FEATURES, replace=False)
    other = rng.random(word.shape) < ELSEWHERE
    word[other] = real.word[rng.integers(len(real.word), size=int(other.sum()))]
    order = np.argsort(word.ravel(), kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(word.ravel(), minlength=words))]).astype(np.int64)
    nothing = np.zeros(len(order), np.uint64), np.zeros(len(order), GEOMETRY)
    return frozen(offsets, (order // FEATURES).astype(np.uint32), *nothing)


def cut_lists(cache: Path) -> None:
    """How far are the terms of UKbench from exact where 200 neighbours of each picture are kept?"""
    runner = Runner(cache=cache, processes=processors())
    with open_snapshot(runner.prepare(load("ukbench", DATA / "ukbench"), DOG).index) as snapshot:
        for scoring in (L1, HammingOptions()):
            whole, cut = (
                context_terms(snapshot, scoring, ContextOptions(method="cdm", kept=kept), snapshot.spans[0])[0].terms
                for kept in (0, 200)
            )
            error = np.abs(cut.delta / whole.delta - 1)
            print(
                f"ukbench, {scoring.measure}: terms from 200 neighbours differ from exact ones by {error.max():.3%} at "
                f"most, {error.mean():.4%} on average; {cut.uncertain} of {len(error)} are uncertain"
            )


def measure(cache: Path, pictures: int, kept: int) -> None:
    lists = made_lists(cache, pictures)
    df = np.array([len(np.unique(lists.image[a:b])) for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)])
    idf, context = idf_weights(df, pictures), ContextOptions(method="cdm", kept=kept)
    started = time.perf_counter()
    references = min(pictures, context.references)
    blocks = forward(lists, pictures=pictures, size=1000)
    chosen: list[tuple[Words, npt.NDArray[Any]]] = []  # made at random, so the first are as good as any
    while len(chosen) < references:
        chosen += next(blocks)[1].pictures()
    segment = SegmentView.of(build(chosen, words=len(idf)), pictures=references)
    statistics = collection_statistics([segment], L1, idf=idf)
    reference = Reference.learn(segment, statistics, scoring=L1, context=context)
    for _, block in blocks:
        reference.terms_of([Query(*picture) for picture in block.pictures()])
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    spreads, uncertain = reference.terms.spreads, reference.terms.uncertain
    print(
        f"{pictures:8} {references:11} {kept or 'all':>6} {seconds:9.1f} {1e3 * seconds / pictures:13.2f} "
        f"{memory:10.2f} {len(spreads):8} {spreads[0]:.3f} → {spreads[-1]:.4f} {uncertain:10}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features and indexes are kept")
    parser.add_argument("--size", type=int, nargs=2, help="measure this one alone: pictures, kept")
    given = parser.parse_args()
    if given.size:
        measure(given.cache, *given.size)
        sys.exit()
    cut_lists(given.cache)
    print(f"{processors()} processors, {FEATURES} features per picture")
    print("pictures  references   kept   seconds  ms / picture  GiB, most   rounds  spread         uncertain")
    for pictures, kept in SIZES:  # each in a process of its own: memory is what that one needed
        command = [sys.executable, __file__, "--cache", str(given.cache), "--size", str(pictures), str(kept)]
        subprocess.run(command, check=True)
