"""Context terms live as long as their pictures, and nothing that happens to others changes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resight import learn
from resight.context import context_name
from resight.errors import StoreError, UsageError
from resight.options import ContextOptions, HammingOptions, ScoringOptions
from resight.scoring import Query
from resight.store import Writer, check, create, open_snapshot

from ..support.stored import (
    L1,
    NEAR,
    NO_DETECTOR,
    QuickDisk,
    build,
    change,
    entry,
    learn_context,
    leftovers,
    terms,
    vocabulary,
)

ENTRIES = [entry(f"{i:02d}", i, features=25) for i in range(12)]


def test_all_pictures_get_terms(tmp_path: Path) -> None:
    build(tmp_path / "i", ENTRIES[:5], ENTRIES[5:])
    change(tmp_path / "i", remove=["03"])
    reference = learn_context(tmp_path / "i")
    found = terms(tmp_path / "i")
    assert sorted(found) == sorted(e.key for e in ENTRIES if e.key != "03")
    assert [found[key] for key in sorted(found)] == pytest.approx(reference.terms.delta.tolist(), rel=1e-6)
    assert len(set(found.values())) > 5
    assert check(tmp_path / "i").problems == ()


def test_terms_do_not_depend_on_segments(tmp_path: Path) -> None:
    build(tmp_path / "one", ENTRIES)
    build(tmp_path / "three", ENTRIES[7:], ENTRIES[:2], ENTRIES[2:7])
    for folder in ("one", "three"):
        learn_context(tmp_path / folder)
    assert terms(tmp_path / "one") == terms(tmp_path / "three")


@pytest.mark.parametrize("scoring", [L1, HammingOptions()], ids=["l1", "hamming"])
def test_what_comes_later_changes_no_term(tmp_path: Path, scoring: ScoringOptions) -> None:
    folder = tmp_path / "i"
    build(folder, ENTRIES[:5], ENTRIES[5:9])
    reference = learn_context(folder, scoring=scoring)
    before = terms(folder, scoring=scoring)
    change(folder, add=ENTRIES[9:], remove=["01", "06"])
    expected = {key: term for key, term in before.items() if key not in ("01", "06")}
    queries = [Query(e.words, e.geometry) for e in ENTRIES[9:]]
    expected |= dict(zip((e.key for e in ENTRIES[9:]), reference.terms_of(queries).tolist(), strict=True))
    assert terms(folder, scoring=scoring) == pytest.approx(expected, rel=1e-6)
    change(folder, merge=True)
    assert terms(folder, scoring=scoring) == pytest.approx(expected, rel=1e-6)
    with open_snapshot(folder) as snapshot:
        assert len(snapshot.segments) == 1
    assert check(folder).problems == ()
    assert leftovers(folder) == set()


def test_many_pictures_are_measured_against_some(tmp_path: Path) -> None:
    few = ContextOptions(method="cdm", neighbours=2, references=6)
    build(tmp_path / "one", ENTRIES)
    build(tmp_path / "two", ENTRIES[6:], ENTRIES[:6])
    references = [learn_context(tmp_path / name, context=few) for name in ("one", "two")]
    assert [r.segment.pictures for r in references] == [6, 6]
    one, two = (terms(tmp_path / name, context=few) for name in ("one", "two"))
    assert one == two  # the same were drawn
    with open_snapshot(tmp_path / "one") as snapshot:
        drawn = set(references[0].terms.delta.astype(np.float32).tolist()) & set(one.values())
        assert len(drawn) == 6
        assert snapshot.pictures == 12


def test_contexts_stand_side_by_side_until_forgotten(tmp_path: Path) -> None:
    folder, other = tmp_path / "i", ContextOptions(method="nicdm", neighbours=3)
    build(folder, ENTRIES)
    learn_context(folder)
    before = terms(folder)
    learn_context(folder, context=other)
    assert terms(folder) == before
    assert terms(folder, context=other) != before
    learn_context(folder)  # again: replaces itself
    with Writer(folder, disk=QuickDisk()) as writer:
        assert sorted(writer.manifest.contexts) == sorted([context_name(L1, NEAR), context_name(L1, other)])
        assert learn.forget_context(writer, context_name(L1, other))
        assert not learn.forget_context(writer, context_name(L1, other))
    assert terms(folder) == before
    assert leftovers(folder) == set()
    with pytest.raises(KeyError):
        terms(folder, context=other)


def test_a_picture_that_is_added_again_does_not_meet_itself(tmp_path: Path) -> None:
    build(tmp_path / "i", ENTRIES)
    learn_context(tmp_path / "i")
    before = terms(tmp_path / "i")["04"]
    change(tmp_path / "i", add=[replace(ENTRIES[4], metadata={"changed": 1})])
    assert terms(tmp_path / "i")["04"] == pytest.approx(before, rel=0.02)


def test_another_index_in_its_place_is_left_alone(tmp_path: Path) -> None:
    build(tmp_path / "i", ENTRIES[:5])
    build(tmp_path / "other", ENTRIES[5:])
    change(tmp_path / "other", add=ENTRIES[:1])
    with Writer(tmp_path / "i", disk=QuickDisk()) as writer:
        (tmp_path / "i").rename(tmp_path / "moved")
        (tmp_path / "other").rename(tmp_path / "i")
        with pytest.raises(StoreError, match="another index now"):
            learn.learn_context(writer, L1, NEAR)
    assert check(tmp_path / "i").problems == ()


def test_an_empty_index_has_no_context(tmp_path: Path) -> None:
    create(tmp_path / "i", vocabulary(), features=NO_DETECTOR, disk=QuickDisk())
    with pytest.raises(UsageError, match="no pictures yet"):
        learn_context(tmp_path / "i")


def test_few_pictures(tmp_path: Path) -> None:
    """Fewer than a neighbourhood, and ones without features: terms are numbers all the same."""
    build(tmp_path / "i", [ENTRIES[0]], [entry("none", 50, features=0)])
    learn_context(tmp_path / "i")
    change(tmp_path / "i", add=[ENTRIES[1], entry("nothing", 51, features=0)])
    assert all(np.isfinite(term) and term > 0 for term in terms(tmp_path / "i").values())
