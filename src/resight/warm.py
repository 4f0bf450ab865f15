"""Compile the kernels before they are needed, so that the wait can be announced. Later runs load them from a cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from .features import DETECTORS, extract
from .options import FeatureOptions, ScoringOptions, VerifyOptions
from .postings import GEOMETRY, build, of_picture
from .rerank import Placed, verify
from .scoring import HERE, MEASURES, Part, Query, Similarity, Tables, distinct, matches, together
from .types import Float32, Picture, Words
from .vocabulary.nearest import Cells, CellSearch
from .vocabulary.tree import Tree, TreeSearch

EVERY_MEASURE = [
    ScoringOptions(measure=measure, weak_geometry=weak_geometry, inter=True, weights=weights)
    for measure, weak_geometry, weights in product(MEASURES, (False, True), ("idf", "density"))
]


def warm(*, scoring: Sequence[ScoringOptions] = EVERY_MEASURE, detectors: Iterable[str] = DETECTORS) -> None:
    """Run every kernel of such a search once, on next to nothing, with the types that stored lists have."""
    lists = build([], words=1)
    similarity = Similarity(np.zeros((2, 2), np.uint8), np.zeros((1, 1), np.float32), np.zeros(1, np.uint8))
    (part,) = together([Part.of(lists, pictures=1, idf=np.zeros(1, np.float32))], lambda: similarity)
    words = Words(feature=np.zeros(1, np.int32), word=np.zeros(1, np.int32), signature=np.zeros(1, np.uint64))
    query = Query(words, np.zeros(1, GEOMETRY))
    for options in scoring:
        if options.measure != "knn":
            MEASURES[options.measure](query, [part], options, None, HERE)
    if any(options.measure == "knn" for options in scoring):
        _warm_neighbours(query, part.idf)
    two = build([(words, query.geometry)] * 2, words=1)  # as many postings as it takes to have cells
    clustered = Part.of(two, pictures=2, idf=part.idf, bounds=np.array([0, 2]))
    clustered.find(words.word, np.zeros(1, np.int64), "image")
    replace(part, alive=~part.alive).living(words.word)
    distinct(words.word, words.signature, 0)
    of_picture(lists, 0, 0)
    nothing = np.zeros((1, 1), np.float32)
    byte = nothing.astype(np.uint8)
    CellSearch(byte, Cells(byte, np.zeros(1, np.int32))).search(nothing, 1)
    TreeSearch(nothing, Tree(nothing[:0], np.ones(2, np.int64))).search(nothing, 1)
    matches(words, part, np.zeros(1, np.int32), ScoringOptions())
    blank = Picture(np.zeros((32, 32), np.uint8), 32, 32)
    for detector in {*detectors} & {*DETECTORS}:  # features that another program gives need none
        extract(blank, options=FeatureOptions(detector=detector))
    four = Placed(np.zeros((4, 2), np.float32), np.ones(4, np.float32), np.zeros(4, np.float32))
    verify(four, four, bounds=np.array([0, 4]), sizes=np.ones((1, 2), np.int64), options=VerifyOptions())


def _warm_neighbours(query: Query, idf: Float32) -> None:
    tables = Tables(np.zeros((1, 1), np.float32), np.zeros((1, 1, 256), np.float32))
    for kind, codes in ((np.uint8, None), (np.float32, None), (np.uint8, lambda: tables)):
        descriptor = np.zeros((1, 1), kind)
        words = replace(query.words, code=descriptor.view(np.uint8))
        part = Part.of(build([(words, query.geometry)], words=1), pictures=1, idf=idf)
        asked, keeping = replace(query, descriptors=descriptor), replace(part, tables=codes)
        MEASURES["knn"](asked, [keeping], ScoringOptions(), None, HERE)
