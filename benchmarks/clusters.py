"""What does a two-level inverted file gain, and what does it lose, as a collection grows?

    python benchmarks/clusters.py [--cache CACHE] [--plot FILE.svg]

Bags of words with L1, without and with context terms (CDM). The pictures of UKbench are queries; among them are made
pictures of 1000 features each, whose words are drawn from three pictures of Holidays and the distractors (500, 300 and
200 of each), so that words occur together as they do in real ones. EER is a quarter of N-S (CDM-07 §5.1).
Flat search and the search of a tenth of the clusters take the same queries, one after the other, in one thread.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from query import DATA, real_features

from resight.cli.evaluating import default_cache
from resight.clusters import Clusters
from resight.context import Reference, contextual
from resight.evaluation.datasets import load
from resight.evaluation.experiments.experiment import DOG
from resight.evaluation.runner import Runner
from resight.machine import processors
from resight.options import ClusterOptions, ContextOptions, L1Options
from resight.postings import GEOMETRY, Forward, Lists, frozen
from resight.scoring import Query, Scope, SegmentView, best, collection_statistics, idf_weights, score_all
from resight.store import open_snapshot
from resight.types import Float32, Int32, Int64, Words

# pictures, clusters, and by what
CASES = (
    (10_000, 200, "k-means"),
    (30_000, 300, "k-means"),
    (100_000, 400, "k-means"),
    (100_000, 400, "k-medoids"),
    (100_000, 400, "random"),
    (100_000, 1000, "k-means"),
)
GROWTH = CASES[:3]
MIX = (500, 300, 200)
PROBED = 0.1
REFERENCES = 5000
SHOWN = 20
L1 = L1Options()


class Collection(NamedTuple):
    """Pictures given by their words, those of UKbench first."""

    words: list[Int32]
    groups: Int64  # of those of UKbench
    vocabulary: int


class Figures(NamedTuple):
    flat_ms: float
    few_ms: float
    flat_eer: float
    few_eer: float


def collect(cache: Path, pictures: int) -> Collection:
    queries, keys, words = _real(cache, "ukbench", [])
    others, _, _ = _real(cache, "holidays", [DATA / "distractors"])
    rng = np.random.default_rng(1)
    real = [others.word[a:b] for a, b in zip(others.starts, others.starts[1:], strict=False)]
    real = [word for word in real if len(word) >= max(MIX)]
    found = [queries.word[a:b] for a, b in zip(queries.starts, queries.starts[1:], strict=False)]
    while len(found) < pictures:
        shown = rng.choice(len(real), len(MIX), replace=False)
        found.append(np.concatenate([rng.choice(real[i], n, replace=False) for i, n in zip(shown, MIX, strict=True)]))
    number = {key: n for n, key in enumerate(sorted(keys))}  # four pictures of each thing follow each other
    return Collection(found, np.array([number[key] // 4 for key in keys]), words)


def _real(cache: Path, name: str, distractors: list[Path]) -> tuple[Forward, list[str], int]:
    runner = Runner(cache=cache, processes=processors())
    dataset = load(name, DATA / name, distractors=distractors)
    with open_snapshot(runner.prepare(dataset, DOG).index) as snapshot:
        (segment,) = snapshot.segments
        return real_features(segment), [row.key for row in segment.table.all()], segment.words


def lists_of(words: list[Int32], count: int) -> Lists:
    word = np.concatenate(words)
    image = np.repeat(np.arange(len(words), dtype=np.uint32), [len(w) for w in words])
    order = np.argsort(word, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=count))]).astype(np.int64)
    return frozen(offsets, image[order], np.zeros(len(order), np.uint64), np.zeros(len(order), GEOMETRY))


def query_of(word: Int32) -> Query:
    feature = np.arange(len(word), dtype=np.int32)
    return Query(Words(feature, word, np.zeros(len(word), np.uint64)), np.zeros(len(word), GEOMETRY))


def terms_of(collection: Collection, idf: Float32) -> Float32:
    """CDM's terms against some of the pictures."""
    chosen = np.sort(np.random.default_rng(1).choice(len(collection.words), REFERENCES, replace=False))
    lists = lists_of([collection.words[i] for i in chosen], collection.vocabulary)
    segment = SegmentView.of(lists, pictures=len(chosen))
    statistics = collection_statistics([segment], L1, idf=idf)
    reference = Reference.learn(segment, statistics, scoring=L1, context=ContextOptions(method="cdm"))
    return reference.terms_of([query_of(word) for word in collection.words])


def measure(collection: Collection, delta: Float32, idf: Float32, options: ClusterOptions) -> Figures:
    """Milliseconds and EER with context terms, flat and with a tenth of the clusters."""
    pictures, rng = len(collection.words), np.random.default_rng(2)
    started = time.perf_counter()
    sample = rng.choice(pictures, min(options.sample, pictures), replace=False)
    clusters = Clusters.learn([collection.words[i] for i in sample], idf=idf, options=options)
    learning = time.perf_counter() - started
    started = time.perf_counter()
    blocks = range(0, pictures, 1000)
    cluster = np.concatenate([clusters.assign(collection.words[begin : begin + 1000]) for begin in blocks])
    assigning = time.perf_counter() - started
    order = np.argsort(cluster, kind="stable")
    bounds = np.searchsorted(cluster[order], np.arange(options.count + 1))
    lists = lists_of([collection.words[i] for i in order], collection.vocabulary)
    segment = SegmentView.of(lists, pictures=pictures, bounds=bounds)
    scope = Scope(L1, collection_statistics([segment], L1, idf=idf))
    visited = float(np.mean([_sizes(bounds, clusters, word, options) for word in collection.words[:100]])) / pictures
    print(
        f"{pictures} pictures, {options.count} clusters by {options.kind}: learnt in {learning:.0f} s, "
        f"{1e3 * assigning / pictures:.2f} ms for each picture, sizes {np.diff(bounds).min()} to "
        f"{np.diff(bounds).max()}; {options.probe} hold {visited:.1%} of all pictures"
    )
    for name, terms in (("no CDM", np.ones(pictures, np.float32)), ("CDM", delta)):
        found = [_search(collection, segment, scope, clusters, order, terms[order], n) for n in (0, options.probe)]
        (flat, flat_time), (few, few_time) = found
        print(
            f"  {name:6}  flat: EER {flat:.4f}, {flat_time:5.2f} ms   a tenth: EER {few:.4f}, {few_time:5.2f} ms   "
            f"{flat_time / few_time:.1f} times as fast, {100 * (flat - few):.2f} points lost",
            flush=True,
        )
    return Figures(flat_time, few_time, flat, few)


def _sizes(bounds: Int64, clusters: Clusters, word: Int32, options: ClusterOptions) -> int:
    return int(np.diff(bounds)[clusters.visit(word)[: options.probe]].sum())


def _search(
    collection: Collection,
    segment: SegmentView,
    scope: Scope[L1Options],
    clusters: Clusters,
    order: Int64,
    delta: Float32,
    probe: int,
) -> tuple[float, float]:
    """EER of the pictures of UKbench, and milliseconds for a query, from words to the best pictures."""
    right, seconds = 0, []
    for number, group in enumerate(collection.groups):
        query = query_of(collection.words[number])
        started = time.perf_counter()
        visited = np.sort(clusters.visit(query.words.word)[:probe]) if probe else None
        (scores,) = score_all(query, [segment], replace(scope, clusters=visited))
        scores = contextual("l1", scores, delta)
        top = best(scores, SHOWN)
        top = top[np.argsort(-scores[top], kind="stable")][:4]
        seconds.append(time.perf_counter() - started)
        shown = order[top]
        right += int((collection.groups[shown[shown < len(collection.groups)]] == group).sum())
    return right / 4 / len(collection.groups), 1e3 * float(np.median(seconds))


def draw(growth: list[tuple[int, Figures]], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    times, accuracy = figure.subplots(1, 2)
    sizes = [pictures for pictures, _ in growth]
    for name, style, ms, eer in (
        ("all pictures", "o-", "flat_ms", "flat_eer"),
        ("a tenth of the clusters", "s--", "few_ms", "few_eer"),
    ):
        times.loglog(sizes, [getattr(f, ms) for _, f in growth], style, label=name)
        accuracy.semilogx(sizes, [getattr(f, eer) for _, f in growth], style, label=name)
    times.set(xlabel="pictures", ylabel="milliseconds for a query")
    accuracy.set(xlabel="pictures", ylabel="EER, with context terms", ylim=(0.5, 1))
    times.legend()
    for axes in (times, accuracy):
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.savefig(file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features and indexes are kept")
    parser.add_argument("--most", type=int, default=10**9, help="leave out larger collections")
    parser.add_argument("--plot", type=Path, help="draw how times grow")
    given = parser.parse_args()
    found: dict[tuple[int, int, str], Figures] = {}
    known: dict[int, tuple[Collection, Float32, Float32]] = {}
    for pictures, count, kind in CASES:
        if pictures > given.most:
            continue
        if pictures not in known:
            known.clear()  # one at a time
            made = collect(given.cache, pictures)
            df = np.bincount(np.concatenate([np.unique(word) for word in made.words]), minlength=made.vocabulary)
            weights = idf_weights(df, pictures)
            known[pictures] = made, terms_of(made, weights), weights
        options = ClusterOptions(count=count, kind=kind, probe=round(PROBED * count))
        found[pictures, count, kind] = measure(*known[pictures], options)
    if given.plot:
        draw([(case[0], found[case]) for case in GROWTH if case in found], given.plot)
