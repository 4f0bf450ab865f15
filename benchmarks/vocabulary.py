"""How long does it take to learn a large vocabulary, and how fast and how right are its words found?

    python benchmarks/vocabulary.py [--cache CACHE] [--words 200000] [--descriptors 2000000]

Descriptors are those of the shared pictures, every twentieth of which is kept apart: its descriptors are assigned one
picture at a time, in one thread, as `index` does. Then one round of k-means on 300,000 descriptors with 30,000 words,
in cells (what `train` uses above 32,768 words) and by faiss's HNSW and exact search.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from resight._faiss import load
from resight.cli.evaluating import default_cache
from resight.evaluation.cache import FeatureCache, Wanted, read
from resight.evaluation.experiments.experiment import DOG
from resight.folders import find_pictures
from resight.machine import processors
from resight.options import VocabularyOptions
from resight.types import Bytes, Float32, Int64
from resight.vocabulary import Assigner, Vocabulary, sample, train
from resight.vocabulary.approximate import approximate_k_means, nearest_words
from resight.vocabulary.nearest import Cells, flat_index

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = ("ukbench", "holidays", "oxford_dev", "distractors")
KEPT_APART = 20
CHECKED = 5000  # descriptors that are searched for exactly
SMALLER = (300_000, 30_000)  # descriptors and words of the comparison with HNSW


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--descriptors", type=int, default=2_000_000)
    asked = parser.parse_args()
    wanted = [Wanted(path) for path in find_pictures([DATA / name for name in SETS])]
    extracted = FeatureCache(asked.cache / "features", DOG).extract(wanted, processes=processors())
    files = [e.file for e in extracted if e.file]
    learning = [file for i, file in enumerate(files) if i % KEPT_APART]
    descriptors: Any = sample((read(file).descriptors for file in learning), size=asked.descriptors, seed=1)
    apart: list[Any] = [read(file).descriptors for file in files[::KEPT_APART]]
    print(
        f"{len(descriptors)} descriptors of {len(learning)} pictures; peak memory so far {peak():.2f} GiB", flush=True
    )
    learn(descriptors, apart, asked.words)
    compare(descriptors[: SMALLER[0]], SMALLER[1])


def learn(descriptors: Bytes, apart: list[Bytes], words: int) -> None:
    start = last = time.perf_counter()
    before = time.process_time()
    rounds: list[float] = []

    def done(count: int) -> None:
        nonlocal last
        now = time.perf_counter()
        rounds.append(now - last)
        last = now

    vocabulary = train(descriptors, options=VocabularyOptions(words=words), source="benchmark", done=done)
    print(
        f"{words} words: {time.perf_counter() - start:.0f} s, {time.process_time() - before:.0f} s of processors; "
        f"rounds took {' '.join(f'{r:.0f}' for r in rounds)} s; peak memory {peak():.2f} GiB",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        vocabulary.save(Path(folder) / "v.npz")
        start = time.perf_counter()
        assigner = Assigner(Vocabulary.load(Path(folder) / "v.npz"))
        assigner.assign(apart[0])
        size = (Path(folder) / "v.npz").stat().st_size
        print(f"opening {size / 1e6:.0f} MB and assigning a picture: {time.perf_counter() - start:.2f} s", flush=True)
        start = time.perf_counter()
        word = np.concatenate([assigner.assign(some).word for some in apart])
        each = (time.perf_counter() - start) / len(word)
    all_apart = np.concatenate(apart)
    shown = np.arange(0, len(word), max(1, len(word) // CHECKED))
    exact = flat_index(vocabulary.centroids)
    print(
        f"assignment of {len(word)} other descriptors, one thread: {1e6 * each:.1f} µs each, "
        f"recall@1 {recall(all_apart[shown], vocabulary.centroids[word[shown]], exact):.4f}",
        flush=True,
    )


def compare(descriptors: Bytes, count: int) -> None:
    """The assignment of one round, after two rounds in cells."""
    words, cells = approximate_k_means(descriptors, count, options=VocabularyOptions(iterations=2))
    exact, values = flat_index(words), descriptors.astype(np.float32)
    shown = np.arange(0, len(values), len(values) // CHECKED)

    def tell(name: str, find: Callable[[], Int64]) -> None:
        start, before = time.perf_counter(), time.process_time()
        word = find()
        seconds, used = time.perf_counter() - start, time.process_time() - before
        found = recall(descriptors[shown], words[word[shown]], exact)
        print(
            f"{len(values)} descriptors, {count} words, {name}: {seconds:.1f} s, {used:.1f} s of processors, "
            f"recall@1 {found:.4f}",
            flush=True,
        )

    tell("cells", lambda: nearest_words(descriptors, words, Cells.around(cells.centres, words))[1])
    faiss = load()
    for threads in (1, processors()):
        with threadpool_limits(threads):
            start = time.perf_counter()
            graph = faiss.IndexHNSWFlat(words.shape[1], 16)
            graph.add(words.astype(np.float32))
            print(f"HNSW16, built with {threads} threads: {time.perf_counter() - start:.1f} s", flush=True)
    for width in (16, 32):
        graph.hnsw.efSearch = width
        tell(f"HNSW16 ef{width}, without building it", lambda: graph.search(values, 1)[1][:, 0])
    tell("exact", lambda: exact.search(values, 1)[1][:, 0])


def recall(descriptors: Bytes, words: Bytes | Float32, exact: Any) -> float:
    """How many of these words are the nearest, or as near as that."""
    values = descriptors.astype(np.float32)
    squared = np.square(values - words).sum(axis=1)
    return float(np.mean(squared <= exact.search(values, 1)[0][:, 0]))


def peak() -> float:
    """GiB of this process, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
