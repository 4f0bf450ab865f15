"""Which pictures of an index show the same thing: from a file, or as far as geometry can tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..connected import Connected
from ..duplicates import SURE, confirmed_pairs
from ..errors import UsageError
from ..options import LearnOptions
from ..store import Snapshot
from .sample import sample_keys

Groups = Mapping[str, Sequence[str]]  # keys of pictures by the name of what they show


@dataclass(frozen=True)
class VerifiedGroups:
    """Which pictures show the same thing, as far as geometry can tell."""

    groups: Groups
    unsure: Sequence[tuple[str, str]]  # pairs that may or may not


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
) -> VerifiedGroups:
    """Pictures that geometry confirms to show the same thing, directly or through others; no label is needed.

    At most ``options.pictures`` are searched for, drawn at random. ``done`` hears of each.
    """
    same, unsure = Connected(), []
    for pair in confirmed_pairs(snapshot, sample_keys(snapshot, options.pictures, options.seed), done):
        if pair.confidence >= SURE:
            same.connect(pair.one, pair.other)
        else:
            unsure.append((pair.one, pair.other))
    return VerifiedGroups(same.groups(), unsure)
