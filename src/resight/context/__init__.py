"""Distances → context terms: one factor per picture that makes all neighbourhoods equally wide (CDM-07, CDM-10)."""

from ..errors import UsageError
from ..options import ContextOptions, ScoringOptions, fingerprint
from .distance import contextual, distances
from .neighbours import Neighbours, Visit, nearest
from .reference import Reference
from .terms import METHODS, Terms

VERSION = 1  # raised when the same options come to give other terms
# Measures without context terms, and why.
UNFIT = {
    "knn": "context is learnt from words and signatures",
    "negative": "context needs scores that fall to 0 as pictures have less in common",
    "learnt": "context needs scores that fall to 0 as pictures have less in common",
    "asymmetric": "context needs distances that are much the same in both directions",
}


def context_name(scoring: ScoringOptions, context: ContextOptions) -> str:
    """What terms learnt with these options are known by."""
    return fingerprint(scoring, context, {"version": VERSION})


def require_context(scoring: ScoringOptions) -> None:
    """Raise unless there can be terms for this measure."""
    if reason := UNFIT.get(scoring.measure):
        raise UsageError(f"{reason}, not for measure {scoring.measure!r}; set context.method=none")


def stored_names(name: str, vocabularies: int) -> list[str]:
    """What these terms are stored under, for each vocabulary; where there is one, under their name.

    >>> stored_names("c0ffee", 1), stored_names("c0ffee", 2)
    (['c0ffee'], ['c0ffee-0', 'c0ffee-1'])
    """
    return [name] if vocabularies == 1 else [f"{name}-{v}" for v in range(vocabularies)]


def name_of(stored: str) -> tuple[str, int]:
    """The name that terms stored under this one are known by, and the number of their vocabulary.

    >>> name_of("c0ffee"), name_of("c0ffee-1")
    (('c0ffee', 0), ('c0ffee', 1))
    """
    name, _, vocabulary = stored.partition("-")
    return name, int(vocabulary or 0)


__all__ = [
    "METHODS",
    "Neighbours",
    "Reference",
    "Terms",
    "Visit",
    "context_name",
    "contextual",
    "distances",
    "name_of",
    "nearest",
    "require_context",
    "stored_names",
]
