"""Queries with known answers → a similarity between histograms of words (LEARN-14)."""

from .learn import Examples, Trial, examples, learn
from .pairs import TrainingQuery

__all__ = ["Examples", "TrainingQuery", "Trial", "examples", "learn"]
