"""Changes to an index that are struck at every point, and what the index must hold before and after each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from resight.errors import IndexMissingError
from resight.options import StoreOptions
from resight.store import Disk, Entry, Snapshot, check, create, open_snapshot
from resight.store import manifest as manifests

from ..support.stored import (
    NO_DETECTOR,
    QUERIES,
    QuickDisk,
    Ranking,
    Stored,
    build,
    build_in_shards,
    change,
    cluster,
    complete,
    contents,
    entry,
    expected,
    forget_similarity,
    keep_similarity,
    largest,
    learn_context,
    leftovers,
    link,
    rankings,
    refuse,
    shrink,
    tree,
    vocabulary,
)
from .disks import WatchedDisk, strikes

MERGE_EARLY = StoreOptions(merge_factor=2)
A, B, C, D, E = (entry(key, seed) for seed, key in enumerate("abcde"))
OTHER_A = entry("a", 7)
KEPT_A = replace(OTHER_A, metadata=A.metadata)  # as a build stores it: what was known of the picture is kept
NO_FEATURES = entry("none", 8, features=0)
Z = entry("z", 9)
COMPLETE = {e.key: complete(e) for e in (B, C, D, E, OTHER_A, NO_FEATURES)}
LARGE = entry("large", 10, features=40)

Content = dict[str, Stored]
Files = frozenset[tuple[str, bytes | None]]
Answers = tuple[Content, dict[tuple[str, int], Ranking]]


@dataclass(frozen=True)
class Scenario:
    """``act`` leads from an index with the entries ``before`` (None: no index) to one with those ``after``."""

    before: list[Entry] | None
    after: list[Entry]
    prepare: Callable[[Path], None]
    act: Callable[[Path, Disk], None]
    operations: int  # at least as many must be counted, or the test has lost its object
    kept: tuple[int | None, int | None] = None, None  # seeds of the similarities before and after


def _create(folder: Path, disk: Disk) -> None:
    create(folder, vocabulary(), features=NO_DETECTOR, disk=disk)


def _nothing(folder: Path) -> None:
    pass


def _one_segment(folder: Path) -> None:
    build(folder, [A, B, C])


def _two_segments(folder: Path) -> None:
    build(folder, [A, B, C], [D])


def _with_removals(folder: Path) -> None:
    build(folder, [A, B, C], [D])
    change(folder, remove=["b"])


def _add(folder: Path, disk: Disk) -> None:
    change(folder, add=[D, E], disk=disk)


def _add_replace_remove(folder: Path, disk: Disk) -> None:
    change(folder, add=[E, OTHER_A, NO_FEATURES], remove=["d"], disk=disk)


def _merge_automatically(folder: Path, disk: Disk) -> None:
    change(folder, add=[D, E], disk=disk, options=MERGE_EARLY)


def _remove_all(folder: Path, disk: Disk) -> None:
    change(folder, remove=["a", "b", "c", "d"], disk=disk)


def _merge(folder: Path, disk: Disk) -> None:
    change(folder, merge=True, disk=disk)


def _learn_context(folder: Path, disk: Disk) -> None:
    learn_context(folder, disk=disk)


def _with_much(folder: Path) -> None:
    build(folder, [A, B, LARGE], [D])
    change(folder, remove=["b"])
    learn_context(folder)


def _cluster(folder: Path, disk: Disk) -> None:
    cluster(folder, 2, disk=disk)


def _with_clusters(folder: Path) -> None:
    _with_much(folder)
    cluster(folder, 2)
    change(folder, add=[E], remove=["d"])


def _cluster_again(folder: Path, disk: Disk) -> None:
    cluster(folder, 3, disk=disk)


def _uncluster(folder: Path, disk: Disk) -> None:
    cluster(folder, 0, disk=disk)


def _two_segments_with_all_columns(folder: Path) -> None:
    build(folder, [complete(A), COMPLETE["b"], COMPLETE["c"]], [COMPLETE["d"]])


def _change_and_merge_with_all_columns(folder: Path, disk: Disk) -> None:
    change(folder, add=[COMPLETE[key] for key in ("e", "a", "none")], remove=["d"], merge=True, disk=disk)


def _add_and_merge(folder: Path, disk: Disk) -> None:
    change(folder, add=[B, E], merge=True, disk=disk)


def _keep_similarity(folder: Path, disk: Disk) -> None:
    keep_similarity(folder, disk=disk)


def _with_similarity(folder: Path) -> None:
    _with_clusters(folder)
    keep_similarity(folder, 1)


def _forget_similarity(folder: Path, disk: Disk) -> None:
    assert forget_similarity(folder, disk=disk)


def _link(folder: Path, disk: Disk) -> None:
    link(folder, disk=disk)


def _with_similarity_and_links(folder: Path) -> None:
    _with_similarity(folder)
    link(folder)


def _shrink(folder: Path, disk: Disk) -> None:
    assert len(shrink(folder, 5, disk=disk).dropped) == 3


def _refuse(folder: Path, disk: Disk) -> None:
    refuse(folder, "bad.jpg", "f.jpg", disk=disk)


def _with_context_links_and_refusals(folder: Path) -> None:
    _with_removals(folder)
    learn_context(folder)
    link(folder)
    refuse(folder, "bad.jpg", "worse.jpg")


def _build(folder: Path, disk: Disk) -> None:
    build_in_shards(folder, [B, E, OTHER_A, NO_FEATURES], disk=disk)


def _build_with_similarity(folder: Path, disk: Disk) -> None:
    build_in_shards(folder, [E, B], most=1, disk=disk)


SCENARIOS: dict[str, Scenario] = {
    "create": Scenario(None, [], _nothing, _create, operations=8),
    "add": Scenario([A, B, C], [A, B, C, D, E], _one_segment, _add, operations=28),
    "add, replace and remove": Scenario(
        [A, B, C, D], [OTHER_A, B, C, E, NO_FEATURES], _two_segments, _add_replace_remove, operations=31
    ),
    "build": Scenario([A, B, C, D], [KEPT_A, B, C, D, E, NO_FEATURES], _two_segments, _build, operations=65),
    "build with similarity": Scenario(
        [A, E, LARGE], [A, B, E, LARGE], _with_similarity, _build_with_similarity, operations=59, kept=(1, 1)
    ),
    "automatic merge": Scenario([A, B, C], [A, B, C, D, E], _one_segment, _merge_automatically, operations=55),
    "remove all": Scenario([A, B, C, D], [], _two_segments, _remove_all, operations=10),
    "merge": Scenario([A, C, D], [A, C, D], _with_removals, _merge, operations=30),
    "learn context": Scenario([A, C, D], [A, C, D], _with_removals, _learn_context, operations=14),
    "cluster": Scenario([A, D, LARGE], [A, D, LARGE], _with_much, _cluster, operations=53),
    "uncluster": Scenario([A, E, LARGE], [A, E, LARGE], _with_clusters, _uncluster, operations=40),
    "change and merge with all columns": Scenario(
        [complete(A), COMPLETE["b"], COMPLETE["c"], COMPLETE["d"]],
        [COMPLETE[key] for key in ("a", "b", "c", "e", "none")],
        _two_segments_with_all_columns,
        _change_and_merge_with_all_columns,
        operations=60,
    ),
    "link": Scenario([A, C, D], [A, C, D], _with_removals, _link, operations=9),
    "shrink with context, clusters and similarity": Scenario(
        [A, E, LARGE],
        [largest(e, 5) for e in (A, E, LARGE)],
        _with_similarity_and_links,
        _shrink,
        operations=30,
        kept=(1, None),
    ),
    "refuse": Scenario([A, C, D], [A, C, D], _with_removals, _refuse, operations=13),
    "add and merge with context, links and refusals": Scenario(
        [A, C, D], [A, B, C, D, E], _with_context_links_and_refusals, _add_and_merge, operations=60
    ),
    "keep similarity": Scenario([A, C, D], [A, C, D], _with_removals, _keep_similarity, operations=17, kept=(None, 0)),
    "keep another similarity": Scenario(
        [A, E, LARGE], [A, E, LARGE], _with_similarity, _keep_similarity, operations=20, kept=(1, 0)
    ),
    "forget similarity": Scenario(
        [A, E, LARGE], [A, E, LARGE], _with_similarity, _forget_similarity, operations=11, kept=(1, None)
    ),
    "add and merge with clusters and similarity": Scenario(
        [A, E, LARGE], [A, B, E, LARGE], _with_similarity, _add_and_merge, operations=97, kept=(1, 1)
    ),
    "cluster again with similarity": Scenario(
        [A, E, LARGE], [A, E, LARGE], _with_similarity, _cluster_again, operations=57, kept=(1, 1)
    ),
}


# Words, norms, signatures and geometry; codes; the learnt similarity.
READING_ALL = ("l1", "every weight", "knn", "learnt")


def asked(snapshot: Snapshot, probe: int = 0) -> dict[tuple[str, int], Ranking]:
    """By the measures that together read every file of an index."""
    return rankings(snapshot, QUERIES[:1], probe, measures=READING_ALL)


def answers(folder: Path) -> Answers | None:
    """What the index holds and finds, or None if there is none. Nothing about it may be wrong."""
    try:
        snapshot = open_snapshot(folder)
    except IndexMissingError:
        return None
    with snapshot:
        found = contents(snapshot), asked(snapshot)
        if snapshot.clusters:
            assert asked(snapshot, probe=len(snapshot.clusters.entries)) == found[1]
            assert asked(snapshot, probe=1) != found[1]
    assert check(folder).problems == ()
    return found


class Judge:
    """Knows what an index of given entries must answer; works it out once, in a place of its own."""

    def __init__(self, place: Path, *, codes: bool = False) -> None:
        self._place, self._codes = place, codes  # even an empty index may be one that keeps codes
        self._known: dict[str, Answers] = {}
        self._verdicts: dict[Files, bool] = {}
        self._found: dict[Files, Answers | None] = {}
        self._gone_on: dict[Files, Answers | None] = {}

    def right(self, entries: list[Entry], kept: int | None = None) -> Answers:
        name = repr([kept, *((e.key, e.content, len(e.words), e.words.code is None) for e in entries)])
        if name not in self._known:
            folder = self._place / f"right-{len(self._known)}"
            build(folder, sorted(entries, key=lambda e: e.key), codes=self._codes, kept=kept)
            found = answers(folder)
            assert found
            assert found[0] == expected(entries)
            self._known[name] = found
        return self._known[name]

    def found(self, files: dict[str, bytes | None], index: str) -> Answers | None:
        """What the index at this place among these files answers. Equal files are opened once."""
        name = frozenset(files.items())
        if name not in self._found:
            with laid_out(name, self._place / "found") as place:
                self._found[name] = answers(place / index)
        return self._found[name]

    def committed(self, files: Files, scenario: Scenario, *, last: int | None) -> bool:
        """Whether the index is exactly the one after the change, or exactly commit ``last``, the one before it.

        Also lets the next writer go on. Equal files get the verdict they got before.
        """
        if files not in self._verdicts:
            with laid_out(files, self._place / "judged") as folder:
                done = self._verdicts[files] = self._decide(folder, scenario, last)
                self.goes_on(folder, scenario.after if done else scenario.before, scenario.kept[done])
        return self._verdicts[files]

    def _decide(self, folder: Path, scenario: Scenario, last: int | None) -> bool:
        found = answers(folder)
        if found is None:
            assert last is None, "the index is gone"
            return False
        number = manifests.read(folder).commit
        if number == last:
            assert scenario.before is not None
            assert found == self.right(scenario.before, scenario.kept[0])
            return False
        assert last is None or number > last
        assert found == self.right(scenario.after, scenario.kept[1])
        return True

    def goes_on(self, folder: Path, entries: list[Entry] | None, kept: int | None = None) -> None:
        """The next writer sweeps what was left, and its commit is as good as any; a lost ``create`` is repeated."""
        if entries is None:
            create(folder, vocabulary(), features=NO_DETECTOR, disk=QuickDisk())
        new = complete(Z) if manifests.read(folder).settings.codes else Z
        change(folder, add=[new])
        assert leftovers(folder) == set()
        files = frozenset(tree(folder).items())  # once swept, most are equal
        if files not in self._gone_on:
            self._gone_on[files] = answers(folder)
        assert self._gone_on[files] == self.right([*(entries or []), new], kept)


def files_of(folder: Path) -> Files:
    """What is there of an index, if anything."""
    return frozenset({(".", None), *tree(folder).items()}) if folder.exists() else frozenset()


@contextmanager
def laid_out(files: Files, place: Path) -> Iterator[Path]:
    """These files at a place where there is nothing, for a while."""
    try:
        for path, data in sorted(files, key=lambda file: file[0]):
            if data is None:
                (place / path).mkdir(parents=True)
            else:
                (place / path).write_bytes(data)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def last_commit(folder: Path) -> int | None:
    return manifests.read(folder).commit if folder.exists() else None


def watch(scenario: Scenario, folder: Path) -> dict[tuple[int, bool], Files]:
    """Play a scenario. What a kill would leave at every operation: before it, and (True) when it is half done."""
    seen: dict[tuple[int, bool], Files] = {}

    def look(number: int, half: bool) -> None:
        seen[number, half] = files_of(folder)

    disk = WatchedDisk(look)
    scenario.act(folder, disk)
    assert seen.keys() == {*strikes(disk.done)}
    assert len(disk.done) >= scenario.operations
    return seen


def copy(source: Path, target: Path) -> Path:
    """The prepared index (or its absence) at another place."""
    if source.exists():
        shutil.copytree(source, target)
    return target
