"""Shortlist → better list."""

from .verify import Placed, Verified, one_to_one, verify

__all__ = ["Placed", "Verified", "one_to_one", "verify"]
