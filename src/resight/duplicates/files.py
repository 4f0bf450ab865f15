"""The picture files of an index, read to compare pixels."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable

from .. import images
from ..errors import ImageError
from ..ingest import content_hash
from ..store import Row
from ..types import Picture
from ..urls import Place

SIDE = 512  # pixels of the longest side that pictures are compared at, at most
HELD = 200  # pictures that are kept in memory: 50 MB

Finder = Callable[[Row], Place | None]  # where a picture's file is


def stored_path(row: Row) -> Place | None:
    return row.path


class PictureFiles:
    """Reads them again only if they are needed long after the last time."""

    def __init__(self, find: Finder = stored_path) -> None:
        self.find = find
        self._held: OrderedDict[str, Picture | None] = OrderedDict()
        self.unread: set[str] = set()  # keys of pictures whose files are not there, or not as they were indexed

    def grey(self, row: Row) -> Picture | None:
        """The picture, if its file can be read and is the one that was indexed."""
        if row.key in self._held:
            self._held.move_to_end(row.key)
        else:
            self._held[row.key] = self._read(row)
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        return self._held[row.key]

    def pixel_hash(self, row: Row) -> bytes | None:
        """Of all pixels in colour: equal for files that show exactly the same, whatever their format."""
        data = self._data(row)
        try:
            pixels = images.decode_rgb(data, name=row.key, max_side=max(row.width, row.height)) if data else None
        except ImageError:
            return None
        return None if pixels is None else hashlib.sha256(pixels.tobytes()).digest()

    def _read(self, row: Row) -> Picture | None:
        data = self._data(row)
        try:
            picture = images.decode(data, name=row.key, max_side=SIDE) if data else None
        except ImageError:
            picture = None
        if picture is None:
            self.unread.add(row.key)
        return picture

    def _data(self, row: Row) -> bytes | None:
        place = self.find(row)
        try:
            data = images.read_bytes(place) if place is not None else None
        except ImageError:
            return None
        return data if data and content_hash(data) == row.content else None
