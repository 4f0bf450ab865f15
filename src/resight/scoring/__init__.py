"""Lists × query → scores. One file per family of measures; a new measure is a function and a line in ``MEASURES``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import OptionError
from ..options import ScoringOptions
from ..types import Float32, Int64, Words
from .collection import asymmetric, burst, negative
from .density import density
from .hamming import distinct, hamming_score, matches
from .histogram import cosine, idf_weights, l1, l2, only_part, votes, weighted_votes
from .learnt import insist_on_similarity, learnt
from .neighbours import nearest_vote
from .part import Part, Query, Tables, together
from .similarity import Similarity
from .sums import HERE, NotAllHereError, Spread, Sums, Wanted
from .top import best

Measure = Callable[[Query, Sequence[Part], ScoringOptions, Int64 | None, Sums], list[Float32]]


def _each(measure: Callable[[Words, Part, Int64 | None], Float32]) -> Measure:
    """A measure that looks at one part at a time, at words alone, and has no options."""
    return lambda query, parts, options, clusters, sums: [measure(query.words, part, clusters) for part in parts]


MEASURES: dict[str, Measure] = {
    "l1": _each(l1),
    "l2": _each(l2),
    "cosine": _each(cosine),
    "burst": _each(burst),
    "negative": negative,
    "asymmetric": asymmetric,
    "learnt": _each(learnt),
    "tf": _each(votes),
    "tf-idf": _each(weighted_votes),
    "density": density,
    "hamming": hamming_score,
    "knn": nearest_vote,
}
IN_ONE_PLACE = ("knn",)  # measures that need all pictures in one place: who is nearest is no sum


def known_measure(options: ScoringOptions) -> Measure:
    try:
        return MEASURES[options.measure]
    except KeyError:
        raise OptionError(f"unknown measure {options.measure!r}; known: {', '.join(sorted(MEASURES))}") from None


def score(
    query: Query,
    parts: Sequence[Part],
    *,
    options: ScoringOptions,
    clusters: Int64 | None = None,
    sums: Sums = HERE,
) -> list[Float32]:
    """For each part one score per picture; 0 means nothing in common, removed, or not in one of the clusters."""
    measure = known_measure(options)
    scored = measure(query, parts, options, clusters, sums) if parts else []
    return [s * (part.alive if part.cells else part.seen(clusters)) for s, part in zip(scored, parts, strict=True)]


__all__ = [
    "HERE",
    "IN_ONE_PLACE",
    "MEASURES",
    "NotAllHereError",
    "Part",
    "Query",
    "Similarity",
    "Spread",
    "Sums",
    "Tables",
    "Wanted",
    "best",
    "distinct",
    "idf_weights",
    "insist_on_similarity",
    "known_measure",
    "matches",
    "only_part",
    "score",
    "together",
]
