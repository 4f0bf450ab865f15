"""Paper tables and figures, run again on the pictures at hand. One file each; a new one is a file and a line here."""

from __future__ import annotations

from ...errors import UsageError
from .aggregation import CDM_AGGREGATION
from .burst_components import BURST_COMPONENTS
from .burst_distractors import BURST_DISTRACTORS
from .burst_functions import BURST_FUNCTIONS
from .clustering_set import CLUSTERING_SET
from .clusters import CDM_CLUSTERS
from .contexts import CDM, CDM_ALPHA, CDM_NEIGHBOURS, CDM_VARIANTS
from .densities import DRE_CODES, DRE_COMBINED, DRE_NEAREST, DRE_WORDS
from .descriptors import DESCRIPTORS
from .detectors import DETECTORS
from .experiment import READY, Experiment, Learnt, Published, Trial
from .histograms import LEARN_MADE_UP, LEARN_SPLITS
from .norm import NORM
from .outcome import Outcome
from .run import run
from .vocabulary_size import VOCABULARY_SIZE

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        VOCABULARY_SIZE,
        CLUSTERING_SET,
        NORM,
        DESCRIPTORS,
        DETECTORS,
        CDM,
        CDM_NEIGHBOURS,
        CDM_ALPHA,
        CDM_VARIANTS,
        CDM_AGGREGATION,
        CDM_CLUSTERS,
        BURST_FUNCTIONS,
        BURST_COMPONENTS,
        BURST_DISTRACTORS,
        DRE_WORDS,
        DRE_NEAREST,
        DRE_CODES,
        DRE_COMBINED,
        LEARN_MADE_UP,
        LEARN_SPLITS,
    )
}


def named(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise UsageError(f"unknown experiment {name!r}; known: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


__all__ = ["EXPERIMENTS", "READY", "Experiment", "Learnt", "Outcome", "Published", "Trial", "named", "run"]
