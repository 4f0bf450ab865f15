"""CDM-07 table 3 (and figure 8): how much is lost where only the nearest clusters are searched?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...options import ClusterOptions, ContextOptions
from . import cdm10
from .contexts import OURS, PLAIN, with_context
from .experiment import READY, Experiment, Published, Trial

CLUSTERS = 100
ALL = 20_000  # pictures of the visited clusters are scored
# Share of the clusters visited → EER on N-S, 10200 pictures in 400 clusters, without and with NICDM, whose terms come
# from the neighbours in 20 clusters.
TABLE_3 = {0.05: (0.715, 0.771), 0.1: (0.747, 0.815), 1.0: (0.772, 0.849)}
SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
LOOKED = round(0.05 * CLUSTERS)  # clusters in which terms look for neighbours
METHODS = {"no NICDM": ContextOptions(), "NICDM": ContextOptions(method="nicdm", alpha=0.6, probe=LOOKED)}


def _rows() -> Iterator[Trial]:
    for kind, shares in (("random", (0.05, 0.1, 1.0)), ("k-medoids", (0.05, 0.1)), ("k-means", SHARES)):
        for share in shares:
            for number, (method, context) in enumerate(METHODS.items()):
                clusters = ClusterOptions(
                    count=CLUSTERS, probe=round(share * CLUSTERS), scored=ALL, kind=kind, dimensions=64
                )
                yield Trial(
                    label=f"{kind}, {share:.0%} of the clusters, {method}",
                    recipe=replace(with_context(PLAIN, context), clusters=clusters),
                    vocabulary=READY,
                    published=_published(share, number) if kind == "random" else (),
                )


def _published(share: float, column: int) -> tuple[Published, ...]:
    value = TABLE_3[share][column]
    return (Published(paper="CDM-07", place="table 3", dataset="N-S", measure="eer", value=value),)


CDM_CLUSTERS = Experiment(
    name="cdm-clusters",
    question="How much is lost where only the nearest clusters are searched, and neighbours looked for in them?",
    paper="CDM-07",
    table="table 3",
    finding="a tenth of the clusters does not lose much, and terms from a twentieth of them are as good as from all "
    "(§5.4); figure 8, whose values the text does not give, finds almost nothing lost at a tenth",
    conditions="N-S: 10200 pictures, 400 random medoids, 10000 words, at most 1000 descriptors, no tf-idf, α = 0.6",
    differences=(
        OURS,
        f"{CLUSTERS} clusters, found by principal axes instead of L1",
        "tf-idf",
        *cdm10.DIFFERENCES[:1],
    ),
    datasets=("ukbench",),
    distractors=(1400,),
    rows=tuple(_rows()),
)
