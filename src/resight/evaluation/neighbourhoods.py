"""How even are the neighbourhoods? Diagnostics of a whole collection, each picture having been a query (CDM-10 §III-A).

Neighbours come as an (n, k) array: row i holds the numbers of the k pictures ranked first for picture i, itself left
out, in any order. Where fewer were found, the row is filled with −1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError
from ..types import Int64

NEIGHBOURS = 10  # what CDM-10 calls a neighbourhood, where it counts reversibility


def first_of(keys: Sequence[str], rankings: Sequence[Sequence[str]]) -> Int64:
    """The neighbours of a collection in which every picture was a query: keys[i] got rankings[i]."""
    number = {key: i for i, key in enumerate(keys)}
    neighbours = np.full((len(keys), NEIGHBOURS), -1, np.int64)
    for i, ranking in enumerate(rankings):
        others = [number[key] for key in ranking[: NEIGHBOURS + 1] if key != keys[i]][:NEIGHBOURS]
        neighbours[i, : len(others)] = others
    return neighbours


def diagnose(neighbours: Int64) -> dict[str, float]:
    """The three figures, by the names that tables give them."""
    return {
        "reversibility": reversibility(neighbours),
        "never-seen": never_seen(neighbours),
        "most-returned": float(most_returned(neighbours)),
    }


def reversibility(neighbours: Int64) -> float:
    """How often a neighbour returns the favour (CDM-10 eq. 3); 1 is perfect.

    1/n · Σ_i 1/#N(i) · |{j ∈ N(i) : i ∈ N(j)}|; a picture without neighbours counts 0.
    """
    row, column = _pairs(neighbours)
    n = len(neighbours)
    mutual = np.isin(row * n + column, column * n + row)
    size = np.bincount(row, minlength=n)
    return float((np.bincount(row, mutual, minlength=n) / np.maximum(size, 1)).mean())


def never_seen(neighbours: Int64) -> float:
    """The share of pictures, 0 to 1, that no other picture has as a neighbour: browsing never reaches them."""
    return float((returned(neighbours) == 0).mean())


def most_returned(neighbours: Int64) -> int:
    """How many pictures have the most popular one as a neighbour; k would be the even share."""
    return int(returned(neighbours).max())


def returned(neighbours: Int64) -> Int64:
    """How often each picture is a neighbour, (n,)."""
    return np.bincount(_pairs(neighbours)[1], minlength=len(neighbours)).astype(np.int64)


def _pairs(neighbours: Int64) -> tuple[Int64, Int64]:
    """The neighbour relation as two flat arrays (i, j), checked."""
    n = len(neighbours)
    if neighbours.ndim != 2 or neighbours.size == 0:
        raise UsageError(f"neighbours have shape {neighbours.shape}; give one row of neighbours for each picture")
    if neighbours.min() < -1 or neighbours.max() >= n:
        raise UsageError(f"neighbours of {n} pictures must be 0 to {n - 1}, or −1 for none; one is out of that range")
    row, place = np.nonzero(neighbours >= 0)
    column = neighbours[row, place].astype(np.int64)
    if (row == column).any():
        raise UsageError(f"picture {row[row == column][0]} is its own neighbour; leave the query out of its ranking")
    if len(np.unique(row * n + column)) != len(row):
        raise UsageError("a picture is listed twice in one row of neighbours; list each once")
    return row, column
