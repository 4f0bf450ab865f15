"""What searchers are tested on, and whether they find the same."""

from __future__ import annotations

from resight import Index
from resight.options import FeatureOptions, StoreOptions
from resight.types import SearchResult

from ..support.pictures import SIZE, panorama, part, texture, wall_in_parts

SEGMENTS = 5
FEATURES = FeatureOptions(max_features=250)


def same(found: SearchResult, wanted: SearchResult) -> bool:
    """To the last bit, and where in the pictures."""
    for one, other in zip(found.hits, wanted.hits, strict=True):
        assert one == other
        matches = [None if hit.matches is None else hit.matches.tolist() for hit in (one, other)]
        assert matches[0] == matches[1]
    assert found == wanted
    return bool(found.hits)


def fill(index: Index) -> None:
    """A wall in parts that overlap by half, copies of its first part, others, removed ones; in several segments."""
    index.store, wall = StoreOptions(merge_factor=1000), panorama(1)
    pictures = wall_in_parts()
    pictures |= {f"copy {n}": part(wall, 0) for n in range(4)}  # equal scores in several segments
    pictures |= {f"other {seed}": texture(50 + seed, size=SIZE) for seed in range(5)}
    pictures |= {"gone": part(wall, 40), "gone too": texture(50, size=SIZE)}
    for number in range(SEGMENTS):
        for key in sorted(pictures)[number::SEGMENTS]:
            index.add(pictures[key], key=key, metadata={"of": key})
        index.commit()
    index.remove("gone")
    index.remove("gone too")
    index.commit()
