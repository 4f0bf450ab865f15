"""Is k-NN voting over product-quantised descriptors as fast as faiss's IndexIVFPQ, and how much memory does it need?

    python benchmarks/neighbours.py [--cache CACHE]

1. Time: a query of 1000 descriptors against 20 million codes, with 1, 3 and 5 lists for each descriptor (faiss's
   nprobe). Both sides have the same words, codebooks and codes. Ours is the whole measure, to the score of every
   picture; faiss returns as many neighbours for each descriptor as ours takes on average. Once with the words given
   (`search_preassigned`), once with finding them (`search`). Both take turns; medians. Their distances must be equal.
2. Memory: a process of its own opens the index and asks; how much does it grow, and by which files? Once with that
   query, five lists for each descriptor, and once with one that looks at every list.

The collection is drawn, with replacement, from the real features of Holidays and UKbench, each with its word and its
code, and without those of the picture that asks. It is made once and kept in the cache.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from resight._faiss import load as load_faiss
from resight.cli.evaluating import default_cache
from resight.evaluation.cache import read
from resight.evaluation.datasets import load
from resight.evaluation.experiments.experiment import DOG
from resight.evaluation.runner import Runner
from resight.machine import processors
from resight.options import AssignOptions, IndexingOptions, KnnOptions, ScoringOptions, fingerprint
from resight.postings import GEOMETRY, Lists
from resight.recipes import ALL_NEAREST, RECIPES
from resight.scoring import CollectionStatistics, Query, Scope, SegmentView, neighbours, score_all
from resight.store import Entry, Snapshot, Writer, create, open_snapshot
from resight.types import Bytes, Features, Float32, Words
from resight.vocabulary import Assigner, Vocabulary
from resight.vocabulary.nearest import flat_index
from resight.warm import warm

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
ASKED = 1_000  # descriptors of the query
LISTS = (1, 3, 5)  # that are looked at for each of them
THREADS = (1, 2)
REPEATS = 11
PAUSE = 0.2  # seconds after which the threads that one side's BLAS keeps spinning no longer slow the other side
TARGET = 2.0  # times faiss's time
BYTES = 12  # of memory for each feature: 8 of code and 4 of picture number
SCORING = RECIPES["knn"].scoring
# The made collection. Changing a value makes a new one.
MADE: dict[str, Any] = {"pictures": 20_000, "features": 1_000, "seed": 1}


def main(cache: Path) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors when this started")
    warm()
    folder, descriptors = made_index(cache)
    with open_snapshot(folder) as snapshot:
        lists = snapshot.segments[0].all_lists()  # so that no query pays for checksums or for the disk
        print(f"{snapshot.pictures} pictures, {len(lists.image)} codes; a query of {len(descriptors)} descriptors")
        vocabulary = snapshot.vocabulary
        scope = Scope(SCORING, CollectionStatistics(snapshot.pictures, snapshot.idf))
        compare(descriptors, snapshot.views[0][0], scope, lists, vocabulary)
    print(f"\nMB in memory, at most{'':45} bytes per feature ≤ {BYTES}")
    print(f"{'':23}    image    code  other lists   the rest          image + code     everything")
    every = np.arange(vocabulary.words, dtype=np.int32)
    show_memory(folder, ask(Assigner(vocabulary), descriptors, RECIPES["knn"].assign))
    show_memory(folder, query_of(Words(every, every, np.zeros(len(every), np.uint64)), vocabulary.centroids))


def ask(assigner: Assigner, descriptors: Bytes | Float32, options: AssignOptions) -> Query:
    return query_of(assigner.assign_query(descriptors, options=options), descriptors)


def query_of(words: Words, descriptors: Bytes | Float32) -> Query:
    places, ones = np.zeros((len(descriptors), 2), np.float32), np.ones(len(descriptors), np.float32)
    features = Features(places, ones, ones, descriptors, 1, 1)
    return Query(words, np.zeros(len(descriptors), GEOMETRY), features)


# 1. Time


def compare(
    descriptors: Bytes | Float32,
    segment: SegmentView,
    scope: Scope[ScoringOptions],
    lists: Lists,
    vocabulary: Vocabulary,
) -> None:
    assigner, index = Assigner(vocabulary), faiss_index(vocabulary, lists)
    print(f"\nms, medians of {REPEATS}                 words given                 with finding words")
    print("threads  lists   k    codes    ours  faiss  ratio ≤ 2            ours  faiss  ratio ≤ 2")
    for threads, count in product(THREADS, LISTS):
        options = AssignOptions(neighbours=count, ratio=ALL_NEAREST)
        compare_with(descriptors, segment, scope, vocabulary, assigner, index, options, threads)


def compare_with(
    descriptors: Bytes | Float32,
    segment: SegmentView,
    scope: Scope[ScoringOptions],
    vocabulary: Vocabulary,
    assigner: Assigner,
    index: Any,
    options: AssignOptions,
    threads: int,
) -> None:
    query, values = ask(assigner, descriptors, options), descriptors.astype(np.float32)
    words = query.words.word.reshape(len(values), -1).astype(np.int64)
    squared = ((values[:, None] - vocabulary.centroids[words]) ** 2).sum(axis=2)
    index.nprobe = options.neighbours
    found = our_distances(query, segment)
    k = round(np.mean([len(distances) for distances in found]))
    require_equal(found, index.search_preassigned(values, k, words, squared)[0])
    with limited(threads):
        ours, theirs, all_ours, all_theirs = medians(
            lambda: score_all(query, [segment], scope),
            lambda: index.search_preassigned(values, k, words, squared),
            lambda: score_all(ask(assigner, descriptors, options), [segment], scope),
            lambda: index.search(values, k),
        )
    print(
        f"{threads:7} {options.neighbours:6} {k:3} {segment.living(query.words.word).sum() / 1e6:6.2f} M "
        f"{compared(ours, theirs)}   {compared(all_ours, all_theirs)}",
        flush=True,
    )


def faiss_index(vocabulary: Vocabulary, lists: Lists) -> Any:
    """faiss's, with our words, codebooks and codes; what it calls a descriptor's id is the number of its posting."""
    faiss, codebooks = load_faiss(), vocabulary.codebooks
    assert codebooks is not None
    words, pieces = vocabulary.words, len(codebooks)
    index = faiss.IndexIVFPQ(flat_index(vocabulary.centroids), vocabulary.dimension, words, pieces, 8)
    faiss.copy_array_to_vector(codebooks.astype(np.float32).ravel(), index.pq.centroids)
    index.is_trained = True
    index.parallel_mode = 3  # over descriptors: with two threads faster than its default, which shares out whole blocks
    index.precompute_table()
    numbers = np.arange(len(lists.image))
    for word, (begin, end) in enumerate(pairwise(lists.offsets.tolist())):
        if begin < end:
            number, code = faiss.swig_ptr(numbers[begin:end]), faiss.swig_ptr(lists.code[begin:end])
            index.invlists.add_entries(word, end - begin, number, code)
    index.ntotal = len(numbers)
    return index


def our_distances(query: Query, segment: SegmentView) -> list[Float32]:
    """Of each feature's neighbours, nearest first; without those that are only as far as the last."""
    assert isinstance(SCORING, KnnOptions)
    asked = neighbours._asked(query, [segment], SCORING)
    near = [*neighbours._near(asked, segment)]
    feature, distance = np.concatenate([n.feature for n in near]), np.concatenate([n.distance for n in near])
    each = np.split(distance, np.searchsorted(feature, np.arange(1, len(asked.most))))
    return [np.sort(distances)[:most] for distances, most in zip(each, asked.most, strict=True)]


def require_equal(ours: Sequence[Float32], theirs: Float32) -> None:
    """As far as both go: theirs are equally many for each feature, ours are not."""
    for feature, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        both = min(len(mine), len(other))
        if not np.array_equal(mine[:both], other[:both]) or (mine != np.rint(mine)).any():
            raise SystemExit(f"faiss finds other distances from feature {feature}: {other[:both]}, not {mine[:both]}")


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Ours, faiss's and those of both's BLAS."""
    with threadpool_limits(threads), patch.object(neighbours, "processors", lambda: threads):
        yield


def medians(*functions: Callable[[], object]) -> list[float]:
    """Seconds of each; they take turns, and the first turn does not count."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _, (function, times) in product(range(REPEATS + 1), zip(functions, seconds, strict=True)):
        time.sleep(PAUSE)
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return [statistics.median(times[1:]) for times in seconds]


def compared(ours: float, theirs: float) -> str:
    return f"{1e3 * ours:7.1f} {1e3 * theirs:6.1f} {ours / theirs:6.2f} {mark(ours <= TARGET * theirs)}"


def mark(reached: bool) -> str:
    return "reached" if reached else "missed "


# 2. Memory


def show_memory(folder: Path, query: Query) -> None:
    """Ask in a process of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "query.npz"
        np.savez(file, feature=query.words.feature, word=query.words.word, descriptors=np.asarray(query.descriptors))
        subprocess.run([sys.executable, __file__, "--memory", str(folder), str(file)], check=True)


def memory(folder: Path, file: Path) -> None:
    """How much this process, which has done nothing else, grows by opening the index and asking."""
    warm()
    with np.load(file) as arrays:
        feature, word, descriptors = (arrays[name] for name in ("feature", "word", "descriptors"))
    query = query_of(Words(feature, word, np.zeros(len(word), np.uint64)), descriptors)
    Path("/proc/self/clear_refs").write_text("5")  # the most there was is what there is now
    before = status("VmHWM")
    with open_snapshot(folder) as snapshot:
        (views,) = snapshot.views
        score_all(query, views, Scope(SCORING, CollectionStatistics(snapshot.pictures, snapshot.idf)))
        grown, files, features = status("VmHWM") - before, mapped(), snapshot.manifest.features
        asked = int(views[0].living(np.unique(word)).sum())
    image, code = files["image.npy"], files["code.npy"]
    others = files["signature.npy"] + files["geometry.npy"]
    rest = grown - image - code - others
    needed = (image + code) / features
    print(
        f"{asked / 1e6:5.1f} M codes looked at {image / 1e6:8.2f} {code / 1e6:7.2f} {others / 1e6:12.2f} "
        f"{rest / 1e6:10.2f} "
        f"{needed:22.2f} {mark(round(needed, 2) <= BYTES)} {grown / features:6.2f} {mark(grown <= BYTES * features)}"
    )


def status(name: str) -> int:
    """Bytes, as Linux counts them for this process."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines[name].split()[0])


def mapped() -> Counter[str]:
    """Bytes of each mapped file that are in this process's memory."""
    found, file = Counter[str](), ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-", line):
            file = Path(line.split()[-1]).name
        elif line.startswith("Rss:"):
            found[file] += 1024 * int(line.split()[1])
    return found


# The made collection


def made_index(cache: Path) -> tuple[Path, Bytes | Float32]:
    """An index of made pictures, in one segment, and descriptors of a picture that is not among them."""
    dataset = load("holidays", DATA / "holidays", distractors=[DATA / "ukbench"])
    runner = Runner(cache=cache, processes=processors())
    real = runner.prepare(dataset, DOG, IndexingOptions(keep="codes"))
    asking = zip(dataset.queries, (read(file) for file in real.queries if file), strict=True)
    query, features = next((query, features) for query, features in asking if len(features) >= ASKED)
    folder = cache / "indexes" / f"drawn-{fingerprint(MADE | {'from': real.index.name})}.resight"
    if not (folder / "manifest").exists():
        create(folder, Vocabulary.ready(DOG.detector, codes=True), indexing=IndexingOptions(keep="codes"))
    with Writer(folder) as writer, open_snapshot(real.index) as snapshot:
        if not writer.manifest.pictures:
            for entry in made_entries(snapshot, query.key):
                writer.add(entry)
            writer.commit()
    return folder, features.descriptors[:ASKED]


def made_entries(snapshot: Snapshot, left_out: str) -> Iterator[Entry]:
    rng, count = np.random.default_rng(MADE["seed"]), MADE["features"]
    located = snapshot.locate(left_out)
    assert located
    segment, row = located
    real = segment.all_lists()
    word = np.repeat(np.arange(real.words, dtype=np.int32), np.diff(real.offsets))
    others, feature = np.flatnonzero(real.image != row.ordinal), np.arange(count, dtype=np.int32)
    for number in range(MADE["pictures"]):
        drawn = rng.choice(others, count)
        words = Words(feature, word[drawn], real.signature[drawn], real.code[drawn])
        key = f"{number:06d}"
        yield Entry(key, words, real.geometry[drawn], 1024, 768, content=key.encode().ljust(16))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features and indexes are kept")
    parser.add_argument("--memory", type=Path, nargs=2, metavar=("INDEX", "QUERY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory:
        memory(*given.memory)
    else:
        main(given.cache)
