"""Compile the kernels before they are needed, so that the wait can be announced. Later runs load them from a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ._numba import telling
from .clusters import Visit, add_rows, compared
from .features import DETECTORS, extract
from .options import FeatureOptions, HammingOptions, KnnOptions, ScoringOptions, VerifyOptions
from .postings import GEOMETRY, build, of_picture
from .rerank import Placed, one_to_one, verify
from .scoring import (
    MEASURES,
    Query,
    Scope,
    SegmentView,
    Similarity,
    Tables,
    collection_statistics,
    distinct,
    matches,
    score_all,
)
from .search.carried import carried
from .search.graph import no_links
from .store import GRID
from .types import Features, Picture, Words
from .vocabulary.nearest import Cells, CellSearch
from .vocabulary.tree import Tree, TreeSearch

WARMED_OPTIONS: list[ScoringOptions] = [
    *(measure.options() for measure in MEASURES.values()),
    *(
        HammingOptions(weak_geometry=weak_geometry, inter=True, weights=weights)
        for weak_geometry, weights in product((False, True), ("idf", "density"))
    ),
]


def warm(
    *,
    scoring: Sequence[ScoringOptions] = WARMED_OPTIONS,
    detectors: Iterable[str] = DETECTORS,
    compiling: Callable[[bool], None] = lambda kept: None,
) -> None:
    """Run every kernel of such a search once, on next to nothing, with the types that stored lists have.

    compiling: called once if a kernel has to be compiled, with whether a cache will keep it for later runs.
    """
    with telling(compiling):
        _run_kernels(scoring, detectors)


def _run_kernels(scoring: Sequence[ScoringOptions], detectors: Iterable[str]) -> None:
    lists = build([], words=1)
    similarity = Similarity(np.zeros((2, 2), np.uint8), np.zeros((1, 1), np.float32), np.zeros(1, np.uint8))
    segment = SegmentView.of(lists, pictures=1)
    words = Words(feature=np.zeros(1, np.int32), word=np.zeros(1, np.int32), signature=np.zeros(1, np.uint64))
    query = Query(words, np.zeros(1, GEOMETRY))
    for options in scoring:
        if options.measure != "knn":
            scope = Scope(options, collection_statistics([segment], options, similarity=similarity))
            score_all(query, [segment], scope)
    if any(options.measure == "knn" for options in scoring):
        _warm_neighbours(query)
    segment.only(np.zeros(1, np.int64)).find(words.word, "image")
    add_rows(np.zeros((1, 1), np.float32), words.word, *np.zeros((2, 1), np.float32))
    code, bounds = np.zeros((1, 1), np.int8), np.array([0, 1])
    for stored in (code, bounds):
        stored.setflags(write=False)
    compared(code, bounds, Visit(np.zeros(1, np.int64), np.zeros(1, np.int8)))
    replace(segment, alive=~segment.alive).living(words.word)
    distinct(words.word, words.signature, 0)
    of_picture(lists, 0, 0)
    nothing = np.zeros((1, 1), np.float32)
    byte = nothing.astype(np.uint8)
    CellSearch(byte, Cells(byte, np.zeros(1, np.int32))).search(nothing, 1)
    TreeSearch(nothing, Tree(nothing[:0], np.ones(2, np.int64))).search(nothing, 1)
    matches(words, words.word, lists, np.zeros(1, np.int32), VerifyOptions().threshold)
    column = np.zeros(1, np.int64)
    one_to_one(column, column, column, np.zeros(2, np.int64))
    blank = Picture(np.zeros((32, 32), np.uint8), 32, 32)
    for detector in {*detectors} & {*DETECTORS}:  # features that another program gives need none
        extract(blank, options=FeatureOptions(detector=detector))
    four = Placed(np.zeros((4, 2), np.float32), np.ones(4, np.float32), np.zeros(4, np.float32))
    verify(four, four, bounds=np.array([0, 4]), sizes=np.ones((1, 2), np.int64), options=VerifyOptions())
    carried(no_links(), np.eye(2, 3), np.zeros(4), np.zeros((GRID, GRID), np.bool_))


def _warm_neighbours(query: Query) -> None:
    options, position, one = KnnOptions(), np.zeros((1, 2), np.float32), np.ones(1, np.float32)
    tables = Tables(np.zeros((1, 1), np.float32), np.zeros((1, 1, 256), np.float32))
    for kind, codes in ((np.uint8, None), (np.float32, None), (np.uint8, lambda: tables)):
        descriptor = np.zeros((1, 1), kind)
        words = replace(query.words, code=descriptor.view(np.uint8))
        segment = replace(SegmentView.of(build([(words, query.geometry)], words=1), pictures=1), tables=codes)
        described = replace(query, features=Features(position, one, one, descriptor, 1, 1))
        score_all(described, [segment], Scope(options, collection_statistics([segment], options)))
