"""A query that visits some clusters scores their pictures as one that visits all, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from resight.options import ScoringOptions, scoring_options
from resight.postings import cells
from resight.scoring import MEASURES, SegmentView, hamming, kernels, matches
from resight.scoring.voting import INTRA
from resight.vocabulary import spans

from ..support import quantised
from ..support.quantised import Array, Collection, WeighedSegment, random_collection, score
from . import twins

few = settings(max_examples=25, deadline=None)
collections = st.builds(
    random_collection,
    seed=st.integers(0, 2**32),
    k=st.integers(2, 20),
    pictures=st.integers(1, 14),
    features=st.integers(1, 60),
    assigned=st.integers(1, 3),
    removed=st.sampled_from([0.0, 0.3]),
)
seeds = st.integers(0, 2**32)

# Every kind of measure, and the Hamming measure with each kind of weight; those of other pictures come further below.
OF_ALL = {measure: scoring_options(measure) for measure in ("burst", "negative", "asymmetric", "density")}
SYSTEMS = {
    **{measure: scoring_options(measure) for measure in ("l1", "l2", "cosine")},
    **{f"hamming, {intra}": quantised.hamming(intra=intra) for intra in INTRA},
    "hamming, closest": quantised.hamming(closest_only=True, intra="count"),
    "hamming, weak geometry": quantised.hamming(weak_geometry=True),
    "hamming, all of its own": quantised.hamming(intra="root-share", weak_geometry=True, size_power=0.5),
}
INTER = {
    "inter": quantised.hamming(inter=True),
    "inter and intra": quantised.hamming(inter=True, intra="root-share"),
    "all": quantised.hamming(inter=True, intra="log-share", weak_geometry=True, size_power=0.5),
}


def drawn_bounds(rng: np.random.Generator, pictures: int) -> Array:
    """Of some clusters, of which some are empty."""
    inner = np.sort(rng.integers(0, pictures + 1, rng.integers(0, 7)))
    return np.concatenate([[0], inner, [pictures]]).astype(np.int64)


def choices(rng: np.random.Generator, count: int) -> list[Array]:
    """All clusters, each by itself, some that follow each other, every second, and any."""
    begin, end = np.sort(rng.integers(0, count, 2))
    any_of = np.flatnonzero(rng.random(count) < 0.5)
    chosen = [np.arange(count), np.arange(begin, end + 1), np.arange(0, count, 2), any_of]
    return [*(c for c in chosen if len(c)), *np.arange(count)[:, None]]


def ordered(segment: WeighedSegment, bounds: Array, *, with_cells: bool) -> WeighedSegment:
    """The same, with its pictures in clusters."""
    places = cells(segment.read(None, "image"), bounds)
    return replace(segment, bounds=bounds, cells=(lambda words: places) if with_cells else None)


def inside(bounds: Array, clusters: Array) -> Array:
    """Which pictures are in the clusters; picture by picture."""
    return np.array([any(bounds[c] <= i < bounds[c + 1] for c in clusters) for i in range(bounds[-1])], np.bool_)


# --- the kernels


@few
@given(collection=collections, seed=seeds)
def test_cells_equal_their_twin(collection: Collection, seed: int) -> None:
    lists = quantised.lists_of(collection.pictures, collection.k)
    bounds = drawn_bounds(np.random.default_rng(seed), len(collection.pictures))
    found = cells(lists, bounds)
    assert found.dtype == np.uint32
    assert np.array_equal(found, twins.cells(lists.offsets, lists.image, bounds))


@few
@given(collection=collections, seed=seeds)
def test_find_cells_equals_its_twin(collection: Collection, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists, word = quantised.lists_of(collection.pictures, collection.k), collection.query.words.word
    bounds = drawn_bounds(rng, len(collection.pictures))
    begin = np.flatnonzero(rng.random(len(bounds) - 1) < 0.6)
    end = np.append(begin[1:], len(bounds) - 1)[: len(begin)]
    end = rng.integers(begin + 1, end + 1) if len(begin) else begin
    room = len(word) * len(begin)
    row, ends = np.full(room, -9, np.int64), np.full((room, 2), -9, np.int64)
    found = kernels.find_cells(word, begin, end, lists.offsets, cells(lists, bounds), row, ends)
    expected = twins.find_cells(word, begin, end, lists.offsets, lists.image, bounds)
    assert np.column_stack([row, ends])[:found].tolist() == expected.tolist()
    assert (row[found:] == -9).all()


def test_cells_by_hand() -> None:
    # Clusters: pictures 0 and 1, none, picture 2. Word 0 is in 0, 1 (twice) and 2; word 1 in 2; word 2 in none.
    pictures = [quantised.picture([0]), quantised.picture([0, 0]), quantised.picture([1, 0])]
    lists = quantised.lists_of(pictures, 3)
    assert cells(lists, np.array([0, 2, 2, 3])).tolist() == [[0, 3, 3, 4], [0, 0, 0, 1], [0, 0, 0, 0]]
    segment = ordered(quantised.segment_of(pictures, 3, np.ones(3)), np.array([0, 2, 2, 3]), with_cells=True)
    row, place, seen = segment.find(np.array([1, 0, 2], np.int32), np.array([2]), "image")
    assert np.arange(3)[row].tolist() == [0, 1]
    assert [seen.image[seen.offsets[p] : seen.offsets[p + 1]].tolist() for p in place] == [[2], [2]]
    row, place, seen = segment.find(np.array([0, 1], np.int32), np.array([0, 2]), "image")
    assert np.arange(2)[row].tolist() == [0, 0, 1]  # cluster 1 lies between, though it is empty
    assert [seen.image[seen.offsets[p] : seen.offsets[p + 1]].tolist() for p in place] == [[0, 1, 1], [2], [2]]


# --- segments


@few
@given(collection=collections, seed=seeds)
def test_pictures_and_their_clusters(collection: Collection, seed: int) -> None:
    rng, pictures = np.random.default_rng(seed), len(collection.pictures)
    bounds = drawn_bounds(rng, pictures)
    segment = ordered(collection.segment, bounds, with_cells=False)
    for clusters in choices(rng, len(bounds) - 1):
        assert np.array_equal(segment.seen(clusters), collection.alive & inside(bounds, clusters))
    assert np.array_equal(segment.seen(None), collection.alive)
    some = rng.integers(0, pictures, 4)
    found = segment.clusters_of(some)
    assert found is not None
    assert found.tolist() == [c for c in range(len(bounds) - 1) if any(bounds[c] <= i < bounds[c + 1] for i in some)]
    assert collection.segment.clusters_of(some) is None


def test_lists_in_memory_know_their_clusters() -> None:
    collection, bounds = random_collection(1), np.array([0, 9, 25])
    lists = quantised.lists_of(collection.pictures, collection.k)
    segment = SegmentView.of(lists, pictures=25, bounds=bounds)
    assert segment.cells
    assert np.array_equal(segment.cells(np.zeros(0, np.int32)), twins.cells(lists.offsets, lists.image, bounds))
    assert segment.seen(np.array([1])).tolist() == [False] * 9 + [True] * 16


# --- scores


@pytest.mark.parametrize("with_cells", [False, True], ids=["lists", "cells"])
@pytest.mark.parametrize("options", [*SYSTEMS.values(), *OF_ALL.values()], ids=[*SYSTEMS, *OF_ALL])
@settings(max_examples=12, deadline=None)
@given(collection=collections, seed=seeds)
@example(collection=random_collection(3, k=8, pictures=14, features=60, removed=0.3), seed=1)
def test_scores_are_those_of_all_or_0(
    options: ScoringOptions, with_cells: bool, collection: Collection, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    bounds = drawn_bounds(rng, len(collection.pictures))
    (flat,) = score(collection.query, [collection.segment], options=options)
    segment = ordered(collection.segment, bounds, with_cells=with_cells)
    assert score(collection.query, [segment], options=options)[0].tobytes() == flat.tobytes()
    for clusters in choices(rng, len(bounds) - 1):
        (found,) = score(collection.query, [segment], options=options, clusters=clusters)
        assert found.tolist() == (flat * inside(bounds, clusters)).tolist()


@pytest.mark.parametrize("with_cells", [False, True], ids=["lists", "cells"])
@pytest.mark.parametrize("options", INTER.values(), ids=INTER)
@settings(max_examples=12, deadline=None)
@given(collection=collections, seed=seeds)
@example(collection=random_collection(3, k=8, pictures=14, features=60, removed=0.3), seed=1)
def test_weights_between_pictures_are_those_of_the_visited(
    options: ScoringOptions, with_cells: bool, collection: Collection, seed: int
) -> None:
    """As if there were no other pictures; but words weigh what they weigh among all."""
    rng = np.random.default_rng(seed)
    bounds = drawn_bounds(rng, len(collection.pictures))
    segment = ordered(collection.segment, bounds, with_cells=with_cells)
    for clusters in choices(rng, len(bounds) - 1):
        visited = inside(bounds, clusters) & collection.alive
        alone = [p for p, seen in zip(collection.pictures, visited, strict=True) if seen]
        (right,) = score(collection.query, [quantised.segment_of(alone, collection.k, collection.idf)], options=options)
        (found,) = score(collection.query, [segment], options=options, clusters=clusters)
        assert found[visited].tolist() == right.tolist()
        assert not found[~visited].any()


@pytest.mark.parametrize("options", [*SYSTEMS.values(), *INTER.values()], ids=[*SYSTEMS, *INTER])
def test_segments_with_and_without_cells_make_one_collection(options: ScoringOptions) -> None:
    """As a large segment and a small one; each has pictures of both clusters."""
    collection = random_collection(4, pictures=30, removed=0.2)
    segments = collection.segments([0, 20, 30])
    segments = [
        ordered(segments[0], np.array([0, 12, 15, 20]), with_cells=True),
        ordered(segments[1], np.array([0, 4, 4, 10]), with_cells=False),
    ]
    visited = np.r_[[False] * 12, [True] * 8, [False] * 4, [True] * 6]
    found = np.concatenate(score(collection.query, segments, options=options, clusters=np.array([1, 2])))
    left = replace(collection, alive=collection.alive & visited)
    (right,) = score(collection.query, [quantised.segment_of(left.pictures, left.k, collection.idf, left.alive)],
                     options=options)  # fmt: skip
    assert found.tolist() == right.tolist()
    assert found.any()


@pytest.mark.parametrize("options", OF_ALL.values(), ids=OF_ALL)
def test_what_is_counted_over_all_does_not_depend_on_what_is_visited(options: ScoringOptions) -> None:
    """In two segments, one with cells and one without."""
    collection = random_collection(4, pictures=30, removed=0.2)
    segments = collection.segments([0, 20, 30])
    clustered = [
        ordered(segments[0], np.array([0, 12, 15, 20]), with_cells=True),
        ordered(segments[1], np.array([0, 4, 4, 10]), with_cells=False),
    ]
    visited = np.r_[[False] * 12, [True] * 8, [False] * 4, [True] * 6]
    found = np.concatenate(score(collection.query, clustered, options=options, clusters=np.array([1, 2])))
    whole = np.concatenate(score(collection.query, segments, options=options))
    assert found.tolist() == (whole * visited).tolist()
    assert found.any()


@pytest.mark.parametrize("measure", sorted(MEASURES.keys() - {"learnt"}))  # which is learnt for one vocabulary
def test_clusters_seen_through_some_words(measure: str) -> None:
    """A segment with clusters as one of several vocabularies sees it."""
    collection, options = random_collection(2, k=30, features=150, removed=0.2), scoring_options(measure)
    bounds, clusters = np.array([0, 7, 7, 16, 25]), np.array([0, 3])
    for span in spans(collection.k, 3):
        asked = replace(collection.query, words=collection.query.words.within(span))
        scores = [
            score(asked, [ordered(collection.segment, bounds, with_cells=c).within(span)], options=options,
                  clusters=clusters)[0]
            for c in (False, True)
        ]  # fmt: skip
        assert scores[0].any()
        assert not scores[0][7:16].any()
        assert scores[0].tolist() == scores[1].tolist()
        (flat,) = score(asked, [collection.segment.within(span)], options=options)
        assert scores[0].tolist() == (flat * inside(bounds, clusters)).tolist()


def test_large_segments_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share the pictures of a large segment, whose lists are looked at in clusters."""
    collection = random_collection(5, k=12, pictures=40, removed=0.1)
    bounds, clusters = np.array([0, 3, 11, 19, 28, 40]), np.array([1, 2, 4])
    segment = ordered(collection.segment, bounds, with_cells=True)
    monkeypatch.setattr(hamming, "processors", lambda: 3)
    whole = [score(collection.query, [segment], options=o, clusters=clusters)[0] for o in ALL_HAMMING]
    monkeypatch.setattr(hamming, "SMALL", 10)
    cut = [score(collection.query, [segment], options=o, clusters=clusters)[0] for o in ALL_HAMMING]
    assert [c.tolist() for c in cut] == [w.tolist() for w in whole]
    assert all(w.any() for w in whole)


ALL_HAMMING = [o for o in (*SYSTEMS.values(), *INTER.values()) if o.measure == "hamming"]


# --- matches


@few
@given(collection=collections, seed=seeds, with_cells=st.booleans())
@example(collection=random_collection(3, k=8, pictures=14, features=60, assigned=3), seed=1, with_cells=True)
def test_matches_are_found_in_the_clusters_of_their_pictures(
    collection: Collection, seed: int, with_cells: bool
) -> None:
    rng, pictures = np.random.default_rng(seed), len(collection.pictures)
    bounds, bits = drawn_bounds(rng, pictures), 24
    segment = ordered(collection.segment, bounds, with_cells=with_cells)
    wanted = rng.permutation(pictures)[: rng.integers(1, pictures + 1)]
    slot_of = np.full(pictures, -1, np.int32)
    slot_of[wanted] = np.arange(len(wanted))
    query = collection.query.words
    flat = matches(query, collection.segment, slot_of, bits)
    assert matches(query, segment, slot_of, bits, segment.clusters_of(wanted)).tolist() == flat.tolist()
