"""``index.learn``: what an index learns from its own pictures, and keeps with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..context import METHODS, Reference, context_name, name_of
from ..errors import UsageError
from ..learn import (
    Groups,
    LearntSimilarity,
    VerifiedGroups,
    forget_context,
    forget_links,
    forget_similarity,
    keep_similarity,
    learn_clusters,
    learn_context,
    learn_similarity,
    link_pictures,
    verified_groups,
)
from ..learning_to_rank import Trial
from ..options import ClusterOptions, LearnOptions
from ..recipes import Recipe
from ..recipes import recipe as named_recipe
from ..store import Writer

if TYPE_CHECKING:
    from .index import Index


class Learning:
    """All methods that change the index commit first, and what they have learnt is committed when they return."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        """Searches see what was added before, whatever fails here, and what is learnt here."""
        self._index.commit()
        yield self._index.writer()
        self._index.refresh()

    def context(
        self, recipe: str | Recipe = "context", *, done: Callable[[int], None] = lambda count: None
    ) -> list[Reference]:
        """Give every picture the context term that the recipe needs (CDM-10); later ones get theirs when added.

        There is a reference set for each vocabulary of the index. Memory: the features of all, ``context.references``
        pictures at most in each. ``done`` hears how many more pictures were compared; all are, in each vocabulary.
        """
        chosen = _contextual(recipe)
        with self._writing() as writer:
            return learn_context(writer, chosen.scoring, chosen.context, done=done)

    def forget_context(self, recipe: str | Recipe = "context") -> bool:
        """Drop the context terms of a recipe, or of this name in ``info``; False if there were none."""
        name = recipe if isinstance(recipe, str) else ""
        if name not in {name_of(stored)[0] for stored in self._index.snapshot.manifest.contexts}:
            chosen = _contextual(recipe)
            name = context_name(chosen.scoring, chosen.context)
        with self._writing() as writer:
            return forget_context(writer, name)

    def similarity(
        self,
        groups: Groups,
        *,
        unsure: Sequence[tuple[str, str]] = (),
        options: LearnOptions | None = None,
        report: Callable[[Trial], None] = lambda trial: None,
    ) -> LearntSimilarity:
        """Learn the similarity that the recipe ``learnt`` searches with (LEARN-14).

        groups: keys of pictures that show the same thing, by any name for it; unsure: pairs that may show the same, and
        are not learnt from. ``report`` hears of each choice of groups of words and weight pattern. An interrupted run
        goes on where it was, if nothing has changed since: what it has found stands in a file beside the index until
        the index has kept it.
        """
        chosen = options or LearnOptions()
        with self._writing() as writer:  # locked before anything is learnt that could then not be kept
            learnt = learn_similarity(writer.snapshot, groups, chosen, unsure=unsure, state=self._state, report=report)
            keep_similarity(writer, learnt.similarity)
            self._state.unlink(missing_ok=True)
        return learnt

    def verified_groups(
        self, *, options: LearnOptions | None = None, done: Callable[[int], None] = lambda count: None
    ) -> VerifiedGroups:
        """Pictures that geometry confirms to show the same thing, as examples for ``similarity``.

        ``options.pictures`` of them at most, drawn at random, are searched for; ``done`` hears of each.
        """
        return verified_groups(self._index.snapshot, options or LearnOptions(), done)

    def forget_similarity(self) -> bool:
        """Drop the learnt similarity, and what an interrupted run has left; False if there was none."""
        with self._writing() as writer:
            known = forget_similarity(writer)
            self._state.unlink(missing_ok=True)
        return known

    @property
    def _state(self) -> Path:
        """Where an interrupted ``similarity`` goes on from."""
        return self._index.path.with_name(f"{self._index.path.name}.learning")

    def links(
        self,
        *,
        again: bool = False,
        done: Callable[[int], None] = lambda count: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Find out which pictures show the same thing: each that has not asked yet asks once. How many have asked.

        For searches with the recipe ``linked`` (the default), ``Index.links``, and groups. Pictures that are added
        later must ask, too: call this again. ``again``: all ask anew, as if the index were new. Searchers elsewhere
        (``Index.spread``) do the work, if there are any. ``done`` hears of each. ``stop`` is looked at now and then;
        what was found by then is kept.
        """
        with self._writing() as writer:
            return link_pictures(writer, again=again, grouped=self._index._grouped, done=done, stop=stop)

    def forget_links(self) -> bool:
        """Drop all links; False if there were none."""
        with self._writing() as writer:
            return forget_links(writer)

    def clusters(self, options: ClusterOptions) -> None:
        """Put all pictures into clusters, so that ``recipe.clusters.probe`` of them can be searched alone (CDM-07 §4).

        Learnt from a sample of the pictures; those added later go into the nearest cluster. All of the index is
        rewritten. With a count of 0 there are none afterwards. A search that visits none finds what it found before;
        context terms whose neighbours were looked for in clusters (``context.probe``) are forgotten.
        """
        with self._writing() as writer:
            learn_clusters(writer, options)


def _contextual(recipe: str | Recipe) -> Recipe:
    chosen = named_recipe(recipe) if isinstance(recipe, str) else recipe
    if chosen.context.method == "none":
        raise UsageError(
            f"this recipe has no context; take `context`, or set context.method to one of {', '.join(METHODS)}"
        )
    return chosen
