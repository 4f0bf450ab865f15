"""Do affine regions find the same places, and the same descriptors there, when the viewpoint changes?

    python benchmarks/affine.py [--data DATA] [--features N] [--plot FILE.svg]

Pictures 1 and k of each sequence of vgg_affine are compared, whose homography is known. The regions of picture k are
mapped into picture 1, and those whose centre lies in both pictures are looked at. Two regions correspond if they
overlap: both are enlarged by the factor that gives the one of picture 1 a radius of 30 pixels, and what they do not
share is less than 40 % of what they cover together (Mikolajczyk et al. 2005); besides, their centres are no further
apart than the radius of a measurement region, 3√3 scales.

- Repeatability: regions that correspond, each to one other, best overlap first, divided by the smaller number of
  regions in the common part.
- Matching score: regions whose nearest descriptor belongs to a corresponding region, one to one, divided by the same.
- Right matches: features whose nearest descriptor is nearer than 0.8 times the second nearest, and lies within
  5 pixels of where the homography says.

A place that is described at several angles is one region. All detectors get the same number of features, by default
2000: the strongest, but for COLMAP, which keeps the largest. `opencv-vgg` describes SIFT's keypoints by the VGG
descriptor of opencv-contrib, `opencv-asift` simulates many viewpoints of each picture (ASIFT).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from resight._numba import kernel
from resight.features import extract
from resight.options import FeatureOptions
from resight.types import Bytes, Features, Float64, Int64, Picture

DATA = Path(os.environ.get("RESIGHT_DATA") or Path(__file__).parents[2] / "shared" / "data")
SEQUENCES = ("graf", "wall", "boat", "bikes")
RADIUS = 30.0
MOST_ERROR = 0.4
REACH = 3 * 3**0.5
NEAR = 5.0  # pixels
RATIO = 0.8
PLOTTED = {"hessian-affine": "tab:blue", "sift": "tab:orange", "colmap, affine shape": "tab:green"}

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Regions:
    """Ellipses xy + axes · u, |u| ≤ 1, and what they look like."""

    xy: Float64
    axes: Float64  # (n, 2, 2)
    descriptors: Array

    def __getitem__(self, chosen: Array) -> Regions:
        return Regions(self.xy[chosen], self.axes[chosen], self.descriptors[chosen])


@kernel
def overlap_error(first: Float64, second: Float64, x: float, y: float) -> float:
    """1 − shared / covered area, of the ellipses (inverse covariances) around 0 and (x, y), on a grid of 2 pixels."""
    reach = 0.0
    for a, b, c in (first, second):
        reach = max(reach, np.sqrt(max(a, c) / (a * c - b * b)))
    steps = int((reach + max(abs(x), abs(y))) / 2) + 1
    both = either = 0
    a, b, c = first
    d, e, f = second
    for j in range(-steps, steps + 1):
        for i in range(-steps, steps + 1):
            u, v = 2.0 * i, 2.0 * j
            inside = a * u * u + 2 * b * u * v + c * v * v <= 1
            u, v = u - x, v - y
            other = d * u * u + 2 * e * u * v + f * v * v <= 1
            both += inside and other
            either += inside or other
    return 1 - both / either if either else 1.0


@kernel
def overlaps(
    xy: Float64,
    inverse: Float64,
    radius: Float64,
    other_xy: Float64,
    other_inverse: Float64,
    other_radius: Float64,
    pairs: Int64,
    errors: Float64,
) -> int:
    """All pairs that correspond, and their errors; how many there are, which may be more than there is room for."""
    count = 0
    for i in range(len(xy)):
        grown = RADIUS / radius[i]
        for j in range(len(other_xy)):
            x, y = other_xy[j, 0] - xy[i, 0], other_xy[j, 1] - xy[i, 1]
            ratio = (radius[i] / other_radius[j]) ** 2
            # The smaller area, over the larger, bounds what can be shared.
            if x * x + y * y > (REACH * radius[i]) ** 2 or min(ratio, 1 / ratio) <= 1 - MOST_ERROR:
                continue
            error = overlap_error(inverse[i] / grown**2, other_inverse[j] / grown**2, x, y)
            if error < MOST_ERROR:
                if count < len(errors):
                    pairs[count, 0], pairs[count, 1], errors[count] = i, j, error
                count += 1
    return count


def correspondences(first: Regions, second: Regions) -> tuple[Int64, Float64]:
    """(pairs, errors) of regions of the same picture."""
    room = 64 * (len(first.xy) + 16)
    pairs, errors = np.zeros((room, 2), np.int64), np.zeros(room)
    count = overlaps(first.xy, *_ellipses(first), second.xy, *_ellipses(second), pairs, errors)
    if count > room:
        raise RuntimeError(f"{count} pairs overlap, room for {room}")
    return pairs[:count], errors[:count]


def _ellipses(regions: Regions) -> tuple[Float64, Float64]:
    """Inverse covariances (xx, xy, yy) and radii of circles of the same area."""
    inverse = np.linalg.inv(regions.axes @ regions.axes.transpose(0, 2, 1))
    return (
        np.ascontiguousarray(np.stack([inverse[:, 0, 0], inverse[:, 0, 1], inverse[:, 1, 1]], axis=1)),
        np.sqrt(np.abs(np.linalg.det(regions.axes))),
    )


def one_to_one(pairs: Int64, cost: Array) -> int:
    """Pairs that are left if each region is used once, cheapest pair first."""
    left: set[int] = set()
    right: set[int] = set()
    for i, j in pairs[np.argsort(cost, kind="stable")].tolist():
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
    return len(left)


def mapped(points: Float64, homography: Float64) -> tuple[Float64, Float64]:
    """Where the points go, and the Jacobians there."""
    x = np.column_stack([points, np.ones(len(points))]) @ homography.T
    to = x[:, :2] / x[:, 2:]
    # d(to) = (H₂ₓ₂ − to ⊗ h₃) / w
    jacobian = (homography[None, :2, :2] - to[:, :, None] * homography[2, :2]) / x[:, 2, None, None]
    return to, jacobian


def within(points: Float64, shape: tuple[int, ...]) -> Array:
    x, y = points.T
    return np.asarray((x >= 0) & (y >= 0) & (x <= shape[1] - 1) & (y <= shape[0] - 1))


def places(regions: Regions) -> Int64:
    """Number of the region of each feature: features that differ in angle alone share one."""
    number: Int64 = np.unique(np.column_stack([regions.xy, regions.axes.reshape(-1, 4)]), axis=0, return_inverse=True)[
        1
    ]
    return number.ravel()


def scores(first: Regions, second: Regions, homography: Float64, shapes: tuple[Any, Any]) -> dict[str, float]:
    """What the head of this file defines; homography: from the first picture to the second."""
    back, jacobian = mapped(second.xy, np.linalg.inv(homography).astype(np.float64))
    there = mapped(first.xy, homography)[0]
    right = right_matches(first, second, there)
    first = first[within(there, shapes[1])]
    second = Regions(back, jacobian @ second.axes, second.descriptors)[within(back, shapes[0])]
    a, b = places(first), places(second)
    one, other = first[np.unique(a, return_index=True)[1]], second[np.unique(b, return_index=True)[1]]
    pairs, errors = correspondences(one, other)
    fewer = max(min(len(one.xy), len(other.xy)), 1)
    nearest, distance = nearest_two(first.descriptors, second.descriptors)
    found = np.column_stack([a, b[nearest[:, 0]]])
    true = np.isin(found @ [len(other.xy), 1], pairs @ [len(other.xy), 1])
    return {
        "repeatability": one_to_one(pairs, errors) / fewer,
        "matching": one_to_one(found[true], distance[true, 0]) / fewer,
        "regions": fewer,
        "right": right,
    }


def right_matches(first: Regions, second: Regions, there: Float64) -> int:
    nearest, distance = nearest_two(first.descriptors, second.descriptors)
    passed = distance[:, 0] < RATIO * distance[:, 1]
    return int(np.sum(passed & (np.linalg.norm(there - second.xy[nearest[:, 0]], axis=1) < NEAR)))


def nearest_two(asked: Array, among: Array) -> tuple[Int64, Array]:
    """The two nearest of each, and their distances."""
    x, y = asked.astype(np.float32), among.astype(np.float32)
    squared = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1) - 2 * x @ y.T
    two = np.argpartition(squared, 1, axis=1)[:, :2]
    two = np.take_along_axis(two, np.argsort(np.take_along_axis(squared, two, axis=1), axis=1), axis=1)
    return two, np.sqrt(np.maximum(np.take_along_axis(squared, two, axis=1), 0))


def ours(detector: str, count: int, **more: Any) -> Callable[[Bytes], Regions]:
    def find(pixels: Bytes) -> Regions:
        options = FeatureOptions(detector=detector, max_features=count, max_side=65535, **more)
        return regions_of(extract(Picture(pixels, pixels.shape[1], pixels.shape[0]), options=options))

    return find


def regions_of(found: Features) -> Regions:
    shape = np.eye(2, dtype=np.float32)[None] if found.shape is None else found.shape
    axes = found.scale[:, None, None].astype(np.float64) * shape
    return Regions(found.xy.astype(np.float64), axes, found.descriptors)


def colmap(count: int) -> Callable[[Bytes], Regions]:
    """SIFT with affine shape. It keeps the largest features, not the strongest, and a few more than it is told."""
    import pycolmap

    options = pycolmap.FeatureExtractionOptions()
    options.use_gpu, options.num_threads = False, 1
    options.sift.estimate_affine_shape, options.sift.max_num_features = True, count
    extractor = pycolmap.FeatureExtractor.create(options)

    def find(pixels: Bytes) -> Regions:
        keypoints, descriptors = extractor.extract(pycolmap.Bitmap.from_array(pixels))
        axes = np.array([[[k.a11, k.a12], [k.a21, k.a22]] for k in keypoints], np.float64)
        xy = np.array([[k.x, k.y] for k in keypoints], np.float64) - 0.5  # its pixels begin, ours lie, at whole numbers
        # The angle is no part of the ellipse: the symmetric root of A Aᵀ. Rounded: several angles are one region.
        value, vector = np.linalg.eigh(axes @ axes.transpose(0, 2, 1))
        root = (vector * np.sqrt(value)[:, None, :]) @ vector.transpose(0, 2, 1)
        return Regions(xy, np.round(root, 4), np.array(descriptors.data))

    return find


def opencv(make: Callable[[], Any], count: int, describe: Any = None) -> Callable[[Bytes], Regions]:
    """A detector of OpenCV, its strongest keypoints, and its own descriptors or those of another."""

    def find(pixels: Bytes) -> Regions:
        if describe is None:
            keypoints, descriptors = make().detectAndCompute(pixels, None)
        else:
            keypoints, descriptors = describe.compute(pixels, make().detect(pixels, None))
        best = np.argsort([-k.response for k in keypoints], kind="stable")[:count]
        values = np.array([(*keypoints[i].pt, keypoints[i].size / 2) for i in best])
        return Regions(values[:, :2], values[:, 2, None, None] * np.eye(2), descriptors[best])

    return find


def detectors(count: int) -> dict[str, Callable[[Bytes], Regions]]:
    def sift() -> Any:
        return cv2.SIFT.create(nfeatures=count, contrastThreshold=0.01, enable_precise_upscale=True)

    return {
        "hessian-affine": ours("hessian-affine", count),
        "sift": ours("sift", count),
        "colmap, affine shape": colmap(count),
        "hessian-affine, upright": ours("hessian-affine", count, upright=True),
        # A region of 6.75 sizes is what opencv-contrib recommends for SIFT's keypoints.
        "opencv-vgg": opencv(sift, count, cv2.xfeatures2d.VGG.create(scale_factor=6.75)),
        "opencv-asift": opencv(lambda: cv2.AffineFeature.create(cv2.SIFT.create(contrastThreshold=0.01)), count),
    }


def sequence(folder: Path, find: Callable[[Bytes], Regions]) -> tuple[list[dict[str, float]], float]:
    """Scores of pictures 2 to 6 against 1, and the seconds that finding the regions of a picture took."""
    files = [str(folder / f"img{k}.jpg") for k in range(1, 7)]
    pictures = [np.asarray(cv2.imread(file, cv2.IMREAD_GRAYSCALE), np.uint8) for file in files]
    find(pictures[0])  # compiles what there is to compile
    began = time.process_time()
    found = [find(pixels) for pixels in pictures]
    seconds = (time.process_time() - began) / len(pictures)
    steps = [
        scores(found[0], found[k], np.loadtxt(folder / f"H1to{k + 1}p"), (pictures[0].shape, pictures[k].shape))
        for k in range(1, 6)
    ]
    return steps, seconds


def plot(results: dict[str, dict[str, list[dict[str, float]]]], file: Path) -> None:
    """Repeatability above, matching score below, a column for each sequence."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    axes = figure.subplots(2, len(SEQUENCES), sharex=True, sharey="row")
    changes = ("viewpoint 20° to 60°", "viewpoint 20° to 60°", "zoom and rotation", "blur")
    for column, (name, change) in enumerate(zip(SEQUENCES, changes, strict=True)):
        for row, score in enumerate(("repeatability", "matching")):
            here = axes[row, column]
            for detector, colour in PLOTTED.items():
                values = [100 * step[score] for step in results[detector][name]]
                here.plot(range(2, 7), values, "o-", color=colour, markersize=3, label=detector)
            here.grid(alpha=0.3)
            here.set_ylim(0)
        axes[0, column].set_title(f"{name}\n{change}")
        axes[1, column].set_xlabel("picture 1 against")
    axes[0, 0].set_ylabel("repeatability, %")
    axes[1, 0].set_ylabel("matching score, %")
    axes[0, 1].legend(fontsize=8, loc="lower left")
    figure.savefig(file, metadata={"Date": None})


def main(data: Path, count: int, file: Path | None) -> None:
    folder = data / "vgg_affine"
    if not folder.is_dir():
        raise SystemExit(f"no pictures in {folder}; set RESIGHT_DATA or give --data")
    cv2.setNumThreads(1)
    threadpool_limits(1)
    results: dict[str, dict[str, list[dict[str, float]]]] = {}
    print(f"{'':30} picture 1 against 2 … 6: repeatability %, matching score %, right matches; seconds per picture")
    for name, find in detectors(count).items():
        results[name] = {}
        for place in SEQUENCES:
            steps, seconds = sequence(folder / place, find)
            results[name][place] = steps
            shares = (
                "  ".join(f"{100 * step[score]:5.1f}" for step in steps) for score in ("repeatability", "matching")
            )
            right = " ".join(f"{step['right']:5.0f}" for step in steps)
            print(f"{name:24} {place:6}", " | ".join([*shares, right, f"{seconds:.3f}"]), flush=True)
    if file:
        plot(results, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    main(arguments.data, arguments.features, arguments.plot)
