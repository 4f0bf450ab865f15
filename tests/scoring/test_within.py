"""A segment seen through some of its words scores like one that has no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resight.options import scoring_options
from resight.scoring import MEASURES, Query
from resight.vocabulary import spans

from ..support.quantised import random_collection, score, segment_of


@pytest.mark.parametrize("measure", sorted(MEASURES.keys() - {"learnt"}))  # which is learnt for one vocabulary
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_some_words(measure: str, seed: int) -> None:
    collection, options = random_collection(seed, k=30, features=150, removed=0.2), scoring_options(measure)

    def within(shown: Query, span: range) -> Query:
        return replace(shown, words=shown.words.within(span))

    for span in spans(collection.k, 3):
        mine = slice(span.start, span.stop)
        only = segment_of(
            [within(p, span) for p in collection.pictures], len(span), collection.idf[mine], collection.alive
        )
        asked, seen = within(collection.query, span), collection.segment.within(span)
        assert seen.squared.tolist() == only.squared.tolist()
        assert np.array_equal(seen.idf, only.idf)
        (found,), (expected,) = (score(asked, [segment], options=options) for segment in (seen, only))
        assert found.any()
        assert found.tolist() == expected.tolist()


def test_spans_share_all_words() -> None:
    assert spans(12, 1) == [range(12)]
    assert spans(12, 3) == [range(4), range(4, 8), range(8, 12)]
