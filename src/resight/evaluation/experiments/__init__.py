"""Paper tables and figures, run again on the pictures at hand. One file each; a new one is a file and a line here."""

from __future__ import annotations

from ...errors import UsageError
from .clustering_set import CLUSTERING_SET
from .descriptors import DESCRIPTORS
from .experiment import Experiment, Learnt, Published, Trial
from .norm import NORM
from .outcome import Outcome
from .run import run
from .vocabulary_size import VOCABULARY_SIZE

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (VOCABULARY_SIZE, CLUSTERING_SET, NORM, DESCRIPTORS)
}


def named(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise UsageError(f"unknown experiment {name!r}; known: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


__all__ = ["EXPERIMENTS", "Experiment", "Learnt", "Outcome", "Published", "Trial", "named", "run"]
