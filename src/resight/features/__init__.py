"""Picture → local features. One file or folder per detector; a new one is a file here and a line in ``DETECTORS``."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import OptionError, UsageError
from ..options import GIVEN, GIVEN_POINTS, FeatureOptions
from ..types import Features, Picture, Region
from . import hessian_affine, sift

Detector = Callable[[Picture, FeatureOptions, Region | None], Features]

DETECTORS: dict[str, Detector] = {
    "hessian-affine": hessian_affine.extract,
    "sift": sift.extract,
}


def require_known_detector(options: FeatureOptions) -> None:
    """Raise OptionError unless there is such a detector, or features are given."""
    known = (*sorted(DETECTORS), GIVEN, GIVEN_POINTS)
    if options.detector not in known:
        raise OptionError(f"unknown detector {options.detector!r}; known: {', '.join(known)}")


def require_given(options: FeatureOptions) -> None:
    """Raise UsageError where features come from a detector of ours: others cannot be compared with them."""
    if options.detector not in (GIVEN, GIVEN_POINTS):
        raise UsageError(
            f"features of your own cannot be compared with those that the detector {options.detector!r} found; "
            "give the picture itself, or make an index with `resight index --features`"
        )


def extract(picture: Picture, *, options: FeatureOptions, region: Region | None = None) -> Features:
    """The strongest features of a picture, or of a region of it."""
    require_known_detector(options)
    if options.detector not in DETECTORS:
        raise UsageError(
            "a picture's own features cannot be compared with given ones; give the features that the same program "
            "found in it (--features FILE), or the key of an indexed picture (--key)"
        )
    return DETECTORS[options.detector](picture, options, region)
