"""Shortlist → better list."""

from .confidence import confidence
from .verify import Placed, Verified, one_to_one, verify

__all__ = ["Placed", "Verified", "confidence", "one_to_one", "verify"]
