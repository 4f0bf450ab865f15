"""Features in from other programs, pairs of pictures out to them."""

from .files import FeatureFile, add_all, insist_on_kind, open_features
from .given import points
from .pairs import best_pairs, names_for_pairs

__all__ = ["FeatureFile", "add_all", "best_pairs", "insist_on_kind", "names_for_pairs", "open_features", "points"]
