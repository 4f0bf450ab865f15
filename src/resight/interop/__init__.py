"""Features in from other programs, pairs of pictures out to them."""

from .files import FeatureFile, add_all, open_features, require_same_kind
from .given import points
from .pairs import best_pairs, linked_pairs, names_for_pairs

__all__ = [
    "FeatureFile",
    "add_all",
    "best_pairs",
    "linked_pairs",
    "names_for_pairs",
    "open_features",
    "points",
    "require_same_kind",
]
