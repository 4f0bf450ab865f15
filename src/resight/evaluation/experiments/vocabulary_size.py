"""CDM-10 tables I and II, the rows with vocabularies from Corel: do more words find more?"""

from __future__ import annotations

from . import cdm10
from .experiment import SYSTEMS, Experiment, Learnt, Trial

VOCABULARY_SIZE = Experiment(
    name="vocabulary-size",
    question="Do more visual words find more?",
    paper="CDM-10",
    table="tables I and II, Corel rows",
    finding="more words are better, but moderately so; 30000 give N-S 3.14, 50000 give ANR 0.0416 on Lola (§V-C.3)",
    conditions=cdm10.CONDITIONS,
    differences=(cdm10.INDEPENDENT_SET, *cdm10.DIFFERENCES),
    datasets=("ukbench", "holidays", "oxford", "smvs"),
    rows=tuple(
        Trial(
            label=f"{words} words",
            recipe=SYSTEMS["bow-l1"],
            vocabulary=Learnt(words=words, on="distractors"),
            published=cdm10.table_1("corel", words) + cdm10.table_2("corel", words),
        )
        for words in (1000, 2000, 5000, 10000, 20000)
    ),
)
