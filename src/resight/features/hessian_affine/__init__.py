"""Hessian-Affine regions (Mikolajczyk & Schmid 2004) with RootSIFT: points → shapes → directions → histograms."""

from __future__ import annotations

import numpy as np

from ...options import FeatureOptions
from ...types import Features, Picture, Region
from ..root_sift import root_sift
from .detect import detect
from .pyramid import build
from .regions import regions


def extract(picture: Picture, options: FeatureOptions, region: Region | None) -> Features:
    """Regions of the reduced picture, positions and scales in full-size pixels, strongest first.

    Points are adapted and described in the order of their response, until there are as many features as are wanted.
    """
    pyramid = build(picture.pixels)
    points = detect(pyramid, options.contrast)
    rows, columns = picture.pixels.shape
    # Reduction maps pixel centres affinely: full = (reduced + 0.5) · ratio − 0.5.
    ratio = np.array([picture.width / columns, picture.height / rows])
    if region:
        points = points[region.contains((points[:, :2] + 0.5) * ratio - 0.5)]
    found = np.empty((options.max_features, 7))
    bins = np.empty((options.max_features, 128), np.float32)
    count = regions(pyramid.values, pyramid.octaves, points, options.upright, found, bins)
    found = found[:count]
    return Features(
        xy=((found[:, :2] + 0.5) * ratio - 0.5).astype(np.float32),
        scale=(found[:, 2] * ratio.mean()).astype(np.float32),
        angle=found[:, 3].astype(np.float32) % np.float32(2 * np.pi),
        descriptors=root_sift(bins[:count]),
        width=picture.width,
        height=picture.height,
        shape=found[:, [4, 5, 5, 6]].reshape(-1, 2, 2).astype(np.float32),
    )
