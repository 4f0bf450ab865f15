"""Searching some clusters of an index, from pictures to hits."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resight import Index
from resight.clusters import compared
from resight.errors import UsageError
from resight.features import extract
from resight.images import from_array
from resight.options import AssignOptions, ClusterOptions, FeatureOptions
from resight.recipes import ALL_NEAREST, RECIPES, Recipe
from resight.scoring import Query
from resight.search import SegmentGroup, quantise, stored_query
from resight.store import Snapshot, check, open_snapshot
from resight.types import Region
from resight.vocabulary import Assigner, Vocabulary

from ..support.pictures import SIZE, Pixels, panorama, part, texture
from ..support.vocabularies import learnt_from

ASKED = ["bow-l1", "burst", "expanded"]
FEATURES = FeatureOptions(max_features=250)
COUNT = 4
KEYS = [f"{thing} {view}" for thing in range(6) for view in range(3)]


def probing(recipe: str, probe: int, *, scored: int = 300) -> Recipe:
    return replace(RECIPES[recipe], clusters=ClusterOptions(probe=probe, scored=scored))


def view(key: str) -> Pixels:
    """Of each of a few walls there are three views that overlap much."""
    thing, number = map(int, key.split())
    return part(panorama(10 + thing), 60 * number)


def vocabulary(words: int, count: int) -> Vocabulary:
    """Of the things that the pictures show, so that a few words tell them apart."""
    shown = (view(f"{thing} 1") for thing in range(6))
    return learnt_from(shown, features=FEATURES, words=words, vocabularies=count)


# Words, vocabularies.
VOCABULARIES = {"few": (300, 1), "three": (200, 3), "many": (1000, 1)}


@pytest.fixture(scope="module", params=VOCABULARIES)
def views(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Index, Index]]:
    """An index, and another of the same pictures in clusters, of which some were added later and one removed."""
    folder, words = tmp_path_factory.mktemp("views"), vocabulary(*VOCABULARIES[request.param])
    made = [
        Index.create(folder / f"{name}.resight", features=FEATURES, vocabulary=words) for name in ("flat", "clusters")
    ]
    for index in made:
        for key in (*KEYS[:14], "gone"):
            index.add(view(key) if key in KEYS else texture(1, size=SIZE), key=key)
        index.commit()
        if index is made[1]:
            index.learn.clusters(ClusterOptions(count=COUNT, dimensions=8))
        for key in KEYS[14:]:
            index.add(view(key), key=key)
        index.remove("gone")
        index.commit()
    with open_snapshot(made[1].path) as snapshot:
        assert len(snapshot.segments) == 2
    yield made[0], made[1]
    for index in made:
        index.close()


def cluster_of(index: Index) -> dict[str, int]:
    """The place of each picture says it."""
    with open_snapshot(index.path) as snapshot:
        return {
            row.key: int(np.searchsorted(segment.bounds, row.ordinal, side="right")) - 1
            for segment in snapshot.segments
            if segment.bounds is not None
            for row in segment.table.all()
            if segment.alive[row.ordinal]
        }


def test_what_an_index_says_of_its_clusters(views: tuple[Index, Index]) -> None:
    flat, clusters = views
    assert (flat.info().clusters, flat.snapshot.clusters) == (0, None)
    learnt = clusters.snapshot.clusters
    assert learnt
    assert (clusters.info().clusters, learnt.options) == (COUNT, ClusterOptions(count=COUNT, dimensions=8))
    assert sorted(clusters) == sorted(flat) == sorted(KEYS)
    assert set(cluster_of(clusters).values()) == set(range(COUNT))
    assert check(clusters.path).problems == ()


@pytest.mark.parametrize("recipe", ASKED)
def test_all_clusters_give_the_answers_of_an_index_without(views: tuple[Index, Index], recipe: str) -> None:
    flat, clusters = views
    for key in KEYS[::7]:
        query = view(key)[20:, 30:]
        right = flat.search(query, recipe=recipe).hits
        assert len(right) > 2
        for probe in (0, COUNT, 99):
            assert clusters.search(query, recipe=probing(recipe, probe)).hits == right
    assert clusters.search(key="2 1", recipe=probing(recipe, 99)).hits == flat.search(key="2 1", recipe=recipe).hits


@pytest.mark.parametrize("recipe", ASKED)
def test_one_cluster_is_enough_to_find_a_picture(views: tuple[Index, Index], recipe: str) -> None:
    """Those that were added later, too; and only pictures of one cluster are found."""
    _, clusters = views
    known = cluster_of(clusters)
    for key in KEYS[::2]:
        hits = clusters.search(view(key), recipe=probing(recipe, 1), top=99).hits
        if recipe == "expanded":  # which asks again with what it found
            assert hits[0].key[0] == key[0]
            assert key in {hit.key for hit in hits if hit.inliers}
        else:
            assert hits[0].key == key
            assert len({known[hit.key] for hit in hits}) == 1
            assert len(hits) < len(KEYS)


def test_scores_do_not_depend_on_visits(views: tuple[Index, Index]) -> None:
    _, clusters = views
    if clusters.info().vocabularies > 1:
        pytest.skip("scores are made of ranks")
    everything = {hit.key: hit.score for hit in clusters.search(view("3 1"), recipe="bow-l1", top=99).hits}
    for probe in range(1, COUNT):
        hits = clusters.search(view("3 1"), recipe=probing("bow-l1", probe), top=99).hits
        assert {hit.key: hit.score for hit in hits}.items() <= everything.items()
        known = cluster_of(clusters)
        assert len({known[hit.key] for hit in hits}) <= probe


@pytest.mark.parametrize("recipe", ["bow-l1", "burst"])
def test_the_nearest_pictures_alone_are_scored(views: tuple[Index, Index], recipe: str) -> None:
    """With the scores that they have among all; and a picture is nearest to itself."""
    flat, clusters = views
    if clusters.info().vocabularies > 1:
        pytest.skip("scores are made of ranks")
    for key in KEYS[::4]:
        right = {hit.key: hit.score for hit in flat.search(view(key), recipe=recipe, top=99).hits}
        for scored in (1, 2, 5):
            hits = clusters.search(view(key), recipe=probing(recipe, COUNT, scored=scored), top=99).hits
            assert hits[0].key == key
            assert len(hits) <= scored
            assert {hit.key: hit.score for hit in hits}.items() <= right.items()


def test_confidence_does_not_depend_on_what_is_scored(views: tuple[Index, Index]) -> None:
    """It is judged by pictures that stand for all: here by all."""
    flat, clusters = views
    if clusters.info().vocabularies > 1:
        pytest.skip("scores are made of ranks")
    for key in ("1 1", "4 0"):
        right = flat.search(view(key), recipe="verified").hits[0]
        found = clusters.search(view(key), recipe=probing("verified", 1, scored=1)).hits[0]
        assert (found.key, found.inliers, found.confidence) == (right.key, right.inliers, right.confidence)


def test_context_terms_decide_which_are_nearest(views: tuple[Index, Index], tmp_path: Path) -> None:
    _, clusters = views
    if clusters.info().vocabularies > 1:
        pytest.skip("one set of terms is enough")
    recipe = "context-l1"
    with Index.open(shutil.copytree(clusters.path, tmp_path / "copy")) as index:
        index.learn.context(recipe)
        snapshot, scoring, context = index.snapshot, RECIPES[recipe].scoring, RECIPES[recipe].context
        group, (terms,) = SegmentGroup.local(snapshot), snapshot.terms(scoring, context)
        for key in KEYS[::5]:
            (words,) = (stored.words for stored in stored_pictures(snapshot, [key]))
            (visit,) = snapshot.visits([words], COUNT)
            everything = {}
            for number, segment in enumerate(snapshot.segments):
                assert segment.placed
                assert segment.bounds is not None
                for picture, distance in zip(*compared(segment.placed.code, segment.bounds, visit), strict=True):
                    if segment.alive[picture]:
                        everything[number, int(picture)] = distance * terms[number][picture] ** 2
            nearest = group.nearest([visit], 4, RECIPES[recipe])
            found = {(number, picture) for number, pictures in nearest.items() for picture in pictures.tolist()}
            assert found == set(sorted(everything, key=lambda place: float(everything[place]))[:4])


def stored_pictures(snapshot: Snapshot, keys: Sequence[str]) -> Iterator[Query]:
    for key in keys:
        located = snapshot.locate(key)
        assert located
        yield stored_query(snapshot, *located)


def test_matches_are_located_in_clusters(views: tuple[Index, Index]) -> None:
    """Geometry is asked of the clusters of its candidates, and says what it says of an index without."""
    flat, clusters = views
    for key in ("0 0", "5 2"):
        query = view(key)[10:, 20:]
        right = {hit.key: hit for hit in flat.search(query, recipe="verified").hits}
        (best, *_) = clusters.search(query, recipe=probing("verified", 1)).hits
        assert best.key == key
        assert best.transform is not None
        assert np.allclose(best.transform, [[1, 0, 20], [0, 1, 10]], atol=1)
        assert (best.inliers, best.transform) == (right[key].inliers, right[key].transform)


def test_an_indexed_picture_and_a_region_ask_some_clusters(views: tuple[Index, Index]) -> None:
    _, clusters = views
    hits = clusters.search(key="4 1", recipe=probing("expanded", 1)).hits
    assert "4 1" not in {hit.key for hit in hits}
    assert {hit.key for hit in hits if hit.inliers} & {"4 0", "4 2"}
    whole = clusters.search(view("4 1"), recipe=probing("expanded", 2))
    some = clusters.search(view("4 1"), region=Region(0, 0, SIZE, 0.8 * SIZE), recipe=probing("expanded", 2))
    assert some.hits[0].key == "4 1"
    assert (some.hits[0].inliers or 0) < (whole.hits[0].inliers or 0)


def test_several_pictures_visit_clusters_of_their_own(views: tuple[Index, Index]) -> None:
    _, clusters = views
    known = cluster_of(clusters)
    one = "0 1"
    other = next(key for key in KEYS if key.endswith(" 1") and known[key] != known[one])
    found = clusters.search(view(one), view(other), recipe=probing("bow-l1", 1), top=99).hits
    assert {known[hit.key] for hit in found} == {known[one], known[other]}
    assert {one, other} <= {hit.key for hit in found}


def test_several_pictures_look_into_the_same_clusters(views: tuple[Index, Index]) -> None:
    """What one of them does not look at would count as having nothing in common with it."""
    flat, clusters = views
    if clusters.info().vocabularies > 1:
        pytest.skip("scores are made of ranks")
    asked = view("0 1"), view("3 1")
    right = {hit.key: hit.score for hit in flat.search(*asked, recipe="burst", top=99).hits}
    found = {hit.key: hit.score for hit in clusters.search(*asked, recipe=probing("burst", 1), top=99).hits}
    assert len(found) > 3
    assert found == pytest.approx({key: right[key] for key in found}, rel=1e-5)


def test_expansion_asks_in_the_same_clusters(views: tuple[Index, Index]) -> None:
    """Results that all queries look at have the score that they have where everything is looked at."""
    flat, clusters = views
    if clusters.info().vocabularies > 1:
        pytest.skip("scores are made of ranks")
    right = {hit.key: hit.score for hit in flat.search(view("2 1"), top=99).hits if hit.inliers}
    sample = SegmentGroup.local(clusters.snapshot).sample
    assert sum(len(pictures) for pictures in sample.values()) == len(KEYS), "all of so few stand for all"
    found = {hit.key: hit.score for hit in clusters.search(view("2 1"), recipe=probing("expanded", 1), top=99).hits}
    assert {key: found[key] for key in right} == pytest.approx(right, rel=1e-5)


def test_a_query_is_compared_with_clusters_as_a_picture_is(views: tuple[Index, Index]) -> None:
    """Its features have several words each; those that pictures do not have do not lead it astray."""
    _, clusters = views
    known, assigner = cluster_of(clusters), Assigner(clusters.vocabulary)
    with open_snapshot(clusters.path) as snapshot:
        for key in KEYS:
            found = extract(from_array(view(key), max_side=1024), options=FEATURES)
            several = (AssignOptions(neighbours=n, ratio=ALL_NEAREST) for n in (1, 10))
            once, again = (quantise(assigner, found, options) for options in several)
            assert len(again.words) > 5 * len(once.words)
            visits = snapshot.visits([once.words, again.words], 1)
            assert [visit.clusters.tolist() for visit in visits] == [[known[key]]] * 2
            assert visits[0].code.tolist() == visits[1].code.tolist()


def test_a_picture_without_features_visits_something(views: tuple[Index, Index]) -> None:
    _, clusters = views
    assert clusters.search(np.full((50, 60), 128, np.uint8), recipe=probing("bow-l1", 1)).hits == ()


def test_visits_without_clusters_name_the_remedy(views: tuple[Index, Index], tmp_path: Path) -> None:
    flat, _ = views
    with pytest.raises(UsageError, match=r"has no clusters to choose from; make them with .*, or search without"):
        flat.search(view("0 0"), recipe=probing("expanded", 1))
    with Index.create(tmp_path / "empty.resight") as empty:
        assert empty.search(view("0 0"), recipe=probing("expanded", 1)).hits == ()


def test_what_was_committed_is_seen_though_clusters_failed(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(0), key="a")
        with pytest.raises(UsageError, match="1 picture cannot make 2 clusters"):
            index.learn.clusters(ClusterOptions(count=2))
        assert list(index) == ["a"]
        index.learn.clusters(ClusterOptions(count=1))
        assert index.search(texture(0), recipe=probing("expanded", 1)).hits[0].key == "a"
        index.learn.clusters(ClusterOptions())
        assert index.info().clusters == 0
