"""DRE-12 figures 1 to 3: are density ratios better votes than idf? And what are they worth beside all the rest?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...options import AssignOptions, ContextOptions, ExpandOptions, VerifyOptions
from ...recipes import ALL_NEAREST, Recipe, change
from .experiment import DOG, OUR_FEATURES, OUR_IDF, READY, SYSTEMS, Experiment, Learnt, Published, Trial

CONDITIONS = "Kentucky, 10200 pictures, each of them a query; mAP; a codebook of 20000 words learnt on other pictures"
DIFFERENCES = (
    OUR_FEATURES,
    f"the ready vocabulary of {READY.words} words, instead of 20000",
    OUR_IDF,
    "the paper's figures are drawings: cited are the values that its text names",
)
BAG, KNN, EXACT = SYSTEMS["density"], SYSTEMS["knn"], SYSTEMS["knn-exact"]
TREE = Learnt(words=10_000, on="distractors", branching=10)
# All pairs of descriptors are compared, so there are fewer.
FEWER = replace(DOG, max_features=150)
NEAREST = (5, 10, 20, 50)  # the query, which is one of the pictures, is the first
ASSIGNMENTS = {
    "SA": AssignOptions(neighbours=1),
    "MA3": AssignOptions(neighbours=3, ratio=ALL_NEAREST),
    "MA5": AssignOptions(neighbours=5, ratio=ALL_NEAREST),
}


def _kentucky(figure: int, value: float, note: str = "") -> tuple[Published, ...]:
    place = f"figure {figure}"
    return (Published(paper="DRE-12", place=place, dataset="Kentucky", measure="map", value=value, note=note),)


def scored(recipe: Recipe, **changed: object) -> Recipe:
    """The recipe with other scoring options."""
    return change(recipe, {"scoring": changed})


def _figure_1() -> Iterator[Trial]:
    for name, label in (("bow-tf", "tf"), ("bow-tf-idf", "tf · idf"), ("bow-cosine", "tf · idf², unit length")):
        yield Trial(label=label, recipe=SYSTEMS[name], vocabulary=READY)
    for mixture in (0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.3, 0.6, 0.9):
        cited = _kentucky(1, 0.811) if mixture == 0.06 else ()
        yield Trial(label=f"DRE, λ = {mixture}", recipe=scored(BAG, mixture=mixture), vocabulary=READY, published=cited)
    for climb in (0, 1):
        assign = AssignOptions(neighbours=1, climb=climb)
        label = f"DRE, λ = 0.06, tree, {climb + 1} level{'s' if climb else ''}"
        yield Trial(label=label, recipe=replace(BAG, assign=assign), vocabulary=TREE)


def _figure_2() -> Iterator[Trial]:
    best = {("fixed", 10): 0.902, ("density", 20): 0.912}
    for weights, label in (("fixed", "votes of 1"), ("density", "DRE, λ = 0.1")):
        for nearest in NEAREST:
            cited = best.get((weights, nearest))
            yield Trial(
                label=f"{label}, k = {nearest}",
                recipe=replace(scored(EXACT, weights=weights, nearest=nearest), features=FEWER),
                vocabulary=READY,
                published=_kentucky(2, cited) if cited else (),
            )


def _figure_3() -> Iterator[Trial]:
    single = replace(KNN, assign=ASSIGNMENTS["SA"])
    for weights, label in (("fixed", "votes of 1"), ("idf", "IDF")):
        yield Trial(label=f"{label}, SA, k = 6", recipe=scored(single, weights=weights, nearest=6), vocabulary=READY)
    yield Trial(
        label="DRE, SA, k = 14",
        recipe=scored(single, nearest=14),
        vocabulary=READY,
        published=_kentucky(3, 0.866, "best λ"),
    )
    cited = {("SA", 0.006): _kentucky(3, 0.869, "best λ"), ("MA5", 0.006): _kentucky(3, 0.898)}
    for name, assign in ASSIGNMENTS.items():
        for mixture in (0.0006, 0.002, 0.006, 0.02, 0.06):
            yield Trial(
                label=f"DRE, {name}, λ = {mixture}",
                recipe=scored(replace(KNN, assign=assign), mixture=mixture),
                vocabulary=READY,
                published=cited.get((name, mixture), ()),
            )


DRE_WORDS = Experiment(
    name="dre-words",
    question="Are density ratios better votes than tf and tf · idf in a bag of words, and for which λ?",
    paper="DRE-12",
    table="figure 1",
    finding="DRE is better than idf, which is better than tf, and not very sensitive to λ; best: 0.06 (§3.2)",
    conditions=CONDITIONS,
    differences=(*DIFFERENCES, "normalised histograms and trees are ours", "λ of the tree's rows is not searched for"),
    datasets=("ukbench", "holidays", "oxford"),
    rows=tuple(_figure_1()),
)

DRE_NEAREST = Experiment(
    name="dre-nearest",
    question="How many nearest descriptors should vote, and with what, if they are found exactly?",
    paper="DRE-12",
    table="figure 2",
    finding="DRE is better than votes of 1, and is best with more neighbours: 20 instead of 10 (§3.3)",
    conditions=CONDITIONS,
    differences=(*DIFFERENCES, f"the strongest {FEWER.max_features} features of each picture alone"),
    datasets=("ukbench",),
    rows=tuple(_figure_2()),
)

DRE_CODES = Experiment(
    name="dre-codes",
    question="Are density ratios better votes than idf where nearest descriptors are found by codes (IVFADC)?",
    paper="DRE-12",
    table="figure 3",
    finding="DRE is much better than idf; k = √n need not be chosen; five words each come near to exact search (§3.4)",
    conditions=f"{CONDITIONS}; codes of 8 bytes; k = √n of the descriptors with the feature's word unless given",
    differences=DIFFERENCES,
    datasets=("ukbench",),
    rows=tuple(_figure_3()),
)


def _combinations() -> Iterator[Trial]:
    hamming, burst = SYSTEMS["density-hamming"], SYSTEMS["burst"]
    cdm = ContextOptions(method="cdm")

    def verified(recipe: Recipe, *, expand: bool = False) -> Recipe:
        return replace(recipe, verify=VerifyOptions(), expand=ExpandOptions(results=5 if expand else 0))

    rows = {
        "bag of words, DRE": BAG,
        "bag of words, DRE, CDM": replace(BAG, context=cdm),
        "idf, HE weights, intra, WGC (burst)": burst,
        "DRE, HE": scored(hamming, intra="none", weak_geometry=False),
        "DRE, HE, WGC": scored(hamming, intra="none"),
        "DRE, HE, WGC, MMR": scored(hamming, intra="none", closest_only=True),
        "DRE, HE, WGC, intra (density-hamming)": hamming,
        "DRE, HE, WGC, intra, inter": scored(hamming, inter=True),
        "burst, CDM": replace(burst, context=cdm),
        "density-hamming, CDM": replace(hamming, context=cdm),
        "knn": KNN,
        "burst, SP": verified(burst),
        "density-hamming, SP": verified(hamming),
        "knn, SP": verified(KNN),
        "burst, SP, expansion": SYSTEMS["expanded"],
        "density-hamming, SP, expansion": verified(hamming, expand=True),
        "knn, SP, expansion": verified(KNN, expand=True),
    }
    for label, recipe in rows.items():
        yield Trial(label=label, recipe=recipe, vocabulary=READY)


DRE_COMBINED = Experiment(
    name="dre-combined",
    question="What are density ratios worth beside Hamming embedding, burst weights, geometry and context terms?",
    paper="DRE-12",
    table="no table",
    finding="the paper names the combination with ordered matches as possible, and does not try it (§4)",
    conditions=CONDITIONS,
    differences=(OUR_FEATURES, "all rows are ours; λ: 0.06 for words, 0.03 for Hamming, 0.006 for knn"),
    datasets=("ukbench", "holidays", "oxford", "smvs"),
    rows=tuple(_combinations()),
)

__all__ = ["DRE_CODES", "DRE_COMBINED", "DRE_NEAREST", "DRE_WORDS"]
