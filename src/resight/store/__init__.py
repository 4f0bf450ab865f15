"""The index on disk: a manifest, immutable segments, one writer, snapshot readers."""

from .check import CheckReport, check, index_size, segments_size
from .create import create
from .disk import Disk
from .drawn import drawn
from .entry import Entry
from .manifest import Manifest
from .manifest import read as read_manifest
from .remote import Remote, RemoteWriter
from .segment import Segment
from .snapshot import Snapshot, open_snapshot
from .table import Row
from .writer import Writer

__all__ = [
    "CheckReport",
    "Disk",
    "Entry",
    "Manifest",
    "Remote",
    "RemoteWriter",
    "Row",
    "Segment",
    "Snapshot",
    "Writer",
    "check",
    "create",
    "drawn",
    "index_size",
    "open_snapshot",
    "read_manifest",
    "segments_size",
]
