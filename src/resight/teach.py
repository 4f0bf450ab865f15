"""An index, and groups of its pictures that show the same thing → a similarity learnt from them (LEARN-14)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .connected import Connected
from .duplicates import SURE, confirmed_pairs
from .errors import UsageError
from .learning import Asked, Tried, examples, learn
from .machine import whole_file
from .options import LearnOptions, fingerprint
from .postings import build
from .scoring import Similarity
from .store import Snapshot, drawn

Groups = Mapping[str, Sequence[str]]  # keys of pictures by the name of what they show


@dataclass(frozen=True)
class Agreed:
    """Which pictures show the same thing, as far as geometry can tell."""

    groups: Groups
    unsure: Sequence[tuple[str, str]]  # pairs that may or may not


@dataclass(frozen=True)
class Lesson:
    """What was learnt, and from how much."""

    similarity: Similarity
    map: float  # in cross-validation, each query ranking its rivals
    groups: int
    queries: int
    pictures: int


def read_groups(path: Path) -> dict[str, list[str]]:
    """Lines of a picture's key, a tab, and the name of what it shows; empty lines do not count."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the groups in {path}: {error}") from None
    groups: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            key, tab, name = line.rpartition("\t")
            if not tab or not key or not name:
                raise UsageError(f"line {number} of {path} is not KEY, a tab, and GROUP: {line!r}")
            groups.setdefault(name, []).append(key)
    return groups


def verified_groups(
    snapshot: Snapshot, options: LearnOptions, done: Callable[[int], None] = lambda count: None
) -> Agreed:
    """Pictures that geometry confirms to show the same thing, directly or through others; no label is needed.

    At most ``options.pictures``, drawn at random, ask for the pictures that are like them. ``done`` hears of each.
    """
    same, unsure = Connected(), []
    for pair in confirmed_pairs(snapshot, _drawn_keys(snapshot, options.pictures, options.seed), done):
        if pair.confidence >= SURE:
            same.connect(pair.one, pair.other)
        else:
            unsure.append((pair.one, pair.other))
    return Agreed(same.groups(), unsure)


def _drawn_keys(snapshot: Snapshot, count: int, seed: int) -> list[str]:
    keys = sorted(row.key for row in snapshot.rows())
    return [keys[i] for i in sorted(np.random.default_rng(seed).permutation(len(keys))[:count].tolist())]


def learn_similarity(
    snapshot: Snapshot,
    groups: Groups,
    options: LearnOptions,
    *,
    unsure: Sequence[tuple[str, str]] = (),
    state: Path,
    report: Callable[[Tried], None] = lambda tried: None,
) -> Lesson:
    """Learn from groups of two or more pictures, and from others that are unlike them, but for pairs that are unsure.

    What has been tried stands in the file ``state``, which the caller removes once the lesson is kept: an interrupted
    run goes on from there, and ``report`` hears of what it had tried, too.
    """
    if snapshot.manifest.vocabularies > 1:
        raise UsageError("a similarity is learnt for one vocabulary, and this index has several")
    things = {name: sorted({*keys}) for name, keys in sorted(groups.items()) if len({*keys}) > 1}
    if len(things) < 2:
        raise UsageError(f"{len(things)} group(s) with two pictures or more are too few to learn from; give more")
    (span,) = snapshot.spans
    members = [key for keys in things.values() for key in keys]
    _require_groups(snapshot, members)
    pictures = drawn(snapshot, options.pictures, options.seed, span, also=frozenset(members))
    place = {key: number for number, (key, _, _) in enumerate(pictures)}
    lists = build([picture for _, _, picture in pictures], words=len(span))
    asked, thing, doubts = [], [], _doubts(unsure, place)
    for name, keys in things.items():
        for key in keys:
            others = np.array([place[other] for other in keys if other != key])
            ignored = np.setdiff1d([place[key], *doubts.get(key, ())], others)
            asked.append(Asked(pictures[place[key]][2][0].word, others, ignored))
            thing.append(name)
    word = np.arange(len(span), dtype=np.int32)
    counts = np.sum([segment.living(word) for segment in snapshot.views[0]], axis=0)
    given = examples(lists, asked, thing, pictures=len(pictures), counts=counts, options=options)
    name = fingerprint(options, _named(snapshot, things, unsure))
    known, tried = _resumed(state, name), []

    def note(each: Tried) -> None:
        tried.append(each)
        _save(state, name, tried)
        report(each)

    for each in known:
        note(each)
    found = learn(given, options, known=known, report=note)
    return Lesson(found.similarity(counts), found.map, groups=len(things), queries=len(asked), pictures=len(place))


def _doubts(unsure: Sequence[tuple[str, str]], place: Mapping[str, int]) -> dict[str, list[int]]:
    """Of each picture, the places of those that may show the same thing."""
    found: dict[str, list[int]] = {}
    for one, other in unsure:
        for key, doubtful in ((one, other), (other, one)):
            if doubtful in place:
                found.setdefault(key, []).append(place[doubtful])
    return found


def _named(snapshot: Snapshot, things: Groups, unsure: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """All that a run depends on besides its options."""
    manifest = snapshot.manifest
    index = {"vocabulary": manifest.vocabulary_fingerprint, "settings": manifest.settings, "commit": manifest.commit}
    return {**index, "groups": dict(things), "unsure": sorted({*unsure})}


def _require_groups(snapshot: Snapshot, members: Sequence[str]) -> None:
    if missing := [key for key in members if snapshot.find(key) is None]:
        raise UsageError(
            f"{len(missing)} picture(s) of the groups are not in {snapshot.folder}, such as {missing[0]!r}; "
            "name pictures by the keys that `resight search --json` shows"
        )
    if len({*members}) < len(members):
        twice = next(key for key in members if members.count(key) > 1)
        raise UsageError(f"{twice!r} is in more than one group; a picture can show one thing only")


def _whole(tried: Sequence[Tried]) -> list[Tried]:
    """Without the last number of groups, of which not all patterns may have been tried."""
    last = max((t.word_groups for t in tried), default=0)
    return [t for t in tried if t.word_groups < last]


def _resumed(state: Path, name: str) -> list[Tried]:
    """What an interrupted run of the same name has tried; nothing if the file is not there, or not one of ours."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        values: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
        if values["learning"] == name:
            return _whole([Tried.from_dict(each) for each in values["tried"]])
    return []


def _save(state: Path, name: str, tried: Sequence[Tried]) -> None:
    """So that an interrupted run can go on; one that nobody interrupts needs no file, so it may be refused."""
    with suppress(UsageError), whole_file(state) as new:
        new.write_text(json.dumps({"learning": name, "tried": [t.as_dict() for t in tried]}), encoding="utf-8")
