"""From pictures in an index to a learnt similarity, by given groups and by those that geometry confirms."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from resight.errors import StoreError, UsageError
from resight.index import Index
from resight.learn import learn_similarity, read_groups, verified_groups
from resight.learning_to_rank import Trial
from resight.options import LearnOptions
from resight.store import open_snapshot

from ..support.pictures import texture

THINGS, VIEWS = 5, 3
OPTIONS = LearnOptions(word_groups=2, rounds=30, folds=2)
GROUPS = {f"thing {t}": [f"{t}-{v}" for v in range(VIEWS)] for t in range(THINGS)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five textures, three crops of each, and two textures of which there is one."""
    place = tmp_path_factory.mktemp("teach") / "pictures.resight"
    with Index.create(place) as index:
        for t in range(THINGS + 2):
            for v in range(VIEWS if t < THINGS else 1):
                index.add(texture(t, size=300)[20 * v : 20 * v + 220, 15 * v : 15 * v + 220], key=f"{t}-{v}")
    return place


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_groups_are_learnt_from(folder: Path, state: Path) -> None:
    with open_snapshot(folder) as snapshot:
        heard: list[Trial] = []
        lesson = learn_similarity(snapshot, GROUPS, OPTIONS, state=state, report=heard.append)
        words = snapshot.vocabulary.words
    assert (lesson.groups, lesson.queries, lesson.pictures) == (THINGS, THINGS * VIEWS, THINGS * VIEWS + 2)
    assert lesson.similarity.group.shape == (words,)
    assert {t.word_groups for t in heard} == {1, 2}
    assert lesson.map > 0.9  # crops of textures are easily told apart


def test_an_interrupted_run_goes_on(folder: Path, state: Path) -> None:
    heard: list[Trial] = []

    def interrupted(tried: Trial) -> None:
        heard.append(tried)
        if tried.word_groups == 2:
            raise KeyboardInterrupt

    with open_snapshot(folder) as snapshot:
        with pytest.raises(KeyboardInterrupt):
            learn_similarity(snapshot, GROUPS, OPTIONS, state=state, report=interrupted)
        left = state.read_bytes()
        again: list[Trial] = []
        resumed = learn_similarity(snapshot, GROUPS, OPTIONS, state=state, report=again.append)
        # It hears again of what was known.
        assert [t.as_dict() for t in again[: len(heard) - 1]] == [t.as_dict() for t in heard[:-1]]
        whole = learn_similarity(snapshot, GROUPS, OPTIONS, state=state)
        assert resumed.similarity.fingerprint == whole.similarity.fingerprint
        # What was tried with other groups, or cannot be read, is no use.
        for content in (left, b"{}", b"", b'{"learning": "x"', left[: len(left) // 2]):
            state.write_bytes(content)
            again.clear()
            fewer = {name: keys for name, keys in GROUPS.items() if name != "thing 0"}
            learn_similarity(snapshot, fewer, OPTIONS, state=state, report=again.append)
            assert {t.word_groups for t in again} == {1, 2}


def test_a_run_that_could_not_be_kept_goes_on(folder: Path, tmp_path: Path) -> None:
    """What was tried is removed only once the index has the result."""
    place = shutil.copytree(folder, tmp_path / "copy.resight")
    state, heard, again = tmp_path / "copy.resight.learning", list[Trial](), list[Trial]()
    in_the_way = place / "optional" / "similarity-00000002.npz"

    def hindered(tried: Trial) -> None:
        heard.append(tried)
        in_the_way.mkdir(parents=True, exist_ok=True)

    with pytest.raises(StoreError, match="Is a directory"), closing(Index.open(place)) as index:
        index.learn.similarity(GROUPS, options=OPTIONS, report=hindered)
    left = json.loads(state.read_text())["tried"]
    assert left == [tried.as_dict() for tried in heard]
    in_the_way.rmdir()
    with Index.open(place) as index:
        index.learn.similarity(GROUPS, options=OPTIONS, report=again.append)
        assert index.info().similarity
    assert [tried.as_dict() for tried in again] == left
    assert not state.exists()


def test_a_run_goes_on_where_its_state_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    place = shutil.copytree(folder, tmp_path / "copy.resight")
    (tmp_path / "copy.resight.learning.new").mkdir()
    with Index.open(place) as index:
        index.learn.similarity(GROUPS, options=OPTIONS)
        assert index.info().similarity
    assert not (tmp_path / "copy.resight.learning").exists()


def test_state_is_plain(folder: Path, state: Path) -> None:
    def stop(tried: Trial) -> None:
        raise KeyboardInterrupt

    with open_snapshot(folder) as snapshot, pytest.raises(KeyboardInterrupt):
        learn_similarity(snapshot, GROUPS, OPTIONS, state=state, report=stop)
    (tried,) = json.loads(state.read_text())["tried"]
    again = Trial.from_dict(tried)
    assert again.as_dict() == tried
    assert again.weights.shape == (1, int(again.pattern.max()) + 1)


def test_geometry_finds_groups_by_itself(folder: Path) -> None:
    heard = 0

    def done(count: int) -> None:
        nonlocal heard
        heard += count

    with open_snapshot(folder) as snapshot:
        found = verified_groups(snapshot, OPTIONS, done)
        few = verified_groups(snapshot, LearnOptions(pictures=2, seed=3))
    several = sorted(sorted(keys) for keys in found.groups.values() if len(keys) > 1)
    assert several == sorted(GROUPS.values())
    assert heard == THINGS * VIEWS + 2
    assert len(few.groups) <= 2 * VIEWS


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, "0 group"),
        ({"one": ["0-0", "0-1"], "single": ["1-0"]}, "1 group"),
        ({"one": ["0-0", "0-1"], "two": ["1-0", "elsewhere"]}, "'elsewhere'; name pictures by the keys"),
        ({"one": ["0-0", "0-1"], "two": ["1-0", "0-1"]}, "'0-1' is in more than one group"),
    ],
)
def test_groups_that_cannot_be_learnt_from(
    folder: Path, state: Path, groups: dict[str, list[str]], message: str
) -> None:
    with open_snapshot(folder) as snapshot, pytest.raises(UsageError, match=message):
        learn_similarity(snapshot, groups, OPTIONS, state=state)


def test_groups_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "groups.tsv"
    # Windows editors begin with a mark.
    file.write_text("\ufeffa.jpg\tcat\nfolder/b\tc.jpg\tdog\n\nc.jpg\tcat\n", encoding="utf-8")
    assert read_groups(file) == {"cat": ["a.jpg", "c.jpg"], "dog": ["folder/b\tc.jpg"]}


@pytest.mark.parametrize("line", ["a.jpg cat", "\tcat", "a.jpg\t"])
def test_lines_that_are_no_groups(tmp_path: Path, line: str) -> None:
    file = tmp_path / "groups.tsv"
    file.write_text(f"a\tb\n{line}\n")
    with pytest.raises(UsageError, match="line 2"):
        read_groups(file)


def test_unreadable_groups(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the groups"):
        read_groups(tmp_path / "none.tsv")
    (tmp_path / "bytes.tsv").write_bytes(np.arange(256, dtype=np.uint8).tobytes())
    with pytest.raises(UsageError, match="cannot read the groups"):
        read_groups(tmp_path / "bytes.tsv")
