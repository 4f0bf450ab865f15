"""Every kernel of voting.py against its plain numpy twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.options import ScoringOptions
from resight.postings import GEOMETRY
from resight.scoring import voting
from resight.scoring.hamming import match_weights

from . import made, twins
from .made import Collection, random_collection

Array = npt.NDArray[Any]
collections = st.builds(
    random_collection,
    seed=st.integers(0, 2**32),
    k=st.integers(2, 40),
    pictures=st.integers(1, 12),
    features=st.integers(1, 60),
    removed=st.sampled_from([0.0, 0.3, 1.0]),
)
few = settings(max_examples=40, deadline=None)


@settings(max_examples=150, deadline=None)
@given(
    collection=collections,
    threshold=st.integers(0, 64),
    sigma=st.floats(12, 64),
    closest_only=st.booleans(),
    intra=st.sampled_from(list(voting.INTRA.values())),
    with_postings=st.booleans(),
)
def test_find_matches_equals_its_twin(
    collection: Collection, threshold: int, sigma: float, closest_only: bool, intra: int, with_postings: bool
) -> None:
    lists, query = made.lists_of(collection.pictures, collection.k), collection.query.words
    weights = match_weights(ScoringOptions(sigma=sigma))
    searched = (lists.offsets, lists.image, lists.signature, collection.alive, weights, threshold, closest_only, intra)
    room = int((lists.offsets[query.word + 1] - lists.offsets[query.word]).sum())
    image, weight, ends = np.full(room, 99, np.uint32), np.full(room, -9, np.float32), np.full(len(query), -9, np.int64)
    posting = np.full(room if with_postings else 0, -9, np.int64)
    voting.find_matches(query.word, query.signature, *searched, image, posting, weight, ends)
    expected = twins.find_matches(query.word, query.signature, *searched)
    count = int(ends[-1])
    assert image[:count].tolist() == expected[0].tolist()
    assert not with_postings or posting[:count].tolist() == expected[1].tolist()
    assert weight[:count] == pytest.approx(expected[2], rel=1e-5)
    assert ends.tolist() == expected[3].tolist()


def some_matches(seed: int) -> tuple[np.random.Generator, Array, Array, Array]:
    """A generator, and the pictures, weights and row ends of up to 60 matches in 5 pictures; some rows have none."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(0, 7, 10) * rng.integers(0, 2, 10))
    count = int(ends[-1])
    return rng, rng.integers(0, 5, count).astype(np.uint32), rng.random(count).astype(np.float32), ends


@few
@given(seed=st.integers(0, 2**32))
def test_raise_peaks_and_add_totals_equal_their_twins(seed: int) -> None:
    rng, _, weight, ends = some_matches(seed)
    weight *= (rng.random(len(weight)) < 0.9) * 10.0 ** rng.integers(-30, 1)
    peaks = np.where(rng.random(len(ends)) < 0.2, weight.max(initial=0), 0).astype(np.float32)
    expected = twins.raise_peaks(weight, ends, peaks)
    voting.raise_peaks(weight, ends, peaks)
    assert np.array_equal(peaks, expected)
    # They are whole units, so they are the same in whatever order and in how many parts they are added.
    totals = np.full(len(ends), 1000, np.int64)
    voting.add_totals(weight, ends, peaks, totals)
    assert np.array_equal(totals, 1000 + twins.add_totals(weight, ends, peaks))


@few
@given(seed=st.integers(0, 2**32), inter=st.booleans())
def test_weigh_rows_equals_its_twin(seed: int, inter: bool) -> None:
    rng, _, weight, ends = some_matches(seed)
    row_weight = rng.random(len(ends)).astype(np.float32)
    totals = rng.random(len(ends)) + 0.1 if inter else np.zeros(0)
    expected = twins.weigh_rows(weight, ends, row_weight, totals)
    voting.weigh_rows(weight, ends, row_weight, totals)
    assert weight == pytest.approx(expected, rel=1e-5)


@few
@given(seed=st.integers(0, 2**32))
def test_add_votes_equals_its_twin(seed: int) -> None:
    _, image, weight, _ = some_matches(seed)
    scores = np.full(5, 2, np.float32)
    voting.add_votes(image, weight, scores)
    assert scores == pytest.approx(2 + twins.add_votes(image, weight, 5), rel=1e-5)


@few
@given(seed=st.integers(0, 2**32))
def test_add_to_bins_equals_its_twin(seed: int) -> None:
    rng, image, weight, ends = some_matches(seed)
    angle, scale = rng.integers(0, 256, (2, len(ends)), dtype=np.uint8)
    codes = np.frombuffer(rng.bytes(GEOMETRY.itemsize * len(image)), GEOMETRY).copy()
    bins = np.full((5, voting.TURNS + voting.SIZES), 2, np.float32)
    arguments = (image, weight, ends, angle, scale, codes)
    voting.add_to_bins(*arguments, bins)
    assert bins == pytest.approx(2 + twins.add_to_bins(*arguments, 5), rel=1e-5)


def test_every_pair_of_codes_falls_into_the_bin_of_the_twin() -> None:
    image, weight, ends = np.arange(256, dtype=np.uint32), np.ones(256, np.float32), np.array([256])
    codes = np.zeros(256, GEOMETRY)
    codes["angle"] = codes["scale"] = np.arange(256)
    for code in range(256):
        arguments = (image, weight, ends, np.full(1, code, np.uint8), np.full(1, code, np.uint8), codes)
        bins = np.zeros((256, voting.TURNS + voting.SIZES), np.float32)
        voting.add_to_bins(*arguments, bins)
        assert np.array_equal(bins, twins.add_to_bins(*arguments, 256))


@few
@given(seed=st.integers(0, 2**32))
def test_agreeing_votes_equals_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    filled = rng.random((20, voting.TURNS + voting.SIZES)) < rng.choice([0, 0.1, 0.5, 1], (20, 1))
    bins = (filled * rng.random(filled.shape)).astype(np.float32)
    scores = np.full(20, -9, np.float32)
    voting.agreeing_votes(bins, scores)
    assert scores == pytest.approx(twins.agreeing_votes(bins), rel=1e-5)
