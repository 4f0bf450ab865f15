"""CDM-10 figure 6: how many descriptors per picture are best? As there, a low threshold first, then the strongest."""

from __future__ import annotations

from dataclasses import replace

from . import cdm10
from .experiment import DOG, SYSTEMS, Experiment, Learnt, Trial

CONTRAST = 0.005  # a quarter of the usual threshold

DESCRIPTORS = Experiment(
    name="descriptors",
    question="How many descriptors per picture are best?",
    paper="CDM-10",
    table="figure 6",
    finding="accuracy grows up to a certain number, then falls, unless CDM is used (§V-C.2); the figure is a drawing "
    "whose values the text does not give",
    conditions="N-S: 10200 pictures; Hessian-Affine regions with SIFT; 30000 words learnt on N-S",
    differences=(
        *cdm10.DIFFERENCES,
        "20000 words instead of 30000, one vocabulary for all rows, learnt with the usual number of descriptors",
        "small pictures run out of keypoints; rows are alike from there on",
    ),
    datasets=("ukbench", "holidays"),
    rows=tuple(
        Trial(
            label=f"at most {count}",
            recipe=replace(SYSTEMS["bow-l1"], features=replace(DOG, max_features=count, contrast=CONTRAST)),
            vocabulary=Learnt(words=20000, on="itself"),
        )
        for count in (200, 400, 800, 1600, 3200)
    ),
)
