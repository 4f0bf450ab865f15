"""Some pictures, read from the forward index, score what they score among all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from resight.options import ScoringOptions, scoring_options
from resight.scoring import MEASURES, SegmentView, hamming, matches
from resight.scoring.voting import INTRA
from resight.vocabulary import spans

from ..support import quantised
from ..support.quantised import Array, Collection, random_collection, score

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

# Every kind of measure, and the Hamming measure with each kind of weight.
OF_ALL = {
    measure: scoring_options(measure) for measure in ("burst", "negative", "asymmetric", "density", "learnt", "knn")
}
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
ALL = {**SYSTEMS, **OF_ALL, **INTER, "density-hamming": quantised.hamming(weights="density")}
ALL_HAMMING = [o for o in ALL.values() if o.measure == "hamming"]


def drawn(rng: np.random.Generator, pictures: int) -> Array:
    """Some pictures, perhaps none, in any order."""
    return rng.permutation(pictures)[: rng.integers(0, pictures + 1)]


# --- segments


@few
@given(collection=collections, seed=seeds)
def test_lists_of_some_pictures_are_what_is_left_of_all(collection: Collection, seed: int) -> None:
    rng, segment = np.random.default_rng(seed), collection.segment
    chosen, word = drawn(rng, segment.pictures), rng.integers(0, collection.k, 9).astype(np.int32)
    whole = segment.read(None, "image", "signature", "geometry", "code")
    place, part = segment.only(chosen).find(word, "image", "signature", "geometry", "code")
    for w, at in zip(word.tolist(), place.tolist(), strict=True):
        mine, theirs = slice(whole.offsets[w], whole.offsets[w + 1]), slice(part.offsets[at], part.offsets[at + 1])
        rows = [row for picture in chosen for row in range(mine.start, mine.stop) if whole.image[row] == picture]
        assert chosen[part.image[theirs]].tolist() == whole.image[rows].tolist()
        for column in ("signature", "geometry", "code"):
            assert getattr(part, column)[theirs].tolist() == getattr(whole, column)[rows].tolist()


def test_lists_of_some_pictures_by_hand() -> None:
    # Word 0 is in pictures 0, 1 (twice) and 2; word 1 in 2; word 2 in none.
    pictures = [quantised.picture([0]), quantised.picture([0, 0]), quantised.picture([1, 0])]
    segment = quantised.segment_of(pictures, 3, np.ones(3))
    place, seen = segment.only(np.array([2, 1])).find(np.array([1, 0, 2, 0], np.int32), "image")
    assert [seen.image[seen.offsets[p] : seen.offsets[p + 1]].tolist() for p in place] == [
        [0],
        [0, 1, 1],
        [],
        [0, 1, 1],
    ]
    assert (len(seen.signature), len(seen.geometry), len(seen.code)) == (0, 0, 0)


def test_pictures_and_their_clusters() -> None:
    lists = quantised.lists_of(random_collection(1).pictures, random_collection(1).k)
    segment = SegmentView.of(lists, pictures=25, bounds=np.array([0, 3, 3, 9, 25]))
    assert segment.pictures_in(np.array([0, 1, 2])).tolist() == list(range(9))
    assert segment.pictures_in(np.array([0, 3])).tolist() == [0, 1, 2, *range(9, 25)]
    assert segment.pictures_in(np.zeros(0, np.int64)).tolist() == []
    assert [segment.cluster_of(picture) for picture in (0, 2, 3, 8, 9, 24)] == [0, 0, 2, 2, 3, 3]


# --- scores


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
@settings(max_examples=12, deadline=None)
@given(collection=collections, seed=seeds)
@example(collection=random_collection(3, k=8, pictures=14, features=60, removed=0.3), seed=1)
def test_scores_are_those_among_all(options: ScoringOptions, collection: Collection, seed: int) -> None:
    rng = np.random.default_rng(seed)
    (flat,) = score(collection.query, [collection.segment], options=options)
    for _ in range(4):
        chosen = drawn(rng, len(collection.pictures))
        (found,) = score(collection.query, [collection.segment], options=options, chosen=[chosen])
        assert found.tolist() == flat[chosen].tolist()


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_scores_do_not_depend_on_segments(options: ScoringOptions) -> None:
    collection = random_collection(4, pictures=30, removed=0.2)
    chosen = np.r_[1:9, 12, 19:25, 28]
    (flat,) = score(collection.query, [collection.segment], options=options)
    split = [chosen[chosen < 20], chosen[chosen >= 20] - 20, np.zeros(0, np.int64)]
    found = score(collection.query, collection.segments([0, 20, 30, 30]), options=options, chosen=split)
    assert np.concatenate(found).tolist() == flat[chosen].tolist()
    assert flat[chosen].any()


@pytest.mark.parametrize("measure", sorted(MEASURES.keys() - {"learnt"}))  # which is learnt for one vocabulary
def test_pictures_seen_through_some_words(measure: str) -> None:
    """Some pictures of a segment as one of several vocabularies sees it."""
    collection, options = random_collection(2, k=30, features=150, removed=0.2), scoring_options(measure)
    chosen = np.r_[0:7, 16:25]
    for span in spans(collection.k, 3):
        asked = replace(collection.query, words=collection.query.words.within(span))
        (flat,) = score(asked, [collection.segment.within(span)], options=options)
        (found,) = score(asked, [collection.segment.within(span)], options=options, chosen=[chosen])
        assert found.tolist() == flat[chosen].tolist()
        assert found.any()


def test_large_segments_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share the pictures of a large segment."""
    collection, chosen = random_collection(5, k=12, pictures=40, removed=0.1), np.r_[3:19, 28:40]
    monkeypatch.setattr(hamming, "processors", lambda: 3)
    whole = [score(collection.query, [collection.segment], options=o, chosen=[chosen])[0] for o in ALL_HAMMING]
    monkeypatch.setattr(hamming, "SMALL", 10)
    cut = [score(collection.query, [collection.segment], options=o, chosen=[chosen])[0] for o in ALL_HAMMING]
    assert [c.tolist() for c in cut] == [w.tolist() for w in whole]
    assert all(w.any() for w in whole)


# --- matches


@few
@given(collection=collections, seed=seeds)
@example(collection=random_collection(3, k=8, pictures=14, features=60, assigned=3), seed=1)
def test_matches_in_some_pictures(collection: Collection, seed: int) -> None:
    """The same features of the same pictures, wherever their postings are."""
    rng, segment, query = np.random.default_rng(seed), collection.segment, collection.query.words
    wanted, bits = drawn(rng, len(collection.pictures)), 24
    slot_of = np.full(len(collection.pictures), -1, np.int32)
    slot_of[wanted] = np.arange(len(wanted))
    found = []
    for place, lists, slots in (
        (*segment.find(query.word, "image", "signature"), slot_of),
        (*segment.only(wanted).find(query.word, "image", "signature"), np.arange(len(wanted), dtype=np.int32)),
    ):
        matched = matches(query, place, lists, slots, bits)
        matched[:, 2] = lists.signature[matched[:, 2]].astype(np.int64)
        found.append(matched[np.lexsort(matched.T[::-1])].tolist())
    assert found[0] == found[1]
