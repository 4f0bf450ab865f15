"""What an experiment is: a question, the paper's answer, and the systems with which to ask it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ...options import ColourOptions, FeatureOptions, HammingOptions, LearnOptions, ScoringOptions, VocabularyOptions
from ...recipes import RECIPES, Recipe

# A vocabulary is learnt from this many descriptors for each word, but from no more than MOST_SAMPLED in all.
SAMPLED_PER_WORD = 40
MOST_SAMPLED = 400_000

# Features that the papers' tables are measured with again, whatever the default is: published figures stay comparable.
# Tables stay comparable whatever the defaults become. The papers know no colours.
DOG, COLOURLESS = FeatureOptions(detector="sift", max_features=2000, contrast=0.01), ColourOptions(weight=0)


def as_measured(recipe: Recipe, features: FeatureOptions = DOG) -> Recipe:
    """A recipe with what the tables were first measured with, and σ = 16 as in BURST-09."""
    scoring = replace(recipe.scoring, sigma=16.0) if isinstance(recipe.scoring, HammingOptions) else recipe.scoring
    expand = replace(recipe.expand, results=min(recipe.expand.results, 5))
    return replace(recipe, features=features, scoring=scoring, expand=expand, colours=COLOURLESS)


SYSTEMS = {name: as_measured(recipe) for name, recipe in RECIPES.items()}

# How resight differs from papers of several experiments.
OUR_FEATURES = "DoG keypoints with RootSIFT instead of Hessian-Affine regions with SIFT"
OUR_IDF = "idf is log((n + 1) / n_i), instead of log(n / n_i)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One figure as a paper prints it."""

    paper: str  # short name, as in docs and docstrings: CDM-10
    place: str  # "table I #2"
    dataset: str  # the paper's name for it
    measure: str  # as in ``measures.score``
    value: float
    note: str = ""  # where the paper's conditions are not those of the row

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("paper", "place", "dataset", "measure", "value", "note")}


@dataclass(frozen=True, kw_only=True)
class Learnt:
    """A vocabulary that is learnt for the experiment, or was learnt before: the ready one."""

    words: int
    on: Literal["distractors", "itself", "ready"]  # an independent set, the pictures that are searched, or READY
    features: FeatureOptions = DOG  # of the training pictures
    sample: int = 0  # descriptors to learn from; 0: SAMPLED_PER_WORD for each word, MOST_SAMPLED at most
    branching: int = 0  # this and what follows as in ``VocabularyOptions``
    pca: int = 0
    vocabularies: int = 1

    @property
    def options(self) -> VocabularyOptions:
        return VocabularyOptions(
            words=self.words,
            sample=self.sample or min(SAMPLED_PER_WORD * self.words, MOST_SAMPLED),
            branching=self.branching,
            pca=self.pca,
            vocabularies=self.vocabularies,
        )


READY = Learnt(words=16_384, on="ready")  # the vocabulary in the wheel for such features: nothing is to be learnt


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One row: a system, and what the paper says of its like."""

    label: str  # unique within the experiment
    recipe: Recipe
    vocabulary: Learnt
    published: tuple[Published, ...] = ()
    # Where half of the pictures are for training: scoring options that they choose from, or how weights are learnt.
    choices: tuple[ScoringOptions, ...] = ()
    learning: LearnOptions | None = None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure of a paper."""

    name: str
    question: str  # one line
    paper: str  # short name
    table: str  # "tables I and II"
    finding: str  # what the paper concludes, in one sentence
    conditions: str  # of the paper
    differences: tuple[str, ...]  # of ours, whatever the data; the numbers of pictures are added when it is run
    datasets: tuple[str, ...]  # of ``run.FOLDERS``
    rows: tuple[Trial, ...]
    splits: int = 0  # random halves, of which one is for training, the other for the figures; 0: no training
    distractors: tuple[int, ...] = (0,)  # for each number the datasets are searched with so many of them added

    def published_kinds(self) -> list[tuple[str, str, str]]:
        """(paper, dataset, measure) of all published figures, each once: the paper's columns of the table."""
        return list(dict.fromkeys((p.paper, p.dataset, p.measure) for row in self.rows for p in row.published))
