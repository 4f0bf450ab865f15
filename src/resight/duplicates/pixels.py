"""Are two pictures the same photograph? They are laid upon one another and compared pixel by pixel.

Whoever edits a photograph resizes, crops, frames, recolours, mirrors it or turns it by right angles. So the map between
two copies takes rows to rows or to columns, and the smaller frame lies within the other. The camera that takes a second
photograph of the scene is tilted a little, however still it is held, and what it sees does not quite fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from ..types import Float32, Float64, Picture

SIDES = 96, 256  # pictures are compared at these sizes: most that differ do so at the first
ITERATIONS, PRECISION = 60, 1e-4  # of the alignment
WINDOW = 17  # pixels: correlation is local, so that lighting, tone and gradual changes do not count
NOISE = 4.0  # variance that compression leaves in a plain area
FEWEST = 30  # pixels that must be comparable
# What the alignment of a copy leaves is at most 0.004; nine in ten second photographs are tilted by 0.015 or more.
LARGEST_TILT = {96: 0.03, 256: 0.005}
LEAST_CONTAINED = {96: 0.935, 256: 0.985}  # of the smaller frame
WHOLE = 0.97  # overlap of frames that are the same
LEAST_PART = 0.22  # overlap: a crop to a quarter. What is smaller is a detail, which a longer lens may have taken
LEAST_MEDIAN = 0.8
LEAST_QUARTER = 0.5  # where the frames are the same: text or a mark may hide a part
LEAST_TENTH = 0.6  # where one is a part of the other, which is a weaker reason to think them copies


@dataclass(frozen=True, slots=True)
class Alignment:
    """How well two pictures fit, laid upon one another."""

    contained: float  # the share of the smaller frame that lies within the other
    overlap: float  # what both frames cover, as a share of what either does
    tilt: float  # how far rows are from being taken to rows or columns: the sine of the angle
    tenth: float  # local correlations, by contrast: a tenth of the content agrees less than this
    quarter: float
    median: float

    def is_copy(self, side: int) -> bool:
        """Whether they are the same photograph, as far as a comparison at this size can tell."""
        whole = self.overlap >= WHOLE
        return (
            self.tilt <= LARGEST_TILT[side]
            and self.contained >= LEAST_CONTAINED[side]
            and self.overlap >= LEAST_PART
            and self.median >= LEAST_MEDIAN
            and (self.quarter >= LEAST_QUARTER if whole else self.tenth >= LEAST_TENTH)
        )


def copy_correlation(one: Picture, other: Picture, transform: Float64) -> float | None:
    """The median local correlation of two pictures that are the same photograph; None if they are not.

    transform: (2, 3) roughly where the pixels of the full-size one are found in the other.
    """
    for side in SIDES:
        aligned = align(one, other, transform, side)
        if aligned is None:
            return None
        transform, fit = aligned
        if not fit.is_copy(side):
            return None
    return fit.median


def align(one: Picture, other: Picture, transform: Float64, side: int) -> tuple[Float64, Alignment] | None:
    """The map that lays one upon the other best, and how well they fit then; what both show has this side at most.

    None where they cannot be compared, since they have too little in common or show nothing.
    """
    ours, theirs = _at_common_scale(one, other, transform, side)
    if ours is None or theirs is None:
        return None
    start = theirs.frame @ _square(transform) @ np.linalg.inv(ours.frame)
    try:  # the correlation is maximal (Evangelidis & Psarakis 2008), whatever was done to brightness and contrast
        criteria = cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, ITERATIONS, PRECISION
        mask = np.full(theirs.pixels.shape, 255, np.uint8)
        _, found = cv2.findTransformECC(
            ours.pixels, theirs.pixels, start[:2].astype(np.float32), cv2.MOTION_AFFINE, criteria, mask, 3
        )
    except cv2.error:  # it does not converge
        return None
    correlations = _local_correlations(ours.pixels, theirs.pixels, np.asarray(found, np.float32))
    if correlations is None:
        return None
    better = (np.linalg.inv(theirs.frame) @ _square(found) @ ours.frame)[:2].astype(np.float64)
    both, mine, yours = frame_areas(better, (one.width, one.height), (other.width, other.height))
    contained, union = both / min(mine, yours), mine + yours - both
    return better, Alignment(contained, both / union, tilt(better), *correlations)


def frame_areas(transform: Float64, one: tuple[int, int], other: tuple[int, int]) -> tuple[float, float, float]:
    """What both frames cover, the first one where the map takes it, and the other, in pixels of the other."""
    frames = [np.array([(0, 0), (w, 0), (w, h), (0, h)], np.float32) - np.float32(0.5) for w, h in (one, other)]
    laid = (frames[0] @ transform[:, :2].T + transform[:, 2]).astype(np.float32)
    both, _ = cv2.intersectConvexConvex(laid, frames[1])
    return float(both), float(cv2.contourArea(laid)), float(cv2.contourArea(frames[1]))


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A picture as it is compared."""

    pixels: Float32
    frame: Float64  # (3, 3) full-size pixels → these


def _at_common_scale(
    one: Picture, other: Picture, transform: Float64, side: int
) -> tuple[_Scaled, _Scaled] | tuple[None, None]:
    """Both at the resolution of the coarser one, or at which what they have in common has this side."""
    both, _, _ = frame_areas(transform, (one.width, one.height), (other.width, other.height))
    enlarged = abs(np.linalg.det(transform[:, :2]))
    if both < 1 or enlarged < 1e-6:
        return None, None
    common = np.sqrt(both / enlarged), np.sqrt(both)  # sides of it in full-size pixels of each
    sampled = [extent * p.pixels.shape[1] / p.width for extent, p in zip(common, (one, other), strict=True)]
    target = min(*sampled, side)
    return _scaled(one, target / common[0]), _scaled(other, target / common[1])


def _scaled(picture: Picture, factor: float) -> _Scaled:
    width, height = (max(8, round(length * factor)) for length in (picture.width, picture.height))
    pixels = cv2.resize(picture.pixels, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32)
    x, y = width / picture.width, height / picture.height
    frame = np.array([(x, 0, (x - 1) / 2), (0, y, (y - 1) / 2), (0, 0, 1)])  # centres of pixels are whole numbers
    return _Scaled(np.asarray(cv2.GaussianBlur(pixels, (0, 0), 0.7), np.float32), frame)


def _local_correlations(ours: Float32, theirs: Float32, transform: Float32) -> tuple[float, float, float] | None:
    """The least tenth, quarter and half of correlations around each pixel, weighted by contrast there."""
    size, flags = (ours.shape[1], ours.shape[0]), cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    laid = cv2.warpAffine(theirs, transform, size, flags=flags)
    inside = cv2.warpAffine(np.ones_like(theirs), transform, size, flags=flags) > 0.999
    inside = cv2.erode(inside.astype(np.uint8), np.ones((3, 3)), borderType=cv2.BORDER_CONSTANT, borderValue=0) > 0
    mask = inside.astype(np.float32)
    count = _summed(mask)

    def mean(values: Any) -> Any:
        return _summed(values * mask) / np.maximum(count, 1)

    mean_ours, mean_laid = mean(ours), mean(laid)
    used = inside & (count >= WINDOW**2 / 2)
    if used.sum() < FEWEST:
        return None
    variance_ours = np.maximum(mean(ours * ours) - mean_ours**2, 0)[used]
    variance_laid = np.maximum(mean(laid * laid) - mean_laid**2, 0)[used]
    covariance = (mean(ours * laid) - mean_ours * mean_laid)[used]
    correlation = covariance / np.sqrt((variance_ours + NOISE) * (variance_laid + NOISE))
    gain = variance_ours.sum() / max(float(variance_laid.sum()), 1e-6)
    contrast = np.sqrt(np.maximum(variance_ours, variance_laid * gain))
    order = np.argsort(correlation, kind="stable")
    weight = np.cumsum(contrast[order], dtype=np.float64)
    if weight[-1] <= 0:
        return None
    tenth, quarter, half = correlation[order][np.searchsorted(weight, weight[-1] * np.array([0.1, 0.25, 0.5]))].tolist()
    return tenth, quarter, half


def _summed(values: Any) -> Any:
    return cv2.boxFilter(values, -1, (WINDOW, WINDOW), normalize=False, borderType=cv2.BORDER_CONSTANT)


def tilt(transform: Float64) -> float:
    """0 where rows are taken to rows and columns to columns, or to one another."""
    linear = np.abs(transform[:, :2]) / np.sqrt(abs(np.linalg.det(transform[:, :2])))
    return float(min(max(linear[0, 1], linear[1, 0]), max(linear[0, 0], linear[1, 1])))


def _square(transform: Any) -> Float64:
    return np.vstack([transform, (0, 0, 1)]).astype(np.float64)
