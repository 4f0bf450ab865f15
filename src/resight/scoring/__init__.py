"""Lists × query → scores. One file per family of measures; a new measure is a function and a line in ``MEASURES``."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import OptionError
from ..options import ScoringOptions
from ..types import Float32, Words
from .hamming import hamming_score, matches
from .histogram import cosine, idf_weights, l1, l2
from .part import Part
from .top import best

Measure = Callable[[Words, Part, ScoringOptions], Float32]

MEASURES: dict[str, Measure] = {"l1": l1, "l2": l2, "cosine": cosine, "hamming": hamming_score}


def score(query: Words, part: Part, *, options: ScoringOptions) -> Float32:
    """One score per picture of the part; 0 means nothing in common."""
    try:
        measure = MEASURES[options.measure]
    except KeyError:
        raise OptionError(f"unknown measure {options.measure!r}; known: {', '.join(sorted(MEASURES))}") from None
    return measure(query, part, options)


__all__ = ["MEASURES", "Part", "best", "idf_weights", "matches", "score"]
