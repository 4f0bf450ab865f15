"""Queries with known answers → a similarity between histograms of words (LEARN-14)."""

from .learn import Examples, Tried, examples, learn
from .pairs import Asked

__all__ = ["Asked", "Examples", "Tried", "examples", "learn"]
