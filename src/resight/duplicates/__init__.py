"""Pictures that belong together: identical files, copies of one photograph, pictures of one scene."""

from .dismissed import dismiss, dismissed_groups, is_dismissed, undismiss
from .files import stored_path
from .find import Duplicates, duplicates, known_kind, require_for_scenes, steps
from .groups import ENOUGH, KINDS, SHARE, Group, Kind, Member, grown
from .keep import Kept
from .linked import LinkedGroup, LinkedGroups, LinkedMember, linked_groups
from .move import Move, carry_out, move_back, planned
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
    "LinkedGroup",
    "LinkedGroups",
    "LinkedMember",
    "Member",
    "Move",
    "Pair",
    "carry_out",
    "confirmed_pairs",
    "dismiss",
    "dismissed_groups",
    "duplicates",
    "grown",
    "is_dismissed",
    "known_kind",
    "linked_groups",
    "move_back",
    "overlap",
    "planned",
    "require_for_scenes",
    "steps",
    "stored_path",
    "undismiss",
]
