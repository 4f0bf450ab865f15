"""Clusters change which pictures a query visits and in which order they are stored; nothing else, whatever happens."""

from __future__ import annotations

import io
import json
import shutil
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from resight import learn
from resight.context import Reference, context_name
from resight.errors import IndexDamagedError, UsageError
from resight.options import ClusterOptions, StoreOptions
from resight.postings import GEOMETRY
from resight.scoring import Query
from resight.search import Pictures, SegmentGroup
from resight.store import Entry, Snapshot, Writer, check, clusters_to_visit, create, open_snapshot
from resight.store import manifest as manifests
from resight.store.checked import block_sums, map_bytes
from resight.store.manifest import OPTIONAL, FileRecord, SegmentRecord
from resight.store.segment import AXES, BOUNDS, FOLDER, FORWARD, STARTS, SUMS

from ..support import oracle
from ..support.stored import (
    L1,
    NEAR,
    NEVER_MERGE,
    NO_DETECTOR,
    QUERIES,
    QuickDisk,
    build,
    change,
    cluster,
    entry,
    expected,
    keep_similarity,
    learn_context,
    leftovers,
    rankings,
    state,
    terms,
    vocabulary,
)

ENTRIES = [entry(f"{i:02d}", i) for i in range(12)]
LATER = [entry(f"{i:02d}", i) for i in range(12, 18)]
SOME, MORE = 4, 7
COUNTS = pytest.mark.parametrize("count", [1, SOME, MORE, 12])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three segments, of which one picture was removed and one replaced; a similarity older than the last commit."""
    build(tmp_path / "i", ENTRIES[:5], [*ENTRIES[5:], entry("gone", 50)], [entry("03", 51)])
    keep_similarity(tmp_path / "i")
    change(tmp_path / "i", add=[ENTRIES[3]], remove=["gone"])
    return tmp_path / "i"


@contextmanager
def opened(folder: Path) -> Iterator[Snapshot]:
    with closing(open_snapshot(folder)) as snapshot:
        yield snapshot


def expect(folder: Path, entries: list[Entry], count: int) -> None:
    """All is there, in the order of its clusters, and found by any number of visits; nothing is wrong or left over."""
    held = {e.key: e for e in entries}
    assert state(folder)[0] == expected(entries)
    assert check(folder).problems == ()
    assert leftovers(folder) == set()
    with opened(folder) as snapshot:
        assert snapshot.clusters
        assert len(snapshot.clusters.entries) == count
        placed = snapshot.clusters.place(e.words.word for e in entries)
        cluster_of = dict(zip(held, placed.cluster.tolist(), strict=True))
        code_of = dict(zip(held, placed.code.tolist(), strict=True))
        for segment in snapshot.segments:
            assert segment.bounds is not None
            assert len(segment.bounds) == count + 1
            for row in segment.table.all():
                if segment.alive[row.ordinal]:
                    mine = cluster_of[row.key]
                    assert segment.bounds[mine] <= row.ordinal < segment.bounds[mine + 1]
                    assert segment.placed
                    assert segment.placed.code[row.ordinal].tolist() == code_of[row.key]
        flat = rankings(snapshot)
        for probe in (count, count + 1, 99):
            assert rankings(snapshot, probe=probe) == flat
        for probe in range(1, count):
            for (measure, number), found in rankings(snapshot, probe=probe).items():
                nearest = snapshot.clusters.visit(QUERIES[number].word, probe).clusters
                visited = [key for key in held if cluster_of[key] in nearest]
                assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
                right = oracle.scores(held, QUERIES[number], measure, visited)
                assert dict(found) == pytest.approx(right, rel=1e-5)
                assert found == [pair for pair in flat[measure, number] if pair[0] in visited]


@COUNTS
@pytest.mark.parametrize("kind", ["k-means", "random"])
def test_answers_stay_what_they_were(folder: Path, count: int, kind: str) -> None:
    before = state(folder)
    cluster(folder, count, kind=kind)
    assert state(folder) == before
    expect(folder, ENTRIES, count)
    with opened(folder) as snapshot:
        assert len(snapshot.segments) == 1


@COUNTS
def test_life_goes_on(folder: Path, count: int) -> None:
    """Additions, removals and merges, each by a writer of its own."""
    cluster(folder, count)
    change(folder, add=LATER[:4])
    expect(folder, [*ENTRIES, *LATER[:4]], count)
    change(folder, add=LATER[4:], remove=["01", "07", "12"])
    held = [e for e in (*ENTRIES, *LATER) if e.key not in ("01", "07", "12")]
    expect(folder, held, count)
    with opened(folder) as snapshot:
        assert len(snapshot.segments) == 3
    change(folder, merge=True)
    expect(folder, held, count)
    with opened(folder) as snapshot:
        assert len(snapshot.segments) == 1
    change(folder, remove=[e.key for e in held])
    assert state(folder)[0] == {}
    change(folder, add=ENTRIES)
    expect(folder, ENTRIES, count)


def test_segments_that_merge_by_themselves(folder: Path) -> None:
    cluster(folder, SOME)
    for e in LATER:
        change(folder, add=[e], options=StoreOptions(merge_factor=2))
    with opened(folder) as snapshot:
        assert 1 < len(snapshot.segments) < 1 + len(LATER)
    expect(folder, [*ENTRIES, *LATER], SOME)


def test_what_is_pending_is_put_into_clusters_too(folder: Path) -> None:
    with Writer(folder, options=NEVER_MERGE, disk=QuickDisk()) as writer:
        for e in LATER:
            writer.add(e)
        writer.remove("02")
        learn.learn_clusters(writer, ClusterOptions(count=3, dimensions=4))
        assert writer.pending == 0
        writer.add(ENTRIES[2])
        writer.commit()
    expect(folder, [*ENTRIES, *LATER], 3)


def test_other_clusters_and_none(folder: Path) -> None:
    before = state(folder)
    cluster(folder, SOME)
    first = {path.name for path in folder.glob("optional/clusters-*")}
    cluster(folder, MORE, kind="k-means")
    expect(folder, ENTRIES, MORE)
    assert len(first) == len(first | {path.name for path in folder.glob("optional/clusters-*")}) - 1
    cluster(folder, 0)
    assert state(folder) == before
    assert not {*folder.glob("optional/clusters-*"), *folder.rglob(BOUNDS), *folder.rglob(f"{FORWARD}*")}
    assert leftovers(folder) == set()
    assert check(folder).problems == ()
    with opened(folder) as snapshot:
        assert snapshot.clusters is None
    change(folder, add=LATER, merge=True)
    assert state(folder)[0] == expected([*ENTRIES, *LATER])


def test_clusters_do_not_depend_on_segments(folder: Path, tmp_path: Path) -> None:
    build(tmp_path / "other", ENTRIES[7:], ENTRIES[:7])
    found = []
    for place in (folder, tmp_path / "other"):
        cluster(place, 3, kind="k-means", sample=9)
        with opened(place) as snapshot:
            assert snapshot.clusters
            found.append(snapshot.clusters.to_bytes())
    assert found[0] == found[1]


@COUNTS
def test_context_terms_follow_their_pictures(folder: Path, count: int) -> None:
    reference = learn_context(folder)
    right = terms(folder)
    assert len(set(right.values())) > 9
    cluster(folder, count)
    assert terms(folder) == right
    change(folder, add=LATER, remove=["05"])
    del right["05"]
    right |= {e.key: float(reference.terms_of([Query(e.words, e.geometry)])[0]) for e in LATER}
    assert terms(folder) == pytest.approx(right, rel=1e-6)
    for _ in range(2):
        change(folder, merge=True)
        assert terms(folder) == pytest.approx(right, rel=1e-6)
        cluster(folder, 0)
    assert manifests.read(folder).clusters is None
    assert check(folder).problems == ()


def test_context_terms_are_the_same_before_and_after(folder: Path) -> None:
    learn_context(folder)
    before = terms(folder)
    cluster(folder, SOME)
    learn_context(folder)
    assert terms(folder) == before


def test_pictures_without_features(tmp_path: Path) -> None:
    held = [*ENTRIES[:5], *(entry(f"none {i}", 30 + i, features=0) for i in range(3))]
    build(tmp_path / "i", held[:6], held[6:])
    cluster(tmp_path / "i", 3)
    expect(tmp_path / "i", held, 3)
    change(tmp_path / "i", add=[entry("none 9", 39, features=0)], merge=True)
    expect(tmp_path / "i", [*held, entry("none 9", 39, features=0)], 3)
    build(tmp_path / "nothing", held[5:])
    cluster(tmp_path / "nothing", 2)
    expect(tmp_path / "nothing", held[5:], 2)


def test_a_picture_whose_key_is_empty(tmp_path: Path) -> None:
    build(tmp_path / "i", [entry("", 1), entry("a", 2)])
    cluster(tmp_path / "i", 2)
    expect(tmp_path / "i", [entry("", 1), entry("a", 2)], 2)


def test_too_few_pictures(folder: Path, tmp_path: Path) -> None:
    before = state(folder)
    with pytest.raises(UsageError, match="12 pictures cannot make 13 clusters; take fewer, or add pictures first"):
        cluster(folder, 13)
    with pytest.raises(UsageError, match=r"a sample of 4 pictures; take clusters\.sample=5 or more, or fewer clusters"):
        cluster(folder, 5, sample=4)
    create(tmp_path / "empty", vocabulary(), features=NO_DETECTOR, disk=QuickDisk())
    with pytest.raises(UsageError, match="has no pictures yet, so there are no clusters to find; add some first"):
        cluster(tmp_path / "empty", 1)
    for place in (folder, tmp_path / "empty"):
        assert check(place).problems == ()
        assert leftovers(place) == set()
    assert state(folder) == before


def test_a_writer_goes_on_after_clusters_it_could_not_make(folder: Path) -> None:
    with Writer(folder, options=NEVER_MERGE, disk=QuickDisk()) as writer:
        writer.add(LATER[0])
        with pytest.raises(UsageError):
            learn.learn_clusters(writer, ClusterOptions(count=99))
        writer.add(LATER[1])
        assert writer.commit()
    assert state(folder)[0] == expected([*ENTRIES, *LATER[:2]])


NEAR_IN_CLUSTERS = replace(NEAR, probe=2)


def test_neighbours_are_looked_for_in_clusters(folder: Path) -> None:
    """In all clusters they are those of all pictures; in some, terms differ; later pictures get theirs alike."""
    learn_context(folder)
    cluster(folder, 3)
    everywhere = terms(folder)
    learn_context(folder, context=replace(NEAR, probe=3))
    assert terms(folder, context=replace(NEAR, probe=3)) == pytest.approx(everywhere, rel=1e-5)
    learn_context(folder, context=NEAR_IN_CLUSTERS)
    some = terms(folder, context=NEAR_IN_CLUSTERS)
    assert some != pytest.approx(everywhere, rel=1e-3)
    change(folder, add=LATER)
    after = terms(folder, context=NEAR_IN_CLUSTERS)
    assert {key: after[key] for key in some} == some
    with opened(folder) as snapshot:
        file = snapshot.manifest.contexts[context_name(L1, NEAR_IN_CLUSTERS)].name
        reference = Reference.from_bytes((folder / file).read_bytes())
        queries = [Query(e.words, e.geometry) for e in LATER]
        alone = reference.terms_of(queries, clusters_to_visit(snapshot, NEAR_IN_CLUSTERS))
        assert [after[e.key] for e in LATER] == pytest.approx(alone.tolist(), rel=1e-6)
    change(folder, merge=True)
    assert terms(folder, context=NEAR_IN_CLUSTERS) == pytest.approx(after, rel=1e-6)
    assert check(folder).problems == ()


def test_neighbours_in_clusters_need_clusters(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"make them with `resight index --clusters`, or leave context.probe at 0"):
        learn_context(folder, context=NEAR_IN_CLUSTERS)


def test_other_clusters_make_neighbours_in_the_old_ones_forgotten(folder: Path) -> None:
    """Not before they exist: clusters that cannot be made cost nothing."""
    cluster(folder, 3)
    learn_context(folder)
    learn_context(folder, context=NEAR_IN_CLUSTERS)
    before = terms(folder), terms(folder, context=NEAR_IN_CLUSTERS)
    with pytest.raises(UsageError):
        cluster(folder, 99)
    assert (terms(folder), terms(folder, context=NEAR_IN_CLUSTERS)) == before
    cluster(folder, 4)
    assert list(manifests.read(folder).contexts) == [context_name(L1, NEAR)]
    assert terms(folder) == pytest.approx(before[0], rel=1e-6)
    assert check(folder).problems == ()
    assert leftovers(folder) == set()


def test_clusters_that_go_with_their_last_picture_take_such_terms_along(folder: Path) -> None:
    cluster(folder, 3)
    learn_context(folder, context=NEAR_IN_CLUSTERS)
    change(folder, remove=[e.key for e in ENTRIES])
    cluster(folder, 0)
    assert manifests.read(folder).contexts == {}
    change(folder, add=LATER)  # which have no terms to be given
    assert state(folder)[0] == expected(LATER)


def test_damaged_clusters_do_not_lock_the_index(folder: Path) -> None:
    before = state(folder)
    cluster(folder, 3)
    record = manifests.read(folder).clusters
    assert record
    data = bytearray((folder / record.name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / record.name).write_bytes(data)
    assert state(folder)[0] == before[0]
    with opened(folder) as snapshot, pytest.raises(IndexDamagedError, match="drop it with `resight index --clusters 0"):
        snapshot.visits([QUERIES[0]], 1)
    cluster(folder, 0)
    assert check(folder).problems == ()
    assert state(folder) == before


def test_no_clusters_of_no_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    create(folder, vocabulary(), features=NO_DETECTOR, disk=QuickDisk())
    cluster(folder, 0)
    assert state(folder)[0] == {}
    change(folder, add=ENTRIES)
    cluster(folder, 3)
    change(folder, remove=[e.key for e in ENTRIES])
    cluster(folder, 0)
    assert manifests.read(folder).clusters is None
    assert leftovers(folder) == set()
    assert check(folder).problems == ()
    change(folder, add=ENTRIES)
    assert state(folder)[0] == expected(ENTRIES)


def everything(snapshot: Snapshot) -> SegmentGroup:
    return SegmentGroup.local(snapshot)


def keys_of(snapshot: Snapshot, pictures: Pictures) -> set[str]:
    return {
        row.key
        for number, ordinals in pictures.items()
        for row in snapshot.segments[number].table.rows(ordinals.tolist())
    }


def test_the_nearest_are_chosen_over_all_segments(folder: Path, tmp_path: Path) -> None:
    """By the product of codes, ties included; the same ones however they are spread over segments."""
    cluster(folder, 4)
    change(folder, add=LATER, remove=["05"])
    held = [e for e in (*ENTRIES, *LATER) if e.key != "05"]
    shutil.copytree(folder, tmp_path / "one")
    change(tmp_path / "one", merge=True)
    with opened(folder) as several, opened(tmp_path / "one") as one:
        assert (len(several.segments), len(one.segments)) == (2, 1)
        assert several.clusters
        placed = several.clusters.place(e.words.word for e in held)
        for query, probe, count in product(QUERIES, (1, 3, 4), (1, 4, 9, 99)):
            (visit,) = several.visits([query], probe)
            alike = {
                e.key: int(code.astype(int) @ visit.code.astype(int))
                for e, c, code in zip(held, *placed, strict=True)
                if c in visit.clusters
            }
            least = sorted(alike.values())[-count:][0]
            right = {key for key, likeness in alike.items() if likeness >= least}
            for snapshot in (several, one):
                assert keys_of(snapshot, everything(snapshot).nearest([visit], count)) == right
        assert keys_of(several, everything(several).sample) == keys_of(one, everything(one).sample)
        assert keys_of(one, everything(one).sample) == {e.key for e in held}, "so few stand for themselves"


def test_clusters_of_an_early_version_are_not_searched(folder: Path) -> None:
    """They have no forward index; merging makes one."""
    cluster(folder, 2)
    for record in manifests.read(folder).segments:
        forget_forward(folder, record)
    with (
        opened(folder) as snapshot,
        pytest.raises(UsageError, match="made by an early version; make them"),
    ):
        snapshot.visits([QUERIES[0]], 1)
    assert check(folder).problems == ()
    change(folder, add=LATER)
    with opened(folder) as snapshot, pytest.raises(UsageError, match="made by an early version"):
        snapshot.visits([QUERIES[0]], 1)
    change(folder, merge=True)
    expect(folder, [*ENTRIES, *LATER], 2)


def forget_forward(folder: Path, record: SegmentRecord) -> None:
    """As if an early version had written the segment, which has clusters."""
    place = folder / FOLDER / record.name
    files = {name: size for name, size in record.files.items() if name != AXES and not name.startswith(FORWARD)}
    sums = io.BytesIO()
    np.save(sums, np.concatenate([block_sums(map_bytes(place / name)) for name in files]))
    (place / SUMS).write_bytes(sums.getvalue())
    changed = replace(record, files=files, sums=FileRecord(SUMS, len(sums.getvalue()), zlib.crc32(sums.getvalue())))
    manifest = manifests.read(folder)
    records = tuple(changed if each == record else each for each in manifest.segments)
    manifests.write(folder, replace(manifest, segments=records), QuickDisk())


def test_visits_need_clusters(folder: Path) -> None:
    with (
        opened(folder) as snapshot,
        pytest.raises(UsageError, match=r"has no clusters to choose from; make them .*, or search without"),
    ):
        snapshot.visits([QUERIES[0]], 1)


def test_a_reader_keeps_the_clusters_of_its_commit(folder: Path) -> None:
    """It may need them for the first time when they are gone."""
    cluster(folder, SOME)
    with opened(folder) as asked, opened(folder) as not_yet:
        before = rankings(asked, probe=2)
        cluster(folder, MORE)
        assert rankings(not_yet, probe=2) == rankings(asked, probe=2) == before
        assert not_yet.clusters
        assert len(not_yet.clusters.entries) == SOME


def forge(folder: Path, file: str, values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    """Write other numbers into an array of the only segment, and make all checksums right."""
    manifest = manifests.read(folder)
    (record,) = manifest.segments
    place = folder / FOLDER / record.name
    np.save(place / file, values)
    sums = io.BytesIO()
    np.save(sums, np.concatenate([block_sums(map_bytes(place / name)) for name in record.files]))
    (place / SUMS).write_bytes(sums.getvalue())
    file_of_sums = FileRecord(SUMS, len(sums.getvalue()), zlib.crc32(sums.getvalue()))
    assert (place / file).stat().st_size == record.files[file]
    manifests.write(folder, replace(manifest, segments=(replace(record, sums=file_of_sums),)), QuickDisk())


@pytest.mark.parametrize(
    ("file", "verdict"),
    [
        (STARTS, "the forward index differs from the lists"),
        (f"{FORWARD}word.npy", "the forward index differs from the lists"),
        (f"{FORWARD}signature.npy", "the forward index differs from the lists"),
        (BOUNDS, "clusters do not share out the 12 pictures"),
    ],
)
def test_check_notices_what_checksums_cannot(folder: Path, file: str, verdict: str) -> None:
    cluster(folder, SOME)
    (path,) = folder.rglob(file)
    values = np.load(path)
    forge(folder, file, values)
    assert check(folder).problems == ()
    for place in (0, len(values) // 2, len(values) - 1):
        wrong = values.copy()
        wrong[place] += 13
        forge(folder, file, wrong)
        (problem,) = check(folder).problems
        assert problem.endswith(verdict)


def test_check_compares_the_manifest_with_its_segments(folder: Path) -> None:
    change(folder, merge=True)
    cluster(folder, SOME)
    ordered = manifests.read(folder)
    manifests.write(folder, replace(ordered, optional={}), QuickDisk())
    assert check(folder).problems == (f"segment {ordered.segments[0].name} is ordered by cluster",)
    manifests.write(folder, ordered, QuickDisk())
    cluster(folder, 0)
    flat = manifests.read(folder)
    (folder / OPTIONAL / "clusters-00000000.npz").write_bytes(b"x")
    learnt = FileRecord(f"{OPTIONAL}/clusters-00000000.npz", 1, zlib.crc32(b"x"))
    manifests.write(folder, replace(flat, optional={"clusters": learnt}), QuickDisk())
    assert check(folder).problems == (f"segment {flat.segments[0].name} is not ordered by cluster",)


def test_files_are_as_documented(folder: Path) -> None:
    cluster(folder, SOME)
    (bounds,), (codes,), (starts,) = folder.rglob(BOUNDS), folder.rglob(AXES), folder.rglob(STARTS)
    assert np.load(bounds).dtype == np.dtype("<i8")
    assert (np.load(bounds)[[0, -1]].tolist(), np.load(bounds).shape) == ([0, 12], (SOME + 1,))
    assert np.load(codes).dtype == np.dtype("i1")
    assert np.load(codes).shape == (12 * 4,)
    assert np.load(starts).dtype == np.dtype("<i8")
    assert np.load(starts)[[0, -1]].tolist() == [0, 69]
    for column, kind in (("word", "<i4"), ("signature", "<u8"), ("geometry", GEOMETRY)):
        (file,) = folder.rglob(f"{FORWARD}{column}.npy")
        assert (np.load(file).dtype, np.load(file).shape) == (np.dtype(kind), (69,))
    (learnt,) = folder.glob("optional/clusters-*.npz")
    with np.load(learnt, allow_pickle=False) as arrays:
        assert json.loads(arrays["description"].tobytes())["count"] == SOME
        assert arrays["entries"].shape == (SOME, 4)
