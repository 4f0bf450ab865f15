"""Pictures → entries of an index, and queries. One way in: read, hash, decode, extract, assign."""

from .bad_files import BadFiles
from .build import build
from .changes import FolderChanges, folder_changes
from .jobs import DescriberPlan, Ingester, IngesterPlan, Job, Moved, Outcome, crashed, file_key
from .query import query_of, query_of_stored
from .reader import OpenedPicture, Reader, Source, content_hash

__all__ = [
    "BadFiles",
    "DescriberPlan",
    "FolderChanges",
    "Ingester",
    "IngesterPlan",
    "Job",
    "Moved",
    "OpenedPicture",
    "Outcome",
    "Reader",
    "Source",
    "build",
    "content_hash",
    "crashed",
    "file_key",
    "folder_changes",
    "query_of",
    "query_of_stored",
]
