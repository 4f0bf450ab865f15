"""A picture of what was matched: each hit beside the query, the matched regions framed, lines between the matches."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from colorsys import hsv_to_rgb
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .errors import ImageError, UsageError
from .images import decode, decode_rgb, read_bytes
from .machine import whole_file
from .types import Float32, Float64, Hit, Region
from .urls import Place
from .wording import count

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
TALLEST_JPEG = 65_500  # pixels; what the JPEG library takes

WIDTH, HEIGHT, NARROWEST = 1160, 520, 560  # of a row: at most; of its pictures at most; at least, for its text
MARGIN, GAP = 20, 28  # around the sheet; between query and result
CAPTION, ROW_GAP = 30, 20  # the line of text under the pictures; space below it
EMPTY = 4, 3  # shape of the frame that stands for a picture that cannot be read
TEXT, SMALL, LETTERS = 16, 14, 600  # sizes of letters; more of them than fit into a row

PAPER, EDGE = (238, 240, 243), (190, 196, 204)
INK, FAINT = (28, 32, 38), (88, 96, 106)
MARK = (255, 214, 10)  # frames
SHADE = (16, 18, 22, 190)  # a little transparent, around everything bright, so that it shows on any picture

LINES = 60  # drawn at most
FINE = 4  # marks are drawn this many times larger, then reduced, which makes them smooth
FRAME, LINE, RIM, DOT = (
    3.0,
    1.75,
    0.75,
    3.0,
)  # pixels: width of a frame and of a line, of their dark rim; radius of ends
GOLDEN = 0.618034  # a step around the circle of hues that keeps successive ones apart

Box = tuple[int, int, int, int]  # left, top, width, height


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture to show. Positions in it refer to ``size``, its full (width, height); ``image`` may be smaller."""

    image: Image.Image
    size: tuple[int, int]

    def place(self, xy: Float32 | Float64, box: Box) -> Float64:
        """Where full-size positions (n, 2) lie once the picture fills ``box``.

        A whole number is the centre of a full-size pixel, but the edge of one that is drawn: hence the half.
        """
        placed: Float64 = (xy + 0.5) * np.divide(box[2:], self.size) + box[:2]
        return placed


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points (n, 2), with a disc on each of them if it has a radius, ``dot``."""

    points: Float64
    colour: tuple[int, int, int]
    width: float
    dot: float = 0.0


def draw_matches(query: Place | bytes, hits: Sequence[tuple[Hit, Place]], out: Path) -> None:
    """Write a picture with a row for each hit: the query, the result, and what was matched between them.

    query: the file that was searched with, or its URL or content.
    hits: each with the file or URL of its picture. One that cannot be read becomes an empty frame with the reason.
    out: the file to write, whole or not at all; its ending chooses PNG or JPEG.
    """
    kind, asked = _kind(out), _read(query)
    rows = [_row(rank, asked, hit, path) for rank, (hit, path) in enumerate(hits, start=1)]
    _save(_stack(rows or [_nothing(asked)], kind), out, kind)


def require_drawable(query: Place | bytes, out: Path) -> None:
    """Raise what ``draw_matches`` would, once there are hits, because of the query or the file to write."""
    _kind(out)
    _read(query)


def spread(xy: Float64, count: int) -> list[int]:
    """At most ``count`` of the points (n, 2), evenly over where they lie: each the farthest from those before it."""
    if len(xy) <= count:
        return list(range(len(xy)))
    chosen = [0]
    nearest = np.full(len(xy), np.inf)  # squared distance of each point to the nearest chosen one
    while len(chosen) < count:
        nearest = np.minimum(nearest, np.square(xy - xy[chosen[-1]]).sum(axis=1))
        chosen.append(int(np.argmax(nearest)))
    return chosen


def _kind(out: Path) -> str:
    if kind := FORMATS.get(out.suffix.lower()):
        return kind
    raise UsageError(
        f"cannot draw into {str(out)!r}: the ending {out.suffix!r} is none of {', '.join(FORMATS)}; use one of these"
    )


def _read(source: Place | bytes) -> Shot:
    name = "the query" if isinstance(source, bytes) else str(source)
    data = source if isinstance(source, bytes) else read_bytes(source)
    full = decode(data, name=name, max_side=1)  # only for its size
    return Shot(Image.fromarray(decode_rgb(data, name=name, max_side=WIDTH)), (full.width, full.height))


def _row(rank: int, asked: Shot, hit: Hit, place: Place) -> Image.Image:
    """The two pictures, marked, and a line of text."""
    found: Shot | str
    try:
        found = _read(place)
    except ImageError as error:
        found = str(error)
    row, left, right = _pair(asked, found)
    if isinstance(found, Shot):
        if hit.matches is not None:
            _connect(row, asked.place(hit.matches[:, :2], left), found.place(hit.matches[:, 2:], right))
        _frame(row, right, _result_corners(hit), found)
    _frame(row, left, _query_corners(hit), asked)
    _caption(row, str(rank), hit.key, _facts(hit))
    return row


def _nothing(asked: Shot) -> Image.Image:
    """The only row where there are no hits."""
    return _pair(asked, "nothing was found")[0]


def _pair(asked: Shot, found: Shot | str) -> tuple[Image.Image, Box, Box]:
    """A row with both pictures at one height, or text in place of the second; and where they are."""
    one, other = (w / h for w, h in (asked.size, EMPTY if isinstance(found, str) else found.size))
    height = max(1, math.floor(min(HEIGHT, (WIDTH - GAP) / (one + other))))
    first = min(max(1, round(height * one)), WIDTH - GAP - 1)
    second = min(max(1, round(height * other)), WIDTH - GAP - first)
    left, right = (0, 0, first, height), (first + GAP, 0, second, height)
    row = Image.new("RGB", (max(NARROWEST, first + GAP + second), height + CAPTION), PAPER)
    row.paste(_resized(asked, left), left[:2])
    row.paste(_blank(found, right) if isinstance(found, str) else _resized(found, right), right[:2])
    return row, left, right


def _resized(shot: Shot, box: Box) -> Image.Image:
    return shot.image.resize(box[2:], Image.Resampling.LANCZOS)


def _blank(reason: str, box: Box) -> Image.Image:
    """An empty frame with words in it."""
    blank = Image.new("RGB", box[2:], PAPER)
    draw, font = ImageDraw.Draw(blank), ImageFont.load_default(SMALL)
    draw.rectangle((0, 0, box[2] - 1, box[3] - 1), outline=EDGE)
    columns = max(1, int((box[2] - 2 * MARGIN) / font.getlength("n")))
    lines = "\n".join(textwrap.wrap(_plain(reason), columns))
    draw.text((box[2] / 2, box[3] / 2), lines, FAINT, font, anchor="mm", align="center", spacing=6)
    return blank


def _query_corners(hit: Hit) -> Float64 | None:
    return None if hit.query_region is None else _corners(hit.query_region)


def _result_corners(hit: Hit) -> Float64 | None:
    """Where the map takes the query's matched region, or else the box around the matches in the result."""
    if hit.transform is not None and hit.query_region is not None:
        transform = np.array(hit.transform)
        mapped: Float64 = _corners(hit.query_region) @ transform[:, :2].T + transform[:, 2]
        return mapped
    return None if hit.region is None else _corners(hit.region)


def _corners(region: Region) -> Float64:
    x, y, right, bottom = region.x, region.y, region.x + region.width, region.y + region.height
    return np.array([(x, y), (right, y), (right, bottom), (x, bottom)])


def _frame(row: Image.Image, box: Box, corners: Float64 | None, shot: Shot) -> None:
    """Frame a region, as far as it lies in the picture."""
    if corners is not None:
        around = shot.place(corners, box)[[0, 1, 2, 3, 0, 1]]  # past the first corner, so that it is joined too
        _ink(row, box, [Stroke(around, MARK, FRAME)])


def _connect(row: Image.Image, here: Float64, there: Float64) -> None:
    """A line for each match, or for as many as can still be told apart."""
    chosen = spread(here, LINES)
    chosen.sort(key=lambda i: (here[i, 1], here[i, 0]))  # from top to bottom, so that neighbours differ in hue
    strokes = [Stroke(np.stack([here[i], there[i]]), _hue(n), LINE, DOT) for n, i in enumerate(chosen)]
    _ink(row, (0, 0, *row.size), strokes)


def _hue(number: int) -> tuple[int, int, int]:
    red, green, blue = hsv_to_rgb(number * GOLDEN % 1, 0.6, 1.0)
    return round(255 * red), round(255 * green), round(255 * blue)


def _ink(row: Image.Image, box: Box, strokes: Sequence[Stroke]) -> None:
    """Draw with a dark rim and smooth edges, and nowhere outside the box."""
    layer = Image.new("RGBA", (box[2] * FINE, box[3] * FINE))
    draw = ImageDraw.Draw(layer)
    placed = [np.rint((stroke.points - box[:2]) * FINE - 0.5) for stroke in strokes]
    for stroke, points in zip(strokes, placed, strict=True):
        for colour, rim in ((SHADE, RIM), (stroke.colour, 0.0)):
            draw.line(points.ravel().tolist(), colour, round((stroke.width + 2 * rim) * FINE), joint="curve")
    for stroke, points in zip(strokes, placed, strict=True):  # after all lines: no line covers the end of another
        for x, y in points if stroke.dot else ():
            draw.circle((x, y), stroke.dot * FINE, stroke.colour, SHADE, round(RIM * FINE))
    smooth = layer.reduce(FINE)
    row.paste(smooth, box[:2], smooth)


def _facts(hit: Hit) -> str:
    inliers = count(hit.inliers, "inlier") if hit.inliers else "not verified"
    return inliers if hit.confidence is None else f"{inliers}  ·  {_percent(hit.confidence)} sure"


def _percent(share: float) -> str:
    """Never 100 % of what is only nearly certain, never 0 % of what is possible."""
    whole = f"{share:.0%}"
    return ">99%" if whole == "100%" and share < 1 else "<1%" if whole == "0%" and share > 0 else whole


def _caption(row: Image.Image, rank: str, key: str, facts: str) -> None:
    """Rank, key and facts on one line; of a long key the end is shown, which names the file."""
    draw, middle = ImageDraw.Draw(row), row.height - CAPTION / 2 + 1
    font, small = ImageFont.load_default(TEXT), ImageFont.load_default(SMALL)
    start = font.getlength(rank) + 12
    room = row.width - start - 24 - small.getlength(facts)
    shown = end = _plain(key)[-LETTERS:]
    while font.getlength(shown) > room:
        end = end[1:]
        shown = f"…{end}"
    draw.text((0, middle), rank, FAINT, font, anchor="lm")
    draw.text((start, middle), shown, INK, font, anchor="lm")
    draw.text((row.width, middle), facts, FAINT, small, anchor="rm")


def _plain(text: str) -> str:
    """What Pillow's own font has letters for; everything else escaped, be it é, a newline or a byte that is no text."""
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _stack(rows: Sequence[Image.Image], kind: str) -> Image.Image:
    """The rows below one another, with a margin around them."""
    width = max(row.width for row in rows) + 2 * MARGIN
    height = sum(row.height + ROW_GAP for row in rows) - ROW_GAP + 2 * MARGIN
    if kind == "JPEG" and height > TALLEST_JPEG:
        raise UsageError(
            f"{len(rows)} hits make a picture of {height} rows, and a JPEG has at most {TALLEST_JPEG}; "
            "draw fewer hits, or into a file that ends in .png"
        )
    sheet, top = Image.new("RGB", (width, height), PAPER), MARGIN
    for row in rows:
        sheet.paste(row, (MARGIN, top))
        top += row.height + ROW_GAP
    return sheet


def _save(sheet: Image.Image, out: Path, kind: str) -> None:
    with whole_file(out) as new:
        sheet.save(new, kind, quality=92, subsampling=0)  # what PNG has no use for it does not look at
