"""Groups are grown of links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from resight.duplicates import ENOUGH, SHARE, grown


def groups_of(links: list[tuple[int, int]], count: int, first: Sequence[int] | None = None) -> list[list[int]]:
    """Those of more than one, in order."""
    group = grown(np.array(links, np.int32).reshape(-1, 2), count, first)
    found = [np.flatnonzero(group == name).tolist() for name in np.unique(group)]
    return sorted(members for members in found if len(members) > 1)


def all_of(*things: int) -> list[tuple[int, int]]:
    return list(combinations(things, 2))


def test_a_picture_of_two_things_joins_one_group_and_chains_none() -> None:
    """4 shows what 0 to 3 show, before the wall of 5 to 7, which are grown first: they have fewer links."""
    links = [*all_of(0, 1, 2, 3, 4), *all_of(4, 5, 6, 7)]
    assert groups_of(links, 9) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups_of([(b, a) for a, b in reversed(links)] * 2, 9) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    many = [*all_of(*range(5)), *all_of(*range(4, 9)), *all_of(*range(8, 13))]  # each shares one with the next
    assert max(map(len, groups_of(many, 13))) == 5


def test_a_chain_breaks_off() -> None:
    """Four in a row are a group: the last is linked to one of three. A fifth would be to one of four."""
    assert groups_of([(n, n + 1) for n in range(3)], 4) == [[0, 1, 2, 3]]
    assert groups_of([(n, n + 1) for n in range(4)], 5) == [[0, 1, 2, 3]]
    assert groups_of([(n, n + 1) for n in range(7)], 8) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_in_a_large_group_no_picture_can_be_linked_to_most() -> None:
    ring = [(n, (n + step) % 200) for n in range(200) for step in range(1, ENOUGH + 1)]
    assert groups_of(ring, 200) == [list(range(200))]


def test_parts_belong_to_the_whole_that_a_group_begins_with() -> None:
    """0 is linked to five parts that are not linked to each other; without a beginning they would be too few links."""
    links = [(0, n) for n in range(1, 6)]
    assert len(groups_of(links, 6)[0]) < 6
    assert groups_of(links, 6, first=[0, 1, 2, 3, 4, 5]) == [[0, 1, 2, 3, 4, 5]]
    # 6 is linked to one part alone, which may be by mistake.
    assert groups_of([*links, (5, 6)], 7, first=range(7)) == [[0, 1, 2, 3, 4, 5]]
    # A link between two wholes takes one to the other, but not the parts of that.
    assert groups_of([*links, (0, 6), (6, 7), (6, 8)], 9, first=[0, 6, 1, 2, 3, 4, 5, 7, 8]) == [[0, 1, 2, 3, 4, 5, 6]]


def test_nothing_is_linked() -> None:
    assert groups_of([], 3) == groups_of([], 0) == []


def grown_plainly(links: list[tuple[int, int]], count: int) -> list[list[int]]:
    """The same by looking at everything each time."""
    linked = {n: {b for link in links for a, b in (link, link[::-1]) if a == n} for n in range(count)}
    alone, found = set(range(count)), []
    while alone:
        # As many links as it had in the beginning, whoever has joined a group since.
        group = [min(alone, key=lambda n: (len(linked[n]), n))]
        alone -= {*group}
        while alone:
            ties = {n: len(linked[n].intersection(group)) for n in alone}
            best = min(alone, key=lambda n: (-ties[n], n))
            if ties[best] < ENOUGH and (ties[best] == 0 or ties[best] * SHARE < len(group)):
                break
            group.append(best)
            alone.remove(best)
        found.append(sorted(group))
    return sorted(members for members in found if len(members) > 1)


@pytest.mark.parametrize("seed", range(30))
def test_groups_grow_as_they_do_plainly(seed: int) -> None:
    """Random links, more within some groups than between them, and few or many."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 60))
    kind = rng.integers(0, 1 + count // int(rng.integers(2, 40)), count)
    within, between = rng.uniform(0.1, 1), rng.uniform(0, 0.1)
    links = [
        (a, b) for a, b in combinations(range(count), 2) if rng.random() < (within if kind[a] == kind[b] else between)
    ]
    assert groups_of([links[n] for n in rng.permutation(len(links))], count) == grown_plainly(links, count)
