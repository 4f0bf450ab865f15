"""Picture → local features. One file or folder per detector; a new one is a file here and a line in ``DETECTORS``."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import OptionError
from ..options import FeatureOptions
from ..types import Features, Picture, Region
from . import hessian_affine, sift

Detector = Callable[[Picture, FeatureOptions, Region | None], Features]

DETECTORS: dict[str, Detector] = {
    "hessian-affine": hessian_affine.extract,
    "sift": sift.extract,
}


def insist_on_known(options: FeatureOptions) -> None:
    """Raise OptionError unless there is such a detector."""
    if options.detector not in DETECTORS:
        raise OptionError(f"unknown detector {options.detector!r}; known: {', '.join(sorted(DETECTORS))}")


def extract(picture: Picture, *, options: FeatureOptions, region: Region | None = None) -> Features:
    """The strongest features of a picture, or of a region of it."""
    insist_on_known(options)
    return DETECTORS[options.detector](picture, options, region)
