"""Shortlist → better list."""

from .aggregate import aggregate
from .confidence import confidence
from .verify import Placed, Verified, one_to_one, verify

__all__ = ["Placed", "Verified", "aggregate", "confidence", "one_to_one", "verify"]
