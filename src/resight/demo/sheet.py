"""The contact sheet: one row for each query, its first results in order, right ones framed green and wrong ones red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from resight.types import Region

MARGIN, HEADER = 28, 62  # around the sheet; above the first row
WIDTH, HEIGHT = 202, 152  # of the area a picture is fitted into
GAP, QUERY_GAP = 14, 22  # between results; between the query and its first result
FRAME, CAPTION, ROW_GAP = 4, 44, 16  # frame around a picture; two lines of text under it; space below them

PAPER, MOUNT, LINE = (255, 255, 255), (241, 242, 244), (222, 225, 229)
INK, FAINT = (28, 32, 38), (98, 106, 116)
RIGHT, WRONG, QUERY = (34, 146, 74), (208, 52, 44), (120, 128, 140)
MARK = (255, 214, 10)  # the matched region

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]  # left, top, right, bottom; the last two exclusive


@dataclass(frozen=True, slots=True)
class SheetCell:
    """One result: ``caption`` is the second line under it, ``region`` the match in full-size pixels."""

    path: Path
    caption: str
    right: bool
    region: Region | None = None


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A query and its results, best first."""

    query: Path
    title: str
    results: Sequence[SheetCell]


def contact_sheet(rows: Sequence[SheetRow], out: Path) -> None:
    """Draw the rows into one picture; the suffix of ``out`` chooses the format."""
    columns = max((len(row.results) for row in rows), default=0)
    _, _, right, _ = cell_box(0, max(columns, 1))
    _, top, _, _ = cell_box(len(rows), 0)
    sheet = Image.new("RGB", (right + MARGIN, top - ROW_GAP + MARGIN), PAPER)
    draw = ImageDraw.Draw(sheet)
    _header(draw, rows, sheet.width)
    for number, row in enumerate(rows):
        box = cell_box(number, 0)
        _fitted(sheet, row.query, box, QUERY)
        _words(draw, box, row.title, "query")
        for rank, cell in enumerate(row.results, start=1):
            box = cell_box(number, rank)
            _fitted(sheet, cell.path, box, RIGHT if cell.right else WRONG, cell.region)
            _words(draw, box, f"{rank}  {cell.path.name}", cell.caption)
    sheet.save(out, quality=92)


def cell_box(row: int, column: int) -> Box:
    """Where a picture with its frame lies on the sheet; column 0 is the query, column n its n-th result."""
    left = MARGIN + column * (WIDTH + 2 * FRAME + GAP) + (QUERY_GAP - GAP if column else 0)
    top = HEADER + row * (HEIGHT + 2 * FRAME + CAPTION + ROW_GAP)
    return left, top, left + WIDTH + 2 * FRAME, top + HEIGHT + 2 * FRAME


def _header(draw: ImageDraw.ImageDraw, rows: Sequence[SheetRow], width: int) -> None:
    """What the sheet shows at the left, what the colours mean at the right, a line below."""
    shown = [cell.right for row in rows for cell in row.results]
    summary = f"{len(rows)} queries, {sum(shown)} of the {len(shown)} results shown are right"
    draw.text((MARGIN, 24), summary, INK, ImageFont.load_default(size=20), anchor="lm")
    x, font = width - MARGIN, ImageFont.load_default(size=14)
    for name, colour in (("matched region", MARK), ("wrong", WRONG), ("right", RIGHT)):
        draw.text((x, 24), name, FAINT, font, anchor="rm")
        x -= round(font.getlength(name)) + 8
        draw.rectangle((x - 14, 18, x, 31), outline=colour, width=3)
        x -= 14 + 20
    draw.line((MARGIN, 44, width - MARGIN - 1, 44), LINE)


def _fitted(sheet: Image.Image, path: Path, box: Box, frame: Colour, region: Region | None = None) -> None:
    """The picture, upright and whole, in the middle of its framed box, with the region marked."""
    left, top, right, bottom = box
    ImageDraw.Draw(sheet).rectangle((left, top, right - 1, bottom - 1), fill=MOUNT, outline=frame, width=FRAME)
    with Image.open(path) as opened:
        full = ImageOps.exif_transpose(opened).convert("RGB")
    small = ImageOps.contain(full, (WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    if region is not None:
        _mark(small, region, small.width / full.width)
    sheet.paste(small, ((left + right - small.width) // 2, (top + bottom - small.height) // 2))


def _mark(small: Image.Image, region: Region, ratio: float) -> None:
    """A yellow box with a dark edge, so that it shows on any picture; the part outside the picture is cut off."""
    left, top = max(region.x * ratio, 1), max(region.y * ratio, 1)
    right = min((region.x + region.width) * ratio, small.width - 2)
    bottom = min((region.y + region.height) * ratio, small.height - 2)
    if right > left and bottom > top:
        draw = ImageDraw.Draw(small)
        draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), outline=INK, width=4)
        draw.rectangle((left, top, right, bottom), outline=MARK, width=2)


def _words(draw: ImageDraw.ImageDraw, box: Box, first: str, second: str) -> None:
    """Two lines under a box, each cut with an ellipsis where it is too long."""
    for text, below, ink, size in ((first, 6, INK, 15), (second, 25, FAINT, 13)):
        font = ImageFont.load_default(size=size)
        shown = text
        while font.getlength(shown) > box[2] - box[0]:
            shown = shown.removesuffix("…")[:-1] + "…"
        draw.text((box[0], box[3] + below), shown, ink, font)
