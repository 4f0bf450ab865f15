"""resight: find every picture of the same thing.

Everything that the methods of ``Index`` take or return can be imported from here.

>>> import resight
>>> [name for name in resight.__all__ if name.startswith("I")]
['ImageOptions', 'Index', 'IndexInfo', 'IndexingOptions']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import Reference as Reference
    from .duplicates import Duplicates as Duplicates
    from .duplicates import Group as Group
    from .duplicates import Kept as Kept
    from .duplicates import LinkedGroup as LinkedGroup
    from .duplicates import LinkedGroups as LinkedGroups
    from .duplicates import LinkedMember as LinkedMember
    from .duplicates import Member as Member
    from .engine import Engine as Engine
    from .engine import LocalEngine as LocalEngine
    from .errors import ResightError as ResightError
    from .errors import UncommittedWarning as UncommittedWarning
    from .folders import Listing as Listing
    from .folders import list_pictures as list_pictures
    from .index import Index as Index
    from .index import IndexInfo as IndexInfo
    from .index import Learning as Learning
    from .ingest import FolderChanges as FolderChanges
    from .ingest import Job as Job
    from .ingest import Outcome as Outcome
    from .ingest import Source as Source
    from .learn import LearntSimilarity as LearntSimilarity
    from .learn import Shrunk as Shrunk
    from .learn import VerifiedGroups as VerifiedGroups
    from .learning_to_rank import Trial as Trial
    from .options import ClusterOptions as ClusterOptions
    from .options import FeatureOptions as FeatureOptions
    from .options import ImageOptions as ImageOptions
    from .options import IndexingOptions as IndexingOptions
    from .options import LearnOptions as LearnOptions
    from .options import StoreOptions as StoreOptions
    from .recipes import RECIPES as RECIPES
    from .recipes import Recipe as Recipe
    from .store import Row as Row
    from .store import Settings as Settings
    from .types import Features as Features
    from .types import Hit as Hit
    from .types import Region as Region
    from .types import SearchResult as SearchResult
    from .vocabulary import Vocabulary as Vocabulary

__version__ = "0.1.0"

# Loaded at first use: importing resight, and so `resight --help`, must not load numba, faiss and OpenCV.
_HOMES = {
    ".context": ("Reference",),
    ".duplicates": ("Duplicates", "Group", "Kept", "LinkedGroup", "LinkedGroups", "LinkedMember", "Member"),
    ".engine": ("Engine", "LocalEngine"),
    ".errors": ("ResightError", "UncommittedWarning"),
    ".folders": ("Listing", "list_pictures"),
    ".index": ("Index", "IndexInfo", "Learning"),
    ".ingest": ("FolderChanges", "Job", "Outcome", "Source"),
    ".learn": ("LearntSimilarity", "Shrunk", "VerifiedGroups"),
    ".learning_to_rank": ("Trial",),
    ".options": (
        *("ClusterOptions", "FeatureOptions", "ImageOptions", "IndexingOptions", "LearnOptions", "StoreOptions"),
    ),
    ".recipes": ("RECIPES", "Recipe"),
    ".store": ("Row", "Settings"),
    ".types": ("Features", "Hit", "Region", "SearchResult"),
    ".vocabulary": ("Vocabulary",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "RECIPES",
    "ClusterOptions",
    "Duplicates",
    "Engine",
    "FeatureOptions",
    "Features",
    "FolderChanges",
    "Group",
    "Hit",
    "ImageOptions",
    "Index",
    "IndexInfo",
    "IndexingOptions",
    "Job",
    "Kept",
    "LearnOptions",
    "Learning",
    "LearntSimilarity",
    "LinkedGroup",
    "LinkedGroups",
    "LinkedMember",
    "Listing",
    "LocalEngine",
    "Member",
    "Outcome",
    "Recipe",
    "Reference",
    "Region",
    "ResightError",
    "Row",
    "SearchResult",
    "Settings",
    "Shrunk",
    "Source",
    "StoreOptions",
    "Trial",
    "UncommittedWarning",
    "VerifiedGroups",
    "Vocabulary",
    "list_pictures",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'resight' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name], __name__), name)
