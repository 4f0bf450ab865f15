"""An index that is rewritten with some postings answers as one of pictures that never had others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from resight.store import Entry, Mask, Writer, check, open_snapshot

from ..support.stored import (
    QuickDisk,
    build,
    change,
    complete,
    entry,
    leftovers,
    link,
    noise,
    shaped,
    state,
    state_of,
    with_features,
)


def chosen(e: Entry) -> npt.NDArray[np.bool_]:
    """Some features of a picture; of one none, of another all."""
    some = noise(("chosen", e.key), len(e.geometry)) < 128
    return some & (e.key != "c") | (e.key == "d")


def postings_of(writer: Writer, entries: dict[str, Entry]) -> list[Mask]:
    """The chosen features of these pictures as postings, found one by one; none of removed pictures."""
    masks = []
    for segment in writer.snapshot.segments:
        mask = np.zeros(segment.record.features, np.bool_)
        image = segment.all_lists().image
        for row in segment.table.all():
            if segment.alive[row.ordinal]:
                by_word = np.argsort(entries[row.key].words.word, kind="stable")  # as they stand in the lists
                mask[np.flatnonzero(image == row.ordinal)] = chosen(entries[row.key])[by_word]
        masks.append(mask)
    return masks


def links_of(writer: Writer) -> dict[str, bytes]:
    """What each living picture has found."""
    found: dict[str, bytes] = {}
    for segment in writer.snapshot.segments:
        assert segment.links
        each = zip(segment.table.all(), segment.links.each(), strict=True)
        found |= {row.key: links.tobytes() for row, links in each if segment.alive[row.ordinal]}
    return found


@pytest.mark.parametrize("kind", [replace, shaped, complete], ids=["circles", "shapes", "all columns"])
def test_the_rest_answers_as_a_new_index_of_it(kind: Callable[[Entry], Entry], tmp_path: Path) -> None:
    """To the last bit, from several segments with removed pictures; links stay."""
    entries = {key: kind(entry(key, seed, features=3 * seed)) for seed, key in enumerate("abcdefgh")}
    folder = tmp_path / "i"
    build(folder, [kind(entry("b", 50)), *(entries[key] for key in "acd")], [entries["b"]])
    change(folder, add=[*(entries[key] for key in "efgh"), kind(entry("x", 60))])
    change(folder, remove=["x"])
    link(folder)
    with Writer(folder, disk=QuickDisk()) as writer:
        before = links_of(writer)
        writer.arrange(None, {}, useful=postings_of(writer, entries))
        assert links_of(writer) == before
    left = {key: with_features(e, chosen(e)) for key, e in entries.items()}
    assert len(left["h"].words) not in (0, len(entries["h"].words))
    assert state(folder) == state_of(left, tmp_path / "right", codes=kind is complete)
    assert check(folder).problems == ()
    assert leftovers(folder) == set()
    change(folder, add=[entries["h"]])  # a picture that comes again comes whole
    assert state(folder) == state_of(left | {"h": entries["h"]}, tmp_path / "whole", codes=kind is complete)


def test_nothing_at_all_may_be_left(tmp_path: Path) -> None:
    build(tmp_path / "i", [entry("a", 1), entry("b", 2)])
    with Writer(tmp_path / "i", disk=QuickDisk()) as writer:
        writer.arrange(None, {}, useful=[np.zeros(11, np.bool_)])
    with open_snapshot(tmp_path / "i") as snapshot:
        assert (snapshot.pictures, snapshot.manifest.features) == (2, 0)
    assert check(tmp_path / "i").problems == ()
