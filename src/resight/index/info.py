"""What an index holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..context import context_name, name_of
from ..recipes import RECIPES
from ..store import Settings, Snapshot, index_size


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What an index holds."""

    path: str
    pictures: int
    features: int
    shapes: bool  # whether features have affine shape
    kept: int  # bytes kept of each feature's descriptor
    size: int  # bytes on disk
    commit: int
    segments: int
    removed: int  # pictures removed whose place a merge will free
    words: int  # of all vocabularies
    vocabularies: int
    vocabulary: str  # fingerprint
    settings: Settings
    contexts: list[str]  # recipes that context terms were learnt for
    clusters: int  # that pictures are put into
    similarity: str | None  # fingerprint of what was learnt for the measure ``learnt``
    linked: int  # pictures that have looked for others of the same thing

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def index_info(place: str, snapshot: Snapshot) -> IndexInfo:
    """Of the index at this path or URL."""
    manifest, settings, similarity = snapshot.manifest, snapshot.settings, snapshot.similarity
    made_for = {name: recipe for name, recipe in RECIPES.items() if recipe.indexing == settings.indexing}
    known = {context_name(recipe.scoring, recipe.context): name for name, recipe in made_for.items()}
    contexts = dict.fromkeys(name_of(stored)[0] for stored in manifest.contexts)
    return IndexInfo(
        path=place,
        pictures=manifest.pictures,
        features=manifest.features,
        shapes=any(segment.shapes for segment in manifest.segments),
        kept=settings.codes,
        size=index_size(manifest),
        commit=manifest.commit,
        segments=len(manifest.segments),
        removed=sum(segment.dead_pictures for segment in manifest.segments),
        words=settings.words,
        vocabularies=settings.vocabularies,
        vocabulary=manifest.vocabulary_fingerprint,
        settings=settings,
        contexts=[known.get(name, f"own recipe, {name}") for name in contexts],
        clusters=snapshot.cluster_count,
        similarity=similarity.fingerprint if similarity else None,
        linked=manifest.pictures - snapshot.unlinked,
    )
