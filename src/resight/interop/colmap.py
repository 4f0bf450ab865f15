"""Features in a COLMAP database: SIFT, in the layout of bins that OpenCV has, and on our byte grid.

COLMAP's default normalisation is L1_ROOT, that is RootSIFT, times 512 and rounded: what features/sift.py makes. Its
first pixel's centre is (0.5, 0.5), ours is (0, 0).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..errors import FeatureFileError
from ..features.given import require_finite, validated
from ..options import GIVEN, GIVEN_POINTS
from ..store.entry import decode_text
from ..types import Features, Float32
from .given import points

CENTRE = np.float32(0.5)  # of the first pixel
SIFT = 128  # bytes

# Names as bytes: SQLite holds text and blobs in one column, and neither need be UTF-8.
PICTURES = "SELECT CAST(name AS BLOB), image_id FROM images JOIN descriptors USING (image_id) WHERE name NOT NULL"
ONE = """
    SELECT width, height, k.rows, k.cols, k.data, d.rows, d.cols, d.data
    FROM images JOIN cameras USING (camera_id)
    JOIN keypoints AS k USING (image_id) JOIN descriptors AS d USING (image_id) WHERE image_id = ?
"""


class ColmapDatabase:
    """An open database; pictures are read one at a time."""

    dimension, kind = SIFT, np.dtype(np.uint8)

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
        try:
            self._numbers = {decode_text(name): number for name, number in self._select(PICTURES)}
            self.names = sorted(self._numbers)
            ((columns,),) = self._select("SELECT max(cols) FROM keypoints")
            if not self.names:
                raise FeatureFileError(f"{path} has no pictures with descriptors; run COLMAP's feature extractor first")
        except FeatureFileError:
            self.close()
            raise
        self.detector = GIVEN_POINTS if columns == 2 else GIVEN

    def read(self, name: str) -> Features:
        """The features of one picture."""
        where = f"{name!r} in {self.path}"
        found = self._select(ONE, self._numbers.get(name))
        if not found:
            raise FeatureFileError(f"{where} has no keypoints, or is not there; check the name, or extract them")
        try:
            width, height, *tables = found[0]
            keypoints = _matrix(where, "keypoints", np.dtype("<f4"), *tables[:3])
            descriptors = _matrix(where, "descriptors", np.dtype("u1"), *tables[3:])
            width, height = int(width), int(height)
        except (TypeError, ValueError, OverflowError) as error:  # SQLite's columns hold values of any type
            raise FeatureFileError(f"cannot read {where} ({error}); extract its features again") from None
        if descriptors.shape[1] != SIFT:
            raise FeatureFileError(
                f"{where} has descriptors of {descriptors.shape[1]} bytes, not SIFT's {SIFT}; give such as an HDF5 file"
            )
        require_finite(where, keypoints=keypoints)
        xy = keypoints[:, :2] - CENTRE
        if (keypoints.shape[1] == 2) != (self.detector == GIVEN_POINTS):
            raise FeatureFileError(
                f"{where} has {keypoints.shape[1]} columns of keypoints, unlike the others; extract again"
            )
        if self.detector == GIVEN_POINTS:
            return validated(points(xy, descriptors, (width, height)), where)
        scale, angle, shape = _frames(keypoints, where)
        return validated(Features(xy, scale, angle, descriptors, width, height, shape), where)

    def _select(self, statement: str, *values: int | None) -> list[Any]:
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise FeatureFileError(
                f"{self.path} is no COLMAP database that can be read ({error}); copy it again, or give another"
            ) from None

    def close(self) -> None:
        self._database.close()


def _matrix(where: str, what: str, kind: np.dtype[Any], rows: int, columns: int, data: bytes | None) -> Any:
    data = data or b""  # of a picture without features
    if len(data) != rows * columns * kind.itemsize:
        raise FeatureFileError(f"{where} has {len(data)} bytes of {what}, not {rows} × {columns}; extract them again")
    return np.frombuffer(data, kind).reshape(rows, columns)


def _frames(keypoints: Float32, where: str) -> tuple[Float32, Float32, Float32]:
    """Scale, angle and shape: of circles, too, since an index has the shapes of all pictures or of none.

    Four columns end in scale and orientation, six in a matrix A that takes the unit circle to the region. Its polar
    decomposition A = scale · shape · R(angle) has a symmetric shape of determinant 1.
    """
    if keypoints.shape[1] == 4:
        scale, angle = keypoints[:, 2:].T
        shape = np.tile(np.eye(2, dtype=np.float32), (len(keypoints), 1, 1))
    elif keypoints.shape[1] == 6:
        a = keypoints[:, 2:].reshape(-1, 2, 2)
        # Of A = P · R(φ) with P symmetric: a21 − a12 = tr(P) · sin φ and a11 + a22 = tr(P) · cos φ.
        angle = np.arctan2(a[:, 1, 0] - a[:, 0, 1], a[:, 0, 0] + a[:, 1, 1])
        scale = np.sqrt(np.maximum(np.linalg.det(a), 0))  # 0, which is refused, where A mirrors
        c, s = np.cos(angle), np.sin(angle)
        back = np.stack([c, s, -s, c], axis=1).reshape(-1, 2, 2)
        shape = (a @ back) / np.maximum(scale, np.finfo(np.float32).tiny)[:, None, None]
        shape = (shape + shape.transpose(0, 2, 1)) / 2
    else:
        raise FeatureFileError(f"{where} has {keypoints.shape[1]} columns of keypoints, not 2, 4 or 6")
    return scale, angle % np.float32(2 * np.pi), shape
