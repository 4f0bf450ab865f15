"""Pictures → entries of an index, and queries. One way in: read, hash, decode, extract, assign."""

from .build import build
from .jobs import DescriberPlan, Ingester, IngesterPlan, Job, Outcome, crashed, file_key
from .query import query_of, query_of_stored
from .reader import OpenedPicture, Reader, Source, content_hash

__all__ = [
    "DescriberPlan",
    "Ingester",
    "IngesterPlan",
    "Job",
    "OpenedPicture",
    "Outcome",
    "Reader",
    "Source",
    "build",
    "content_hash",
    "crashed",
    "file_key",
    "query_of",
    "query_of_stored",
]
