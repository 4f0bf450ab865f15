"""How long does a query take, what does it find for that, and where does the time go?

    python benchmarks/query.py [--cache CACHE] [--peer-words WORDS]

1. Against a peer: COLMAP's vocabulary tree (`pip install 'resight[bench]'`) with the same descriptors of Holidays. Time
   is from descriptors to ranked list, assignment included. The peer trains its tree on the same pictures as the ready
   vocabulary, with as many words and rounds of k-means, but fewer descriptors, in about seven minutes: its own defaults
   (65,536 words, 3 × 100 exact rounds) would take days here. All on one thread.
2. Stage by stage, at 20,000 pictures of 1,000 features: real features, copied with noise. Scoring uses all processors.

What takes long to make is kept in the cache.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

# Before any library loads: the BLAS inside pycolmap can be told in no other way.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import numpy.typing as npt
from scanning import best_of, read_all

from resight._faiss import load as load_faiss
from resight.cli.evaluating import default_cache
from resight.evaluation.cache import FeatureCache, Wanted, read
from resight.evaluation.datasets import Dataset, load
from resight.evaluation.experiments.experiment import DOG
from resight.evaluation.measures import score as judge
from resight.evaluation.runner import Runner
from resight.folders import find_pictures
from resight.machine import processors
from resight.options import VocabularyOptions, fingerprint
from resight.postings import GEOMETRY, Forward, forward
from resight.recipes import DEFAULT, RECIPES, Recipe
from resight.search import SegmentGroup, prepare, quantise, search
from resight.search.expand import expand
from resight.search.pipeline import leading, order
from resight.search.shortlist import shortlist, verify
from resight.store import Entry, Row, Segment, Snapshot, Writer, create, open_snapshot
from resight.timing import Stopwatch
from resight.types import Features, Float64, Words
from resight.vocabulary import Assigner, Vocabulary
from resight.vocabulary.train import sample
from resight.warm import warm

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
ASKED = ("hamming", "burst", "verified", "expanded")
PEER_VERIFIED = 50
PEER_SAMPLE = 400_000  # descriptors that the peer trains on; the ready vocabulary had 1,000,000

# The made collection. Changing a value makes a new one.
MADE: dict[str, Any] = {
    "pictures": 20_000,
    "features": 1_000,
    "bits": 8,  # a copied signature differs by about this many from the real one
    "reassigned": 0.1,  # share of features that get a random word
    "moved": 100,  # spread of a copied position, in 65,535ths of the longest side
    "turned": 3,  # and of its angle, in 256ths
    "resized": 1,  # and of its scale, in 20ths of an octave
    "seed": 1,
}
QUERIES, REPEATS, TOP = 20, 3, 20
T = TypeVar("T")
TARGETS = {"score": 30, "verify": 150}  # ms
POSTING = 12  # bytes: 8 of signature and 4 of picture number


def main(cache: Path, peer_words: int) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors when this started\n")
    warm()
    against_peer(cache, peer_words)
    stages(cache)


# 1. Against a peer


@dataclass(frozen=True, slots=True)
class Answers:
    """What a system found, and how long each query took."""

    rankings: list[list[str]]
    seconds: list[float]
    processor: float  # seconds of processor time, of all queries and threads


def against_peer(cache: Path, words: int) -> None:
    dataset = load("holidays", DATA / "holidays")
    runner = Runner(cache=cache, processes=processors())
    prepared = runner.prepare(dataset, DOG)
    pictures = features_of(cache, [path for _, path in dataset.images])
    found = dict(zip((key for key, _ in dataset.images), pictures, strict=True))
    queries = [found[query.key] for query in dataset.queries]
    print(f"{dataset.name}, {len(found)} pictures, {len(queries)} queries, one thread, descriptors to ranked list")
    print(f"{'':36}   mAP  median ms    mean ms  processor ms")
    for name, answers in peer_answers(cache, words, dataset, found):
        show(name, answers, dataset)
    with open_snapshot(prepared.index) as snapshot:
        check_all(snapshot)
        assigner, group = Assigner(snapshot.vocabulary), SegmentGroup.local(snapshot)
        quantise(assigner, queries[0], RECIPES[DEFAULT].assign)  # makes the search structure
        for name in ASKED:

            def ask(features: Features, recipe: Recipe = RECIPES[name]) -> list[str]:
                asked = quantise(assigner, features, recipe.assign)
                return [hit.key for hit in search(group, [asked], top=snapshot.pictures, recipe=recipe).hits]

            show(f"resight {name}", ask_all(queries, ask), dataset)


def show(name: str, answers: Answers, dataset: Dataset) -> None:
    truths = [query.truth for query in dataset.queries]
    quality = judge(answers.rankings, truths, ("map",), database=len(dataset.images)).means["map"]
    ms = 1e3 * np.array(answers.seconds)
    processor = 1e3 * answers.processor / len(ms)
    print(f"{name:36} {quality:.3f} {np.median(ms):10.1f} {ms.mean():10.1f} {processor:13.1f}", flush=True)


def ask_all(items: Iterable[T], ask: Callable[[T], list[str]]) -> Answers:
    rankings, seconds, before = [], [], time.process_time()
    for item in items:
        start = time.perf_counter()
        rankings.append(ask(item))
        seconds.append(time.perf_counter() - start)
    return Answers(rankings, seconds, time.process_time() - before)


def peer_answers(
    cache: Path, words: int, dataset: Dataset, found: dict[str, Features]
) -> Iterator[tuple[str, Answers]]:
    """The peer without and with verification; nothing where it is not installed."""
    load_faiss()  # tells BLAS which processor this is, the peer's too
    try:
        pycolmap: Any = importlib.import_module("pycolmap")
    except ImportError:
        print("pycolmap is not installed, so there is no peer: pip install 'resight[bench]'")
        return
    pycolmap.logging.minloglevel = int(pycolmap.logging.ERROR.value)
    tree = peer_tree(pycolmap, cache, words)
    keys = list(found)
    asked = [keys.index(query.key) + 1 for query in dataset.queries]
    with tempfile.TemporaryDirectory() as folder, pycolmap.Database.open(f"{folder}/pictures.db") as database:
        fill(pycolmap, database, found)

        def ask(count: int, verified: int) -> Answers:
            options = pycolmap.VocabTreePairingOptions(
                vocab_tree_path=tree, num_images=count, num_images_after_verification=verified, num_threads=1
            )
            pairs = pycolmap.VocabTreePairGenerator(options, database, asked)
            # One thread works ahead of us: from answer to answer is one query.
            return ask_all(asked, lambda _: [keys[other - 1] for _, other in pairs.next()])

        plain = ask(len(keys), 0)
        yield f"COLMAP, {words} words", plain
        checked = ask(PEER_VERIFIED, PEER_VERIFIED)
    # It returns no more than it verified; the others follow as they were.
    both = zip(checked.rankings, plain.rankings, strict=True)
    whole = [[*first, *(key for key in rest if key not in first)] for first, rest in both]
    yield f"COLMAP, {PEER_VERIFIED} verified", replace(checked, rankings=whole)


def peer_tree(pycolmap: Any, cache: Path, words: int) -> Path:
    """The file with the peer's vocabulary, trained if need be."""
    ours, features = VocabularyOptions(), DOG
    file = cache / "peers" / f"colmap-{fingerprint(features, ours, {'words': words, 'sample': PEER_SAMPLE})}.bin"
    if not file.exists():
        start = time.perf_counter()
        pictures = features_of(cache, list(find_pictures([DATA / "distractors"])))
        descriptors = sample((p.descriptors for p in pictures), size=PEER_SAMPLE, seed=ours.seed)
        options = pycolmap.VisualIndex.BuildOptions()
        options.num_visual_words, options.num_iterations, options.num_rounds = words, ours.iterations, 1
        index = pycolmap.VisualIndex.create(descriptors.shape[1], 64)
        kind = pycolmap.FeatureExtractorType.SIFT
        index.build(options, pycolmap.FeatureDescriptorsFloat(kind, descriptors.astype(np.float32)))
        file.parent.mkdir(parents=True, exist_ok=True)
        index.write(file)
        print(f"(the peer's tree was trained on {len(descriptors)} descriptors in {time.perf_counter() - start:.0f} s)")
    return file


def fill(pycolmap: Any, database: Any, found: dict[str, Features]) -> None:
    """The peer's database of these pictures, numbered from 1."""
    kind = pycolmap.FeatureExtractorType.SIFT
    for number, (key, features) in enumerate(found.items(), 1):
        model = pycolmap.CameraModelId.SIMPLE_PINHOLE
        camera = pycolmap.Camera.create_from_model_id(number, model, 1000, features.width, features.height)
        database.write_camera(camera, use_camera_id=True)
        image = pycolmap.Image(name=key, camera_id=number, image_id=number)
        database.write_image(image, use_image_id=True)
        cos, sin = features.scale * np.cos(features.angle), features.scale * np.sin(features.angle)
        database.write_keypoints(number, np.column_stack([features.xy, cos, -sin, sin, cos]))
        database.write_descriptors(number, pycolmap.FeatureDescriptors(kind, features.descriptors))


def features_of(cache: Path, paths: Sequence[Path]) -> list[Features]:
    """The features of these pictures, from the cache."""
    store = FeatureCache(cache / "features", DOG)
    extracted = store.extract([Wanted(path) for path in paths], processes=processors())
    return [read(e.file) for e in extracted if e.file]


# 2. Stage by stage


@dataclass(frozen=True, slots=True)
class Measured:
    """One query: seconds by stage, and how much there was to do."""

    stages: dict[str, float]  # called one by one
    in_search: dict[str, float]  # as `search` reports them
    rows: int
    postings: int
    matches: int


def stages(cache: Path) -> None:
    recipe, vocabulary = RECIPES[DEFAULT], Vocabulary.ready(DOG.detector)
    holidays = features_of(cache, list(find_pictures([DATA / "holidays"])))
    large = [features for features in holidays if len(features) >= MADE["features"]]
    queries = [strongest(features, MADE["features"]) for features in large[:: len(large) // QUERIES][:QUERIES]]
    with open_snapshot(made_index(cache, vocabulary)) as snapshot:
        check_all(snapshot)
        assigner = Assigner(vocabulary)
        run_stages(snapshot, assigner, queries[0], recipe)  # warms up
        measured = [measure(snapshot, assigner, features, recipe) for features in queries]
        signatures = snapshot.segments[0].all_lists().signature
        bandwidth = signatures.nbytes / best_of(lambda: read_all(signatures)) / 1e9
        made = f"{snapshot.pictures} pictures, {snapshot.manifest.features / 1e6:.0f} M features"
    print(f"\n{made}; {QUERIES} queries of {MADE['features']} features, recipe {DEFAULT}, {processors()} processors")
    print(f"{f'ms, best of {REPEATS}':14} median   95 %   in search(): median   95 %   target")
    for name in measured[0].stages:
        check = [m.in_search[name] for m in measured if name in m.in_search]
        target = f"   ≤ {TARGETS[name]}" if name in TARGETS else ""
        print(f"{name:12} {spread([m.stages[name] for m in measured])} {spread(check):>29}{target}")
    rows, postings, matches = (np.array([getattr(m, n) for m in measured]) for n in ("rows", "postings", "matches"))
    print(
        f"a query has {np.median(rows):.0f} rows, scans {np.median(postings) / 1e6:.1f} M postings "
        f"and finds {np.median(matches) / 1e3:.0f} k matches ({matches.sum() / postings.sum():.1%})"
    )
    speed = np.median(POSTING * postings / [m.stages["score"] for m in measured]) / 1e9
    print(
        f"score goes over signatures and picture numbers at {speed:.1f} GB/s = {speed / bandwidth:.0%} "
        f"of the read bandwidth of {bandwidth:.1f} GB/s"
    )


def spread(seconds: Sequence[float]) -> str:
    """Median and 95th percentile in ms."""
    return "{:8.1f} {:6.1f}".format(*1e3 * np.percentile(seconds, [50, 95])) if seconds else ""


def measure(snapshot: Snapshot, assigner: Assigner, features: Features, recipe: Recipe) -> Measured:
    asked = quantise(assigner, features, recipe.assign)
    stages = [run_stages(snapshot, assigner, features, recipe) for _ in range(REPEATS)]
    group = SegmentGroup.local(snapshot)
    in_search = [search(group, [asked], top=TOP, recipe=recipe).timings for _ in range(REPEATS)]
    todo = postings_and_matches(snapshot, asked.words, recipe.verify.threshold)
    return Measured(least(stages), least(in_search), len(asked.words), *todo)


def least(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: min(run[name] for run in runs) for name in runs[0]}


def run_stages(snapshot: Snapshot, assigner: Assigner, features: Features, recipe: Recipe) -> dict[str, float]:
    """Seconds by stage, of what `search` does."""
    watch, count, group = Stopwatch(), max(TOP, recipe.verify.shortlist), SegmentGroup.local(snapshot)
    with watch.stage("words"):
        asked = quantise(assigner, features, recipe.assign)
    with watch.stage("score"):
        request = prepare(group, [asked], recipe)
        candidates = shortlist(group, request, count)
    with watch.stage("verify"):
        verify(group, request, candidates[: recipe.verify.shortlist])
        candidates.sort(key=lambda c: c.by_evidence)
        found = order(request, candidates)
    with watch.stage("expand"):
        order(request, expand(group, request, candidates, count), first=leading(request, found))
    return watch.seconds


def postings_and_matches(snapshot: Snapshot, words: Words, threshold: int) -> tuple[int, int]:
    """How many postings the query's rows have, and how many of them are close enough."""
    postings = matches = 0
    for segment in snapshot.segments:
        lists = segment.lists(words.word, "signature")
        for word, signature in zip(words.word, words.signature, strict=True):
            theirs = lists.signature[lists.offsets[word] : lists.offsets[word + 1]]
            postings += len(theirs)
            matches += int((np.bitwise_count(theirs ^ signature) <= threshold).sum())
    return postings, matches


def strongest(features: Features, count: int) -> Features:
    arrays = {name: getattr(features, name)[:count] for name in ("xy", "scale", "angle", "descriptors")}
    return replace(features, **arrays)


def check_all(snapshot: Snapshot) -> None:
    """Read every list once, so that no query pays for checksums or for the disk."""
    for segment in snapshot.segments:
        segment.all_lists()


# The made collection


def made_index(cache: Path, vocabulary: Vocabulary) -> Path:
    """An index of made pictures, in one segment."""
    dataset = load("holidays", DATA / "holidays", distractors=[DATA / "ukbench", DATA / "distractors"])
    runner = Runner(cache=cache, vocabulary=vocabulary, processes=processors())
    real = runner.prepare(dataset, DOG).index
    folder = cache / "indexes" / f"made-{fingerprint(MADE | {'from': real.name})}.resight"
    if not (folder / "manifest").exists():
        create(folder, vocabulary)
    with Writer(folder) as writer:
        if not writer.manifest.pictures:
            with open_snapshot(real) as snapshot:
                for entry in made_entries(snapshot.segments[0]):
                    writer.add(entry)
            writer.commit()
    return folder


def real_features(segment: Segment) -> Forward:
    ((_, found),) = forward(segment.all_lists(), pictures=segment.record.pictures, size=segment.record.pictures)
    return found


def made_entries(segment: Segment) -> Iterator[Entry]:
    """Each shows one real picture and, where that has too few features, parts of others."""
    rng, real = np.random.default_rng(MADE["seed"]), real_features(segment)
    rows = list(segment.table.all())
    for number in range(MADE["pictures"]):
        first = rows[number % len(rows)]
        yield made_entry(rng, real, first, f"{number:06d}")


def made_entry(rng: np.random.Generator, real: Forward, shown: Row, key: str) -> Entry:
    count, chosen, picture = MADE["features"], np.zeros(0, np.int64), shown.ordinal
    while len(chosen) < count:
        more = rng.permutation(np.arange(real.starts[picture], real.starts[picture + 1]))
        chosen = np.concatenate([chosen, more])[:count]
        picture = int(rng.integers(len(real.starts) - 1))
    elsewhere = real.word[rng.integers(len(real.word), size=count)]  # as frequent as words are
    word = np.where(rng.random(count) < MADE["reassigned"], elsewhere, real.word[chosen])
    flipped = np.packbits(rng.random((count, 64)) < MADE["bits"] / 64, axis=1).view(np.uint64)[:, 0]
    words = Words(np.arange(count, dtype=np.int32), word.astype(np.int32), real.signature[chosen] ^ flipped)
    geometry = jittered(rng, real.geometry[chosen])
    return Entry(key, words, geometry, shown.width, shown.height, content=key.encode().ljust(16))


def jittered(rng: np.random.Generator, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    def moved(name: str, spread: float) -> Float64:
        return np.rint(codes[name] + rng.normal(0, spread, len(codes)))

    new = np.zeros(len(codes), GEOMETRY)
    for name in ("x", "y"):
        new[name] = np.clip(moved(name, MADE["moved"]), 0, 65535)
    new["scale"] = np.clip(moved("scale", MADE["resized"]), 0, 255)
    new["angle"] = moved("angle", MADE["turned"]) % 256
    return new


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where features and indexes are kept")
    parser.add_argument("--peer-words", type=int, default=VocabularyOptions().words, help="of the peer's tree")
    given = parser.parse_args()
    main(given.cache, given.peer_words)
