"""Which local features? The papers all take Hessian-Affine regions; none of them says what others would do."""

from __future__ import annotations

from dataclasses import replace

from ...recipes import RECIPES
from .experiment import DOG, READY, Experiment, Trial, as_measured

KINDS = {
    "DoG": DOG,
    "Hessian-Affine": replace(DOG, detector="hessian-affine"),
}

DETECTORS = Experiment(
    name="detectors",
    question="Keypoints of differences of Gaussians, or Hessian-Affine regions?",
    paper="CDM-10",
    table="§V, features",
    finding="none: Hessian-Affine regions are taken in this paper and in the four others, and compared with nothing",
    conditions="Hessian-Affine regions with SIFT, 2269 for each picture on average",
    differences=(f"RootSIFT instead of SIFT; the ready vocabulary of each kind of features, {READY.words} words",),
    datasets=("ukbench", "holidays", "oxford", "smvs"),
    rows=tuple(
        Trial(
            label=f"{kind}: {name}",
            recipe=as_measured(RECIPES[name], features),
            vocabulary=replace(READY, features=features),
        )
        for kind, features in KINDS.items()
        for name in ("bow-cosine", "burst", "verified", "expanded")
    ),
)
