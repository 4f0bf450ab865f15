"""resight: find every picture of the same thing.

>>> import resight
>>> sorted(name for name in resight.__all__ if "Error" not in name)
['Hit', 'Index', 'Region', 'SearchResult', 'Vocabulary']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import ResightError as ResightError
    from .index import Index as Index
    from .types import Hit as Hit
    from .types import Region as Region
    from .types import SearchResult as SearchResult
    from .vocabulary import Vocabulary as Vocabulary

__version__ = "0.1.0"

# Loaded at first use: importing resight, and so `resight --help`, must not load numba, faiss and OpenCV.
_HOMES = {
    "Hit": ".types",
    "Index": ".index",
    "Region": ".types",
    "ResightError": ".errors",
    "SearchResult": ".types",
    "Vocabulary": ".vocabulary",
}
__all__ = ["Hit", "Index", "Region", "ResightError", "SearchResult", "Vocabulary"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'resight' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
