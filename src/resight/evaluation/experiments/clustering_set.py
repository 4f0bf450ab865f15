"""CDM-10 tables I and II: is a vocabulary learnt on the searched pictures better than one learnt elsewhere?"""

from __future__ import annotations

from collections.abc import Iterator

from . import cdm10
from .experiment import SYSTEMS, Experiment, Learnt, Trial


def _rows() -> Iterator[Trial]:
    recipe = SYSTEMS["bow-l1"]
    for words in (1000, 10000, 20000):
        yield Trial(
            label=f"{words} words, independent set",
            recipe=recipe,
            vocabulary=Learnt(words=words, on="distractors"),
            published=cdm10.table_1("corel", words) + cdm10.table_2("corel", words),
        )
        yield Trial(
            label=f"{words} words, the set itself",
            recipe=recipe,
            vocabulary=Learnt(words=words, on="itself"),
            published=cdm10.table_1("N-S", words) + cdm10.table_2("lola", words),
        )


CLUSTERING_SET = Experiment(
    name="clustering-set",
    question="Is a vocabulary learnt on the searched pictures better than one learnt elsewhere?",
    paper="CDM-10",
    table="tables I and II",
    finding="the set itself is better, above all with many words: N-S 3.14 and 3.26 with 30000 of them (§V-C.1)",
    conditions=cdm10.CONDITIONS,
    differences=(cdm10.INDEPENDENT_SET, *cdm10.DIFFERENCES),
    datasets=("ukbench", "holidays"),
    rows=tuple(_rows()),
)
