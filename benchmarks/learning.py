"""Is a learnt similarity as quick to search with as tf-idf, and how long does it take to learn?

    python benchmarks/learning.py [--cache CACHE]

1. The scan of 20,000 pictures of 1,000 features with real words, one thread: the kernel of the measure tf-idf against
   that of `learnt`, and the two whole measures. Both take turns; medians.
2. `resight learn` on 500 groups among 2,000 pictures: all of UKbench, Holidays and the DVD covers, and as many of the
   distractors as it takes. Features come from the cache.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from resight.cli.evaluating import default_cache
from resight.evaluation.cache import FeatureCache, Wanted, read
from resight.evaluation.experiments.experiment import DOG
from resight.folders import find_pictures
from resight.ingest import Ingester, Reader
from resight.learn import learn_similarity
from resight.machine import processors
from resight.options import IndexingOptions, LearnOptions, LearntOptions, TfIdfOptions
from resight.postings import frozen
from resight.scoring import Query, Scope, SegmentView, Similarity, collection_statistics, kernels, score_all
from resight.scoring.learnt import scan_steps
from resight.scoring.similarity import groups_by_frequency
from resight.store import Writer, create, open_snapshot
from resight.types import Words
from resight.vocabulary import Assigner, Vocabulary
from resight.warm import warm

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
PICTURES, FEATURES = 20_000, 1_000
QUERIES, REPEATS = 20, 9
SLOWER = 1.3  # times tf-idf, at most
MINUTES = 10  # to learn, at most
GROUPS, IMAGES = 500, 2_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, default=default_cache())
    cache = parser.parse_args().cache
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors when this started\n")
    warm()
    with tempfile.TemporaryDirectory() as folder:
        place, groups = index(cache, Path(folder))
        scanning(place)
        learning(place, groups, Path(folder) / "state")


def index(cache: Path, folder: Path) -> tuple[Path, dict[str, list[str]]]:
    """The pictures of the second part, and which of them show the same."""
    groups: dict[str, list[str]] = {}
    for path in find_pictures([DATA / name for name in ("ukbench", "holidays", "smvs_dvd")]):
        number = int("".join(c for c in path.stem if c.isdigit()))
        kind = path.relative_to(DATA).parts[0]
        thing = {"ukbench": number // 4, "holidays": number // 100}.get(kind, number)
        groups.setdefault(f"{kind} {thing}", []).append(str(path.relative_to(DATA)))
    members = [key for keys in groups.values() for key in keys]
    others = [str(path.relative_to(DATA)) for path in find_pictures([DATA / "distractors"])]
    keys = [*members, *others[: IMAGES - len(members)]]
    features = FeatureCache(cache / "features", DOG)
    found = list(features.extract([Wanted(DATA / key) for key in keys], processes=processors()))
    vocabulary, place, options = Vocabulary.ready(DOG.detector), folder / "pictures.resight", IndexingOptions()
    create(place, vocabulary, features=DOG, indexing=options)
    ingester = Ingester(Reader(DOG), Assigner(vocabulary), options)
    with Writer(place) as writer:
        for key, each in zip(keys, found, strict=True):
            assert each.file
            writer.add(ingester.entry(read(each.file), key=key, content=each.content))
        writer.commit()
        writer.merge()
    assert len(groups) == GROUPS
    assert len(keys) == IMAGES
    return place, groups


def scanning(place: Path) -> None:
    """Pictures with words drawn from those of the real ones, burst by burst: a picture's features of one word stay."""
    rng = np.random.default_rng(1)
    with open_snapshot(place) as snapshot:
        lists, words = snapshot.segments[0].all_lists(), snapshot.vocabulary.words
        word_of = np.repeat(np.arange(words), np.diff(lists.offsets))
        start = np.flatnonzero(np.diff(lists.image, prepend=-1) | np.diff(word_of, prepend=-1))
        run_word, run_length = word_of[start], np.diff(start, append=len(word_of))
    chosen = rng.integers(0, len(start), PICTURES * FEATURES)
    image = np.repeat(rng.permutation(np.arange(len(chosen)) % PICTURES), run_length[chosen]).astype(np.uint32)
    word = np.repeat(run_word[chosen], run_length[chosen]).astype(np.int32)
    image, word = image[: PICTURES * FEATURES], word[: PICTURES * FEATURES]
    order = np.lexsort((image, word))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=words))]).astype(np.int64)
    many = frozen(offsets, image[order], np.zeros(0, np.uint64), np.zeros(0, lists.geometry.dtype))
    pattern = np.arange(16, dtype=np.uint8).reshape(4, 4)
    weights = rng.normal(size=(5, 16)).astype(np.float32)
    similarity = Similarity(pattern, weights, groups_by_frequency(np.diff(offsets), 5))
    segment = replace(SegmentView.of(many, pictures=PICTURES), stored_alone=similarity.alone(many, PICTURES))
    idf, scopes = np.ones(words, np.float32), []
    for options in (TfIdfOptions(), LearntOptions()):
        scopes.append(Scope(options, collection_statistics([segment], options, idf=idf, similarity=similarity)))
    kernel_ratios, measure_ratios = [], []
    for number in range(QUERIES):
        mine = word[image == number].astype(np.int32)
        distinct, counts = np.unique(mine, return_counts=True)
        value, scores = rng.random(len(distinct), dtype=np.float32), np.zeros(PICTURES, np.float32)
        steps = similarity.steps[similarity.group[distinct], np.minimum(counts, 3)]
        kernel_ratios.append(
            turns(
                partial(kernels.scan_product, distinct, value, many.offsets, many.image, scores),
                partial(scan_steps, distinct, steps, many.offsets, many.image, scores),
            )
        )
        feature = np.arange(len(mine), dtype=np.int32)
        query = Query(Words(feature, mine, np.zeros(len(mine), np.uint64)), np.zeros(len(mine), lists.geometry.dtype))
        plain_scores, learnt_scores = (partial(score_all, query, [segment], scope) for scope in scopes)
        measure_ratios.append(turns(plain_scores, learnt_scores))
    print(f"{PICTURES} pictures, {len(many.image) / 1e6:.1f} M features; ms, medians of {QUERIES} queries")
    for name, found in (("kernel", kernel_ratios), ("measure", measure_ratios)):
        plain, learnt = (1000 * statistics.median(times) for times in zip(*found, strict=True))
        verdict = "reached" if learnt <= SLOWER * plain else "missed"
        print(f"{name:8} tf-idf {plain:6.2f}  learnt {learnt:6.2f}  ratio {learnt / plain:.2f} ≤ {SLOWER} {verdict}")
    print()


def turns(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """The median times of both, which take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for function, taken in zip((one, other), times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def learning(place: Path, groups: dict[str, list[str]], state: Path) -> None:
    start = time.perf_counter()
    with open_snapshot(place) as snapshot:
        lesson = learn_similarity(snapshot, groups, LearnOptions(), state=state)
    seconds = time.perf_counter() - start
    verdict = "reached" if seconds <= 60 * MINUTES else "missed"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    weights = lesson.similarity.weights
    print(
        f"{lesson.groups} groups, {lesson.queries} queries among {lesson.pictures} pictures, {processors()} processors"
    )
    print(f"learnt in {seconds:.0f} s ≤ {60 * MINUTES} {verdict}; peak memory {peak:.2f} GiB")
    print(f"{weights.shape[0]} groups of words × {weights.shape[1]} weights, counts up to {lesson.similarity.most}")
    print(f"mAP in cross-validation {lesson.map:.3f}")


if __name__ == "__main__":
    main()
