"""The index behind the server: searched by many threads, written by one at a time, here or elsewhere."""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import cv2
import numpy as np

from .. import images
from ..duplicates import Duplicates, Kind, LinkedGroups
from ..errors import ImageError, ImageSizeError, ResightError
from ..index import Index
from ..ingest import content_hash
from ..options import ImageOptions, ServeOptions
from ..search import Searchers, missing
from ..store import Disk, Row, open_snapshot
from ..store.disk import writing
from ..store.manifest import NAME as MANIFEST
from ..types import Bytes, SearchResult
from ..warm import warm
from .problems import Problem

QUALITY = 85  # of JPEGs
LARGE = 16_000_000  # pixels from which pictures are worked on one by one, since some kinds take 40 bytes for each
UPLOADED = "uploads/"  # what keys of uploaded pictures begin with
FEW = 20  # pictures without links, which are found at once when another comes
OWN_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]+")  # of their files


class Collection:
    """All methods may be called from any thread; those that write, from one at a time."""

    def __init__(
        self, path: Path, searchers: Searchers | None = None, *, max_pixels: int = ServeOptions().max_pixels
    ) -> None:
        """max_pixels: of pictures that come from requests."""
        self._index, self._refreshing = Index.open(path), threading.Lock()
        self._index.images = ImageOptions(max_pixels=max_pixels)
        if searchers:
            self._index.spread(searchers)
        self._seen = self._stamp()
        self._large = threading.Lock()
        self._groups: tuple[int, LinkedGroups] | None = None  # with the commit that they are of
        self._grouping = threading.Lock()
        self.uploads = self._index.path.with_name(f"{self._index.path.name}.uploads")

    @property
    def path(self) -> Path:
        return self._index.path

    @property
    def index(self) -> Index:
        """As of the last commit, whoever made it."""
        with self._refreshing:
            stamp = self._stamp()  # first: a commit that happens now is seen next time
            if stamp != self._seen:
                self._index.refresh()
                self._seen = stamp
        return self._index

    def _stamp(self) -> tuple[int, int] | None:
        """Changes with every commit, since each makes a new file."""
        try:
            facts = os.stat(self._index.path / MANIFEST)
        except OSError:
            return None  # refreshing says what is wrong
        return facts.st_ino, facts.st_mtime_ns

    def warm(self, compiling: Callable[[bool], None] = lambda kept: None) -> None:
        """Compile and build now what the first search would have to wait for; ``compiling`` as for ``warm``."""
        warm(compiling=compiling)
        self._index.search(np.random.default_rng(1).integers(0, 256, (64, 64), dtype=np.uint8))

    def close(self) -> None:
        self._index.close()

    # Looking

    def search(
        self,
        *picture: bytes,
        key: str | None,
        top: int,
        region: Sequence[float] | None,
        recipe: str,
        min_confidence: float,
        name: str | None = None,
    ) -> SearchResult:
        """name: what errors call the picture."""
        with self._given(*picture, name=name):
            return self.index.search(
                *picture, key=key, top=top, region=region, recipe=recipe, min_confidence=min_confidence
            )

    def compare(
        self,
        *picture: bytes,
        key: str | None = None,
        other: str,
        region: Sequence[float] | None = None,
        name: str | None = None,
    ) -> SearchResult:
        with self._given(*picture, name=name):
            return self.index.compare(*picture, key=key, other=other, region=region)

    def duplicates(self, *, kind: Kind, min_confidence: float | None, done: Callable[[int], None]) -> Duplicates:
        return self.index.duplicates(
            kind=kind, min_confidence=min_confidence, find=lambda row: self._uploaded(row) or row.path, done=done
        )

    def groups(self) -> LinkedGroups:
        """By thing shown; put together once for each commit."""
        index = self.index
        with self._grouping:
            commit = index.snapshot.manifest.commit  # first: groups of a later commit are made anew next time
            if self._groups is None or self._groups[0] != commit:
                self._groups = commit, index.groups()
            return self._groups[1]

    @contextmanager
    def _given(self, *pictures: bytes, name: str | None, known_as: str = "the query") -> Iterator[None]:
        """To work on pictures of a request. Errors call one as its client does, not as it is known here."""
        shown = clean(name or "")
        called, most = repr(shown) if shown else "the picture", self._index.images.max_pixels
        try:
            for width, height in (images.stored_size(data, name=known_as) for data in pictures):
                if width * height > most:
                    size = f"{width} × {height} pixels"
                    raise ImageSizeError(f"{called} has {size}, and this server takes {most} at most; reduce it")
            with self._room(*pictures):
                yield
        except ImageError as error:
            raise type(error)(str(error).replace(repr(known_as), called)) from None

    @contextmanager
    def _room(self, *pictures: bytes) -> Iterator[None]:
        """To decode these: so that memory is bounded, whatever comes at once."""
        if any(math.prod(images.stored_size(data, name="the picture")) > LARGE for data in pictures):
            with self._large:
                yield
        else:
            yield

    def row(self, key: str) -> Row:
        row = self.index.get(key)
        if row is None:
            raise missing(key)
        return row

    def jpeg(self, row: Row, *, side: int) -> bytes:
        """The upright picture as it was indexed, no longer than this on any side; made anew, never the file itself."""
        if row.path is None:
            raise Problem("picture-gone", "this picture was not indexed from a file, so it cannot be shown")
        try:
            data = images.read_bytes(self._uploaded(row) or row.path)
            if content_hash(data) != row.content:
                raise Problem("picture-gone", "the picture's file has changed since; index it again")
            with self._room(data):
                pixels = images.decode_rgb(data, name="the picture", max_side=side)
        except ImageError:  # which names the file
            raise Problem("picture-gone", "the picture's file is no longer there or readable; index it again") from None
        return _encode(pixels)

    # Changing

    def add(self, data: bytes, *, name: str | None) -> tuple[Row, bool]:
        """Keep and index a picture; the row, and whether it is new: one with the same content is not added again."""
        known = self.index.with_content(data)
        if known:
            return self.row(known.key), False
        own = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{content_hash(data).hex()}"
        key, file = UPLOADED + own, self.uploads / own
        metadata = {"name": shown} if name and (shown := clean(name)) else {}
        with self._given(data, name=name, known_as=key), self._writing() as index:
            index.add(data, key=key, metadata=metadata, path=file)
            try:
                self._keep(file, data)
                index.commit()
            except BaseException:
                if not self._committed(key):
                    file.unlink(missing_ok=True)
                raise
            with suppress(ResightError):  # the picture is in, and can look for others later
                if index.snapshot.unlinked <= FEW:
                    index.learn.links()
        return self.row(key), True

    def _committed(self, key: str) -> bool:
        """Whether the picture is in the last commit, or it cannot be told; whatever has failed since."""
        try:
            with open_snapshot(self.path) as snapshot:
                return snapshot.find(key) is not None
        except ResightError:
            return True

    def remove(self, key: str) -> None:
        """Remove a picture from the index; its file as well, if it was uploaded."""
        row = self.row(key)
        with self._writing() as index:
            index.remove(key)
            index.commit()
        if file := self._uploaded(row):
            file.unlink(missing_ok=True)

    def dismiss(self, keys: Sequence[str], *, kind: Kind) -> None:
        with self._writing() as index:
            index.dismiss(keys, kind=kind)

    def undismiss(self, keys: Sequence[str], *, kind: Kind) -> None:
        with self._writing() as index:
            index.undismiss(keys, kind=kind)

    def _uploaded(self, row: Row) -> Path | None:
        """The file of a picture that was uploaded: beside the index, wherever both have been moved since."""
        own = row.key.removeprefix(UPLOADED)
        made_here = row.path is not None and Path(row.path).name == own and OWN_NAME.fullmatch(own) is not None
        return self.uploads / own if made_here else None

    @contextmanager
    def _writing(self) -> Iterator[Index]:
        """The lock is held no longer than one change takes, so that other processes can write, too."""
        try:
            yield self.index
        finally:
            self._index.release()

    def _keep(self, file: Path, data: bytes) -> None:
        """On disk for sure when this returns: a committed picture has its file."""
        disk = Disk()
        with writing(self.uploads):
            if not self.uploads.exists():
                disk.make_folder(self.uploads)
                disk.sync(self.uploads.parent)
            disk.write(file, data)
            disk.sync(file)
            disk.sync(self.uploads)


def clean(name: str) -> str:
    """A name to show: one line."""
    return "".join(c for c in name if c.isprintable()).strip()


def _encode(pixels: Bytes) -> bytes:
    _, data = cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return bytes(data)
