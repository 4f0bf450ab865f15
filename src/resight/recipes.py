"""Named systems: one recipe is one set of options for all stages of a search."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import OptionError
from .options import AssignOptions, ScoringOptions, VerifyOptions


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a query is answered."""

    description: str
    assign: AssignOptions
    scoring: ScoringOptions
    verify: VerifyOptions


def _bag_of_words(measure: str, description: str) -> Recipe:
    return Recipe(
        description=description,
        assign=AssignOptions(neighbours=1),
        scoring=ScoringOptions(measure=measure),
        verify=VerifyOptions(shortlist=0),
    )


DEFAULT = "verified"

RECIPES: dict[str, Recipe] = {
    "verified": Recipe(
        description="Hamming embedding, the best 200 checked by geometry; says where each match is",
        assign=AssignOptions(),
        scoring=ScoringOptions(),
        verify=VerifyOptions(),
    ),
    "hamming": Recipe(
        description="Hamming embedding alone (BURST-09 §2.2)",
        assign=AssignOptions(),
        scoring=ScoringOptions(),
        verify=VerifyOptions(shortlist=0),
    ),
    "bow-l1": _bag_of_words("l1", "bag of words, tf-idf vectors of unit L1 norm (CDM-10)"),
    "bow-l2": _bag_of_words("l2", "bag of words, tf-idf vectors of unit L2 norm"),
    "bow-cosine": _bag_of_words("cosine", "bag of words, cosine weighed by idf² (LEARN-14 eq. 1)"),
}


def recipe(name: str) -> Recipe:
    """The recipe of this name."""
    try:
        return RECIPES[name]
    except KeyError:
        raise OptionError(f"unknown recipe {name!r}; known: {', '.join(RECIPES)}") from None
