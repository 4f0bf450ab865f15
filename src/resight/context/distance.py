"""Scores say how much two pictures have in common; context terms are factors of distances."""

from __future__ import annotations

import numpy as np

from ..types import Float32

SAME = 0.01  # unit vectors that are nearer to each other than this are taken for one


def distances(measure: str, scores: Float32, *, norm: float = 1.0) -> Float32:
    """What lies between a query and each picture.

    l1 and l2 scores are 1 − d / 2 and 1 − d² / 2 of the distances of unit vectors (CDM-10 §II). Other measures have no
    distance of their own; ``norm`` over their score serves as one, infinite where nothing is in common. With the right
    norm of the query, distances are much the same in both directions. What else belongs to one picture alone, CDM's
    terms make up for.
    """
    if measure == "l1":
        found = 2 * np.maximum(1 - scores, 0)
    elif measure == "l2":
        found = np.sqrt(2 * np.maximum(1 - scores, 0))
    else:
        found = np.divide(norm, scores, where=scores > 0, out=np.full_like(scores, np.inf))
    return found.astype(np.float32)


def contextual(measure: str, scores: Float32, delta: Float32) -> Float32:
    """1 / (d(q, j) · δ_j), so that more is better (CDM-10 eq. 14); 0 where there is nothing in common."""
    least = SAME if measure in ("l1", "l2") else 0  # the inverse must be a number
    known, near = np.flatnonzero(scores > 0), np.zeros(len(scores), np.float32)
    near[known] = 1 / (np.maximum(distances(measure, scores[known]), least) * delta[known])
    return near
