"""Difference-of-Gaussian keypoints with RootSIFT descriptors, by OpenCV."""

from __future__ import annotations

import cv2
import numpy as np

from ..options import FeatureOptions
from ..types import Features, Picture, Region
from .root_sift import root_sift


def extract(picture: Picture, options: FeatureOptions, region: Region | None) -> Features:
    """SIFT on the reduced picture, positions and scales in full-size pixels, strongest first."""
    # OpenCV describes only the keypoints it retains, so the cap is left to it, unless a region decides first.
    cap = 0 if region else options.max_features
    # Without precise upscaling OpenCV places every keypoint a quarter of a pixel too far right and down.
    sift = cv2.SIFT.create(nfeatures=cap, contrastThreshold=options.contrast, enable_precise_upscale=True)
    keypoints, sift_descriptors = sift.detectAndCompute(picture.pixels, None)
    rows, columns = picture.pixels.shape
    if not keypoints:
        return _empty(picture)
    values = np.array([(*k.pt, k.size, k.angle, k.response) for k in keypoints], dtype=np.float32)
    # Reduction maps pixel centres affinely: full = (reduced + 0.5) · ratio − 0.5.
    ratio = np.array([picture.width / columns, picture.height / rows], dtype=np.float32)
    xy = (values[:, :2] + 0.5) * ratio - 0.5
    chosen = np.flatnonzero(region.contains(xy)) if region else np.arange(len(values))
    # OpenCV retains ties at the cap, in an order that varies with it; place, size and angle settle them.
    chosen = chosen[np.lexsort((*values[chosen, :4].T, -values[chosen, 4]))[: options.max_features]]
    return Features(
        xy=xy[chosen],
        scale=values[chosen, 2] / 2 * ratio.mean(),
        angle=np.deg2rad(values[chosen, 3]) % np.float32(2 * np.pi),
        descriptors=root_sift(sift_descriptors[chosen].astype(np.float32, copy=False)),
        width=picture.width,
        height=picture.height,
    )


def _empty(picture: Picture) -> Features:
    none = np.zeros(0, dtype=np.float32)
    return Features(
        xy=np.zeros((0, 2), dtype=np.float32),
        scale=none,
        angle=none,
        descriptors=np.zeros((0, 128), dtype=np.uint8),
        width=picture.width,
        height=picture.height,
    )
