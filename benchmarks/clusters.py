"""What does a two-level inverted file gain, and what does it lose, as a collection grows?

    python benchmarks/clusters.py [--cache CACHE] [--plot FILE.svg]

Bags of words with L1, without and with context terms (CDM). The pictures of UKbench are queries; among them are made
pictures of 1000 features each, whose words are drawn from three pictures of Holidays and the distractors (500, 300 and
200 of each), so that words occur together as they do in real ones. EER is a quarter of N-S (CDM-07 §5.1).
For each query the ways of searching take turns, in one thread: all pictures, and some clusters, of whose pictures those
nearest on the principal axes are scored. Times are of the processor, so that other work on the machine hardly matters.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from query import DATA, real_features

from resight.cli.evaluating import default_cache
from resight.clusters import Clusters, by_cluster, compared
from resight.context import Reference, contextual
from resight.evaluation.datasets import load
from resight.evaluation.experiments.experiment import DOG
from resight.evaluation.runner import Runner
from resight.machine import processors
from resight.options import ClusterOptions, ContextOptions, L1Options, ScoringOptions
from resight.postings import GEOMETRY, Forward, Lists, frozen
from resight.scoring import Query, Scope, SegmentView, best, collection_statistics, idf_weights, largest, score_all
from resight.store import open_snapshot
from resight.types import Float32, Int8, Int32, Int64

# pictures, clusters, and by what
CASES = (
    (10_000, 200, "k-means"),
    (30_000, 300, "k-means"),
    (100_000, 400, "k-means"),
    (300_000, 800, "k-means"),
)
MIX = (500, 300, 200)
# Share of the clusters that is visited, and pictures that are scored.
WAYS = ((0.1, 300), (0.2, 250), (0.2, 300), (0.2, 500), (0.3, 500), (0.3, 700), (1.0, 500), (1.0, 1000))
SHOWN_WAY = (0.2, 500)  # in the plot
MOST_WITH_TERMS = 100_000  # pictures: for more of them, context terms would take an hour
REFERENCES = 5000
SHOWN = 20
L1 = L1Options()


class Collection(NamedTuple):
    """Pictures given by their words, those of UKbench first."""

    words: list[Int32]
    groups: Int64  # of those of UKbench
    vocabulary: int


class Figures(NamedTuple):
    milliseconds: float
    eer: float


class Arranged(NamedTuple):
    """A collection in the order of its clusters."""

    segment: SegmentView
    scope: Scope[ScoringOptions]
    clusters: Clusters
    code: Int8
    order: Int64


Way = tuple[float, int] | None  # None: all pictures are scored


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


def terms_of(collection: Collection, idf: Float32) -> Float32:
    """CDM's terms against some of the pictures."""
    chosen = np.sort(np.random.default_rng(1).choice(len(collection.words), REFERENCES, replace=False))
    lists = lists_of([collection.words[i] for i in chosen], collection.vocabulary)
    segment = SegmentView.of(lists, pictures=len(chosen))
    statistics = collection_statistics([segment], L1, idf=idf)
    reference = Reference.learn(segment, statistics, scoring=L1, context=ContextOptions(method="cdm"))
    return reference.terms_of([Query.of_words(word) for word in collection.words])


def arrange(collection: Collection, idf: Float32, options: ClusterOptions) -> Arranged:
    pictures, rng = len(collection.words), np.random.default_rng(2)
    started = time.perf_counter()
    sample = rng.choice(pictures, min(options.sample, pictures), replace=False)
    clusters = Clusters.learn([collection.words[i] for i in sample], idf=idf, options=options)
    learning = time.perf_counter() - started
    started = time.perf_counter()
    placed = [clusters.place(collection.words[begin : begin + 1000]) for begin in range(0, pictures, 1000)]
    placing = time.perf_counter() - started
    order, bounds = by_cluster(np.concatenate([each.cluster for each in placed]), options.count)
    segment = SegmentView.of(
        lists_of([collection.words[i] for i in order], collection.vocabulary), pictures=pictures, bounds=bounds
    )
    segment.only(order[:1]).find(order[:1].astype(np.int32), "image")  # makes the forward index
    print(
        f"{pictures} pictures, {options.count} clusters by {options.kind}: learnt in {learning:.0f} s, "
        f"{1e3 * placing / pictures:.2f} ms for each picture, sizes {np.diff(bounds).min()} to {np.diff(bounds).max()}"
    )
    scope = Scope(L1, collection_statistics([segment], L1, idf=idf))
    return Arranged(segment, scope, clusters, np.concatenate([each.code for each in placed])[order], order)


def measure(
    collection: Collection, arranged: Arranged, terms: Float32 | None, queries: Sequence[tuple[int, Query]] = ()
) -> dict[Way, Figures]:
    """Of all ways, which take turns.

    queries: some pictures of UKbench by number, instead of all of them by their words.
    """
    queries = queries or [(n, Query.of_words(collection.words[n])) for n in range(len(collection.groups))]
    ways: tuple[Way, ...] = (None, *WAYS)
    right, seconds = dict.fromkeys(ways, 0), {way: list[float]() for way in ways}
    terms = None if terms is None else terms[arranged.order]
    for number, query in queries:
        first = number % len(ways)  # caches favour whoever comes later
        for way in ways[first:] + ways[:first]:
            started = time.thread_time()
            found = search(query, arranged, terms, way)
            seconds[way].append(time.thread_time() - started)
            shown = arranged.order[found]
            right[way] += int(
                (collection.groups[shown[shown < len(collection.groups)]] == collection.groups[number]).sum()
            )
    return {way: Figures(1e3 * float(np.median(seconds[way])), right[way] / 4 / len(queries)) for way in ways}


def search(query: Query, arranged: Arranged, terms: Float32 | None, way: Way) -> Int64:
    """The four best pictures, from the query's words."""
    segment, chosen = arranged.segment, None
    if way:
        share, scored = way
        visit = arranged.clusters.visit(query.words.nearest(1).word, round(share * len(arranged.clusters.entries)))
        assert segment.bounds is not None
        picture, distance = compared(arranged.code, segment.bounds, visit)
        if terms is not None:
            distance *= terms[picture] ** 2
        chosen = np.sort(picture[largest(-distance, scored)])
        segment = segment.only(chosen)
    (scores,) = score_all(query, [segment], arranged.scope)
    if terms is not None:
        scores = contextual("l1", scores, terms if chosen is None else terms[chosen])
    top = best(scores, SHOWN)
    top = top[np.argsort(-scores[top], kind="stable")][:4]
    return top if chosen is None else chosen[top]


def report(name: str, found: dict[Way, Figures]) -> None:
    flat = found[None]
    print(f"  {name}: all pictures {flat.milliseconds:.2f} ms, EER {flat.eer:.4f}")
    for way in WAYS:
        few = found[way]
        print(
            f"    {way[0]:4.0%} visited, {way[1]:4} scored: {few.milliseconds:5.2f} ms, EER {few.eer:.4f}: "
            f"{flat.milliseconds / few.milliseconds:.1f} times as fast, {100 * (flat.eer - few.eer):.2f} points lost",
            flush=True,
        )


def draw(growth: list[tuple[int, dict[Way, Figures]]], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    times, accuracy = figure.subplots(1, 2)
    sizes = [pictures for pictures, _ in growth]
    share, scored = SHOWN_WAY
    few = f"{share:.0%} of the clusters visited, {scored} pictures scored"
    for name, style, way in (("all pictures scored", "o-", None), (few, "s--", SHOWN_WAY)):
        times.loglog(sizes, [found[way].milliseconds for _, found in growth], style, label=name)
        accuracy.semilogx(sizes, [found[way].eer for _, found in growth], style, label=name)
    times.set(xlabel="pictures", ylabel="milliseconds for a query")
    accuracy.set(xlabel="pictures", ylabel="EER", ylim=(0.5, 1))
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
    growth: list[tuple[int, dict[Way, Figures]]] = []
    collection: Collection | None = None
    for pictures, count, kind in CASES:
        if pictures > given.most:
            continue
        if collection is None or len(collection.words) != pictures:
            collection = None  # one at a time
            collection = collect(given.cache, pictures)
            df = np.zeros(collection.vocabulary, np.int64)
            for word in collection.words:
                df[np.unique(word)] += 1
            weights = idf_weights(df, pictures)
            terms = terms_of(collection, weights) if pictures <= MOST_WITH_TERMS else None
        arranged = arrange(collection, weights, ClusterOptions(count=count, kind=kind))
        found = measure(collection, arranged, None)
        report("no CDM", found)
        if terms is not None:
            report("CDM", measure(collection, arranged, terms))
        if kind == "k-means":
            growth.append((pictures, found))
        del arranged
    if given.plot:
        draw(growth, given.plot)
