"""The index on disk: a manifest, immutable segments, one writer, snapshot readers."""

from .addition import References, clusters_to_visit
from .check import CheckReport, check, index_size, segments_size
from .create import create
from .disk import Disk
from .entry import Entry, Known
from .links import BOX_STEPS, GRID, LINK, SegmentLinks, picture_id, set_confirmed
from .manifest import Manifest, Settings
from .manifest import read as read_manifest
from .merge import Mask
from .refusals import Refusal
from .remote import Remote, RemoteWriter
from .segment import Segment
from .snapshot import Snapshot, open_snapshot
from .table import Row
from .writer import Writer

__all__ = [
    "BOX_STEPS",
    "GRID",
    "LINK",
    "CheckReport",
    "Disk",
    "Entry",
    "Known",
    "Manifest",
    "Mask",
    "References",
    "Refusal",
    "Remote",
    "RemoteWriter",
    "Row",
    "Segment",
    "SegmentLinks",
    "Settings",
    "Snapshot",
    "Writer",
    "check",
    "clusters_to_visit",
    "create",
    "index_size",
    "open_snapshot",
    "picture_id",
    "read_manifest",
    "segments_size",
    "set_confirmed",
]
