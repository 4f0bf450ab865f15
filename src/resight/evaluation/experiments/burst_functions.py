"""BURST-09 table 2: which function best tames several matches of a query feature in one picture?"""

from __future__ import annotations

from dataclasses import replace

from . import burst09
from .experiment import Experiment

BURST_FUNCTIONS = Experiment(
    name="burst-functions",
    question="Which function best tames several matches of a query feature in one picture?",
    paper="BURST-09",
    table="table 2",
    finding="any is better than none; #3, #4 and #5 are alike and better than #2, which is too hard (§5.3)",
    conditions=burst09.CONDITIONS,
    differences=burst09.DIFFERENCES,
    datasets=("oxford", "holidays"),
    rows=tuple(
        trial
        for function in burst09.TABLE_2
        for trial in burst09.trials(function, replace(burst09.HE_WGC, intra=function), burst09.table_2(function))
    ),
)
