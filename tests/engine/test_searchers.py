"""However segments are spread over searchers, a search finds what it finds where all are in one place, bit by bit."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from resight import Index, learn
from resight.engine import LocalEngine
from resight.engine.searchers import Read, RemoteSearcher, Search, SearcherProcess, Shard
from resight.errors import EngineError, IndexDamagedError, ResightError, UsageError
from resight.features import extract
from resight.images import from_array
from resight.options import (
    AggregateOptions,
    AssignOptions,
    ClusterOptions,
    ExpandOptions,
    HammingOptions,
    IndexingOptions,
    NegativeOptions,
    StoreOptions,
)
from resight.recipes import RECIPES, Recipe
from resight.scoring import MEASURES, Query
from resight.search import SearchRequest, SegmentGroup, quantise, search, share_out
from resight.store import Snapshot, Writer, create, open_snapshot
from resight.types import SearchResult
from resight.vocabulary import Assigner, Vocabulary

from ..support.pictures import SIZE, panorama, part, texture
from ..support.processes import open_files
from ..support.quantised import similarity
from ..support.stored import QuickDisk, entry, vocabulary
from ..support.stored import build as build_made
from ..support.vocabularies import ready_in_thirds
from .searched import FEATURES, SEGMENTS, fill, same

T = TypeVar("T")
SPREADABLE = [name for name, recipe in RECIPES.items() if recipe.scoring.measure != "knn"]
CLUSTERS = 3
COUNTS = (2, SEGMENTS + 2)  # of searchers: each has several segments; some have none


class Wired(RemoteSearcher):
    """One of several searchers in this process, which hears and answers as through a wire."""

    def __init__(self, twins: Twins, number: int, shard: Shard) -> None:
        self._twins, self._number, self._shard = twins, number, shard

    def _read(self, job: Read[T]) -> T:
        found: T = self._answer(SearcherProcess.read, job)
        return found

    def _search(self, job: Search[T], request: SearchRequest) -> T:
        light = replace(request, collections=[])
        found: T = self._answer(SearcherProcess.search, job, light, request.collections)
        return found

    def _answer(self, call: Callable[..., Any], job: Any, *arguments: Any) -> Any:
        method = job.func if isinstance(job, partial) else job
        self._twins.sent.append(method.__name__)
        heard = pickle.loads(pickle.dumps((self._shard, job, *arguments)))
        answer = pickle.loads(pickle.dumps(call(self._twins.process(self._number), *heard)))
        if isinstance(answer, ResightError):
            raise answer
        return answer


class Twins:
    """What ``Index.spread`` wants, with so many searchers; forgetful ones die now and then, and others take over."""

    def __init__(self, count: int, *, forgetful: bool = False) -> None:
        self.processes, self.asked = [SearcherProcess() for _ in range(count)], 0
        self.sent: list[str] = []
        self._dying = np.random.default_rng(1) if forgetful else None

    def process(self, number: int) -> SearcherProcess:
        if self._dying and self._dying.random() < 0.3:
            self.processes[number] = SearcherProcess()
        return self.processes[number]

    def group(self, snapshot: Snapshot) -> SegmentGroup:
        self.asked += 1
        shards = share_out(snapshot.manifest, len(self.processes))
        wired = [Wired(self, number, shard) for number, shard in enumerate(Shard.of(snapshot, shards))]
        return SegmentGroup(snapshot, wired, shards)


def spread(path: Path, count: int, *, forgetful: bool = False) -> Index:
    index = Index.open(path)
    index.spread(Twins(count, forgetful=forgetful))
    return index


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One vocabulary, and all that any recipe needs."""
    with Index.create(tmp_path_factory.mktemp("spread") / "i.resight", features=FEATURES) as index:
        fill(index)
        index.learn.clusters(ClusterOptions(count=CLUSTERS, dimensions=4))
        for name in ("context", "context-l1"):
            index.learn.context(name)
        assert index.info().segments == 1  # clusters rewrite all
        index.store = StoreOptions(merge_factor=1000)
        for n in range(1, SEGMENTS):
            index.add(texture(80 + n, size=SIZE), key=f"later {n}")
            index.add(part(panorama(1), 30 * n), key=f"shifted {n}")
            index.commit()
        index.learn.links()
        index.remove("later 2")
    with Writer(index.path) as writer:
        learn.keep_similarity(writer, similarity(Vocabulary.ready().words))
    return index.path


@pytest.fixture(scope="module")
def alone(made: Path) -> Iterator[Index]:
    with Index.open(made) as index:
        assert index.info().segments == SEGMENTS
        yield index


@pytest.fixture(scope="module", params=COUNTS)
def twin(request: pytest.FixtureRequest, made: Path) -> Iterator[Index]:
    with spread(made, request.param) as index:
        yield index


QUERY = np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10])
ENDS = [np.ascontiguousarray(panorama(1)[:, a:b]) for a, b in ((20, SIZE - 10), (SIZE + 10, 2 * SIZE - 20))]


@pytest.fixture(scope="module")
def asked() -> Callable[[Recipe], list[Query]]:
    """Three pictures as queries of a recipe. Found once: it takes longer than to search for them."""
    found = [extract(from_array(picture, max_side=1024), options=FEATURES) for picture in (QUERY, *ENDS)]
    assigner, known = Assigner(Vocabulary.ready()), dict[AssignOptions, list[Query]]()

    def ask(recipe: Recipe) -> list[Query]:
        if recipe.assign not in known:
            known[recipe.assign] = [quantise(assigner, features, recipe.assign) for features in found]
        return known[recipe.assign]

    return ask


ALONE: dict[object, SearchResult] = {}  # what was found in one place, whoever is compared with it


def agree(twin: Index, alone: Index, queries: list[Query], recipe: Recipe, top: int = 20) -> bool:
    words = tuple(array.tobytes() for q in queries for array in (q.words.feature, q.words.word, q.words.signature))
    name = (alone.path, alone.info().commit, repr(recipe), words, top)
    if name not in ALONE:
        ALONE[name] = search(alone._group, queries, top=top, recipe=recipe)
    return same(search(twin._group, queries, top=top, recipe=recipe), ALONE[name])


@pytest.mark.parametrize("name", SPREADABLE)
def test_every_recipe(name: str, asked: Callable[[Recipe], list[Query]], alone: Index, twin: Index) -> None:
    recipe = RECIPES[name]
    whole, *ends = asked(recipe)
    assert agree(twin, alone, [whole], recipe)
    assert agree(twin, alone, ends, recipe, top=3)


@pytest.mark.parametrize("recipe", ["linked", "expanded", "verified", "context-l1", "bow-tf"])
@pytest.mark.parametrize(
    "asked",
    [
        {"key": "copy 2"},
        {"key": "wall 1", "region": (0, 0, SIZE / 2, SIZE)},
        {"key": "copy 1", "top": 2},  # of four equal ones
    ],
)
def test_every_way_to_ask(recipe: str, asked: dict[str, Any], alone: Index, twin: Index) -> None:
    assert same(*(index.search(recipe=recipe, **asked) for index in (twin, alone)))


@pytest.mark.parametrize("recipe", ["expanded", "verified"])
def test_sure_hits_alone(recipe: str, alone: Index, twin: Index) -> None:
    assert same(*(index.search(key="wall 0", recipe=recipe, min_confidence=0.5) for index in (twin, alone)))


OWN: dict[str, Recipe] = {
    "inter-image burst weights": replace(RECIPES["burst"], scoring=HammingOptions(inter=True)),
    "density, inter": replace(RECIPES["verified"], scoring=HammingOptions(inter=True, weights="density", mixture=0.03)),
    "expansion by union": replace(RECIPES["expanded"], expand=ExpandOptions(kind="union")),
    "expansion by density": replace(RECIPES["expanded"], scoring=RECIPES["density-hamming"].scoring),
    "expansion by negative evidence": replace(RECIPES["expanded"], scoring=NegativeOptions()),
    "nothing verified": replace(RECIPES["union"], verify=replace(RECIPES["union"].verify, shortlist=1)),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("probe", [0, 1])
def test_own_recipes_and_some_clusters_alone(
    name: str, probe: int, asked: Callable[[Recipe], list[Query]], alone: Index, twin: Index
) -> None:
    recipe = replace(OWN[name], clusters=ClusterOptions(probe=probe, scored=4))
    whole, *ends = asked(recipe)
    assert agree(twin, alone, [whole], recipe)
    assert agree(twin, alone, ends, recipe)


@pytest.mark.parametrize("other", ["wall 1", "copy 3", "other 1"])
def test_two_pictures_compared(other: str, alone: Index, twin: Index) -> None:
    assert same(twin.compare(QUERY, other=other), alone.compare(QUERY, other=other))
    assert same(twin.compare(key="wall 0", other=other), alone.compare(key="wall 0", other=other))


FORGETTING = ["linked", "expanded", "union", "density", "density-hamming", "bow-negative", "bow-asymmetric"]


@pytest.mark.parametrize("recipe", FORGETTING)
def test_searchers_that_forget_compute_again(
    recipe: str, asked: Callable[[Recipe], list[Query]], made: Path, alone: Index
) -> None:
    with spread(made, 3, forgetful=True) as index:
        assert agree(index, alone, asked(RECIPES[recipe])[1:], RECIPES[recipe])


def test_a_searcher_dies_between_the_searches_of_two_indexes(made: Path, alone: Index) -> None:
    """Each brings all that a new searcher needs to know of the others."""
    twins, wanted = Twins(3), alone.search(key="copy 1")
    with Index.open(made) as first, Index.open(made) as second:
        for index in (first, second):
            index.spread(twins)
            assert same(index.search(key="copy 1"), wanted)
            twins.processes[1] = SearcherProcess()
            assert same(index.search(key="copy 1"), wanted)


@pytest.mark.parametrize("count", COUNTS)
def test_several_vocabularies(count: int, thirds: Path) -> None:
    found = extract(from_array(QUERY, max_side=1024), options=FEATURES)
    with Index.open(thirds) as alone, spread(thirds, count) as twin:
        for name in ("expanded", "union", "bow-l1", "bow-burst", "density"):
            asked = quantise(Assigner(alone.vocabulary), found, RECIPES[name].assign)
            assert agree(twin, alone, [asked], RECIPES[name])
        shallow = replace(RECIPES["bow-l1"], aggregate=AggregateOptions(depth=3, quantile=1.0))
        assert agree(twin, alone, [asked, asked], shallow, top=2)
        assert same(twin.compare(key="wall 0", other="wall 1"), alone.compare(key="wall 0", other="wall 1"))


@pytest.fixture(scope="module")
def thirds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each word is in one of three vocabularies."""
    place, made = tmp_path_factory.mktemp("thirds") / "i.resight", ready_in_thirds()
    with Index.create(place, features=FEATURES, vocabulary=made) as index:
        fill(index)
        assert index.info().segments == SEGMENTS
    return index.path


def test_messages_are_few_and_carry_no_descriptors(made: Path) -> None:
    twins = Twins(2)
    with Index.open(made) as index:
        index.spread(twins)
        index.search(key="copy 1")
        twins.sent.clear()
        index.search(key="copy 1", recipe="burst")
        assert twins.sent == ["stored_queries", *["top_k"] * 2, *["rows"] * 2]
        row = next(index.snapshot.segments[0].table.all())
        (query,) = index._group.stored_queries([(0, row)])
        assert query.known_features.descriptors.shape == (len(query.known_features), 0)


def test_statistics_are_gathered_first(made: Path, asked: Callable[[Recipe], list[Query]]) -> None:
    """Those of a commit once, those of a query in as many rounds as its measure needs."""
    twins = Twins(2)
    with Index.open(made) as index:
        index.spread(twins)
        for name, first in (("bow-burst", ["count_words"] * 2), ("density", ["count_words", "count_words"])):
            query, rounds = (
                asked(RECIPES[name])[:1],
                2 * MEASURES[RECIPES[name].scoring.measure].rounds(RECIPES[name].scoring),
            )
            for counted in (first, []):
                twins.sent.clear()
                search(index._group, query, top=3, recipe=RECIPES[name])
                assert twins.sent[: len(counted) + rounds] == [*counted, *["statistics"] * rounds]
                assert twins.sent[len(counted) + rounds] == "top_k"


# --- what cannot be


def test_what_needs_all_pictures_in_one_place_says_so(tmp_path: Path) -> None:
    Index.create(tmp_path / "i", indexing=IndexingOptions(keep="codes")).close()
    with spread(tmp_path / "i", 2) as index:
        with pytest.raises(UsageError, match=r"knn needs all pictures in one place; .* one of the recipes linked, "):
            index.search(QUERY, recipe="knn")
        with pytest.raises(UsageError, match="in one place"):
            index.require_searchable(RECIPES["knn"])
        index.require_searchable(RECIPES["density"])


def test_an_empty_index(tmp_path: Path) -> None:
    Index.create(tmp_path / "i").close()
    with spread(tmp_path / "i", 3) as index:
        for recipe in ("expanded", "bow-negative", "density"):
            assert not index.search(QUERY, recipe=recipe).hits


def test_errors_come_back_as_they_are(made: Path, tmp_path: Path) -> None:
    build_made(tmp_path / "i", [entry("a", 1)], [entry("b", 2)])
    with open_snapshot(tmp_path / "i") as snapshot:
        group = Twins(2).group(snapshot)
        for file in (tmp_path / "i" / "segments").glob("*/sums.npy"):
            file.unlink()
        with pytest.raises(IndexDamagedError, match=r"sums\.npy"):
            group.rows([(0, 0)])
    with spread(made, 2) as index, pytest.raises(UsageError, match="no picture with the key 'nobody' is indexed"):
        index.search(key="nobody")


def test_here_an_index_is_searched_where_it_was_opened() -> None:
    with LocalEngine().searchers() as searchers:
        assert searchers is None


# --- commits


def test_a_commit_is_seen_and_searches_under_way_finish_on_theirs(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i", features=FEATURES) as index:
        fill(index)
    with Index.open(tmp_path / "i") as index, spread(tmp_path / "i", 2) as twin:
        before, old = index.search(key="copy 1"), twin._group
        with Index.open(tmp_path / "i") as writer:
            writer.add(QUERY, key="new")
        assert same(twin.search(key="copy 1"), before)
        twin.refresh()
        index.refresh()
        after = twin.search(key="copy 1")
        assert same(after, index.search(key="copy 1"))
        assert "new" in {hit.key for hit in after.hits} - {hit.key for hit in before.hits}
        twin._group = old
        assert same(twin.search(key="copy 1"), before)


def test_a_merge_while_searchers_open_is_seen(tmp_path: Path) -> None:
    """The segments that they should open are gone: so there is a newer commit, and they open that."""
    folder = tmp_path / "i.resight"
    with Index.create(folder, features=FEATURES) as index:
        fill(index)

    class Late(Twins):
        def group(self, snapshot: Snapshot) -> SegmentGroup:
            if len(snapshot.segments) > 1:
                with Index.open(folder) as other:
                    other.merge()
            found = super().group(snapshot)
            found.rows([(number, 0) for number in range(len(snapshot.segments))])
            return found

    with Index.open(folder) as index:
        index.spread(Late(2))
        assert index.info().segments == 1
        assert index.search(key="copy 1").hits


# --- sharing out


def sized(folder: Path, *features: int) -> list[list[int]]:
    create(folder, vocabulary(), disk=QuickDisk())
    for number, count in enumerate(features):
        with Writer(folder, options=StoreOptions(merge_factor=1000), disk=QuickDisk()) as writer:
            writer.add(entry(str(number), number, features=count))
            writer.commit()
    with open_snapshot(folder) as snapshot:
        return share_out(snapshot.manifest, 3)


def test_a_searcher_that_opens_a_merged_commit_again(tmp_path: Path) -> None:
    """It finds nothing of it; the search begins anew, on the newest commit."""
    with Index.create(tmp_path / "i", features=FEATURES) as index:
        fill(index)
    twins = Twins(2)
    with Index.open(index.path) as spread_out:
        spread_out.spread(twins)
        old = spread_out._group
        for number in range(2):
            with Index.open(index.path) as other:
                other.add(texture(200 + number, size=SIZE), key=f"new {number}")
                other.merge()
                wanted, compared = other.search(key="copy 1"), other.compare(key="wall 0", other="wall 1")
            twins.processes[0] = SearcherProcess()
            assert same(spread_out.search(key="copy 1"), wanted)
            spread_out._group = old  # as of a search that has been under way all the time
            assert same(spread_out.compare(key="wall 0", other="wall 1"), compared)
        for file in index.path.glob("segments/*/sums.npy"):
            file.unlink()
        twins.processes[0] = SearcherProcess()
        with pytest.raises(IndexDamagedError, match=r"sums\.npy"):
            spread_out.search(key="copy 1")


def test_searchers_let_old_commits_go(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i", features=FEATURES) as index:
        fill(index)
    twins, open_now = Twins(2), []
    gc.disable()  # circles would be found sooner or later; files must not wait for that
    try:
        with Index.open(index.path) as spread_out:
            spread_out.spread(twins)
            for number in range(4):
                with Index.open(index.path) as other:
                    other.add(texture(200 + number, size=SIZE), key=f"new {number}")
                    other.merge()
                spread_out.refresh()
                assert spread_out.search(key="copy 1").hits
                open_now.append(open_files(index.path))
            assert open_now[2:] == [open_now[1]] * 2
            before = open_now[-1]
            twins.processes[0].rest()
            assert open_files(index.path) < before
    finally:
        gc.enable()


class Full:
    def group(self, snapshot: Snapshot) -> SegmentGroup:
        raise EngineError("no room")


def test_searchers_that_refuse_change_nothing(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i", features=FEATURES) as index:
        fill(index)
        with pytest.raises(EngineError, match="no room"):
            index.spread(Full())
        index.add(texture(200, size=SIZE), key="new")
        index.commit()
        assert index.search(key="new").hits


def test_an_index_that_closes_asks_no_searcher(tmp_path: Path) -> None:
    twins = Twins(2)
    with Index.create(tmp_path / "i", features=FEATURES) as index:
        fill(index)
        index.spread(twins)
        index.add(texture(200, size=SIZE), key="new")
    assert twins.asked == 1
    with Index.open(index.path) as again:
        assert "new" in again


def test_segments_are_shared_out_evenly(tmp_path: Path) -> None:
    assert sized(tmp_path / "a", 5, 9, 2, 4, 3, 1) == [[1], [0, 2, 5], [3, 4]]  # 9, 8 and 7
    assert sized(tmp_path / "b", 5, 5) == [[0], [1]]
    assert sized(tmp_path / "c", 0, 0, 0, 0) == [[0, 3], [1], [2]]
    assert sized(tmp_path / "d") == []
