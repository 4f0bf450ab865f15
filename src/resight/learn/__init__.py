"""What an index can learn from its own pictures, and keeps with them: context terms, clusters, links, a similarity."""

from .clusters import learn_clusters
from .context import forget_context, learn_context
from .groups import Groups, VerifiedGroups, read_groups, verified_groups
from .links import forget_links, keeps_links, link_pictures
from .sample import sample_pictures
from .similarity import LearntSimilarity, forget_similarity, keep_similarity, learn_similarity
from .useful import Shrunk, shrink

__all__ = [
    "Groups",
    "LearntSimilarity",
    "Shrunk",
    "VerifiedGroups",
    "forget_context",
    "forget_links",
    "forget_similarity",
    "keep_similarity",
    "keeps_links",
    "learn_clusters",
    "learn_context",
    "learn_similarity",
    "link_pictures",
    "read_groups",
    "sample_pictures",
    "shrink",
    "verified_groups",
]
