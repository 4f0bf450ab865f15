"""Neighbours from lists, reference sets, and terms of pictures that come later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.context import Reference, Terms, contextual, distances, nearest, require_context
from resight.context.neighbours import smallest
from resight.errors import UsageError
from resight.options import (
    BurstOptions,
    ContextOptions,
    CosineOptions,
    DensityOptions,
    HammingOptions,
    L1Options,
    ScoringOptions,
    scoring_options,
)
from resight.postings import forward
from resight.scoring import CollectionStatistics, Query, SegmentView, collection_statistics

from ..support.quantised import Collection, lists_of, picture, random_collection

SYMMETRIC = ("l1", "l2", "cosine", "density", "hamming")
MEASURES = (*SYMMETRIC, "burst")


def weighed(
    pictures: Sequence[Query], k: int, scoring: ScoringOptions | None = None
) -> tuple[SegmentView, CollectionStatistics]:
    """Pictures whose words all weigh the same."""
    segment = SegmentView.of(lists_of(pictures, k), pictures=len(pictures))
    scoring = scoring or HammingOptions()
    return segment, collection_statistics([segment], scoring, idf=np.ones(k, np.float32))


def learn(collection: Collection, scoring: ScoringOptions, context: ContextOptions) -> Reference:
    return Reference.learn(*weighed(collection.pictures, collection.k, scoring), scoring=scoring, context=context)


def test_forward_turns_lists_round() -> None:
    collection = random_collection(3)
    lists, n = lists_of(collection.pictures, collection.k), len(collection.pictures)
    for size in (1, 4, n, 100):
        blocks = list(forward(lists, pictures=n, size=size))
        assert [begin for begin, _ in blocks] == list(range(0, n, size))
        found = [one for _, block in blocks for one in block.pictures()]
        for (words, codes), shown in zip(found, collection.pictures, strict=True):
            order = np.argsort(shown.words.word, kind="stable")
            assert words.word.tolist() == shown.words.word[order].tolist()
            assert words.signature.tolist() == shown.words.signature[order].tolist()
            assert codes.tolist() == shown.geometry[shown.words.feature[order]].tolist()


@given(values=st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, np.inf]), max_size=12), count=st.integers(0, 14))
def test_smallest_are_ordered_by_value_and_then_by_number(values: list[float], count: int) -> None:
    right = sorted(range(len(values)), key=lambda i: (values[i], i))[:count]
    assert smallest(np.array(values, np.float32), count).tolist() == right


@pytest.mark.parametrize("measure", SYMMETRIC)
def test_distances_are_those_of_vectors(measure: str) -> None:
    """l1 and l2 against dense vectors; the same in both directions by each of these measures."""
    collection = random_collection(5, features=60)
    n = len(collection.pictures)
    scoring = {
        "hamming": HammingOptions(weak_geometry=False, intra="none"),
        "density": DensityOptions(mixture=1e-6),  # where log x + 1 is x
    }.get(measure, scoring_options(measure))
    near = nearest(*weighed(collection.pictures, collection.k, scoring), kept=n, scoring=scoring)
    found = np.full((n, n), np.inf)
    for i, (others, apart) in enumerate(zip(near.picture, near.distance, strict=True)):
        found[i, others[others >= 0]] = apart[others >= 0]
    assert found == pytest.approx(found.T, rel=1e-3)
    if measure in ("l1", "l2"):
        order = 1 if measure == "l1" else 2
        dense = np.array([np.bincount(p.words.word, minlength=collection.k) for p in collection.pictures], float)
        dense /= np.maximum(np.linalg.norm(dense, order, axis=1, keepdims=True), 1e-30)
        right = np.linalg.norm(dense[:, None] - dense[None], order, axis=2)
        others = ~np.eye(n, dtype=np.bool_)
        assert found[others] == pytest.approx(right[others], rel=1e-3, abs=2e-3)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), measure=st.sampled_from(MEASURES))
def test_kept_neighbours_are_the_first_of_all(seed: int, measure: str) -> None:
    collection, scoring = random_collection(seed), scoring_options(measure)
    known = weighed(collection.pictures, collection.k, scoring)
    whole, few = (nearest(*known, kept=kept, scoring=scoring) for kept in (len(collection.pictures), 5))
    assert np.array_equal(few.picture, whole.picture[:, :5])
    assert np.array_equal(few.distance, whole.distance[:, :5])
    for row, others in enumerate(whole.picture):
        assert row not in others


@pytest.mark.parametrize("method", ["nicdm", "cdm", "sinkhorn"])
@pytest.mark.parametrize("measure", MEASURES)
def test_a_later_picture_gets_the_term_it_would_have_had(measure: str, method: str) -> None:
    """Terms of a picture left out, computed against the others, are close to those computed with it."""
    collection = random_collection(8, pictures=80, features=60)
    scoring = HammingOptions(weak_geometry=False) if measure == "hamming" else scoring_options(measure)
    context = ContextOptions(method=method, epsilon=1e-7, kept=0)
    whole = learn(collection, scoring, context)
    last = collection.pictures.pop()
    without = learn(collection, scoring, context)
    (term,) = without.terms_of([last])
    assert term == pytest.approx(whole.terms.delta[-1], rel=0.05)
    assert without.terms.delta == pytest.approx(whole.terms.delta[:-1], rel=0.1)


def test_terms_of_later_pictures_by_hand() -> None:
    """Of unit vectors (1, 0), (0, 1) and (1, 1) / √2, cosine gives the last distances √2 and √2 to the others."""
    shown = weighed([picture([0]), picture([1]), picture([2])], 4)
    scoring, terms = CosineOptions(), Terms(np.array([2.0, 3.0, 1.0]), radius=5.0)
    for method, alpha, right in (("cdm", 0.5, 5 / (np.sqrt(2) * 2.5)), ("nicdm", 0.25, (5 / np.sqrt(2)) ** 0.25)):
        reference = Reference(*shown, terms, scoring, ContextOptions(method=method, neighbours=2, alpha=alpha))
        found = reference.terms_of([picture([0, 1]), picture([3]), picture([0])])
        assert found[0] == pytest.approx(right)
        assert found[1] == 1  # it has nothing in common with any
        assert found[2] == 1  # it is a copy of the first, and has nothing in common with the others


@pytest.mark.parametrize("measure", [*MEASURES, "hamming density"])
def test_exact_copies_are_no_crowd(measure: str) -> None:
    """However many copies of a picture there are, its term, theirs and all others stay what they were."""
    collection = random_collection(9, pictures=40, features=60)
    scoring = HammingOptions(weights="density") if measure == "hamming density" else scoring_options(measure)
    context = ContextOptions(method="cdm", kept=0)
    before = learn(collection, scoring, context).terms.delta
    collection.pictures += [collection.pictures[3]] * 15
    after = learn(collection, scoring, context)
    assert after.terms.delta[40:] == pytest.approx(after.terms.delta[3], rel=1e-4)
    assert after.terms.delta.max() < 3 * before.max()
    assert after.terms.delta.min() > before.min() / 3
    (again,) = after.terms_of([collection.pictures[3]])
    assert again == pytest.approx(after.terms.delta[3], rel=0.02)


@pytest.mark.parametrize("method", ["nicdm", "cdm", "sinkhorn"])
def test_a_reference_of_one_picture_says_nothing(method: str) -> None:
    collection = random_collection(4)
    only = weighed(collection.pictures[:1], collection.k)
    reference = Reference.learn(*only, scoring=HammingOptions(), context=ContextOptions(method=method))
    assert reference.terms.delta.tolist() == [1]
    assert reference.terms_of(collection.pictures[1:4]).tolist() == [1, 1, 1]


def test_a_neighbourhood_is_never_cut() -> None:
    collection, scoring = random_collection(7, features=60), L1Options()
    short, long = (learn(collection, scoring, ContextOptions(method="nicdm", kept=kept)) for kept in (2, 10))
    assert short.terms.delta.tolist() == long.terms.delta.tolist()


@pytest.mark.parametrize("measure", MEASURES)
def test_a_reference_survives_being_stored(measure: str) -> None:
    collection = random_collection(6)
    scoring, context = scoring_options(measure), ContextOptions(method="cdm", neighbours=3)
    reference = learn(collection, scoring, context)
    again = Reference.from_bytes(reference.to_bytes())
    assert (again.scoring, again.context, again.terms.radius) == (scoring, context, reference.terms.radius)
    queries = [collection.query, *collection.pictures]
    assert again.terms_of(queries).tolist() == reference.terms_of(queries).tolist()


def test_contextual_scores_order_by_distance_times_term() -> None:
    scores, delta = np.array([0.9, 0.8, 0, 1], np.float32), np.array([1, 0.25, 1, 2], np.float32)
    assert contextual("l1", scores, delta) == pytest.approx([1 / 0.2, 1 / 0.1, 0, 1 / 0.02], rel=1e-5)
    assert contextual("hamming", scores, delta) == pytest.approx([0.9, 3.2, 0, 0.5])
    assert distances("l2", scores) == pytest.approx([np.sqrt(0.2), np.sqrt(0.4), np.sqrt(2), 0], rel=1e-5)
    assert distances("hamming", scores, norm=3)[1:3].tolist() == [pytest.approx(3 / 0.8), np.inf]


@pytest.mark.parametrize("measure", ["knn", "negative", "asymmetric"])
def test_measures_that_have_no_terms_are_refused(measure: str) -> None:
    with pytest.raises(UsageError, match=rf"^context .*, not for measure '{measure}'; set context\.method=none$"):
        require_context(scoring_options(measure))
    require_context(BurstOptions())
