"""From queries to hits: indexed pictures as queries, several at once, expansion, and pictures hard to like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from resight import Index, learn
from resight.errors import UsageError
from resight.ingest import Reader
from resight.options import (
    AssignOptions,
    ExpandOptions,
    FeatureOptions,
    HammingOptions,
    IndexingOptions,
    L1Options,
    ScoringOptions,
    VerifyOptions,
    scoring_options,
)
from resight.recipes import RECIPES
from resight.search import SegmentGroup, prepare, quantise, stored_query
from resight.search.candidates import SHARED
from resight.search.pipeline import leading, order
from resight.search.prepare import self_scores
from resight.search.scores import at_one_scale, mean_scores, scales
from resight.search.shortlist import shortlist, verify
from resight.store import Writer, open_snapshot
from resight.types import Hit, Region
from resight.vocabulary import Assigner, Vocabulary

from ..support.pictures import SIZE, Pixels, panorama, part, texture, wall_in_parts
from ..support.quantised import similarity


@pytest.fixture(scope="module")
def walls(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Wall 1 in three parts that overlap by half, a copy of its first part, and other pictures; in two segments."""
    index = Index.create(tmp_path_factory.mktemp("walls") / "i.resight")
    wall = wall_in_parts()
    for key, pixels in wall.items():
        index.add(pixels, key=key)
    index.commit()
    index.add(wall["wall 0"], key="copy")
    for seed in range(8):
        index.add(part(panorama(50 + seed), 0), key=f"other {seed}")
    index.commit()
    return index


# --- an indexed picture as the query


def test_a_key_finds_what_its_picture_finds_but_not_itself(walls: Index) -> None:
    hits = walls.search(key="wall 0").hits
    assert [hit.key for hit in hits if hit.inliers] == ["copy", "wall 1"]
    assert "wall 0" not in {hit.key for hit in hits}
    assert hits[1].transform is not None
    assert np.allclose(hits[1].transform, np.array([[1, 0, -SIZE / 2], [0, 1, 0]]), atol=1)


def test_a_region_of_an_indexed_picture(walls: Index) -> None:
    left = walls.search(key="wall 1", region=Region(0, 0, SIZE / 2 - 10, SIZE))
    found = {hit.key for hit in left.hits if hit.inliers}
    assert {"wall 0", "copy"} <= found
    assert "wall 2" not in found
    assert 0 < left.query_features < walls.search(key="wall 1").query_features


def test_a_removed_picture_is_no_query(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        index.add(texture(0), key="gone")
        index.commit()
        index.remove("gone")
        index.commit()
        with pytest.raises(UsageError, match="no picture with the key 'gone' is indexed"):
            index.search(key="gone")


# --- several pictures of one thing


def test_several_pictures_ask_together(walls: Index) -> None:
    wall = panorama(1)
    ends = [np.ascontiguousarray(wall[:, a:b]) for a, b in ((20, SIZE - 10), (SIZE + 10, 2 * SIZE - 20))]
    alone = [{hit.key for hit in walls.search(end, recipe="verified").hits if hit.inliers} for end in ends]
    assert "wall 2" not in alone[0]
    assert "wall 0" not in alone[1]
    both = walls.search(*ends, recipe="verified")
    assert {hit.key for hit in both.hits[:4]} == {"wall 0", "wall 1", "wall 2", "copy"}
    assert both.query_features == sum(walls.search(end).query_features for end in ends)


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.resight") as index:
        assert not index.search(texture(1)).hits
        assert not index.search(texture(1), texture(2)).hits


def test_wrong_queries_are_named(walls: Index) -> None:
    with pytest.raises(UsageError, match="nothing to search with"):
        walls.search()
    with pytest.raises(UsageError, match="a region belongs to one picture"):
        walls.search(texture(50), texture(51), region=(0, 0, 9, 9))


def test_the_mean_is_on_the_scale_of_the_first_that_scores_at_all() -> None:
    first, second, nothing = ([4, 0, 2], [1]), ([0, 8, 4], [0]), ([0, 0, 0], [0])
    possible = {id(first): 8.0, id(second): 16.0, id(nothing): 0.0}

    def mean(*answers: tuple[list[int], list[int]]) -> list[list[float]]:
        found = scales(np.array([[possible[id(answer)]] for answer in answers]))[:, 0]
        scores = [[np.array(s, np.float32) for s in answer] for answer in answers]
        return [np.round(s, 5).tolist() for s in mean_scores(at_one_scale(scores, found))]

    assert mean(first) == [[4, 0, 2], [1]]
    assert mean(first, second) == [[2, 2, 2], [0.5]]
    assert mean(second, first) == [[4, 4, 4], [1]]
    assert mean(first, nothing) == mean(nothing, first) == [[2, 0, 1], [0.5]]
    assert mean(nothing, nothing) == [[0, 0, 0], [0]]


def scored(walls: Index, recipe: str) -> tuple[float, list[float]]:
    """What a picture with the very features of wall 1 would score as a query, and what all of its segment score."""
    with open_snapshot(walls.path) as snapshot:
        row = snapshot.find("wall 1")
        assert row
        group = SegmentGroup.local(snapshot)
        request = prepare(group, [stored_query(snapshot, snapshot.segments[0], row)], RECIPES[recipe])
        places = [(0, ordinal) for ordinal in (row.ordinal, *range(snapshot.segments[0].record.pictures))]
        return float(self_scores(group, request)[0, 0]), group.scores(request, places)


@pytest.mark.parametrize(
    "recipe", ["expanded", "hamming", "bow-l1", "bow-l2", "bow-burst", "bow-negative", "bow-asymmetric"]
)
def test_the_score_of_a_querys_very_features_is_what_an_indexed_copy_scores(recipe: str, walls: Index) -> None:
    possible, (own, *others) = scored(walls, recipe)
    assert possible == pytest.approx(own, rel=1e-5) == max(others)


@pytest.mark.parametrize("recipe", ["density", "density-hamming"])
def test_by_density_ratio_it_is_what_one_more_copy_would_score(recipe: str, walls: Index) -> None:
    """Which is less than the picture scores now, because there would be one more."""
    possible, (own, *_) = scored(walls, recipe)
    assert 0.6 * own < possible < own


# --- expansion


@pytest.mark.parametrize("kind", ["average", "union"])
def test_expansion_reaches_what_the_query_does_not_show(walls: Index, kind: str) -> None:
    """A query that ends a little after the middle of part 1: the rest of part 1 leads on to part 2."""
    wall = panorama(1)
    query = np.ascontiguousarray(wall[:, 60 : SIZE - 10])  # ends before part 2 begins
    once = walls.search(query, recipe="verified")
    recipe = replace(RECIPES["expanded"], expand=ExpandOptions(kind=kind))
    again = walls.search(query, recipe=recipe)
    rank = {hit.key: i for i, hit in enumerate(again.hits)}
    assert {hit.key for hit in again.hits[:3]} == {"wall 0", "wall 1", "copy"}
    assert rank["wall 2"] == 3  # before all others
    assert "wall 2" not in {hit.key for hit in once.hits if hit.inliers}


@pytest.mark.parametrize("measure", ["burst", "negative", "asymmetric"])
def test_expansion_with_measures_that_look_at_all_pictures(walls: Index, measure: str) -> None:
    query = np.ascontiguousarray(panorama(1)[:, 60 : SIZE - 10])
    recipe = replace(RECIPES["expanded"], scoring=scoring_options(measure), assign=AssignOptions(neighbours=1))
    once = walls.search(query, recipe=replace(recipe, expand=ExpandOptions(results=0))).hits
    again = walls.search(query, recipe=recipe).hits
    assert lead(again) > max(1, lead(once))


def lead(hits: Sequence[Hit]) -> float:
    """The score of the part of the wall that the query does not show, over the best of other pictures."""
    score = {hit.key: hit.score for hit in hits}
    return score["wall 2"] / max(value for key, value in score.items() if key.startswith("other"))


def test_a_source_does_not_vote_for_itself() -> None:
    scores = [[np.array([1, 2, 3], np.float32)], [np.array([4, 2, 0], np.float32)], [np.array([1, 8, 0], np.float32)]]
    (mean,) = mean_scores(scores, [(0, 0), (0, 1)])  # of the last two
    assert mean.tolist() == [(1 + 1) / 2, (2 + 2) / 2, 1]
    (mean,) = mean_scores(scores, [None, (0, 1)])  # the first of which is elsewhere
    assert mean.tolist() == [2, (2 + 2) / 2, 1]


def test_expansion_places_results_in_the_querys_frame(walls: Index) -> None:
    """With union, what only the results show is found where it lies relative to the query, outside of it."""
    wall = panorama(1)
    query = np.ascontiguousarray(wall[:, 60 : SIZE - 10])
    recipe = replace(RECIPES["expanded"], expand=ExpandOptions(kind="union"))
    hits = {hit.key: hit for hit in walls.search(query, recipe=recipe).hits}
    if hits["wall 2"].transform is not None:
        assert np.allclose(hits["wall 2"].transform, [[1, 0, 60 - SIZE], [0, 1, 0]], atol=3)


def test_a_region_learns_nothing_from_its_own_picture(tmp_path: Path) -> None:
    """A part has more features than the whole picture has there: not all of them agree."""
    wall = texture(3, size=400)
    with Index.create(tmp_path / "i.resight", features=FeatureOptions(max_features=200)) as index:
        index.add(wall, key="wall")
        index.add(texture(99, size=SIZE), key="other")
        index.commit()
        once, again = (index.search(wall, region=Region(100, 40, 120, 100), recipe=r) for r in ("verified", "expanded"))
    assert once.hits[0].key == "wall"
    assert 10 <= (once.hits[0].inliers or 0) < SHARED * once.query_features
    assert once.hits == again.hits


def test_without_verified_results_expansion_changes_nothing(walls: Index) -> None:
    unrelated = texture(99, size=SIZE)
    once, again = (walls.search(unrelated, recipe=name) for name in ("verified", "expanded"))
    assert once.hits == again.hits


# --- hits


@pytest.mark.parametrize("scoring", [HammingOptions(threshold=0), L1Options()], ids=["hamming", "l1"])
def test_verification_matches_features_by_its_own_threshold(walls: Index, scoring: ScoringOptions) -> None:
    """Whatever the measure, and whatever that takes for a match."""
    counts = []
    for bits in (8, 24):
        recipe = replace(RECIPES["verified"], scoring=scoring, verify=VerifyOptions(threshold=bits))
        hits = {hit.key: hit.inliers or 0 for hit in walls.search(part(panorama(1), 20), recipe=recipe).hits}
        usual = replace(RECIPES["verified"], verify=VerifyOptions(threshold=bits))
        by_default = {hit.key: hit.inliers or 0 for hit in walls.search(part(panorama(1), 20), recipe=usual).hits}
        assert hits["wall 0"] == by_default["wall 0"]
        counts.append(hits["wall 0"])
    assert 4 <= counts[0] < counts[1]


def test_confidence_ranks_and_filters(walls: Index) -> None:
    result = walls.search(part(panorama(1), 20))
    sure = {hit.key: hit.confidence or 0 for hit in result.hits}
    assert all(0 <= value <= 1 for value in sure.values())
    assert min(sure["wall 0"], sure["copy"]) > 0.9
    assert max((value for key, value in sure.items() if key.startswith("other")), default=0) < 0.2
    kept = walls.search(part(panorama(1), 20), min_confidence=0.5).hits
    assert {hit.key for hit in kept} == {key for key, value in sure.items() if value >= 0.5}
    assert all(hit.confidence is None for hit in walls.search(texture(50), recipe="burst").hits)


def test_a_hit_says_where(walls: Index) -> None:
    hit = next(h for h in walls.search(part(panorama(1), 100)).hits if h.key == "wall 1")
    assert hit.matches is not None
    assert hit.region is not None
    assert hit.query_region is not None
    assert hit.matches.shape == (hit.inliers, 4)
    assert np.abs(hit.matches[:, 0] + 100 - SIZE / 2 - hit.matches[:, 2]).max() < 0.02 * SIZE
    assert hit.region.contains(hit.matches[:, 2:]).all()
    assert hit.query_region.contains(hit.matches[:, :2]).all()
    # The overlap is the query's right part and the result's left part.
    assert hit.query_region.x > 60
    assert hit.region.x < 20


def test_stages_are_timed(walls: Index) -> None:
    result = walls.search(part(panorama(1), 20))
    assert list(result.timings) == ["features", "words", "score", "verify", "expand"]
    assert all(seconds > 0 for seconds in result.timings.values())


# --- pictures that are hard to like


INDEXING = sorted({recipe.indexing for recipe in RECIPES.values()}, key=repr)


def searched(index: Index, pictures: dict[str, Pixels]) -> Iterator[str]:
    """Fill an index with pictures, and with what recipes must know of them; then the recipes that index so."""
    for key, picture in pictures.items():
        index.add(np.ascontiguousarray(picture), key=key)
    index.commit()
    index.release()
    alike = [name for name, recipe in RECIPES.items() if recipe.indexing == index.settings.indexing]
    if "learnt" in alike:
        with Writer(index.path) as writer:
            learn.keep_similarity(writer, similarity(Vocabulary.ready().words))
        index.refresh()
    for name in alike:
        if RECIPES[name].context.method != "none":
            index.learn.context(name)
        yield name


def few_features(count: int) -> Pixels:
    """Grey, with this many blobs."""
    picture = np.full((200, 200), 128, np.uint8)
    for i in range(count):
        cv2.circle(picture, (40 + 60 * i, 100), 9 + 2 * i, 255, -1)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), 2), dtype=np.uint8)


@pytest.mark.parametrize("indexing", INDEXING)
def test_pictures_with_few_features(tmp_path: Path, indexing: IndexingOptions) -> None:
    pictures = {**{str(count): few_features(count) for count in range(4)}, "texture": texture(0)}
    with Index.create(tmp_path / "i.resight", indexing=indexing) as index:
        for recipe in searched(index, pictures):
            for count in range(4):
                hits = index.search(pictures[str(count)], recipe=recipe).hits
                assert np.isfinite([hit.score for hit in hits]).all(), recipe
                assert count == 0 or hits[0].score > 0, recipe


@pytest.mark.parametrize("indexing", INDEXING)
def test_one_pattern_all_over(tmp_path: Path, indexing: IndexingOptions) -> None:
    """A checkerboard: all its descriptors are alike, and so are those of another one."""
    board = np.kron(np.indices((12, 12)).sum(axis=0) % 2 * 255, np.ones((20, 20))).astype(np.uint8)
    pictures = {"board": board, "again": board, "part": board[:120, :120], "other": texture(0)}
    with Index.create(tmp_path / "i.resight", indexing=indexing) as index:
        for recipe in searched(index, pictures):
            hits = index.search(board, recipe=recipe).hits
            assert np.isfinite([hit.score for hit in hits]).all(), recipe
            scores = {hit.key: hit.score for hit in hits}
            assert {hit.key for hit in hits[:3]} == {"board", "again", "part"}, recipe
            assert scores["board"] == pytest.approx(scores["again"], rel=1e-5), recipe


def test_the_picture_itself_and_its_copy_come_first(walls: Index) -> None:
    """Equal scores, the order of keys; and expansion does not learn from copies of the query."""
    hits = walls.search(part(panorama(1), 0)).hits
    assert [hit.key for hit in hits[:3]] == ["copy", "wall 0", "wall 1"]
    assert hits[0].score == pytest.approx(hits[1].score)
    assert hits[0].inliers == hits[1].inliers


def test_the_first_besides_the_picture_itself_keeps_its_place(walls: Index) -> None:
    """What others find may move every result but these."""
    with open_snapshot(walls.path) as snapshot:
        group, assigner = SegmentGroup.local(snapshot), Assigner(snapshot.vocabulary)
        reader = Reader(snapshot.settings.features)

        def first(pixels: Pixels) -> list[str]:
            query = quantise(assigner, reader.open(pixels, name="query").features(), RECIPES["verified"].assign)
            request = prepare(group, [query], RECIPES["verified"])
            found = shortlist(group, request, 5)
            verify(group, request, found)
            found = order(request, found)
            kept = [candidate.row.key for candidate in leading(request, found)]
            moved = order(request, found[::-1], first=leading(request, found))
            assert [candidate.row.key for candidate in moved[: len(kept)]] == kept
            return kept

        assert first(part(panorama(1), 0)) == ["copy", "wall 0", "wall 1"]
        smaller = cv2.resize(part(panorama(1), 30), None, fx=0.8, fy=0.8)
        assert len(first(np.asarray(smaller, np.uint8))) == 1
        assert first(texture(99)) == first(texture(99))[:1]
