"""Building in shards: the same index as adding one by one, whatever becomes of workers and of the driver."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from resight.engine import LocalEngine
from resight.errors import EngineError, StoreError
from resight.index import Index
from resight.ingest import Job, build
from resight.ingest.build import split_into_shards
from resight.store import Writer, check, open_snapshot, shards
from resight.store import manifest as manifests

from ..support.builds import FEATURES, SMALL, answers, ingester, kill_when_recorded, make_pictures, records_of, segments
from .deadly import Fragile, Hopeless


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_pictures(tmp_path_factory.mktemp("building") / "pictures", 17)


def test_an_index_at_a_url_is_built(pictures: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers write into the mirror; the commit is at the URL, for a machine with another mirror to see."""
    url = f"file://{tmp_path}/store/built.resight"
    monkeypatch.setenv("RESIGHT_CACHE", str(tmp_path / "one"))
    with Index.create(tmp_path / "plain.resight", features=FEATURES) as plain:
        list(plain.add_files(pictures))
        plain.commit()
        wanted = answers(plain, pictures[:3])
    with Index.create(url, features=FEATURES) as built:
        built.store = SMALL
        assert all(
            outcome.skipped is None for outcome in built.add_files(pictures, engine=LocalEngine(2), one_commit=True)
        )
    monkeypatch.setenv("RESIGHT_CACHE", str(tmp_path / "other"))
    with Index.open(url) as seen:
        assert answers(seen, pictures[:3]) == wanted


def test_the_same_answers_as_adding_one_by_one(pictures: list[Path], tmp_path: Path) -> None:
    """A new index in two processes; then more of it, with pictures that are known, changed, unreadable, named twice."""
    mine = [Path(shutil.copy(path, tmp_path)) for path in pictures]
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    second = [*mine[8:], tmp_path / "bad.png", mine[-1], mine[0]]
    plain, built = (Index.create(tmp_path / f"{name}.resight", features=FEATURES) for name in ("plain", "built"))
    with plain, built:
        built.store = SMALL
        wanted = list(plain.add_files(mine[:12], relative_to=tmp_path))
        found = list(built.add_files(mine[:12], relative_to=tmp_path, engine=LocalEngine(2), one_commit=True))
        assert [o.key for o in found] == [o.key for o in wanted]
        plain.commit()
        assert built.info().commit == 1
        assert 12 / 4 <= built.info().segments < 12
        for index in (plain, built):
            index.add(mine[1], key="001.png", metadata={"mine": 1})
            index.commit()
        shutil.copy(mine[3], mine[1])
        shutil.copy(mine[16], mine[10])
        outcomes = [list(plain.add_files([*second, mine[1]], relative_to=tmp_path))]
        outcomes.append(list(built.add_files([*second, mine[1]], relative_to=tmp_path, one_commit=True)))
        plain.commit()
        told = [{(o.key, o.replaces, o.skipped, o.unchanged) for o in each} for each in outcomes]
        assert told[0] - told[1] == {("016.png", False, None, True)}  # the second time
        assert told[1] <= told[0]
        assert built.info().commit == 3
        assert {row.key: (row.content, row.metadata) for row in built.pictures()} == {
            row.key: (row.content, row.metadata) for row in plain.pictures()
        }
        assert built.get("001.png").metadata == {"mine": 1}  # type: ignore[union-attr]
        assert answers(built, mine[::4]) == answers(plain, mine[::4])
    assert check(tmp_path / "built.resight").problems == ()


def test_nothing_is_written_if_nothing_has_changed(pictures: list[Path], tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight", features=FEATURES) as index:
        index.store = SMALL
        list(index.add_files(pictures[:6], one_commit=True))
        assert all(o.unchanged for o in index.add_files(pictures[:6], one_commit=True))
        assert index.info().commit == 1
    assert not (tmp_path / "i.resight" / shards.FOLDER).exists()


def test_shards_are_cut_where_keys_say_so() -> None:
    jobs = [Job(f"{number}", Path(f"{number}")) for number in range(5000)]
    whole = list(split_into_shards(jobs, 100, build=1))
    assert [job for shard in whole for job in shard.jobs] == jobs
    assert max(len(shard.jobs) for shard in whole) == 100
    assert len(whole) < 5000 / 100 * 2
    without = {shard.name for shard in split_into_shards(jobs[:700] + jobs[701:], 100, build=1)}
    assert len({shard.name for shard in whole} - without) <= 3  # a picture less changes the shards near it
    assert not {shard.name for shard in split_into_shards(jobs, 100, build=2)} & {shard.name for shard in whole}
    assert [len(shard.jobs) for shard in split_into_shards([*jobs[:3], jobs[0]], 1000, build=1)] == [3]


def test_pictures_that_kill_workers_are_skipped_and_no_others(pictures: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "i.resight"
    Index.create(place, features=FEATURES).close()
    (tmp_path / "006.png").touch()
    plan = Fragile(ingester(place), "002.png", tmp_path / "006.png")
    few = pictures[:8]
    jobs = [Job.for_file(path, key=path.name) for path in few]
    with Writer(place, options=SMALL) as writer:
        outcomes = list(build(writer, plan, jobs, engine=LocalEngine(2), most=2))
    assert [o.key for o in outcomes] == [path.name for path in few]
    assert [o.skipped for o in outcomes if o.skipped] == [
        f"{pictures[2]}: the decoder crashed on this file; convert it to PNG or JPEG"
    ]
    with open_snapshot(place) as snapshot:
        assert {row.key for row in snapshot.rows()} == {path.name for path in few} - {"002.png"}


def test_workers_that_die_for_no_picture_are_an_error(pictures: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "i.resight"
    Index.create(place, features=FEATURES).close()
    with Writer(place) as writer, pytest.raises(EngineError, match=r"while they write a segment.*lower store\.shard"):
        list(build(writer, Hopeless(), [Job("a", pictures[0])], engine=LocalEngine(2), most=4))


SCRIPT = """
import sys
from pathlib import Path
from resight.engine import LocalEngine
from resight.index import Index
from resight.options import StoreOptions

if __name__ == "__main__":
    with Index.open(sys.argv[1]) as index:
        index.store = StoreOptions(shard=4, merge_factor=1000)
        for outcome in index.add_files(map(Path, sys.argv[2:]), engine=LocalEngine(2), one_commit=True):
            pass
"""


def test_a_killed_driver_is_followed_by_another_that_does_the_rest(pictures: list[Path], tmp_path: Path) -> None:
    script, place, calm = tmp_path / "script.py", tmp_path / "i.resight", tmp_path / "calm.resight"
    script.write_text(SCRIPT)
    for folder in (place, calm):
        Index.create(folder, features=FEATURES).close()
    children = kill_when_recorded([sys.executable, str(script), str(place), *map(str, pictures)], place)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in children):  # workers end with their driver
        assert time.monotonic() < deadline
        time.sleep(0.02)
    done = records_of(place)
    with Index.open(place) as index:
        assert len(index) == 0
        index.store = SMALL
        assert len(list(index.add_files(pictures, one_commit=True))) == len(pictures)
        assert index.info().commit == 1
    assert done < {record.name for record in manifests.read(place).segments}  # it was taken, and was not all
    with Index.open(calm) as index:
        index.store = SMALL
        list(index.add_files(pictures, one_commit=True))
    assert segments(place) == segments(calm)


def test_a_commit_during_a_build_ends_it_and_harms_nothing(pictures: list[Path], tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight", features=FEATURES) as index:
        index.store = SMALL
        index.add(pictures[8], key="old")
        index.commit()
        building = index.add_files(pictures[:8], one_commit=True)
        outcomes = [next(building) for _ in range(8)]
        assert not any(outcome.skipped for outcome in outcomes)
        index.remove("old")
        index.commit()
        with pytest.raises(StoreError, match="has changed since this build began"):
            next(building)
    with Index.open(index.path) as index:
        assert len(index) == 0
        index.store = SMALL
        assert len(list(index.add_files(pictures[:8], one_commit=True))) == len(index) == 8
    assert not check(index.path).problems


def test_a_build_that_fails_at_its_end_can_be_repeated(
    pictures: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One picture comes twice, in two shards; another is stored already, and has changed."""
    paths, opened = [*pictures[:8], pictures[0]], Writer._opened
    with Index.create(tmp_path / "i.resight", features=FEATURES) as index:
        index.store = SMALL
        index.add(pictures[8], key=str(pictures[1]))
        index.commit()
        monkeypatch.setattr(Writer, "_opened", refuse)
        with pytest.raises(StoreError, match="no memory"):
            list(index.add_files(paths, one_commit=True))
        assert not index.writer().commit()  # nothing of it is left
        monkeypatch.setattr(Writer, "_opened", opened)
        list(index.add_files(paths, one_commit=True))
        assert sorted(index) == sorted(map(str, pictures[:8]))
    assert not check(index.path).problems


def test_pictures_that_come_twice(pictures: list[Path], tmp_path: Path) -> None:
    """In one shard, in two, and in a shard that comes twice itself; in between the key has another file."""
    first, second, third = pictures[:3]
    same = tmp_path / "other" / first.name
    same.parent.mkdir()
    shutil.copy(third, same)
    for paths in ([first, first], [first, second, first], [first, same, first], [first, second, same]):
        for most in (1, 2, 4):
            place = tmp_path / f"{len(paths)} {most} {paths[1].parent.name} {paths[-1].parent.name}.resight"
            Index.create(place, features=FEATURES).close()
            with Writer(place) as writer:
                jobs = [Job.for_file(path, key=path.name) for path in paths]
                list(build(writer, ingester(place), jobs, engine=LocalEngine(), most=most))
            with Index.open(place) as index:
                assert sorted(index) == sorted({path.name for path in paths})
                row = index.get(first.name)
                assert row
                assert row.path == str(paths[-1])
            assert not check(place).problems
            shutil.rmtree(place)


def refuse(*_: object) -> None:
    raise StoreError("no memory")


def test_what_is_added_beside_a_build_counts(pictures: list[Path], tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight", features=FEATURES) as index:
        index.store = SMALL
        for number, outcome in enumerate(index.add_files(pictures[:8], one_commit=True)):
            if number == 4:
                index.add(pictures[8], key=outcome.key)
        assert sorted(index) == sorted(map(str, pictures[:8]))
        assert index.search(pictures[8]).hits[0].key == str(pictures[4])
    assert not check(index.path).problems


def test_what_is_removed_during_a_build_is_not_committed_with_it(pictures: list[Path], tmp_path: Path) -> None:
    """Neither a picture that was stored before nor one that the build has just added."""
    with Index.create(tmp_path / "i.resight", features=FEATURES) as index:
        index.store = SMALL
        index.add(pictures[8], key=str(pictures[1]))
        index.commit()
        for number, outcome in enumerate(index.add_files(pictures[:8], one_commit=True)):
            if number in (1, 2):
                index.remove(outcome.key)
        assert sorted(index) == sorted(map(str, [pictures[0], *pictures[3:8]]))
    assert not check(index.path).problems
