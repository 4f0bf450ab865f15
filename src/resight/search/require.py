"""What an index must have for a recipe; errors name the remedy."""

from __future__ import annotations

from ..errors import KeyMissingError, UsageError
from ..recipes import RECIPES, Recipe
from ..scoring import measure_of, require_similarity
from .group import SegmentGroup


def missing(key: str) -> KeyMissingError:
    return KeyMissingError(f"no picture with the key {key!r} is indexed; a key is the path under which one was")


def require_searchable(group: SegmentGroup, recipe: Recipe) -> None:
    """Raise UsageError where an index, or the way it is searched, lacks what a recipe needs."""
    if measure_of(recipe.scoring).in_one_place and not group.in_one_place:
        fit = [name for name, each in RECIPES.items() if not measure_of(each.scoring).in_one_place]
        raise UsageError(
            f"the measure {recipe.scoring.measure} needs all pictures in one place; leave --engine out, "
            f"or search with one of the recipes {', '.join(fit)}"
        )
    snapshot = group.snapshot
    kept, wanted = snapshot.settings.indexing.keep, recipe.indexing.keep
    if recipe.scoring.measure == "knn" and wanted != kept:
        raise UsageError(
            f"this recipe compares descriptors as {wanted}, {snapshot.folder} keeps {kept}; "
            "search with another recipe, or make an index for this one with `resight index --recipe`"
        )
    if recipe.scoring.measure == "learnt" and snapshot.segments:
        require_similarity(snapshot.similarity)
    if recipe.context.method != "none":
        snapshot.terms(recipe.scoring, recipe.context)
    snapshot.require_clusters(recipe.clusters.probe)
