"""What questions say of every picture of some parts: scores, brought to one scale and averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..context import contextual
from ..options import ScoringOptions
from ..postings import build
from ..recipes import Recipe
from ..scoring import HERE, Part, Sums, score
from ..store import Snapshot
from ..types import Float32, Int64
from .question import Question

Scores = list[Float32]  # for each part one score per picture


@dataclass(frozen=True)
class Opinion:
    """What a question says of every picture, in one vocabulary."""

    scores: Scores
    asked: Question
    parts: Sequence[Part]
    options: ScoringOptions
    sums: Sums = HERE

    @cached_property
    def most(self) -> float:
        """The most it could say: what a picture with its very features, each with its nearest word, would score."""
        words, idf, whole = self.asked.words, self.parts[0].idf, self.parts[0].whole
        nearest = words.rows(np.unique(words.feature, return_index=True)[1])
        query = replace(self.asked, words=nearest).query
        if query.descriptors is not None:
            kept = np.ascontiguousarray(query.descriptors[nearest.feature]).view(np.uint8)
            nearest = replace(nearest, code=kept)
        alone = Part.of(build([(nearest, query.geometry)], words=len(idf)), pictures=1, idf=idf, among=whole)
        if not self.options.uses_mixture:
            return float(score(query, [alone], options=self.options)[0][0])
        # A density ratio depends on all that there is.
        sums = self.sums.within("most").with_imagined()
        return float(score(query, [*self.parts, alone], options=self.options, sums=sums)[-1][0])


def opinion(
    snapshot: Snapshot,
    asked: Question,
    recipe: Recipe,
    vocabulary: int = 0,
    clusters: Int64 | None = None,
    sums: Sums = HERE,
) -> Opinion:
    parts, mine, scoring = snapshot.views[vocabulary], asked.within(snapshot.spans[vocabulary]), recipe.scoring
    scores = score(mine.query, parts, options=scoring, clusters=clusters, sums=sums)
    if recipe.context.method != "none":
        terms = snapshot.terms(scoring, recipe.context)[vocabulary]
        scores = [contextual(scoring.measure, s, t) for s, t in zip(scores, terms, strict=True)]
    return Opinion(scores, mine, parts, scoring, sums)


def at_one_scale(opinions: Sequence[Opinion]) -> list[Scores]:
    """Their scores, brought to the scale of the first that can say anything."""
    if len(opinions) == 1:
        return [opinions[0].scores]
    most = next((o.most for o in opinions if o.most), 0.0)
    scales = [np.float32(most / o.most if o.most else 0) for o in opinions]
    return [[s * scale for s in o.scores] for o, scale in zip(opinions, scales, strict=True)]


def mean_scores(scores: Sequence[Scores]) -> Scores:
    return (
        scores[0]
        if len(scores) == 1
        else [np.mean(parts, axis=0, dtype=np.float32) for parts in zip(*scores, strict=True)]
    )


def mean_of_others(scores: Sequence[Scores], sources: Sequence[tuple[int, int] | None]) -> Scores:
    """The mean of all, but what a source, of which the last scores are, says of itself does not count.

    sources: part and ordinal of each; None for one that is in none of these parts.
    """
    mean = mean_scores(scores)
    for number, source in enumerate(sources, len(scores) - len(sources)):
        if source is not None:
            part, ordinal = source
            mean[part][ordinal] = np.mean([s[part][ordinal] for n, s in enumerate(scores) if n != number])
    return mean
