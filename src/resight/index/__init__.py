"""The Python interface: make, fill and search an index."""

from .index import Index
from .info import IndexInfo
from .learning import Learning

__all__ = ["Index", "IndexInfo", "Learning"]
