"""A demonstration collection: real photographs seen again in new ways, so that every right answer is known.

Nothing heavy is imported to find the photographs; where each comes from and its licence: ``resight.demo``.

Each part of a photograph has one role, so pictures share pixels only where they should: it is a subject, or a scene
(background or cover) of database views, or a cover of queries that no database view has, or an unrelated picture.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

import resight.demo
from resight.errors import UsageError
from resight.types import Bytes, Float64


class Part(NamedTuple):
    """The columns of a photograph between two fractions of its width."""

    file: str
    left: float = 0.0
    right: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a view is taken. Ranges are (low, high) and drawn evenly."""

    size: tuple[float, float]  # side of the part of the subject that is shown, relative to the subject
    spread: float = 0.1  # how far the middle of that part may leave the middle of the subject, relative to half a side
    turn: tuple[float, float] = (0, 0)  # rotation in degrees, either way
    quarters: tuple[int, ...] = (0,)  # further quarter turns of the finished view
    tilt: float = 0.0  # largest move of a corner, relative to the part shown: perspective
    side: tuple[int, int] = (480, 640)  # longest side of the picture in pixels
    gamma: tuple[float, float] = (1, 1)
    blur: float = 0.0  # Gaussian σ in pixels
    quality: int = 88  # JPEG
    covers: int = 0  # pieces of other photographs laid over the view
    pasted: bool = False  # shown as a part of a scene instead of filling the picture


class View(NamedTuple):
    """A picture of a subject: ``homography`` maps subject to picture pixels, ``outline`` (4, 2) is where it shows."""

    path: Path
    homography: Float64
    outline: Float64


@dataclass(frozen=True, slots=True)
class Query:
    """A held-out view and its answers."""

    path: Path
    subject: str
    relevant: frozenset[str]  # file names among the pictures
    homographies: Mapping[str, Float64]  # for each relevant picture, (3, 3): query pixels → its pixels
    places: Mapping[str, Float64]  # for each relevant picture, (n, 2): polygon around what the query shows


@dataclass(frozen=True, slots=True)
class Collection:
    """Pictures to be indexed, and queries to be searched with."""

    pictures: tuple[Path, ...]
    queries: tuple[Query, ...]


SUBJECTS = (
    *map(Part, ("astronaut.png", "camera.png", "chelsea.png", "china.jpg", "coffee.png", "coins.png", "flower.jpg")),
    *map(Part, ("gravel.png", "rocket.jpg", "text.png")),
    *(Part(file, right=0.5) for file in ("grass.png", "hubble_deep_field.jpg")),
)
SCENES = (Part("brick.png", right=0.5), Part("retina.jpg", right=0.5))
QUERY_COVERS = (Part("cell.png"), Part("clock_motion.png"))
UNRELATED = tuple(Part(f, left=0.5) for f in ("brick.png", "grass.png", "hubble_deep_field.jpg", "retina.jpg"))
COPIES = 6  # unrelated pictures of each kind

PICTURE_VIEWS = {
    "tilted": Recipe(size=(0.8, 0.9), turn=(0, 8), tilt=0.14, gamma=(0.7, 1.4)),
    "turned": Recipe(size=(0.75, 0.85), turn=(5, 25), quarters=(1, 2, 3), gamma=(0.7, 1.4)),
    "worn": Recipe(size=(0.6, 0.7), turn=(0, 10), tilt=0.05, side=(400, 480), blur=1.2, quality=22),
    "covered": Recipe(size=(0.8, 0.9), turn=(0, 12), tilt=0.08, covers=2),
    "pasted": Recipe(size=(0.85, 0.95), turn=(0, 8), tilt=0.06, side=(600, 640), pasted=True),
}
QUERY_VIEWS = {
    "angle": Recipe(size=(0.75, 0.85), turn=(10, 20), tilt=0.12, gamma=(0.6, 1.6), covers=1),
    "detail": Recipe(size=(0.5, 0.55), turn=(0, 15), side=(400, 520), quality=70),
}
UNRELATED_VIEW = Recipe(size=(0.6, 0.95), turn=(0, 20), quarters=(0, 1, 2, 3), tilt=0.1, gamma=(0.7, 1.4))
COVER = Recipe(size=(0.3, 0.4), spread=0.5, turn=(0, 45), tilt=0.05)  # where a cover lies in the picture
PASTE = Recipe(size=(0.55, 0.65), spread=0.3, turn=(0, 15), tilt=0.1)  # where a pasted view lies in the scene


def build(folder: Path, *, seed: int = 0) -> Collection:
    """Write folder/pictures and folder/queries, 90 and 24 JPEG files; the same seed gives the same bytes."""
    for name in ("pictures", "queries"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "CREDITS.txt").write_text(resight.demo.__doc__ or "", encoding="utf-8")
    scenes, query_covers = ([_photograph(part) for part in parts] for parts in (SCENES, QUERY_COVERS))
    pictures, queries = list[Path](), list[Query]()
    for part in SUBJECTS:
        subject, original = Path(part.file).stem, _photograph(part)
        views = []
        for name, recipe in PICTURE_VIEWS.items():
            views.append(_render(original, folder / f"pictures/{subject}-{name}.jpg", recipe, scenes, seed))
        pictures += [view.path for view in views]
        for name, recipe in QUERY_VIEWS.items():
            shown = _render(original, folder / f"queries/{subject}-{name}.jpg", recipe, query_covers, seed)
            queries.append(_query(subject, shown, views))
    unrelated = {Path(part.file).stem: _photograph(part) for part in UNRELATED}
    for number in range(1, COPIES + 1):
        for name, original in (*unrelated.items(), ("notes", _notes(np.random.default_rng([seed, number])))):
            path = folder / f"pictures/other-{name}-{number}.jpg"
            pictures.append(_render(original, path, UNRELATED_VIEW, [], seed).path)
    return Collection(tuple(pictures), tuple(queries))


def _photograph(part: Part) -> Bytes:
    """The part, in colour, at 640 pixels for its longest side."""
    for package, data in (("skimage", "data"), ("sklearn", "datasets/images")):
        spec = importlib.util.find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            if (path := Path(place, data, part.file)).is_file():
                pixels = np.asarray(cv2.imread(str(path), cv2.IMREAD_COLOR), np.uint8)
                left, right = (round(pixels.shape[1] * fraction) for fraction in part[1:])
                ratio = 640 / max(pixels.shape[0], right - left)
                way = cv2.INTER_AREA if ratio < 1 else cv2.INTER_CUBIC
                shown = cv2.resize(pixels[:, left:right], None, fx=ratio, fy=ratio, interpolation=way)
                return np.asarray(shown, np.uint8)
    raise UsageError(f"{part.file} was found in neither scikit-image nor scikit-learn: pip install resight[demo]")


def _render(original: Bytes, path: Path, recipe: Recipe, others: list[Bytes], seed: int) -> View:
    """Take one view of the original, write it, and say where the original went."""
    name = f"{path.parent.name}/{path.name}"  # each picture has its own chance, so that adding one changes no other
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    source = _quad(original.shape, recipe, rng)
    sides = np.linalg.norm(source - np.roll(source, -1, axis=0), axis=1)  # top, right, bottom, left
    size = (sides[:2] + sides[2:]) * rng.integers(*recipe.side) / (sides[:2] + sides[2:]).max()
    quarter = int(rng.choice(recipe.quarters))
    width, height = (round(float(side)) for side in np.roll(size, quarter))
    picture: Bytes = np.zeros((height, width, 3), np.uint8)
    frame = _corners(width, height)
    target = np.roll(frame, quarter, axis=0)
    if recipe.pasted:
        scene = others[int(rng.integers(len(others)))]
        _paste(picture, scene, _corners(scene.shape[1], scene.shape[0]), frame)
        target = _quad(picture.shape, PASTE, rng)
    homography = _paste(picture, original, source, target)
    for _ in range(recipe.covers):
        cover = others[int(rng.integers(len(others)))]
        _paste(picture, cover, _quad(cover.shape, COVER, rng), _quad(picture.shape, COVER, rng))
    tones = 255 * (np.arange(256) / 255) ** rng.uniform(*recipe.gamma)
    picture = np.round(tones).astype(np.uint8)[picture]
    if recipe.blur:
        picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), recipe.blur), np.uint8)
    _, coded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, recipe.quality])
    path.write_bytes(coded.tobytes())
    return View(path, homography, target)


def _query(subject: str, shown: View, views: list[View]) -> Query:
    """The query with its true place in every view of its subject."""
    maps = {view.path.name: view.homography @ np.linalg.inv(shown.homography) for view in views}
    places = {}
    for view in views:
        moved = cv2.perspectiveTransform(shown.outline[None], maps[view.path.name])
        _, polygon = cv2.intersectConvexConvex(moved.astype(np.float32), view.outline.astype(np.float32))
        places[view.path.name] = np.asarray(polygon, np.float64).reshape(-1, 2)
    return Query(shown.path, subject, frozenset(maps), maps, places)


def _corners(width: int, height: int) -> Float64:
    """Centres of the corner pixels, clockwise from the top left."""
    return np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], np.float64)


def _quad(shape: tuple[int, ...], recipe: Recipe, rng: np.random.Generator) -> Float64:
    """Four corners as the recipe asks, made smaller where they would leave a picture of that shape."""
    frame = _corners(shape[1], shape[0])
    middle = frame[2] / 2
    offsets = (frame - middle) * rng.uniform(*recipe.size)
    offsets += 2 * recipe.tilt * offsets.max(axis=0) * rng.uniform(-1, 1, (4, 2))
    angle = np.radians(rng.uniform(*recipe.turn)) * rng.choice((-1, 1))
    offsets = offsets @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    centre = middle * (1 + rng.uniform(-recipe.spread, recipe.spread, 2))
    room = np.where(offsets > 0, frame[2] - centre, centre) / np.maximum(np.abs(offsets), 1e-9)
    return np.asarray(centre + offsets * min(1.0, room.min()), np.float64)


def _paste(picture: Bytes, image: Bytes, source: Float64, target: Float64) -> Float64:
    """Put the source quadrilateral of the image onto the target quadrilateral of the picture; the map is returned."""
    homography = cv2.getPerspectiveTransform(source.astype(np.float32), target.astype(np.float32))
    size = picture.shape[1::-1]
    warped = cv2.warpPerspective(image, homography, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    inside = cv2.fillConvexPoly(np.zeros(picture.shape[:2], np.uint8), np.round(target).astype(np.int32), 1) > 0
    np.copyto(picture, warped, where=inside[..., None])
    return np.asarray(homography, np.float64)


def _notes(rng: np.random.Generator) -> Bytes:
    """A typed page of words that mean nothing."""
    picture = np.full((600, 460, 3), 238, np.uint8)
    letters = list("aaabcdeeeefghiiklmnnoooprrsstttuvwxyz")
    for y in range(50, 580, int(rng.integers(22, 34))):
        line = " ".join("".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(6))
        cv2.putText(picture, line, (30, y), cv2.FONT_HERSHEY_COMPLEX, 0.5, (40, 35, 30), 1, cv2.LINE_AA)
    return picture
