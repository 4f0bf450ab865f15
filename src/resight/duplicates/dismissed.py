"""Groups that a person has looked at and called no duplicates, kept in an optional file of the index.

A group is known by the contents of its pictures, so that files may be moved or renamed. While all of its pictures are
among those of a dismissed group it is left out; when it gains another one it is shown again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from ..errors import UsageError
from ..search import missing
from ..store import Snapshot, Writer
from ..store.manifest import DISMISSED
from .groups import Group, Kind

VERSION = 1
Contents = list[str]  # hashes of the files of a group, sorted


def is_dismissed(group: Group, dismissed: list[Contents]) -> bool:
    contents = Counter(picture.content for picture in group.pictures)
    return any(contents <= Counter(known) for known in dismissed)


def dismissed_groups(snapshot: Snapshot, kind: Kind) -> list[Contents]:
    """Those that were dismissed when groups of this kind were looked for."""
    return _read(snapshot).get(kind, [])


def _read(snapshot: Snapshot) -> dict[str, list[Contents]]:
    """By kind: identical pictures may have been dismissed as such, or as copies. None of another version's."""
    values = json.loads(snapshot.dismissed or "{}")
    return values["dismissed"] if values.get("version") == VERSION else {}


def dismiss(writer: Writer, keys: Iterable[str], kind: Kind) -> None:
    """Remember that these pictures are no group of this kind."""
    contents = _contents(writer.snapshot, keys)
    known = _read(writer.snapshot)
    if DISMISSED in writer.manifest.optional and not known:
        raise UsageError(
            "groups that another version of resight dismissed cannot be read; `resight dismiss --forget` drops them"
        )
    others = [group for group in known.get(kind, []) if not Counter(group) <= Counter(contents)]
    _store(writer, {**known, kind: [*others, contents]})


def undismiss(writer: Writer, keys: Iterable[str] | None, kind: Kind) -> bool:
    """Forget this group, or, whatever the kind, all; False if there was none."""
    if keys is None:  # without reading them: that is how a damaged file is dropped
        forgotten, kept = DISMISSED in writer.manifest.optional, dict[str, list[Contents]]()
    else:
        known, contents = _read(writer.snapshot), _contents(writer.snapshot, keys)
        kept = {**known, kind: [group for group in known.get(kind, []) if group != contents]}
        forgotten = kept != {kind: [], **known}
    if forgotten:
        _store(writer, kept)
    return forgotten


def _contents(snapshot: Snapshot, keys: Iterable[str]) -> Contents:
    found = []
    for key in dict.fromkeys(keys):
        row = snapshot.find(key)
        if row is None:
            raise missing(key)
        found.append(row.content.hex())
    if len(found) < 2:
        raise UsageError("a group is two pictures or more; give the keys of all")
    return sorted(found)


def _store(writer: Writer, dismissed: dict[str, list[Contents]]) -> None:
    kept = {kind: groups for kind, groups in dismissed.items() if groups}
    writer.attach({DISMISSED: json.dumps({"version": VERSION, "dismissed": kept}).encode() if kept else None})
