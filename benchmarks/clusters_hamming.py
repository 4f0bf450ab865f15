"""What does a two-level inverted file gain and lose by the default measure, Hamming embedding with weak geometry?

    python benchmarks/clusters_hamming.py [--cache CACHE] [--pictures 100000]

One picture of UKbench in four is a query, each feature with up to ten words. Among all of them are made pictures of
1000 features, with the words, signatures and geometry of three pictures of Holidays (500, 300 and 200 of each). For
each query the ways of searching take turns, as in clusters.py: processor time of one thread, from the query's words to
the best.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from clusters import MIX, Arranged, Collection, measure, report
from query import DATA, real_features

from resight.cli.evaluating import default_cache
from resight.clusters import Clusters, by_cluster
from resight.evaluation.cache import read
from resight.evaluation.datasets import load
from resight.evaluation.runner import Runner
from resight.machine import processors
from resight.options import ClusterOptions
from resight.postings import Forward, Lists, frozen
from resight.recipes import RECIPES
from resight.scoring import Query, Scope, SegmentView, collection_statistics, idf_weights
from resight.search import quantise
from resight.store import open_snapshot
from resight.types import Int64
from resight.vocabulary import Assigner

CLUSTERS = 400
BURST = RECIPES["burst"]


def real(cache: Path, name: str) -> tuple[Forward, list[str], list[Query]]:
    """The stored features of a dataset's pictures, their keys, and its pictures as queries, in the same order."""
    dataset = load(name, DATA / name)
    prepared = Runner(cache=cache, processes=processors()).prepare(dataset, BURST.features)
    with open_snapshot(prepared.index) as snapshot:
        (segment,) = snapshot.segments
        keys, assigner = [row.key for row in segment.table.all()], Assigner(snapshot.vocabulary)
        files = {query.key: file for query, file in zip(dataset.queries, prepared.queries, strict=True)}
        queries = [quantise(assigner, read(file), BURST.assign) for key in keys if (file := files.get(key))]
        return real_features(segment), keys, queries


def mixed(own: Forward, others: Forward, pictures: int) -> tuple[Forward, list[Int64]]:
    """Both sets of features, one after the other, and the rows of each picture: own ones first, then made ones."""
    rng, rows = np.random.default_rng(1), [np.arange(a, b) for a, b in zip(own.starts, own.starts[1:], strict=False)]
    start = len(own.word)
    real = [start + np.arange(a, b) for a, b in zip(others.starts, others.starts[1:], strict=False)]
    real = [mine for mine in real if len(mine) >= max(MIX)]
    while len(rows) < pictures:
        shown = rng.choice(len(real), len(MIX), replace=False)
        rows.append(np.concatenate([rng.choice(real[i], n, replace=False) for i, n in zip(shown, MIX, strict=True)]))
    columns = ("word", "signature", "geometry", "code")
    both = [np.concatenate([getattr(own, column), getattr(others, column)]) for column in columns]
    return Forward(own.words, own.starts, *both), rows


def lists_of(features: Forward, rows: list[Int64]) -> Lists:
    row = np.concatenate(rows)
    image = np.repeat(np.arange(len(rows), dtype=np.uint32), [len(mine) for mine in rows])
    word = features.word[row]
    order = np.argsort(word, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=features.words))]).astype(np.int64)
    row = row[order]
    return frozen(offsets, image[order], features.signature[row], features.geometry[row])


def main(cache: Path, pictures: int) -> None:
    own, keys, queries = real(cache, "ukbench")
    others, _, _ = real(cache, "holidays")
    features, rows = mixed(own, others, pictures)
    words = [features.word[mine] for mine in rows]
    df = np.zeros(features.words, np.int64)
    for word in words:
        df[np.unique(word)] += 1
    idf = idf_weights(df, pictures)
    sample = np.random.default_rng(2).choice(pictures, min(10_000, pictures), replace=False)
    clusters = Clusters.learn([words[i] for i in sample], idf=idf, options=ClusterOptions(count=CLUSTERS))
    placed = [clusters.place(words[begin : begin + 1000]) for begin in range(0, pictures, 1000)]
    order, bounds = by_cluster(np.concatenate([each.cluster for each in placed]), CLUSTERS)
    lists = lists_of(features, [rows[i] for i in order])
    segment = SegmentView.of(lists, pictures=pictures, bounds=bounds)
    segment.only(order[:1]).find(order[:1].astype(np.int32), "image")  # makes the forward index
    scope = Scope(BURST.scoring, collection_statistics([segment], BURST.scoring, idf=idf))
    number = {key: n for n, key in enumerate(sorted(keys))}  # four pictures of each thing follow each other
    collection = Collection(words, np.array([number[key] // 4 for key in keys]), features.words)
    code = np.concatenate([each.code for each in placed])[order]
    asked = list(enumerate(queries))[1::4]
    print(f"{pictures} pictures, {len(lists.image)} features, {CLUSTERS} clusters by k-means")
    report("burst", measure(collection, Arranged(segment, scope, clusters, code, order), None, asked))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features and indexes are kept")
    parser.add_argument("--pictures", type=int, default=100_000)
    given = parser.parse_args()
    os.sched_setaffinity(0, {0})  # one thread
    main(given.cache, given.pictures)
