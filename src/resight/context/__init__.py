"""Distances → context terms: one factor per picture that makes all neighbourhoods equally wide (CDM-07, CDM-10)."""

from ..options import ContextOptions, ScoringOptions, fingerprint
from .distance import contextual, distances
from .neighbours import Neighbours, nearest
from .reference import Reference
from .terms import METHODS, Terms

VERSION = 1  # raised when the same options come to give other terms


def context_name(scoring: ScoringOptions, context: ContextOptions) -> str:
    """What terms learnt with these options are stored under."""
    return fingerprint(scoring, context, {"version": VERSION})


__all__ = ["METHODS", "Neighbours", "Reference", "Terms", "context_name", "contextual", "distances", "nearest"]
