"""A picture's features, or an indexed picture → a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..options import AssignOptions
from ..postings import decode
from ..scoring import Query
from ..store import Row, Segment, Snapshot
from ..types import Bytes, Features, Float32, Words
from ..vocabulary import Assigner, codes


def quantise(assigner: Assigner, features: Features, options: AssignOptions) -> Query:
    """A picture's features with their words."""
    return Query.of_features(assigner.assign_query(features.descriptors, options=options), features)


def stored_query(snapshot: Snapshot, segment: Segment, row: Row) -> Query:
    """An indexed picture: its stored features, each with the one word it has there, in each vocabulary.

    In the order of its postings in the first vocabulary (``Segment.postings``). With their descriptors, or what codes
    say of them, if the index keeps any.
    """
    words, geometry = segment.picture(row)
    if len(snapshot.spans) > 1:
        words, geometry = _joined(words, geometry, snapshot.spans)
    descriptors: Bytes | Float32 = np.zeros((len(geometry), 0), np.uint8)
    if words.code is not None:
        first = np.unique(words.feature, return_index=True)[1]
        code, word = words.code[first], words.word[first]
        descriptors = codes.restored(snapshot.vocabulary, code, word, keep=snapshot.settings.indexing.keep)
    xy, scale, angle, shape = decode(geometry, max(row.width, row.height))
    features = Features(xy, scale, angle, descriptors, row.width, row.height, shape, row.colours)
    return Query.of_features(replace(words, code=None), features)


def _joined(words: Words, geometry: npt.NDArray[Any], spans: Sequence[range]) -> tuple[Words, npt.NDArray[Any]]:
    """Rows of the same place are one feature, which has a row in each vocabulary: all have equally many, by word."""
    kept = [] if words.code is None else list(words.code.T)  # tells features of one place apart
    places = [*kept, *(geometry[name] for name in geometry.dtype.names or ())]
    by_place = np.lexsort([*places, words.word // len(spans[0])])
    rows = by_place.reshape(len(spans), -1)  # of each vocabulary, all in the same order of places
    rows = rows[:, np.argsort(rows[0])].T  # of each feature
    feature = np.repeat(np.arange(len(rows), dtype=np.int32), len(spans))
    return replace(words.rows(rows.ravel()), feature=feature), geometry[: len(rows)]
