"""Files that could not be read, and why: so that later runs need not try them again. An optional file of the index."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

VERSION = 1
MOST = 20_000  # those refused last are kept: some megabytes
LONGEST = 500  # characters of a reason


@dataclass(frozen=True, slots=True)
class Refusal:
    """Of one file."""

    path: str  # the file, or its URL
    state: str  # of the file, and of what tried to read it: with another state it is tried again
    reason: str


def to_bytes(refused: Mapping[str, Refusal]) -> bytes:
    """Of refusals by key, the oldest first."""
    kept = {key: (r.path, r.state, r.reason[:LONGEST]) for key, r in list(refused.items())[-MOST:]}
    return json.dumps({"version": VERSION, "refused": kept}).encode()


def from_bytes(data: bytes) -> dict[str, Refusal]:
    """None of another version's: what it refused is tried again."""
    values = json.loads(data)
    return {key: Refusal(*v) for key, v in values["refused"].items()} if values["version"] == VERSION else {}
