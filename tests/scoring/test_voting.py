"""Every kernel of voting.py against its plain numpy twin."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resight.options import HammingOptions
from resight.postings import GEOMETRY, SHAPED, as_bytes, frozen
from resight.scoring import voting
from resight.scoring.hamming import match_weights

from ..support import quantised
from ..support.quantised import random_collection
from . import twins

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


@dataclass
class Asked:
    """What the kernels take, and the twin's matches."""

    rows: voting.Rows
    geometry: Array  # whose bytes the lists have
    lists: voting.Listed
    rule: voting.Rule
    found: voting.Found
    row: Array
    posting: Array
    weight: Array

    @property
    def arguments(self) -> tuple[voting.Rows, voting.Listed, voting.Rule, voting.Found]:
        return self.rows, self.lists, self.rule, self.found

    @property
    def image(self) -> Array:
        return self.lists.image[self.posting]

    @property
    def pictures(self) -> int:
        return len(self.lists.alive)


@st.composite
def queries(draw: st.DrawFn) -> Asked:
    collection = draw(collections)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lists, query = quantised.lists_of(collection.pictures, collection.k), collection.query.words
    weights = match_weights(HammingOptions(sigma=draw(st.floats(12, 64))))
    intra = draw(st.sampled_from(list(voting.INTRA.values())))
    rule = voting.Rule(weights, draw(st.integers(0, 64)), draw(st.booleans()), intra)
    kind = draw(st.sampled_from([GEOMETRY, SHAPED]))
    codes = np.frombuffer(rng.bytes(kind.itemsize * len(lists.image)), kind)
    alive = collection.alive.copy()  # to be written to, unlike lists: so are those of a stored segment
    listed = voting.Listed(lists.offsets, lists.image, lists.signature, as_bytes(codes), alive, 0, len(alive))
    angle, scale = rng.integers(0, 256, (2, len(query)), dtype=np.uint8)
    rows = voting.Rows(query.word, query.signature, rng.random(len(query)).astype(np.float32), angle, scale)
    room = int(np.diff(lists.offsets).max()) + 1
    found = voting.Found(np.full(room, 2**40, np.uint64), np.full(room, -9, np.float32))
    searched = (lists.offsets, lists.image, lists.signature, collection.alive, *rule)
    return Asked(rows, codes, listed, rule, found, *twins.row_matches(query.word, query.signature, *searched))


@settings(max_examples=150, deadline=None)
@given(asked=queries())
def test_row_matches_equals_its_twin(asked: Asked) -> None:
    for row in range(len(asked.rows.word)):
        count = voting.row_matches(row, *asked.arguments)
        mine = asked.row == row
        assert asked.found.posting[:count].tolist() == asked.posting[mine].tolist()
        assert asked.found.weight[:count] == pytest.approx(asked.weight[mine], rel=1e-5)


@few
@given(asked=queries())
def test_add_totals_equals_its_twin(asked: Asked) -> None:
    totals = np.full(len(asked.rows.word), 1000, np.int64)
    voting.add_totals(*asked.arguments, totals)
    expected = twins.add_totals(asked.row, asked.weight, len(totals))
    assert totals == pytest.approx(1000 + expected, rel=1e-5, abs=70)


@few
@given(asked=queries(), cuts=st.lists(st.integers(0, 12), max_size=3))
def test_votes_of_pieces_are_those_of_the_whole(asked: Asked, cuts: list[int]) -> None:
    whole, pieces = np.zeros((2, asked.pictures, voting.TURNS + voting.SIZES), np.float32)
    voting.add_votes(*asked.arguments, np.zeros(0), whole)
    bounds = sorted([0, *(min(cut, asked.pictures) for cut in cuts), asked.pictures])
    for begin, end in pairwise(bounds):
        lists = asked.lists._replace(begin=begin, end=end)
        voting.add_votes(asked.rows, lists, asked.rule, asked.found, np.zeros(0), pieces)
    assert pieces.tobytes() == whole.tobytes()


@few
@given(asked=queries(), cut=st.integers(0, 12))
def test_totals_are_whole_units_so_segments_may_be_added_in_any_order(asked: Asked, cut: int) -> None:
    totals, halves = np.zeros((2, len(asked.rows.word)), np.int64)
    voting.add_totals(*asked.arguments, totals)
    for begin, end in pairwise((0, min(cut, asked.pictures), asked.pictures)):
        lists = asked.lists._replace(begin=begin, end=end)
        voting.add_totals(asked.rows, lists, asked.rule, asked.found, halves)
    assert np.array_equal(totals, halves)


@few
@given(asked=queries(), inter=st.booleans(), seed=st.integers(0, 2**32))
def test_add_votes_equals_its_twin(asked: Asked, inter: bool, seed: int) -> None:
    totals = np.random.default_rng(seed).random(len(asked.rows.word)) + 0.1 if inter else np.zeros(0)
    expected = twins.add_votes(asked.row, asked.image, asked.weight, asked.rows.weight, totals, asked.pictures)
    votes = np.full((asked.pictures, 1), 2, np.float32)
    voting.add_votes(*asked.arguments, totals, votes)
    assert votes[:, 0] == pytest.approx(2 + expected, rel=1e-5)
    # In bins of turn and size the same votes are counted twice, each where its match says.
    codes = asked.geometry[asked.posting]
    turn, size = twins.bins(asked.rows.angle[asked.row], asked.rows.scale[asked.row], codes["angle"], codes["scale"])
    bins = np.full((asked.pictures, voting.TURNS + voting.SIZES), 2, np.float32)
    voting.add_votes(*asked.arguments, totals, bins)
    for of_match, columns in ((turn, range(16)), (size, range(16, 33))):
        for column in columns:
            here = of_match == column
            some = (asked.row[here], asked.image[here], asked.weight[here])
            added = twins.add_votes(*some, asked.rows.weight, totals, asked.pictures)
            assert bins[:, column] == pytest.approx(2 + added, rel=1e-5)


def test_every_pair_of_codes_falls_into_the_bin_of_the_twin() -> None:
    """256 pictures with one feature each, of every angle and scale; so have the rows."""
    all_codes, zeros, ones = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint64), np.ones(256, np.float32)
    geometry = np.zeros(256, GEOMETRY)
    geometry["angle"] = geometry["scale"] = all_codes
    picture = np.arange(256, dtype=np.uint32)
    read_only = frozen(np.array([0, 256]), picture, zeros, geometry)
    columns = (read_only.offsets, read_only.image, read_only.signature, as_bytes(read_only.geometry))
    lists = voting.Listed(*columns, np.ones(256, np.bool_), 0, 256)
    found = voting.Found(np.zeros(257, np.uint64), np.zeros(257, np.float32))
    for code in all_codes:
        row = voting.Rows(np.zeros(1, np.int32), zeros[[0]], ones[:1], all_codes[[code]], all_codes[[code]])
        bins = np.zeros((256, voting.TURNS + voting.SIZES), np.float32)
        voting.add_votes(row, lists, voting.Rule(ones, 64, False, voting.NONE), found, np.zeros(0), bins)
        expected = np.zeros_like(bins)
        for bin_of in twins.bins(row.angle, row.scale, all_codes, all_codes):
            expected[picture, bin_of] += 1
        assert np.array_equal(bins, expected)


@few
@given(seed=st.integers(0, 2**32))
def test_agreeing_votes_equals_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    filled = rng.random((20, voting.TURNS + voting.SIZES)) < rng.choice([0, 0.1, 0.5, 1], (20, 1))
    bins = (filled * rng.random(filled.shape)).astype(np.float32)
    scores = np.full(20, -9, np.float32)
    voting.agreeing_votes(bins, scores)
    assert scores == pytest.approx(twins.agreeing_votes(bins), rel=1e-5)
