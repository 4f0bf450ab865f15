"""The pictures of a segment: an SQLite file that is written once and then only read."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .checked import CheckedFile, damaged
from .disk import Disk
from .entry import Entry, decode_text, encode_text

NAME = "pictures.db"

_SCHEMA = """
CREATE TABLE pictures (
    ordinal INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, content BLOB NOT NULL, path BLOB,
    width INTEGER NOT NULL, height INTEGER NOT NULL, features INTEGER NOT NULL, metadata TEXT NOT NULL,
    colours BLOB
)"""


@dataclass(frozen=True, slots=True)
class Row:
    """A stored picture's facts."""

    ordinal: int
    key: str
    content: bytes
    path: str | None
    width: int
    height: int
    features: int  # postings: a feature that has several words, or some in several vocabularies, counts as often
    metadata: dict[str, Any]
    colours: bytes | None = None  # as ``Features.colours``

    def values(self) -> tuple[Any, ...]:
        path = None if self.path is None else encode_text(self.path)
        text = json.dumps(self.metadata, sort_keys=True, allow_nan=False)  # NaN is no JSON: others could not read it
        # SQLite takes Python's own integers alone as such: one of numpy's would be stored as its bytes.
        numbers = index(self.width), index(self.height), index(self.features)
        return self.ordinal, encode_text(self.key), self.content, path, *numbers, text, self.colours

    @classmethod
    def of(cls, ordinal: int, e: Entry) -> Row:
        return cls(ordinal, e.key, e.content, e.path, e.width, e.height, len(e.words), e.metadata, e.colours)


def write(path: Path, rows: Iterable[Row], disk: Disk) -> None:
    """Make the file; the caller syncs it."""
    with disk.database(path) as database:
        database.execute(_SCHEMA)
        database.executemany("INSERT INTO pictures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (row.values() for row in rows))


class Table:
    """Reads the file; all of it is checked before the first row is believed."""

    def __init__(self, file: CheckedFile) -> None:
        self._file, self._lock = file, threading.Lock()
        self._checked = False
        # The path goes through as_uri: names may hold '?', '#' and '%'.
        uri = f"{file.path.absolute().as_uri()}?mode=ro&immutable=1"
        try:  # opens the file now: a merge may unlink it later
            self._database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise damaged(file.path, str(error)) from None
        weakref.finalize(self, self._database.close)  # a snapshot that is let go is closed by its last user

    def rows(self, ordinals: Sequence[int]) -> list[Row]:
        """The rows of these pictures, in this order."""
        found: dict[int, Row] = {}
        for start in range(0, len(ordinals), 500):  # SQLite limits the number of parameters
            some = [int(o) for o in ordinals[start : start + 500]]
            marks = ",".join("?" * len(some))
            for row in self._rows(f"SELECT * FROM pictures WHERE ordinal IN ({marks})", some):
                found[row.ordinal] = row
        try:
            return [found[int(o)] for o in ordinals]
        except KeyError as error:
            raise damaged(self._file.path, f"picture {error} is missing") from None

    def find(self, key: str) -> Row | None:
        return next(iter(self._rows("SELECT * FROM pictures WHERE key = ?", [encode_text(key)])), None)

    def with_content(self, content: bytes) -> list[Row]:
        return self._rows("SELECT * FROM pictures WHERE content = ? ORDER BY ordinal", [content])

    def by_key(self, after: str | None) -> Iterator[Row]:
        """The rows whose keys follow this one (None: all), in the order of their bytes, some at a time."""
        last = -1 if after is None else encode_text(after)  # to SQLite bytes are always more than a number
        while rows := self._rows("SELECT * FROM pictures WHERE key > ? ORDER BY key LIMIT 200", [last]):
            yield from rows
            last = encode_text(rows[-1].key)

    def all(self) -> Iterator[Row]:
        """Every row, by ordinal, a few thousand at a time."""
        last = -1
        while rows := self._rows("SELECT * FROM pictures WHERE ordinal > ? ORDER BY ordinal LIMIT 2000", [last]):
            yield from rows
            last = rows[-1].ordinal

    def integrity(self) -> str:
        """What SQLite thinks of its file: "ok", or its first complaint."""
        return str(self._query("PRAGMA integrity_check", ())[0][0])

    def close(self) -> None:
        self._database.close()

    def _rows(self, statement: str, parameters: Sequence[Any]) -> list[Row]:
        if not self._checked:
            self._file.check()
            self._checked = True
        return [
            Row(
                *(o, decode_text(k), c, None if p is None else decode_text(p), w, h, f),
                *({} if m == "{}" else json.loads(m), *colours),  # tables of earlier versions have no colours
            )
            for o, k, c, p, w, h, f, m, *colours in self._query(statement, parameters)
        ]

    def _query(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        try:
            with self._lock:
                return self._database.execute(statement, parameters).fetchall()
        except sqlite3.ProgrammingError:
            raise StoreError(f"{self._file.path.parent} was closed; open the index again") from None
        except sqlite3.DatabaseError as error:
            raise damaged(self._file.path, str(error)) from None
