"""How likely a hit shows the same thing as the query: a logistic function of its geometry and its score."""

from __future__ import annotations

from math import exp, log

# Fitted by benchmarks/confidence.py, to the results of all detectors.
CONSTANT, OF_INLIERS, OF_LIFT = -6.98, 1.57, 3.24


def confidence(inliers: int, lift: float) -> float:
    """Probability, 0 to 1, given how many matches agree and the score relative to that of the background."""
    return 1 / (1 + exp(-(CONSTANT + OF_INLIERS * log(1 + inliers) + OF_LIFT * log(1 + lift))))
