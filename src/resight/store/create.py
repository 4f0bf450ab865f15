"""A new index."""

from __future__ import annotations

import zlib
from pathlib import Path

from ..errors import IndexExistsError
from ..options import FeatureOptions, IndexingOptions
from ..vocabulary import Vocabulary
from ..vocabulary.codes import kept_bytes
from . import manifest as manifests
from .disk import Disk, writing
from .lock import NAME as LOCK
from .lock import WriterLock
from .manifest import FileRecord, Manifest, Settings
from .segment import FOLDER
from .snapshot import VOCABULARY


def create(
    folder: Path,
    vocabulary: Vocabulary,
    *,
    features: FeatureOptions | None = None,
    indexing: IndexingOptions | None = None,
    disk: Disk | None = None,
) -> None:
    """Make an empty index. One that was interrupted can simply be repeated."""
    disk, indexing = disk or Disk(), indexing or IndexingOptions()
    settings = Settings(
        features=features or FeatureOptions(),
        indexing=indexing,
        words=vocabulary.words,
        vocabularies=vocabulary.vocabularies,
        codes=kept_bytes(vocabulary, indexing.keep),
    )
    with writing(folder):
        _require_nothing(folder)
        parents = [folder.absolute().parent, *(f.parent for f in folder.absolute().parents if not f.exists())]
        disk.make_folder(folder / FOLDER)
        lock = WriterLock(folder)
        lock.take()
        try:
            _require_nothing(folder)  # another process may have been faster
            data = vocabulary.to_bytes()
            disk.write(folder / VOCABULARY, data)
            disk.sync(folder / VOCABULARY)
            record = FileRecord(VOCABULARY, len(data), zlib.crc32(data))
            manifests.write(folder, Manifest(0, settings, record, vocabulary.fingerprint), disk)
            for parent in parents:  # each has a new name in it
                disk.sync(parent)
        finally:
            lock.release()


def _require_nothing(folder: Path) -> None:
    """Raise unless nothing is there, or only what an interrupted ``create`` leaves."""
    if not folder.exists():
        return
    if (folder / manifests.NAME).exists():
        raise IndexExistsError(f"there is already an index at {folder}; open it, or choose another place")
    leftovers = {FOLDER, VOCABULARY, LOCK, f"{manifests.NAME}.new"}
    if (
        not folder.is_dir()
        or any(path.name not in leftovers for path in folder.iterdir())
        or ((folder / FOLDER).exists() and any((folder / FOLDER).iterdir()))
    ):
        raise IndexExistsError(f"{folder} exists and is not an index; choose another place")
