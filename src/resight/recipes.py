"""Named systems: one recipe is one set of options for all stages. Own ones come from TOML files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import OptionError
from .machine import whole_file
from .options import (
    AggregateOptions,
    AssignOptions,
    ClusterOptions,
    ColourOptions,
    ContextOptions,
    ExpandOptions,
    FeatureOptions,
    HammingOptions,
    IndexingOptions,
    KnnOptions,
    LinkOptions,
    Options,
    ScoringOptions,
    VerifyOptions,
    differing,
    from_dict,
    measure_options,
    require_used,
    scoring_options,
)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How pictures are analysed (fixed when an index is made) and how a query is answered."""

    description: str
    features: FeatureOptions = field(default_factory=FeatureOptions)
    indexing: IndexingOptions = field(default_factory=IndexingOptions)
    assign: AssignOptions = field(default_factory=AssignOptions)
    scoring: ScoringOptions = field(default_factory=HammingOptions)
    context: ContextOptions = field(default_factory=ContextOptions)
    clusters: ClusterOptions = field(default_factory=ClusterOptions)
    aggregate: AggregateOptions = field(default_factory=AggregateOptions)
    verify: VerifyOptions = field(default_factory=VerifyOptions)
    expand: ExpandOptions = field(default_factory=ExpandOptions)
    links: LinkOptions = field(default_factory=LinkOptions)
    colours: ColourOptions = field(default_factory=ColourOptions)


STAGES: dict[str, type[Options]] = {
    kind.stage: kind
    for kind in (
        FeatureOptions,
        IndexingOptions,
        AssignOptions,
        ScoringOptions,
        ContextOptions,
        ClusterOptions,
        AggregateOptions,
        VerifyOptions,
        ExpandOptions,
        LinkOptions,
        ColourOptions,
    )
}


def _bag_of_words(measure: str, description: str, context: ContextOptions | None = None) -> Recipe:
    return Recipe(
        description=description,
        assign=AssignOptions(neighbours=1),
        scoring=scoring_options(measure),
        context=context or ContextOptions(),
        verify=VerifyOptions(shortlist=0),
    )


DEFAULT = "linked"
ALL_NEAREST = 1e9  # a ratio that keeps all of a descriptor's nearest words
_UNVERIFIED, _ONCE, _COLOURLESS = VerifyOptions(shortlist=0), ExpandOptions(results=0), ColourOptions(weight=0)
_UNLINKED = LinkOptions(steps=0)

RECIPES: dict[str, Recipe] = {
    "linked": Recipe(
        description="as verified, then on along links between pictures; without links (`resight link`) as expanded"
    ),
    "expanded": Recipe(
        description="as verified, then asked again with the best verified results; colours count, too; says where",
        links=_UNLINKED,
    ),
    "union": Recipe(
        description="as expanded, with the features of the results added to the query",
        expand=ExpandOptions(kind="union", results=5),  # falls with more
        links=_UNLINKED,
    ),
    "verified": Recipe(
        description="as burst, the best 200 checked by geometry; says where each match is",
        expand=_ONCE,
        links=_UNLINKED,
        colours=_COLOURLESS,
    ),
    "burst": Recipe(
        description="Hamming embedding with weak geometry and burst weights (BURST-09)", verify=_UNVERIFIED
    ),
    "hamming": Recipe(
        description="Hamming embedding alone (BURST-09 §3)",
        scoring=HammingOptions(intra="none", weak_geometry=False),
        verify=_UNVERIFIED,
    ),
    "density-hamming": Recipe(
        description="as burst, matches weighed by density ratio (DRE-12) instead of idf and distance",
        scoring=HammingOptions(weights="density", mixture=0.03),
        verify=_UNVERIFIED,
    ),
    "knn": Recipe(
        description="the nearest descriptors vote, by density ratio (DRE-12); keeps 8 bytes more per feature (IVFADC)",
        indexing=IndexingOptions(keep="codes"),
        assign=AssignOptions(neighbours=5, ratio=ALL_NEAREST),
        scoring=KnnOptions(weights="density", mixture=0.006),
        verify=_UNVERIFIED,
    ),
    "knn-exact": Recipe(
        description="as knn, but among all descriptors, which are kept; for comparison, since it is slow",
        indexing=IndexingOptions(keep="descriptors"),
        assign=AssignOptions(neighbours=1),
        scoring=KnnOptions(weights="density", mixture=0.1, nearest=20),
        verify=_UNVERIFIED,
    ),
    "context": Recipe(
        description="as burst, with contextual dissimilarity (CDM-10); learn it with `resight context`",
        context=ContextOptions(method="cdm"),
        verify=_UNVERIFIED,
    ),
    "context-l1": _bag_of_words(
        "l1", "as bow-l1, with contextual dissimilarity (CDM-10)", ContextOptions(method="cdm")
    ),
    "bow-l1-ma": replace(
        _bag_of_words("l1", "as bow-l1, three words for each feature on both sides (CDM-10, MA × 3)"),
        indexing=IndexingOptions(words=3),
        assign=AssignOptions(neighbours=3, ratio=ALL_NEAREST),
    ),
    "context-l1-ma": replace(
        _bag_of_words(
            "l1", "as bow-l1-ma, with contextual dissimilarity (CDM-10 table III)", ContextOptions(method="cdm")
        ),
        indexing=IndexingOptions(words=3),
        assign=AssignOptions(neighbours=3, ratio=ALL_NEAREST),
    ),
    "density": _bag_of_words("density", "bag of words, scored by density ratio (DRE-12)"),
    "bow-l1": _bag_of_words("l1", "bag of words, tf-idf vectors of unit L1 norm (CDM-10)"),
    "bow-l2": _bag_of_words("l2", "bag of words, tf-idf vectors of unit L2 norm"),
    "bow-tf-idf": _bag_of_words("tf-idf", "bag of words, every shared word a vote, weighed by idf"),
    "bow-tf": _bag_of_words("tf", "bag of words, every shared word a vote"),
    "bow-cosine": _bag_of_words("cosine", "bag of words, cosine weighed by idf² (LEARN-14 eq. 1)"),
    "bow-burst": _bag_of_words("burst", "bag of words, counts tamed within a picture and over all (LEARN-14 eq. 3)"),
    "bow-negative": _bag_of_words("negative", "as bow-cosine, less the mean picture: what both lack counts (LEARN-14)"),
    "learnt": _bag_of_words(
        "learnt",
        "bag of words, with weights learnt from groups of pictures (LEARN-14); learn them with `resight learn`",
    ),
    "bow-asymmetric": _bag_of_words(
        "asymmetric", "bag of words, what the query has weighs more than what only the picture has (LEARN-14 §2)"
    ),
}


def recipe(name: str) -> Recipe:
    """The recipe of this name, or the one in this TOML file."""
    if name in RECIPES:
        return RECIPES[name]
    if name.endswith(".toml"):
        return read(Path(name))
    raise OptionError(f"unknown recipe {name!r}; known: {', '.join(RECIPES)}, or a file ending in .toml")


def read(path: Path) -> Recipe:
    """A recipe from a TOML file: ``description``, ``base`` (the recipe to start from) and a table for each stage."""
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(f"cannot read the recipe {path}: {error}") from None
    base = recipe(str(values.pop("base", DEFAULT)))
    description = str(values.pop("description", f"{path.stem} (own recipe)"))
    for name, table in values.items():
        if name not in STAGES or not isinstance(table, dict):
            raise OptionError(f"unknown entry {name!r} in {path}; known: base, description, {', '.join(STAGES)}")
    try:
        return change(replace(base, description=description), values)
    except OptionError as error:
        raise OptionError(f"{error} (in {path})") from None


def change(recipe: Recipe, values: Mapping[str, Mapping[str, object]]) -> Recipe:
    """The recipe with these options, by stage and name. One that then has no effect is an OptionError."""
    chosen = {stage: getattr(recipe, stage) for stage in STAGES}
    for stage, given in values.items():
        chosen[stage] = _changed(chosen[stage], given)
    for stage, given in values.items():  # whatever the order in which they are given
        require_used(stage, given, chosen)
    return replace(recipe, **chosen)


def _changed(options: Options, values: Mapping[str, object]) -> Options:
    """Another measure than before has options of its own, which start from their defaults."""
    if isinstance(options, ScoringOptions):
        kind = measure_options(str(values.get("measure", options.measure)))
        if kind is not type(options):
            return from_dict(kind, dict(values))
    return replace(options, **values)


def context_arguments(wanted: Recipe) -> str:
    """The arguments of `resight context` that stand for a recipe's scoring and context, as few as will do.

    >>> context_arguments(RECIPES["context-l1"])
    '--recipe context-l1'
    >>> context_arguments(replace(RECIPES["context"], context=ContextOptions(method="cdm", neighbours=3)))
    '--recipe context --set context.neighbours=3'
    """
    ways = {name: [*_settings(wanted.scoring, base.scoring), *_settings(wanted.context, base.context)]
            for name, base in RECIPES.items()}  # fmt: skip
    name, settings = min(ways.items(), key=lambda way: len(way[1]))
    return " ".join([f"--recipe {name}", *(f"--set {setting}" for setting in settings)])


def _settings(wanted: Options, base: Options) -> list[str]:
    """What makes the base's options the wanted ones. Another measure starts from its own defaults, as in ``change``."""
    start = base if type(wanted) is type(base) else type(wanted)()
    changed = [*differing(wanted, start), *(["measure"] if start is not base else [])]
    values = {name: getattr(wanted, name) for name in changed}
    return [
        f"{wanted.stage}.{name}={str(value).lower() if value in (True, False) else value}"
        for name, value in values.items()
    ]


def write(path: Path, *, base: str, description: str, changed: Mapping[str, Mapping[str, Any]]) -> None:
    """A TOML file for ``read``; changed: the options of each stage that are not to be the base's. Never half of it."""
    lines = [f"base = {_plain(base)}", f"description = {_plain(description)}"]
    for stage, values in changed.items():
        if values:
            lines += ["", f"[{stage}]", *(f"{name} = {_plain(value)}" for name, value in values.items())]
    with whole_file(path) as new:
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _plain(value: str | float) -> str:
    """As JSON, which of text, numbers and truth values is TOML, too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
