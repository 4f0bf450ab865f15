"""Features that another program found: are they what ``types.Features`` says?"""

from __future__ import annotations

from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from ..errors import FeatureFileError
from ..types import Features

LARGEST = 2**31 - 1  # pixels of a side


def validated(features: Features, where: str) -> Features:
    """The same, with a size in Python's own numbers and no colours, which say nothing of features that others made.

    Or FeatureFileError, which calls the picture ``where``.
    """
    n, d = (*np.shape(features.descriptors), 0, 0)[:2]
    wanted = {"xy": (n, 2), "scale": (n,), "angle": (n,), "descriptors": (n, d), "shape": (n, 2, 2)}
    columns = {name: values for name in wanted if (values := getattr(features, name)) is not None}
    if bad := [name for name, values in columns.items() if np.shape(values) != wanted[name]]:
        raise FeatureFileError(
            f"{where} has {bad[0]} of shape {np.shape(columns[bad[0]])}, with descriptors of shape "
            f"{np.shape(features.descriptors)}: {wanted[bad[0]]} is wanted; extract its features again"
        )
    try:
        size = index(features.width), index(features.height)
    except TypeError:
        size = 0, 0
    if not (min(size) >= 1 and max(size) <= LARGEST):
        raise FeatureFileError(
            f"{where} has a size of {features.width} × {features.height} pixels, which should be whole numbers from 1 "
            f"to {LARGEST}; extract its features again"
        )
    require_finite(where, **columns)
    if not (features.scale > 0).all():
        raise FeatureFileError(f"{where} has scales that are not positive; extract its features again")
    return replace(features, width=size[0], height=size[1], colours=None)


def require_finite(where: str, **columns: Any) -> None:
    """Raise FeatureFileError unless every value is finite."""
    if bad := [name for name, values in columns.items() if not np.isfinite(values).all()]:
        raise FeatureFileError(f"{where} has {bad[0]} that are no finite numbers; extract its features again")
