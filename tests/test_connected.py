"""Connected components, against a search through all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from resight.connected import Connected


def test_by_hand() -> None:
    found = Connected()
    found.connect("c", "d")
    found.connect("b", "d")
    assert found.leader("a") == "a"
    assert found.leader("d") == "b"
    assert found.groups() == {"a": ["a"], "b": ["b", "c", "d"]}


@pytest.mark.parametrize("seed", range(5))
def test_as_reached_through_all_pairs(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 30
    pairs = rng.integers(0, n, (20, 2))
    reached = np.eye(n, dtype=bool)
    reached[pairs[:, 0], pairs[:, 1]] = reached[pairs[:, 1], pairs[:, 0]] = True
    for _ in range(n):
        reached = reached @ reached
    found = Connected()
    for one, other in pairs.tolist():
        found.connect(f"{one:02}", f"{other:02}")
    assert [found.leader(f"{i:02}") for i in range(n)] == [f"{np.flatnonzero(reached[i])[0]:02}" for i in range(n)]
