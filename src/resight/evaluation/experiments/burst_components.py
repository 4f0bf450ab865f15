"""BURST-09 table 3: what does each component add, from bags of words to verified results?"""

from __future__ import annotations

from dataclasses import replace

from ...options import VerifyOptions
from . import burst09
from .burst09 import ALIKE, HE_WGC, INTRA, table_3, trials
from .experiment import READY, SYSTEMS, Experiment, Trial

# A bag of words as votes (§4.1): every match of words counts the same.
BOF = replace(HE_WGC, threshold=64, sigma=ALIKE, weak_geometry=False)
UNWEIGHED = replace(HE_WGC, sigma=ALIKE)
BURST = replace(HE_WGC, intra=INTRA)
VERIFIED = VerifyOptions(shortlist=200)

BURST_COMPONENTS = Experiment(
    name="burst-components",
    question="What does each component add, from bags of words to verified results?",
    paper="BURST-09",
    table="table 3",
    finding="HE weights, intra and inter each help, and MA all that have HE; SP helps Oxford most (§5.4)",
    conditions=f"{burst09.CONDITIONS}; our copy does not tell what #5 is, it is read as MMR",
    differences=(
        *burst09.DIFFERENCES,
        "the sets are smaller, so that what a query shows fills a larger share of them",
        "rows without the paper's figures are ours",
    ),
    datasets=("ukbench", "oxford", "holidays"),
    rows=(
        *trials("BOF", BOF, table_3(1)),
        *trials("BOF, MMR", replace(BOF, closest_only=True), table_3(2)),
        *trials("HE+WGC", UNWEIGHED, table_3(3)),
        *trials("HE+WGC, MMR", replace(UNWEIGHED, closest_only=True)),
        *trials("weights", HE_WGC, table_3(4)),
        *trials("weights, MMR", replace(HE_WGC, closest_only=True), table_3(5)),
        *trials("weights, intra", BURST, table_3(6)),
        *trials("weights, intra, inter", replace(BURST, inter=True), table_3(7)),
        *trials("weights, intra, inter, SP", replace(BURST, inter=True), table_3(8), verify=VERIFIED),
        *trials("weights, intra, SP", BURST, verify=VERIFIED),
        Trial(label="expanded, without colours", recipe=SYSTEMS["expanded"], vocabulary=READY),
    ),
)
