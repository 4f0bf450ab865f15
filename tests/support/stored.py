"""Small indexes of made-up words: no pictures, no training, the same bytes on every machine and numpy version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from resight import learn
from resight.colours import BINS
from resight.context import Reference, context_name
from resight.engine import LocalEngine
from resight.ingest import Job, Outcome
from resight.ingest import build as in_shards
from resight.options import (
    ClusterOptions,
    ContextOptions,
    FeatureOptions,
    HammingOptions,
    IndexingOptions,
    KnnOptions,
    L1Options,
    ScoringOptions,
    StoreOptions,
    scoring_options,
)
from resight.postings import GEOMETRY, SHAPED
from resight.recipes import RECIPES, Recipe
from resight.scoring import MEASURES, Query, Scope, Similarity, collection_statistics, score_all
from resight.search import SegmentGroup
from resight.store import Disk, Entry, Refusal, Snapshot, Writer, create, open_snapshot
from resight.store import manifest as manifests
from resight.store.manifest import OPTIONAL
from resight.store.segment import FOLDER
from resight.types import Words
from resight.vocabulary import Vocabulary

from .quantised import described

WORDS = 12
NO_DETECTOR = FeatureOptions(detector="none")
CODES = 2  # bytes kept of each descriptor, where any are
KEEPING_CODES = IndexingOptions(keep="codes")
NEVER_MERGE = StoreOptions(merge_factor=1000)
# One recipe for each measure, Hamming matches being weighed by their distance alone; and some with other weights.
BY_DISTANCE = HammingOptions(sigma=16, intra="none", inter=False, weak_geometry=False)
EVERY_WEIGHT = HammingOptions(intra="root-share", inter=True, weak_geometry=True, size_power=0.5)
RECIPES_ASKED: dict[str, Recipe] = {
    name: replace(RECIPES["hamming"], scoring=scoring)
    for name, scoring in {
        **{measure: scoring_options(measure) for measure in MEASURES},
        "hamming": BY_DISTANCE,
        "every weight": EVERY_WEIGHT,
        "hamming density": replace(BY_DISTANCE, weights="density", mixture=0.2),
        "knn density": KnnOptions(weights="density"),
    }.items()
}
Ranking = list[tuple[str, float]]


class QuickDisk(Disk):
    """Does not wait for the device. For tests in which the power stays on."""

    def sync(self, path: Path) -> None:
        if not path.exists():
            raise FileNotFoundError(path)


def noise(seed: object, count: int, *, kind: npt.DTypeLike = np.uint8) -> npt.NDArray[Any]:
    """``count`` numbers that only the seed decides."""
    size = np.dtype(kind).itemsize
    return np.frombuffer(hashlib.shake_128(repr(seed).encode()).digest(count * size), dtype=kind).copy()


def vocabulary(seed: int = 0, *, codes: bool = False) -> Vocabulary:
    codebooks = noise(("codebooks", seed), CODES * 256 * 2, kind="<i2").reshape(CODES, 256, 2)
    return Vocabulary(
        centroids=noise(("centroids", seed), WORDS * 4).reshape(WORDS, 4),
        projection=noise(("projection", seed), 64 * 4, kind=np.int8).reshape(64, 4),
        medians=noise(("medians", seed), WORDS * 64, kind="<i2").reshape(WORDS, 64),
        description={"seed": seed},
        codebooks=codebooks if codes else None,
    )


def similarity(seed: int = 0) -> Similarity:
    """Weights that are exact in float32; those of words that both pictures have are the largest by far."""
    pattern = np.array([[0, 1, 2], [3, 4, 5], [6, 5, 7]], np.uint8)
    weights = (noise(("weights", seed), 3 * 8, kind=np.int8).reshape(3, 8) / 64).astype(np.float32)
    weights[:, pattern[1:, 1:]] += 16
    return Similarity(pattern, weights, noise(("group", seed), WORDS) % 3)


def words(seed: object, rows: int) -> Words:
    """Uneven words, and signatures within reach of their word's, so that every measure has something to find."""
    uneven = (noise(("word", seed), rows) % WORDS) * (noise(("skew", seed), rows) % WORDS) // (WORDS - 1)
    apart = noise(("a", seed), rows, kind="<u8") & noise(("b", seed), rows, kind="<u8")
    apart &= noise(("c", seed), rows, kind="<u8")  # about 8 of 64 bits
    return Words(
        feature=np.arange(rows, dtype=np.int32),
        word=uneven.astype(np.int32),
        signature=noise("signatures", WORDS, kind="<u8")[uneven] ^ apart,
    )


def entry(key: str, seed: int = 0, *, features: int | None = None, metadata: dict[str, Any] | None = None) -> Entry:
    """A picture whose words only the seed decides: the same seed under two keys makes a tie."""
    count = 4 + seed % 5 if features is None else features
    return Entry(
        key=key,
        words=words(seed, count),
        geometry=noise(("geometry", seed), count * GEOMETRY.itemsize).view(GEOMETRY),
        width=100 + seed,
        height=50,
        content=noise(("content", seed), 16).tobytes(),
        path=f"/somewhere/{key}" if seed % 2 else None,
        metadata={"seed": seed} if metadata is None else metadata,
        colours=noise(("colours", seed), BINS).tobytes() if seed % 3 else None,
    )


def coded(e: Entry) -> Entry:
    """The same picture for an index that keeps codes."""
    code = noise(("code", e.content), len(e.words) * CODES).reshape(-1, CODES)
    return replace(e, words=replace(e.words, code=code))


def shaped(e: Entry) -> Entry:
    """The same picture with ellipses."""
    geometry = noise(("shapes", e.content), len(e.geometry) * SHAPED.itemsize).view(SHAPED)
    for name in GEOMETRY.names or ():
        geometry[name] = e.geometry[name]
    return replace(e, geometry=geometry)


def complete(e: Entry) -> Entry:
    """The same picture with all that an index may have of one."""
    return shaped(coded(e))


QUERIES = (words("query", 20), words(3, 7))  # the second is the picture of seed 3 itself


def asked(query: Words) -> Query:
    """The query with geometry and descriptors that only the number of its features decides."""
    features = int(query.feature.max(initial=-1)) + 1
    geometry = noise("query geometry", features * GEOMETRY.itemsize).view(GEOMETRY)
    return described(query, geometry, noise("query descriptors", features * 4).reshape(-1, 4))


def possible(snapshot: Snapshot) -> list[str]:
    """What this index can be asked: it keeps codes and a similarity, or it does not."""
    kept = {"knn": snapshot.manifest.settings.codes, "learnt": snapshot.manifest.similarity}
    return [name for name, recipe in RECIPES_ASKED.items() if kept.get(recipe.scoring.measure, True)]


def build(
    folder: Path,
    *batches: Iterable[Entry],
    vocabulary_seed: int = 0,
    options: StoreOptions = NEVER_MERGE,
    disk: Disk | None = None,
    codes: bool = False,
    kept: int | None = None,
) -> None:
    """A new index with one commit per batch; it keeps codes if told so, or if the entries have some.

    kept: the seed of a similarity that it has from the beginning.
    """
    disk = disk or QuickDisk()
    commits = [list(batch) for batch in batches]
    codes = codes or any(e.words.code is not None for batch in commits for e in batch)
    indexing = KEEPING_CODES if codes else IndexingOptions()
    create(folder, vocabulary(vocabulary_seed, codes=codes), features=NO_DETECTOR, indexing=indexing, disk=disk)
    if kept is not None:
        keep_similarity(folder, kept, disk=disk)
    for batch in commits:
        change(folder, add=batch, options=options, disk=disk)


def change(
    folder: Path,
    *,
    add: Iterable[Entry] = (),
    remove: Iterable[str] = (),
    merge: bool = False,
    options: StoreOptions = NEVER_MERGE,
    disk: Disk | None = None,
) -> None:
    """One commit by one writer."""
    with Writer(folder, options=options, disk=disk or QuickDisk()) as writer:
        for key in remove:
            writer.remove(key)
        for e in add:
            writer.add(e)
        writer.commit()
        if merge:
            writer.merge()


@dataclass(frozen=True)
class MadeUp:
    """Stands for a plan that analyses pictures: gives entries by key, lists what was asked for, dies at some."""

    entries: Mapping[str, Entry]
    deadly: str = field(default="", repr=False)
    asked: list[str] = field(default_factory=list, repr=False)

    def __call__(self) -> Callable[[Job], Outcome]:
        return self.ingest

    def ingest(self, job: Job) -> Outcome:
        if job.key in self.deadly:
            raise KeyboardInterrupt
        self.asked.append(job.key)
        entry, known = self.entries[job.key], job.known
        if known is None:
            return Outcome(job.key, entry)
        if known.content == entry.content:
            return Outcome(job.key, unchanged=True)
        return Outcome(job.key, replace(entry, metadata=known.metadata), replaces=True)


def build_in_shards(
    folder: Path,
    entries: Iterable[Entry],
    *,
    most: int = 2,
    deadly: str = "",
    disk: Disk | None = None,
) -> list[str]:
    """One build, in this process, which may be interrupted at a key; the keys of what was analysed."""
    plan = MadeUp({e.key: e for e in entries}, deadly)
    jobs = [Job(key, Path(key)) for key in plan.entries]
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer, suppress(KeyboardInterrupt):
        for _ in in_shards(writer, plan, jobs, engine=LocalEngine(), most=most):
            pass
    return plan.asked


L1, NEAR = L1Options(), ContextOptions(method="cdm", neighbours=2)


def learn_context(
    folder: Path, *, scoring: ScoringOptions = L1, context: ContextOptions = NEAR, disk: Disk | None = None
) -> Reference:
    """Context terms for all pictures, in one commit by one writer."""
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer:
        (reference,) = learn.learn_context(writer, scoring, context)
        return reference


def terms(folder: Path, *, scoring: ScoringOptions = L1, context: ContextOptions = NEAR) -> dict[str, float]:
    """The context terms of all living pictures, by key."""
    with closing(open_snapshot(folder)) as snapshot:
        return {
            row.key: float(segment.terms[context_name(scoring, context)][row.ordinal])
            for segment in snapshot.segments
            for row in segment.table.all()
            if segment.alive[row.ordinal]
        }


def cluster(folder: Path, count: int, *, kind: str = "random", sample: int = 10_000, disk: Disk | None = None) -> None:
    """Put all pictures into clusters, in one commit by one writer."""
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer:
        learn.learn_clusters(writer, ClusterOptions(count=count, kind=kind, sample=sample, dimensions=4))


def refuse(folder: Path, *names: str, disk: Disk | None = None) -> None:
    """Note that these files could not be read, in one commit by one writer."""
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer:
        for name in names:
            writer.refuse(name, Refusal(f"/{name}", "9 bytes", f"{name} is damaged"))
        writer.commit()


def link(folder: Path, *, disk: Disk | None = None) -> None:
    """By one writer: all pictures that have not asked look for others."""
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer:
        learn.link_pictures(writer)


def shrink(folder: Path, floor: int, *, disk: Disk | None = None) -> learn.Shrunk:
    """By one writer."""
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer:
        return learn.shrink(writer, floor=floor)


def with_features(e: Entry, chosen: npt.NDArray[Any]) -> Entry:
    """The picture with these of its features alone, by number or by mask; each has one word."""
    geometry = e.geometry[chosen]
    return replace(
        e, words=replace(e.words.rows(chosen), feature=np.arange(len(geometry), dtype=np.int32)), geometry=geometry
    )


def largest(e: Entry, count: int) -> Entry:
    """The picture with its largest features alone, in their order; equally large ones by their places."""
    by_size = sorted(range(len(e.geometry)), key=lambda n: (e.geometry[n]["scale"], *e.geometry[n].item()))
    return with_features(e, np.array(sorted(by_size[:count]), np.int64))


def keep_similarity(folder: Path, seed: int = 0, *, disk: Disk | None = None) -> None:
    """In one commit by one writer."""
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer:
        learn.keep_similarity(writer, similarity(seed))


def forget_similarity(folder: Path, *, disk: Disk | None = None) -> bool:
    """In one commit by one writer; False if there was none."""
    with Writer(folder, options=NEVER_MERGE, disk=disk or QuickDisk()) as writer:
        return learn.forget_similarity(writer)


# What an index holds, in forms that can be compared


@dataclass(frozen=True)
class Stored:
    """Everything an index keeps of one picture, except where it keeps it."""

    content: bytes
    path: str | None
    size: tuple[int, int]
    features: int
    metadata: str
    words: tuple[int, ...]  # in list order: by word, then by feature
    signatures: tuple[int, ...]
    geometry: bytes
    code: bytes
    colours: bytes | None


def stored(e: Entry) -> Stored:
    """What should be kept of an entry."""
    order = sorted(range(len(e.words)), key=lambda row: int(e.words.word[row]))
    return Stored(
        e.content,
        e.path,
        (e.width, e.height),
        len(e.geometry),
        json.dumps(e.metadata, sort_keys=True),
        tuple(int(e.words.word[row]) for row in order),
        tuple(int(e.words.signature[row]) for row in order),
        b"".join(e.geometry[e.words.feature[row]].tobytes() for row in order),
        b"" if e.words.code is None else b"".join(e.words.code[row].tobytes() for row in order),
        e.colours,
    )


def expected(entries: Iterable[Entry]) -> dict[str, Stored]:
    return {e.key: stored(e) for e in entries}


def contents(snapshot: Snapshot) -> dict[str, Stored]:
    """What is kept of every living picture, read back from the lists and the table."""
    found: dict[str, Stored] = {}
    for segment in snapshot.segments:
        lists = segment.all_lists()
        word = np.repeat(np.arange(lists.words), np.diff(lists.offsets))
        for row in segment.table.all():
            if not segment.alive[row.ordinal]:
                continue
            assert row.key not in found, f"{row.key!r} is alive twice"
            mine = np.flatnonzero(lists.image == row.ordinal)
            found[row.key] = Stored(
                row.content,
                row.path,
                (row.width, row.height),
                row.features,
                json.dumps(row.metadata, sort_keys=True),
                tuple(word[mine].tolist()),
                tuple(lists.signature[mine].tolist()),
                segment.geometry(mine).tobytes(),
                lists.code[mine].tobytes(),
                row.colours,
            )
    return found


def ranking(snapshot: Snapshot, measure: str, query: Words, probe: int = 0) -> Ranking:
    """All pictures that score, best first; those in some clusters alone, if a number of them is given."""
    if not snapshot.segments:
        return []
    options, (views,) = RECIPES_ASKED[measure].scoring, snapshot.views
    chosen = [np.arange(view.pictures) for view in views]
    if probe:
        nearest = SegmentGroup.local(snapshot).nearest(snapshot.visits([query], probe), snapshot.pictures)
        chosen = [nearest.get(number, chosen[0][:0]) for number in range(len(views))]
        views = [view.only(pictures) for view, pictures in zip(views, chosen, strict=True)]
    similarity = snapshot.similarity if options.measure == "learnt" else None
    collection = collection_statistics(snapshot.views[0], options, idf=snapshot.idf, similarity=similarity)
    scores = score_all(asked(query), views, Scope(options, collection))
    found = [
        (row.key, float(score))
        for mine, pictures, segment in zip(scores, chosen, snapshot.segments, strict=True)
        for row, score in zip(segment.table.rows(pictures[mine > 0].tolist()), mine[mine > 0], strict=True)
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def rankings(
    snapshot: Snapshot,
    queries: Sequence[Words] = QUERIES,
    probe: int = 0,
    measures: Iterable[str] = RECIPES_ASKED,
) -> dict[tuple[str, int], Ranking]:
    """The answers of these measures to every query, to the last bit; of those that the index can be asked."""
    return {
        (measure, number): ranking(snapshot, measure, query, probe)
        for measure in set(possible(snapshot)) & set(measures)
        for number, query in enumerate(queries)
    }


def statistics(snapshot: Snapshot) -> dict[str, Any]:
    """The counts that weigh every score."""
    df = np.sum([np.zeros(WORDS, np.int64), *(segment.df for segment in snapshot.segments)], axis=0)
    idf = snapshot.idf.tolist() if snapshot.segments else None
    return {
        "pictures": snapshot.pictures,
        "features": snapshot.manifest.features,
        "df": df.tolist(),
        "idf": idf,
    }


def state(folder: Path) -> tuple[dict[str, Stored], dict[tuple[str, int], Ranking], dict[str, Any]]:
    """Contents, rankings and statistics of the last commit."""
    with closing(open_snapshot(folder)) as snapshot:
        return contents(snapshot), rankings(snapshot), statistics(snapshot)


def state_of(
    entries: Mapping[str, Entry], folder: Path, *, codes: bool = False, kept: int | None = None
) -> tuple[dict[str, Stored], dict[tuple[str, int], Ranking], dict[str, Any]]:
    """What an index of these entries alone answers, made at a new folder in one commit in sorted order."""
    build(folder, [entries[key] for key in sorted(entries)], codes=codes, kept=kept)
    return state(folder)


def tree(folder: Path) -> dict[str, bytes | None]:
    """All files below with their bytes, and all folders with None."""
    return {p.relative_to(folder).as_posix(): None if p.is_dir() else p.read_bytes() for p in folder.rglob("*")}


def leftovers(folder: Path) -> set[str]:
    """Files and folders that the manifest does not name."""
    manifest = manifests.read(folder)
    named = {manifests.NAME, manifest.vocabulary.name, "writer.lock", FOLDER}
    named |= {OPTIONAL, *(file.name for file in manifest.optional.values())}
    for record in manifest.segments:
        inside = [*record.files, record.sums.name, *(file.name for file in record.sidecar_files)]
        named |= {f"{FOLDER}/{record.name}", *(f"{FOLDER}/{record.name}/{file}" for file in inside)}
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")} - named
