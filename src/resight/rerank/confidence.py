"""How likely a hit shows the same thing as the query: a logistic function of what geometry and the list say."""

from __future__ import annotations

from math import exp, log

from .verify import Verified

CONSTANT, PER_LOG_INLIERS, PER_LOG_ALARMS, PER_LOG_LIFT = -5.0, 1.0, -0.1, 1.0
MOST_ALARMS = 100.0


def evidence(inliers: int, verified: Verified | None, score: float, background: float) -> tuple[float, float, float]:
    """log(1 + inliers), the surprise of so many, and how far the score stands above the background; logarithms all."""
    surprise = min(-verified.log_alarms, MOST_ALARMS) if verified else 0.0
    lift = log(score / background) if score > 0 and background > 0 else 0.0
    return log(1 + inliers), surprise, lift


def confidence(inliers: int, verified: Verified | None, score: float, background: float) -> float:
    """Probability, 0 to 1, that the hit shows the same thing."""
    a, b, c = evidence(inliers, verified, score, background)
    return 1 / (1 + exp(-(CONSTANT + PER_LOG_INLIERS * a - PER_LOG_ALARMS * b + PER_LOG_LIFT * c)))
