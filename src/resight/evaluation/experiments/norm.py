"""CDM-10 tables I, II and III: Manhattan or Euclidean distance?"""

from __future__ import annotations

from . import cdm10
from .experiment import SYSTEMS, Experiment, Learnt, Trial

WORDS = 20000  # as in table II; the N-S figures are for 30000
OTHER_WORDS = 30000
NOTE = f"{OTHER_WORDS} words"
INDEPENDENT, ITSELF = Learnt(words=WORDS, on="distractors"), Learnt(words=WORDS, on="itself")

NORM = Experiment(
    name="norm",
    question="Are bags of words better compared by L1 or by L2?",
    paper="CDM-10",
    table="tables I, II and III",
    finding="L1 is better, though not on every dataset (§V-C.4); table II #9 and #10 show L2 ahead",
    conditions=cdm10.CONDITIONS,
    differences=(cdm10.INDEPENDENT_SET, *cdm10.DIFFERENCES),
    datasets=("ukbench", "holidays"),
    rows=(
        Trial(
            label="L1, independent set",
            recipe=SYSTEMS["bow-l1"],
            vocabulary=INDEPENDENT,
            published=cdm10.table_1("corel", OTHER_WORDS, note=NOTE) + cdm10.table_2("corel", WORDS, "L1"),
        ),
        Trial(
            label="L2, independent set",
            recipe=SYSTEMS["bow-l2"],
            vocabulary=INDEPENDENT,
            published=cdm10.table_3("corel", OTHER_WORDS, "L2", note=NOTE) + cdm10.table_2("corel", WORDS, "L2"),
        ),
        Trial(
            label="L1, the set itself",
            recipe=SYSTEMS["bow-l1"],
            vocabulary=ITSELF,
            published=cdm10.table_1("N-S", OTHER_WORDS, note=NOTE) + cdm10.table_2("lola", WORDS, "L1"),
        ),
        Trial(
            label="L2, the set itself",
            recipe=SYSTEMS["bow-l2"],
            vocabulary=ITSELF,
            published=cdm10.table_2("lola", WORDS, "L2"),
        ),
    ),
)
