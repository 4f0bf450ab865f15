"""CDM-10 tables I and III and figure 5, CDM-07 figures 2 and 4: how much do context terms help, and which ones?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...options import AssignOptions, ContextOptions, IndexingOptions
from ...recipes import ALL_NEAREST, Recipe
from . import cdm10
from .experiment import READY, SYSTEMS, Experiment, Learnt, Trial

PLAIN, HAMMING = SYSTEMS["bow-l1"], SYSTEMS["burst"]
# The paper scales all distances by Sinkhorn's algorithm, not those to the nearest alone.
METHODS = {
    "no CDM": ContextOptions(),
    "Sinkhorn": ContextOptions(method="sinkhorn", kept=0),
    "CDM": ContextOptions(method="cdm"),
}
OURS = "the ready vocabulary of 16384 words, learnt on the distractors"


def with_context(recipe: Recipe, context: ContextOptions) -> Recipe:
    return replace(recipe, context=context)


def _table_1() -> Iterator[Trial]:
    independent = [("independent set", "corel", Learnt(words=n, on="distractors")) for n in (1000, 10000, 20000)]
    own = [("the set itself", "N-S", Learnt(words=n, on="itself")) for n in (1000, 10000)]
    for place, source, vocabulary in independent + own:
        for name, context in METHODS.items():
            yield Trial(
                label=f"{vocabulary.words} words, {place}, {name}",
                recipe=with_context(PLAIN, context),
                vocabulary=vocabulary,
                published=cdm10.table_1(source, vocabulary.words, method=name),
            )


CDM = Experiment(
    name="cdm",
    question="How much does the contextual dissimilarity measure help, and how much Sinkhorn's algorithm?",
    paper="CDM-10",
    table="table I",
    finding="both help with every vocabulary, CDM far more: N-S 3.10, 3.21 and 3.53 with 10000 words (§V-B.1)",
    conditions=cdm10.CONDITIONS,
    differences=(cdm10.INDEPENDENT_SET, *cdm10.DIFFERENCES),
    datasets=("ukbench", "holidays"),
    rows=tuple(_table_1()),
)

CDM_NEIGHBOURS = Experiment(
    name="cdm-neighbours",
    question="How many nearest pictures should a neighbourhood have?",
    paper="CDM-10",
    table="figure 5 (CDM-07: figure 4)",
    finding="very few are bad, ten are good, and many lose gracefully (§V-B.2); the figure is a drawing whose values "
    "the text does not give",
    conditions=cdm10.CONDITIONS,
    differences=(OURS, *cdm10.DIFFERENCES[:1], *cdm10.DIFFERENCES[2:]),
    datasets=("ukbench", "holidays", "oxford"),
    rows=tuple(
        Trial(label=f"{name}, {count or 'no CDM'}", recipe=with_context(recipe, context), vocabulary=READY)
        for name, recipe in (("L1", PLAIN), ("Hamming", HAMMING))
        for count in (0, 2, 5, 10, 20, 50, 100)
        for context in [ContextOptions(method="cdm", neighbours=count) if count else ContextOptions()]
    ),
)

CDM_ALPHA = Experiment(
    name="cdm-alpha",
    question="Does the power of the correction matter?",
    paper="CDM-07",
    table="figure 2",
    finding="NICDM is best between 0.4 and 0.8, CDM is the same for all below 0.8 and a little better (§3.3); the "
    "figure is a drawing whose values the text does not give",
    conditions=cdm10.CONDITIONS,
    differences=(OURS, *cdm10.DIFFERENCES[:1], *cdm10.DIFFERENCES[2:]),
    datasets=("ukbench", "holidays"),
    rows=tuple(
        Trial(
            label=f"{method.upper()}, α = {alpha}",
            recipe=with_context(PLAIN, ContextOptions(method=method, alpha=alpha)),
            vocabulary=READY,
        )
        for method in ("nicdm", "cdm")
        for alpha in (0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
    ),
)


FLAT = Learnt(words=20000, on="distractors")
MA_2 = replace(PLAIN, indexing=IndexingOptions(words=2), assign=AssignOptions(neighbours=2, ratio=ALL_NEAREST))
VARIANTS = {
    "L1": (PLAIN, FLAT),
    "hierarchical, 10000 words": (PLAIN, Learnt(words=10000, on="distractors", branching=10)),
    "L2": (SYSTEMS["bow-l2"], FLAT),
    "PCA": (PLAIN, replace(FLAT, pca=36)),
    "MA×2": (MA_2, FLAT),
    "MA×3": (SYSTEMS["bow-l1-ma"], FLAT),
}
NOTE = "30000 words"


def _variant(name: str, method: str) -> Trial:
    recipe, vocabulary = VARIANTS[name]
    return Trial(
        label=f"{name}, {method}",
        recipe=with_context(recipe, METHODS[method]),
        vocabulary=vocabulary,
        published=cdm10.table_3("corel", 10000, name.removesuffix(", 10000 words"), method=method)
        or cdm10.table_3("corel", 30000, name, method=method, note=NOTE)
        or cdm10.table_1("corel", 30000, method=method, note=NOTE),
    )


CDM_VARIANTS = Experiment(
    name="cdm-variants",
    question="Does CDM help with a vocabulary tree, L2, PCA and several words for each feature, too?",
    paper="CDM-10",
    table="table III (L1: table I)",
    finding="L2 is worse than L1, with CDM too; a tree and PCA lose some accuracy; two or three words help only with "
    "CDM: N-S 3.12 and 3.07, with it 3.59 and 3.60 (§V-C)",
    conditions=cdm10.CONDITIONS,
    differences=(
        cdm10.INDEPENDENT_SET,
        "20000 words instead of 30000",
        "the tree has four levels of ten branches; the paper does not tell its own",
        *cdm10.DIFFERENCES,
    ),
    datasets=("ukbench", "holidays"),
    rows=tuple(_variant(name, method) for name in VARIANTS for method in ("no CDM", "CDM")),
)
