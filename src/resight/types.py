"""The values that travel between stages. Shapes, units and the pixel convention are stated here and only here.

Pixel convention: x grows to the right, y downwards, and the centre of the top-left pixel is (0, 0). All positions
and scales are in pixels of the *full-size, upright* picture (after EXIF orientation), whatever size it was analysed at.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded grey picture, reduced to the analysis size.

    ``width`` and ``height`` are those of the full-size upright picture; ``pixels`` may be smaller.
    """

    pixels: Bytes  # (rows, columns)
    width: int
    height: int
    thumbnail: Bytes | None = None  # (rows, columns, 3) small, in colour, not always upright; None: grey


@dataclass(frozen=True, slots=True)
class Region:
    """An axis-parallel box in full-size pixels: left, top, width, height."""

    x: float
    y: float
    width: float
    height: float

    def grown(self, share: float) -> Region:
        """Wider by this share of its width on the left and on the right, and likewise in height."""
        x, y = share * self.width, share * self.height
        return Region(self.x - x, self.y - y, self.width + 2 * x, self.height + 2 * y)

    def contains(self, xy: Float32) -> npt.NDArray[np.bool_]:
        """Which of the points (n, 2) lie inside, borders included."""
        left, top = xy[:, 0] >= self.x, xy[:, 1] >= self.y
        return left & top & (xy[:, 0] <= self.x + self.width) & (xy[:, 1] <= self.y + self.height)


@dataclass(frozen=True, slots=True)
class Features:
    """The local features of one picture, strongest first."""

    xy: Float32  # (n, 2) positions
    scale: Float32  # (n,) radius of the detected blob
    angle: Float32  # (n,) dominant gradient direction in radians, [0, 2π), from +x towards +y
    # (n, d); SIFT kinds are bytes: round(512 · unit vector), so that dot products are exact. Read back from an index:
    # what it keeps of them, floats where that is codes, or nothing, d = 0.
    descriptors: Bytes | Float32
    width: int  # of the full-size upright picture
    height: int
    # (n, 2, 2) symmetric, determinant 1: region i is xy + scale · shape · u, |u| ≤ 1; its content is described in the
    # frame scale · shape · R(angle). None: circles.
    shape: Float32 | None = None
    colours: bytes | None = None  # of the whole picture, as ``colours.describe`` has them; None: unknown, or grey

    def __len__(self) -> int:
        return len(self.xy)

    def rows(self, chosen: npt.NDArray[Any]) -> Features:
        """These features, by number or by mask."""
        names = ("xy", "scale", "angle", "descriptors", *(() if self.shape is None else ("shape",)))
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


@dataclass(frozen=True, slots=True)
class Words:
    """Features after quantisation: one row for each (feature, word) pair, in feature order.

    With single assignment row i is feature i; with multiple assignment a feature owns several rows.
    """

    feature: Int32  # (m,) which feature
    word: Int32  # (m,) visual word
    signature: UInt64  # (m,) 64-bit Hamming signature of the feature within that word's cell
    code: Bytes | None = None  # (m, c) what is kept of the feature's descriptor, if anything is
    # (m,) 0, 1, …: how many levels a tree must be climbed from the feature's word to reach this one; None: by nearness.
    level: Int32 | None = None

    def __len__(self) -> int:
        return len(self.word)

    def rows(self, chosen: npt.NDArray[Any]) -> Words:
        """These rows, by number or by mask."""
        others = (None if column is None else column[chosen] for column in (self.code, self.level))
        return Words(self.feature[chosen], self.word[chosen], self.signature[chosen], *others)

    def nearest(self, count: int) -> Words:
        """The first ``count`` rows of each feature: those of its nearest words."""
        return self.rows(np.arange(len(self)) - np.searchsorted(self.feature, self.feature) < count)

    def within(self, span: range) -> Words:
        """The rows with these words, which are counted from 0 on: those of one of several vocabularies."""
        mine = self.rows((self.word >= span.start) & (self.word < span.stop))
        return replace(mine, word=mine.word - np.int32(span.start))


@dataclass(frozen=True, slots=True)
class Hit:
    """One picture found. What geometry says is None where it confirmed nothing or was not asked."""

    key: str
    score: float
    confidence: float | None = None  # probability that it shows the same thing
    path: str | None = None  # where the picture was read from, if it came from a file
    inliers: int | None = None  # matches that agree on one affine map
    transform: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None  # query → this picture
    region: Region | None = None  # box around the agreeing matches in this picture
    query_region: Region | None = None  # the same in the query
    matches: Float32 | None = field(default=None, repr=False, compare=False)  # (inliers, 4) x, y in query and picture
    via: tuple[str, ...] = ()  # keys of the pictures that lead to it, link by link; then map and region are composed
    metadata: dict[str, Any] = field(default_factory=dict)
    width: int = 0  # of the full-size upright picture
    height: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and what the query was."""

    hits: tuple[Hit, ...]
    query_features: int  # features used, after the region was applied, of all query pictures
    width: int  # of the (first) query picture
    height: int
    timings: dict[str, float] = field(default_factory=dict, compare=False)  # seconds for each stage

    def __len__(self) -> int:
        return len(self.hits)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without the matches, which are many, and the timings, which never repeat."""
        values = {"query_features": self.query_features, "width": self.width, "height": self.height}
        return {"hits": [_plain(hit) for hit in self.hits], **values}


def _plain(hit: Hit) -> dict[str, Any]:
    return {name: value for name, value in asdict(hit).items() if name != "matches"}
