"""How likely a hit shows the same thing as the query.

Where geometry confirms it, by how many matches agree, and by nothing else: that means the same in a collection of four
pictures and of a million, for a whole picture and for a region. Where it does not, the score is all there is; it says
little in a small collection, and never that a hit is likely.
"""

from __future__ import annotations

from math import exp, log

# Fitted by benchmarks/confidence.py, to the results of all detectors.
VERIFIED, OF_INLIERS = -0.04, 0.99
UNVERIFIED, OF_LIFT = -7.00, 3.20
LINKED, OF_CARRIED = -6.97, 2.87  # by benchmarks/links.py
MOST_UNVERIFIED = 0.49  # so that what geometry confirms is likely, and nothing else is


def confidence(inliers: int, lift: float) -> float:
    """Probability, 0 to 1, given how many matches agree and the score relative to that of the background."""
    if inliers:
        return _logistic(VERIFIED + OF_INLIERS * log(1 + inliers))
    return min(_logistic(UNVERIFIED + OF_LIFT * log(1 + lift)), MOST_UNVERIFIED)


def linked_confidence(carried: float) -> float:
    """The same for a hit that links lead to, by how many agreeing matches they carry on; never above direct ones."""
    return min(_logistic(LINKED + OF_CARRIED * log(1 + carried)), _logistic(VERIFIED + OF_INLIERS * log(1 + carried)))


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value))
