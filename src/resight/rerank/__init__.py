"""Shortlist → better list."""

from .aggregate import aggregate
from .colour import colour_factors
from .confidence import confidence, linked_confidence
from .verify import Placed, Verified, one_to_one, verify

__all__ = [
    "Placed",
    "Verified",
    "aggregate",
    "colour_factors",
    "confidence",
    "linked_confidence",
    "one_to_one",
    "verify",
]
