"""Pictures that belong together: identical files, copies of one photograph, pictures of one scene."""

from .dismissed import dismiss, undismiss
from .find import Duplicates, duplicates, known_kind, steps
from .files import stored_path
from .groups import ENOUGH, KINDS, SHARE, Group, Kind, Member, grown
from .keep import Kept
from .pairs import LOOKED_AT, SURE, Pair, confirmed_pairs, overlap

__all__ = [
    "ENOUGH",
    "KINDS",
    "LOOKED_AT",
    "SHARE",
    "SURE",
    "Duplicates",
    "Group",
    "Kept",
    "Kind",
    "Member",
    "Pair",
    "confirmed_pairs",
    "dismiss",
    "duplicates",
    "grown",
    "known_kind",
    "overlap",
    "steps",
    "stored_path",
    "undismiss",
]
