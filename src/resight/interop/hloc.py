"""Features in the HDF5 files of hloc: a group for each picture, whose name may hold slashes and so be nested.

keypoints (n, 2), descriptors (d, n), and perhaps scores (n), scales (n), oris (n) and image_size (2), in half or single
precision. hloc counts pixels as we do: the centre of the first is (0, 0). Its extract_features.py resizes by
(x + 0.5) · s − 0.5, and its triangulation.py adds 0.5 on the way to COLMAP. oris are degrees (extractors/dog.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FeatureFileError, UsageError
from ..features.given import require_finite, validated
from ..options import GIVEN, GIVEN_POINTS
from ..store.entry import decode_text, encode_text
from ..types import Features
from .given import points, size_from

MOST_FEATURES, MOST_NUMBERS = 1_000_000, 2**28  # of a picture's descriptors: what is beyond all reason is not read
# What h5py raises for damaged files, and what it takes to read something that is not what its name says.
DAMAGE = (OSError, RuntimeError, LookupError, AttributeError, TypeError, ValueError, OverflowError)


class HlocFile:
    """An open file; pictures are read one at a time."""

    kind = np.dtype(np.float32)

    def __init__(self, path: Path, *, images: Path | None = None) -> None:
        self.path = path
        self._images = images
        try:
            import h5py
        except ModuleNotFoundError:
            raise UsageError(
                f"{path} is an HDF5 file, and h5py is not installed: pip install resight[interop]"
            ) from None
        try:
            self._file = h5py.File(path, "r")
            self.names = _pictures(self._file)
            first = self._group(self.names[0]) if self.names else {}
            self.dimension = first["descriptors"].shape[0] if first else 0
        except DAMAGE as error:
            raise FeatureFileError(f"cannot read {path} ({error}); copy it again or extract features anew") from None
        if not self.names:
            self.close()
            raise FeatureFileError(f"{path} has no group with keypoints and descriptors; give a file of local features")
        self.detector = GIVEN if {"scales", "oris"} <= set(first) else GIVEN_POINTS

    def read(self, name: str) -> Features:
        """The features of one picture, strongest first if the file says how strong they are."""
        where = f"{name!r} in {self.path}"
        try:
            group = self._group(name)
            columns = self._columns(group, where)
            require_finite(where, **columns)
            size = self._size(name, group, columns["xy"])
        except DAMAGE as error:
            raise FeatureFileError(f"cannot read {where} ({error}); extract its features again") from None
        if "scores" in columns:
            order = np.argsort(-columns["scores"], kind="stable")
            columns = {column: values[order] for column, values in columns.items()}
        xy, descriptors = columns["xy"], columns["descriptors"]
        if self.detector == GIVEN_POINTS:
            return validated(points(xy, descriptors, size), where)
        angle = np.deg2rad(columns["oris"]) % np.float32(2 * np.pi)
        return validated(Features(xy, columns["scales"], angle, descriptors, *size), where)

    def _group(self, name: str) -> Any:
        return self._file[encode_text(name)]  # h5py refuses text that stands for bytes which are none

    def _columns(self, group: Any, where: str) -> dict[str, Any]:
        """Rows for each keypoint, as float32."""
        others = ["scores"] if "scores" in group else []
        others += ["scales", "oris"] if self.detector == GIVEN else []
        n = group["keypoints"].shape[0]
        wanted = {"keypoints": (n, 2), "descriptors": (self.dimension, n), **dict.fromkeys(others, (n,))}
        found = {name: group[name].shape for name in wanted}
        if found != wanted or n > MOST_FEATURES or n * self.dimension > MOST_NUMBERS:
            shapes = ", ".join(f"{name} {shape}" for name, shape in found.items())
            raise FeatureFileError(
                f"{where} has {shapes}; (n, 2) keypoints, {(self.dimension, 'n')} descriptors and (n,) of all else are "
                f"wanted, with n at most {MOST_FEATURES}, and {MOST_NUMBERS} numbers in all descriptors"
            )
        columns = {name: group[name][()].astype(np.float32) for name in others}
        descriptors = np.ascontiguousarray(group["descriptors"][()].T, np.float32)
        return {"xy": group["keypoints"][()].astype(np.float32), "descriptors": descriptors, **columns}

    def _size(self, name: str, group: Any, xy: Any) -> tuple[int, int]:
        if "image_size" in group:
            width, height = group["image_size"][()].tolist()
            return round(width), round(height)
        return size_from(xy, self._images and self._images / name)

    def close(self) -> None:
        self._file.close()


def _pictures(file: Any) -> list[str]:
    found: list[str] = []

    def visit(name: str | bytes, item: Any) -> None:
        text = name if isinstance(name, str) else decode_text(name)  # where it is no UTF-8, h5py gives bytes
        if text.endswith("/keypoints") and "descriptors" in item.parent:
            found.append(text.removesuffix("/keypoints"))

    file.visititems(visit)
    return sorted(found)
