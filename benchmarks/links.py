"""What links between pictures are worth, and what they cost.

    python benchmarks/links.py answers [--data FOLDER] [--cache FOLDER]
    python benchmarks/links.py parts [--data FOLDER] [--cache FOLDER]
    python benchmarks/links.py demo
    python benchmarks/links.py growth [--data FOLDER] [--cache FOLDER]
    python benchmarks/links.py useful [--data FOLDER] [--cache FOLDER]

answers: on the shared sets, how long a query takes from descriptors to result by `linked` and by `expanded`, one after
the other in one process, and how often hits are right that links led to; from these `linked_confidence` is fitted.
Accuracy itself is what `resight evaluate` prints.

parts: accuracy of `linked` with the evidence of links alone, and with one kind of likeness after the other.

demo: what links lead to, right or wrong, in the demo's collection, where many pictures have the same surroundings.

growth: pictures of the shared sets, the distractors among them, are added to collections of 1,000 to 20,000 pictures.
Beyond the shared ones those are made: a real picture with its words exchanged for others.

useful: bytes per picture and accuracy on the shared sets, before and after `resight shrink --floor` of several numbers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from resight import Index, list_pictures
from resight.demo.collection import build
from resight.evaluation.cache import read
from resight.evaluation.datasets import load
from resight.evaluation.measures import score
from resight.evaluation.runner import Runner, measures_of
from resight.learn import link_pictures
from resight.learn.useful import agreeing, with_floor
from resight.machine import cache_folder, processors
from resight.recipes import RECIPES
from resight.search import SegmentGroup, likeness, quantise, search
from resight.store import Entry, SegmentLinks, Snapshot, Writer, create, open_snapshot, read_manifest
from resight.store.manifest import LINKS
from resight.vocabulary import Assigner, Vocabulary

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SETS = {"oxford": "oxford_dev", "holidays": "holidays", "ukbench": "ukbench"}
FLOORS = (0, 100, 200, 400, 800)
MEASURED = {"linked": RECIPES["linked"], "verified": RECIPES["verified"]}
PARTS: dict[str, dict[str, Any]] = {
    "evidence alone": {"SURE": 0, "LIKELY": 0, "SCALING": 0.0},
    "and likeness to sure pictures": {"LIKELY": 0, "SCALING": 0.0},
    "and to likely ones": {"SCALING": 0.0},
    "and local scaling: all": {"SCALING": likeness.SCALING},
}
SIZES, ADDED = (1_000, 5_000, 20_000), 300
NAMES = "linked", "expanded"


def link(folder: Path) -> tuple[float, int, int]:
    """Seconds, links, and bytes of their files."""
    started = time.perf_counter()
    with Writer(folder) as writer:
        link_pictures(writer)
        seconds = time.perf_counter() - started
        found = [segment.links for segment in writer.snapshot.segments if segment.links]
        files = [segment.record.optional[LINKS].size for segment in writer.snapshot.segments]
        return seconds, sum(int((links.links["inliers"] > 0).sum()) for links in found), sum(files)


def answers(data: Path, cache: Path) -> None:
    judged = []
    for name, folder in SETS.items():
        runner = Runner(cache=cache, processes=processors())
        dataset = load(name, data / folder, limit=None, distractors=())
        prepared = runner.prepare(dataset, RECIPES["linked"].features)
        seconds, links, size = link(prepared.index)
        with open_snapshot(prepared.index) as snapshot, threadpool_limits(1):
            group, assigner = SegmentGroup.local(snapshot), Assigner(snapshot.vocabulary)
            times: dict[str, list[float]] = {each: [] for each in NAMES}
            for query, file in zip(dataset.queries, prepared.queries, strict=True):
                if file is None:
                    continue
                features = read(file)
                for each in NAMES:
                    started = time.perf_counter()
                    asked = quantise(assigner, features, RECIPES[each].assign)
                    hits = search(group, [asked], top=200, recipe=RECIPES[each]).hits
                    times[each].append(time.perf_counter() - started)
                    if each == "linked":
                        known = {query.key, *query.truth.junk}
                        judged += [
                            (name, hit.confidence or 0, hit.key in query.truth.relevant)
                            for hit in hits
                            if hit.via and hit.key not in known
                        ]
            linked, expanded = (1000 * float(np.median(times[each][1:])) for each in NAMES)
            print(
                f"{name}: {snapshot.pictures} pictures, {links} links from the pictures that found them, "
                f"{size / snapshot.pictures:.0f} bytes a picture, found in {seconds:.1f} s; "
                f"a query: linked {linked:.0f} ms, expanded {expanded:.0f} ms, ratio {linked / expanded:.2f}",
                flush=True,
            )
    for name in SETS:
        mine = np.array([one[1:] for one in judged if one[0] == name], float).reshape(-1, 2)
        for low, high in ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01)):
            some = mine[(mine[:, 0] >= low) & (mine[:, 0] < high)]
            if len(some):
                print(
                    f"{name}: hits by links of confidence {low} and more: {len(some)}, "
                    f"said {some[:, 0].mean():.3f}, right {some[:, 1].mean():.3f}"
                )


def parts(data: Path, cache: Path) -> None:
    recipe = RECIPES["linked"]
    for name, folder in SETS.items():
        dataset = load(name, data / folder, limit=None, distractors=())
        prepared = Runner(cache=cache, processes=processors()).prepare(dataset, recipe.features)
        link(prepared.index)
        found: dict[str, list[tuple[str, ...]]] = {part: [] for part in PARTS}
        with open_snapshot(prepared.index) as snapshot, threadpool_limits(1):
            group, assigner = SegmentGroup.local(snapshot), Assigner(snapshot.vocabulary)
            for file in prepared.queries:
                query = quantise(assigner, read(file), recipe.assign) if file else None
                for part, constants in PARTS.items():
                    with patch.multiple(likeness, **constants):
                        hits = search(group, [query], top=snapshot.pictures, recipe=recipe).hits if query else ()
                    found[part].append(tuple(hit.key for hit in hits))
        truths = [query.truth for query in dataset.queries]
        for part, rankings in found.items():
            means = score(rankings, truths, measures_of(dataset), database=len(dataset.images)).means
            print(
                f"{name}: {part}: " + ", ".join(f"{measure} {mean:.4f}" for measure, mean in means.items()), flush=True
            )


def demo(data: Path, cache: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        build(Path(place))
        with Index.create(Path(place) / "demo.resight") as index:
            for _ in index.add_files(list_pictures([Path(place) / "pictures"]).pictures):
                pass
            index.learn.links()
            judged = [
                (hit.confidence or 0, Path(hit.key).name.startswith(f"{query.name.rpartition('-')[0]}-"))
                for query in sorted((Path(place) / "queries").iterdir())
                for hit in index.search(query, top=100).hits
                if hit.via
            ]
    wrong = [confidence for confidence, right in judged if not right]
    print(
        f"{len(judged)} hits by links, {len(wrong)} wrong, of confidence {max(wrong, default=0):.2f} at most, "
        f"{sum(confidence >= 0.5 for confidence in wrong)} of 0.5 or more"
    )


def real(indexes: list[Path]) -> Iterator[Entry]:
    for place in indexes:
        with open_snapshot(place) as snapshot:
            for segment in snapshot.segments:
                pictures = (picture for _, block in segment.blocks(snapshot.spans[0]) for picture in block)
                for row, (words, geometry) in zip(segment.table.all(), pictures, strict=True):
                    yield Entry(f"{place.name}/{row.key}", words, geometry, row.width, row.height, row.content)


def made(entries: list[Entry], words: int) -> Iterator[Entry]:
    """Like real ones, but they show nothing that another shows."""
    for number in count():
        exchanged = np.random.default_rng(number).permutation(words).astype(np.int32)
        for entry in entries:
            new = replace(entry.words, word=exchanged[entry.words.word])
            yield replace(entry, key=f"{number}/{entry.key}", words=new, content=f"{number}/{entry.key}".encode()[:32])


def asked_already(snapshot: Snapshot) -> dict[int, SegmentLinks | None]:
    """As if all had asked, and found nothing."""
    links = [SegmentLinks.none(segment.table.all()) for segment in snapshot.segments]
    return {n: replace(one, asked=np.ones(len(one.ids), np.bool_)) for n, one in enumerate(links)}


def growth(data: Path, cache: Path) -> None:
    runner, features = Runner(cache=cache, processes=processors()), RECIPES["linked"].features
    sets = [load(name, data / folder, limit=None, distractors=()) for name, folder in SETS.items()]
    sets.append(load("holidays", data / "holidays", limit=None, distractors=[data / "distractors"]))
    entries = {entry.content: entry for entry in real([runner.prepare(each, features).index for each in sets])}
    chosen = np.random.default_rng(1).permutation(np.array([*entries.values()], object)).tolist()
    new, others = chosen[:ADDED], chosen[ADDED:]
    vocabulary = Vocabulary.ready(features.detector)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        create(folder, vocabulary, features=features)
        filling = chain(others, made(others, vocabulary.words))
        present = 0
        for size in SIZES:
            with Writer(folder) as writer:
                for entry in islice(filling, size - ADDED - present):
                    writer.add(entry)
                    if writer.pending >= 1000:
                        writer.commit()
                writer.merge()
                present = size - ADDED
                writer.keep_links(asked_already(writer.snapshot))
                for entry in new:
                    writer.add(entry)
                writer.commit()
            seconds, links, _ = link(folder)
            print(
                f"{size} pictures ({min(size, len(chosen))} real): {ADDED} added ones asked in {seconds:.1f} s, "
                f"{1000 * seconds / ADDED:.1f} ms each, and have {links / ADDED:.2f} links each",
                flush=True,
            )
            with Writer(folder) as writer:
                for entry in new:
                    writer.remove(entry.key)
                writer.commit()


def useful(data: Path, cache: Path) -> None:
    for name, folder in SETS.items():
        dataset = load(name, data / folder, limit=None, distractors=())
        whole = Runner(cache=cache, processes=processors()).prepare(dataset, RECIPES["linked"].features).index
        link(whole)
        started = time.perf_counter()
        with open_snapshot(whole) as snapshot:
            agreed = agreeing(snapshot)
        print(f"{name}: which features agree was found in {time.perf_counter() - started:.0f} s", flush=True)
        for floor in (None, *FLOORS):
            with tempfile.TemporaryDirectory() as place:
                shrunk = Path(place) / "indexes" / whole.name
                shutil.copytree(whole, shrunk)
                (Path(place) / "features").symlink_to(cache / "features")
                if floor is not None:
                    with Writer(shrunk) as writer:
                        writer.arrange(None, {}, useful=with_floor(writer.snapshot, agreed, floor))
                rows = Runner(cache=Path(place), processes=processors()).evaluate(dataset, MEASURED).rows
                features = read_manifest(shrunk).features / len(dataset.images)
            figures = "; ".join(
                f"{row.recipe}: " + ", ".join(f"{measure} {mean:.4f}" for measure, mean in row.means.items())
                for row in rows
            )
            print(
                f"{name}, {'all features' if floor is None else f'floor {floor}'}: {features:.0f} features and "
                f"{rows[0].bytes_per_image:.0f} bytes a picture; {figures}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("answers", "parts", "demo", "growth", "useful"))
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, default=cache_folder())
    chosen = parser.parse_args()
    parts_by_name = {"answers": answers, "parts": parts, "demo": demo, "growth": growth, "useful": useful}
    parts_by_name[chosen.part](chosen.data, chosen.cache)


if __name__ == "__main__":
    main()
