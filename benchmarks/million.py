"""A million pictures on one machine: how large is the index, how long does a query take, and is it still right?

    python benchmarks/million.py [--pictures 1000000] [--queries 150] [--folder FOLDER] [--cache CACHE] [--keep]

There are not so many real pictures here, so they are made of real parts. A part is what one real picture has of one
word: mostly one feature, sometimes a burst of them. Each made picture is given 200 to 500 features, in parts drawn at
random from all pictures but those of Holidays; positions, sizes and angles stay, and each bit of a signature is flipped
with a chance of 1/16. So words are as frequent and bursts as long as in real pictures, but nothing shows the same
thing. Signatures are a little farther from a query's than real ones: the share of postings that match is printed for
both.

Holidays, spread among them, is searched for, by its file as `resight search` does it. The index is one that
`features.max_features=500` makes. Queries are also asked with 2,000 features.

BURST-09 §5.2 reports 6.2 s on average "for description, quantization, search and normalization, but without SP"
(geometric verification) in one million pictures: here `burst`, with the stage "features". Its pictures have
2.1 billion descriptors (table 1) in an inverted file of 24 GB: about six times as many as here.

Building and searching are processes of their own, so that their memory can be told apart. Takes up to 15 GB of disk
while it merges segments, and less than half of that afterwards; removed at the end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from query import DATA, check_all, features_of, postings_and_matches, spread, strongest

from resight._numba import kernel
from resight.cli.evaluating import default_cache
from resight.evaluation.datasets import load
from resight.evaluation.experiments.experiment import DOG
from resight.evaluation.measures import score as judge
from resight.folders import find_pictures
from resight.ingest import Ingester, Reader
from resight.options import IndexingOptions
from resight.postings import as_bytes
from resight.recipes import DEFAULT, RECIPES, Recipe
from resight.search import SegmentGroup, quantise, search
from resight.store import Entry, Snapshot, Writer, create, open_snapshot, segments_size
from resight.timing import Stopwatch
from resight.types import Bytes, Features, Int32, Int64, UInt64, Words
from resight.vocabulary import Assigner, Vocabulary
from resight.warm import warm

PARTS = ("ukbench", "distractors", "oxford_dev")  # sets whose pictures are taken apart
HOLIDAYS = DATA / "holidays"
LEAST, MOST = 200, 500  # features of a made picture
SEED = 1
BATCH = 50_000  # pictures of a commit: about 17 million features, 1.5 GB while they are written
STORED = replace(DOG, max_features=MOST)
MANY = 2_000  # features of the larger queries
FOUND = 200  # results that mAP looks at
COLD = 10  # queries that pay for the disk and the checksums
IN_2009 = 6.2  # seconds
GIB = 2**30


def main(pictures: int, queries: int, folder: Path, cache: Path, keep: bool) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors when this started", flush=True)
    real, alone, among = (folder / f"{name}.resight" for name in ("real", "alone", "among"))
    try:
        if not (among / "manifest").exists():
            apart(store_real, cache, real, [DATA / name for name in PARTS], DATA)
            apart(store_real, cache, alone, [HOLIDAYS], HOLIDAYS)
            apart(store_all, real, alone, among, pictures)
        for recipe, features in (("burst", MOST), (DEFAULT, MOST), ("burst", MANY)):
            apart(ask_all, among, recipe, features, queries)
        apart(compare, real, among)
        for recipe in ("burst", DEFAULT):
            apart(ask_all, alone, recipe, MOST, queries)
    finally:
        for index in () if keep else (real, alone, among):
            shutil.rmtree(index, ignore_errors=True)


def apart(work: Callable[..., None], *given: Any) -> None:
    """In a process of its own, whose memory is that of this work alone."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(work, *given).result()


# Building


class Parts(NamedTuple):
    """What real pictures consist of: part i is rows starts[i] … starts[i + 1], one picture's features with one word."""

    starts: Int64
    word: Int32
    signature: UInt64
    geometry: npt.NDArray[Any]


def new_index(folder: Path) -> None:
    create(folder, Vocabulary.ready(DOG.detector), features=STORED)


def store_real(cache: Path, folder: Path, roots: Sequence[Path], relative_to: Path) -> None:
    """An index of the strongest features of all pictures in these folders."""
    new_index(folder)
    paths = list(find_pictures(roots))
    ingester = Ingester(Reader(STORED), Assigner(Vocabulary.ready(DOG.detector)), IndexingOptions())
    with Writer(folder) as writer:
        for path, features in zip(paths, features_of(cache, paths), strict=True):
            key = path.relative_to(relative_to).as_posix()
            writer.add(ingester.entry(strongest(features, MOST), key=key, content=key.encode().ljust(16)))
        writer.commit()


def store_all(real: Path, alone: Path, folder: Path, pictures: int) -> None:
    """Make the index: those of ``alone`` spread evenly among made pictures, and say how it went."""
    new_index(folder)
    with open_snapshot(real) as snapshot:
        parts = parts_of(snapshot)
    with open_snapshot(alone) as snapshot:
        shown = entries_of(snapshot)
    start, processor, watch = time.perf_counter(), time.process_time(), Stopwatch()
    with Writer(folder) as writer:
        for begin in range(0, pictures, BATCH):
            end = min(begin + BATCH, pictures)
            with watch.stage("drawing"):
                entries = list(made_entries(parts, begin, end))
            entries += shown[len(shown) * begin // pictures : len(shown) * end // pictures]
            with watch.stage("adding"):
                for entry in entries:
                    writer.add(entry)
            del entries
            with watch.stage("committing"):
                writer.commit()
        segments = len(writer.manifest.segments)
        with watch.stage("making one segment of all"):
            writer.merge()
        manifest = writer.manifest
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    size, peak = segments_size(manifest), resident()["VmHWM"]
    stages = ", ".join(f"{name} {value:.0f} s" for name, value in watch.seconds.items())
    print(
        f"{manifest.pictures} pictures, {manifest.features} features written in {seconds:.0f} s "
        f"({manifest.pictures / seconds:.0f} pictures/s; {stages}; {processor:.0f} s of processors); "
        f"{segments} segments before they became one\n"
        f"{size / 1e9:.2f} GB: {size / manifest.pictures:.0f} bytes per picture, "
        f"{size / manifest.features:.2f} per feature; peak memory {peak / GIB:.2f} GiB",
        flush=True,
    )


def entries_of(snapshot: Snapshot) -> list[Entry]:
    """All pictures of an index of one segment, to be put into another."""
    (segment,), found = snapshot.segments, []
    for row in segment.table.all():
        words, geometry = segment.picture(row)
        found.append(Entry(row.key, words, geometry, row.width, row.height, row.content))
    return found


def parts_of(snapshot: Snapshot) -> Parts:
    (segment,) = snapshot.segments
    lists, pictures = segment.all_lists(), snapshot.pictures
    word = np.repeat(np.arange(lists.words, dtype=np.int32), np.diff(lists.offsets))
    begins = (np.diff(word, prepend=-1) != 0) | (np.diff(lists.image.astype(np.int64), prepend=-1) != 0)
    starts = np.append(np.flatnonzero(begins), len(word))
    print(
        f"parts of {pictures} real pictures of {len(word) / pictures:.0f} features: {len(word)} features "
        f"in {len(starts) - 1} parts, {np.mean(np.diff(starts) > 1):.1%} of them bursts",
        flush=True,
    )
    return Parts(starts, word, lists.signature, lists.geometry)


def made_entries(parts: Parts, begin: int, end: int) -> Iterator[Entry]:
    """Pictures begin … end, a batch."""
    rng = np.random.default_rng([SEED, begin])
    bounds = np.concatenate([[0], np.cumsum(rng.integers(LEAST, MOST + 1, end - begin))])
    word, signature = np.zeros(bounds[-1], np.int32), np.zeros(bounds[-1], np.uint64)
    geometry = np.zeros(bounds[-1], parts.geometry.dtype)
    seed = rng.integers(0, 2**63, dtype=np.uint64)
    draw(parts.starts, parts.word, parts.signature, as_bytes(parts.geometry), bounds, seed, word, signature,
         as_bytes(geometry))  # fmt: skip
    for number, (first, last) in enumerate(pairwise(bounds.tolist()), begin):
        words = Words(np.arange(last - first, dtype=np.int32), word[first:last], signature[first:last])
        key = f"made/{number:09d}.jpg"
        yield Entry(key, words, geometry[first:last], 1024, 768, content=number.to_bytes(16))


@kernel
def draw(
    starts: Int64, word: Int32, signature: UInt64, geometry: Bytes, bounds: Int64, seed: np.uint64,
    to_word: Int32, to_signature: UInt64, to_geometry: Bytes,
) -> None:  # fmt: skip
    """Fill each picture's rows with parts drawn at random; of each signature, every bit is flipped with p = 1/16."""
    state = seed
    for picture in range(len(bounds) - 1):
        at, last = bounds[picture], bounds[picture + 1]
        while at < last:
            state, drawn = following(state)
            part = np.int64(drawn % np.uint64(len(starts) - 1))
            for row in range(starts[part], min(starts[part + 1], starts[part] + last - at)):
                state, one = following(state)
                state, two = following(state)
                state, three = following(state)
                state, four = following(state)
                to_word[at] = word[row]
                to_signature[at] = signature[row] ^ (one & two & three & four)
                to_geometry[at] = geometry[row]
                at += 1


@kernel
def following(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The next state and number of a splitmix64 generator."""
    state += np.uint64(0x9E3779B97F4A7C15)
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, mixed ^ (mixed >> np.uint64(31))


# Searching


def ask_all(folder: Path, name: str, features: int, count: int) -> None:
    """So many queries of Holidays by this recipe, of this many features; from disk, and when all is in memory."""
    forget(folder)
    start = time.perf_counter()
    with open_snapshot(folder) as snapshot:
        opening = time.perf_counter() - start
        assigner, queries, recipe = Assigner(snapshot.vocabulary), load("holidays", HOLIDAYS).queries, RECIPES[name]
        queries = queries[:: max(1, len(queries) // count)][:count]
        warm()
        quantise(assigner, strongest_of(queries[0].path, 1), recipe.assign)  # makes the search structure
        print(
            f"\n{name}, {features} features, {snapshot.pictures} pictures, opened in {opening * 1e3:.0f} ms; "
            f"load average {os.getloadavg()[0]:.1f}"
        )
        before, group = resident()["RssAnon"], SegmentGroup.local(snapshot)
        paths = [query.path for query in queries]
        show(f"first {COLD}, from disk", [ask(group, assigner, path, recipe, features) for path in paths[:COLD]])
        check_all(snapshot)
        answers = [ask(group, assigner, path, recipe, features) for path in paths]
        show(f"{len(paths)} in memory", answers)
        truths = [query.truth for query in queries]
        found = judge([answer.ranking for answer in answers], truths, ("map",), database=snapshot.pictures)
        print(f"mAP in the first {FOUND}: {found.means['map']:.3f}")
        show_memory(snapshot, before)


class Answer(NamedTuple):
    """What one query found, and what that took."""

    ranking: list[str]
    stages: dict[str, float]  # seconds
    processor: float  # seconds of processor time, of all threads


def strongest_of(path: Path, features: int) -> Features:
    options = replace(DOG, max_features=features)
    return Reader(options).open(path, name=path.name).features()


def ask(group: SegmentGroup, assigner: Assigner, path: Path, recipe: Recipe, features: int) -> Answer:
    watch, before = Stopwatch(), time.process_time()
    with watch.stage("features"):
        found = strongest_of(path, features)
    with watch.stage("words"):
        asked = quantise(assigner, found, recipe.assign)
    result = search(group, [asked], top=FOUND, recipe=recipe, watch=watch)
    return Answer([hit.key for hit in result.hits], result.timings, time.process_time() - before)


def show(name: str, answers: Sequence[Answer]) -> None:
    whole = [sum(answer.stages.values()) for answer in answers]
    mean, processor = np.mean(whole), np.mean([answer.processor for answer in answers])
    print(f"{'ms':24} median   95 %")
    for stage in answers[0].stages:
        print(f"{'':4}{stage:20} {spread([answer.stages[stage] for answer in answers])}")
    print(
        f"{name:22}   {spread(whole)}   mean {1e3 * mean:.0f}, {IN_2009 / mean:.1f} times as fast as in 2009; "
        f"{1e3 * processor:.0f} ms of processors each",
        flush=True,
    )


def show_memory(snapshot: Snapshot, before: int) -> None:
    """Of this process: its own pages, and the index's that it maps, which the system takes back where it needs them."""
    now, mapped = resident(), sum(len(file.bytes) for s in snapshot.segments for file in s.files.values())
    print(
        f"memory: peak {now['VmHWM'] / GIB:.2f} GiB; at the end {now['RssAnon'] / GIB:.2f} its own "
        f"({before / GIB:.2f} before the first query) and {now['RssFile'] / GIB:.2f} of files; "
        f"the index maps {mapped / GIB:.2f} GiB",
        flush=True,
    )


def compare(real: Path, among: Path) -> None:
    """How much a query has to do, and whether made signatures match as often as real ones."""
    recipe = RECIPES["burst"]
    assigner, queries = Assigner(Vocabulary.ready(DOG.detector)), load("holidays", HOLIDAYS).queries[::10]
    asked = [quantise(assigner, strongest_of(q.path, MOST), recipe.assign).words for q in queries]
    print(f"\nqueries of {MOST} features, {np.median([len(words) for words in asked]):.0f} rows")
    for folder in (real, among):
        with open_snapshot(folder) as snapshot:
            counts = [postings_and_matches(snapshot, words, recipe.verify.threshold) for words in asked]
        postings, matches = np.array(counts).T
        print(
            f"{folder.stem:8} {np.median(postings) / 1e6:.2f} M postings, {np.median(matches) / 1e6:.3f} M matches "
            f"({matches.sum() / postings.sum():.2%})",
            flush=True,
        )


def resident() -> dict[str, int]:
    """Bytes of this process in memory, as Linux counts them."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines if words[-1] == "kB"}


def forget(folder: Path) -> None:
    """Let the system drop what it holds of these files."""
    for path in folder.rglob("*.*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=1_000_000, help="how many are made")
    parser.add_argument("--queries", type=int, default=150, help="how many of the 150 of Holidays are asked")
    parser.add_argument("--folder", type=Path, default=default_cache() / "million", help="where the index goes")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features are kept")
    parser.add_argument("--keep", action="store_true", help="keep the index, and search one that is there")
    given = parser.parse_args()
    main(given.pictures, given.queries, given.folder, given.cache, given.keep)
