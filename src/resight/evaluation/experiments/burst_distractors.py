"""BURST-09 figure 7: do burst weights help more where more pictures are searched?"""

from __future__ import annotations

from dataclasses import replace

from . import burst09
from .burst09 import HE_WGC, INTRA, trials
from .experiment import Experiment

BURST_DISTRACTORS = Experiment(
    name="burst-distractors",
    question="Do burst weights help more where more pictures are searched?",
    paper="BURST-09",
    table="figure 7",
    finding="all the methods help at any size, on Holidays the more the larger the database; the best one loses very "
    "little up to a million pictures (§5.4); the figure is a drawing whose values the text does not give",
    conditions=f"{burst09.CONDITIONS}; up to a million distractors of Flickr",
    differences=(
        *burst09.DIFFERENCES,
        "far fewer distractors, of several sources",
        "the ready vocabulary was learnt on these distractors, so it is not independent of all that is searched",
    ),
    datasets=("oxford", "holidays"),
    distractors=(0, 1400),
    rows=(
        *trials("none", HE_WGC),
        *trials("intra", replace(HE_WGC, intra=INTRA)),
        *trials("inter", replace(HE_WGC, inter=True)),
        *trials("intra, inter", replace(HE_WGC, intra=INTRA, inter=True)),
    ),
)
