"""Pictures of matches: what is drawn lies where the geometry says, measured on the written file."""

from __future__ import annotations

import errno
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import ExifTags, Image, ImageDraw, ImageFont

from resight import draw
from resight.draw import draw_matches, spread
from resight.errors import ImageError, UsageError
from resight.images import decode, read_bytes
from resight.types import Bytes, Float32, Hit, Region

Mask = npt.NDArray[np.bool_]

TEAL, BROWN, PLUM = (0, 110, 110), (120, 70, 30), (110, 20, 80)  # of pictures: no mark nor text has these colours
SIZE = 400, 300  # of both, unless a test says otherwise


def plain(path: Path, colour: tuple[int, int, int], size: tuple[int, int] = SIZE) -> Path:
    Image.new("RGB", size, colour).save(path)
    return path


@pytest.fixture
def query(tmp_path: Path) -> Path:
    return plain(tmp_path / "query.png", TEAL)


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return plain(tmp_path / "result.png", BROWN)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "matches.png"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that gets drawn."""
    texts: list[str] = []
    original = ImageDraw.ImageDraw.text

    def text(self: ImageDraw.ImageDraw, xy: Any, text: str, *args: Any, **options: Any) -> None:
        texts.append(text)
        original(self, xy, text, *args, **options)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", text)
    return texts


def pixels(path: Path) -> Bytes:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def near(sheet: Bytes, colour: tuple[int, ...], tolerance: int = 12) -> Mask:
    difference = np.abs(sheet.astype(int) - colour).max(axis=2)
    return np.asarray(difference <= tolerance)


def bright(sheet: Bytes) -> Mask:
    """Where the light core of a line or a dot is: none of the test pictures nor the paper is as colourful."""
    high, low = sheet.max(axis=2).astype(int), sheet.min(axis=2).astype(int)
    core: Mask = (high > 200) & (high - low > 90)
    return core


def extent(mask: Mask) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a mask; the last two exclusive."""
    ys, xs = np.nonzero(mask)
    return int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1


def at(mask: Mask, x: float, y: float, size: tuple[int, int] = SIZE) -> npt.NDArray[np.float64]:
    """Where the centre of a full-size pixel lies on the sheet, by the place of the picture that ``mask`` covers."""
    left, top, right, bottom = extent(mask)
    return np.array([left + (x + 0.5) * (right - left) / size[0], top + (y + 0.5) * (bottom - top) / size[1]])


def value(mask: Mask, xy: npt.NDArray[np.float64], reach: int = 1) -> bool:
    """Whether the mask holds within ``reach`` pixels of a place."""
    x, y = np.floor(xy).astype(int)
    return bool(mask[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1].any())


def matching(*rows: tuple[float, float, float, float], **facts: Any) -> Hit:
    return Hit("key", 1.0, inliers=len(rows), matches=np.array(rows, np.float32), **facts)


def test_pictures_stand_side_by_side_at_the_same_height(query: Path, tmp_path: Path, out: Path) -> None:
    square = plain(tmp_path / "square.png", BROWN, (900, 900))
    draw_matches(query, [(Hit("a", 1.0), square), (Hit("b", 0.5), square)], out)
    sheet = pixels(out)
    half = sheet[: len(sheet) // 2]
    left, right = extent(near(half, TEAL, 0)), extent(near(half, BROWN, 0))
    assert (left[1], left[3]) == (right[1], right[3])
    assert (left[2] - left[0]) / (left[3] - left[1]) == pytest.approx(4 / 3, abs=0.01)
    assert right[2] - right[0] == right[3] - right[1]
    assert left[2] < right[0]
    assert sheet.shape[1] == pytest.approx(1200, abs=5)
    assert near(sheet[len(half) :], TEAL, 0).any()  # a row for each hit, the query in each


def test_a_line_joins_the_two_places_of_a_match(query: Path, result: Path, out: Path) -> None:
    draw_matches(query, [(matching((40, 60, 350, 240)), result)], out)
    sheet = pixels(out)
    line, here, there = bright(sheet), near(sheet, TEAL, 0), near(sheet, BROWN, 0)
    start, end = at(here, 40, 60), at(there, 350, 240)
    for share in np.linspace(0, 1, 50):
        assert value(line, start + share * (end - start))
    across = np.array([start[1] - end[1], end[0] - start[0]]) / np.hypot(*(end - start))
    for share in np.linspace(0.05, 0.95, 20):
        for side in (-6, 6):
            assert not value(line, start + share * (end - start) + side * across)
    left, top, right, bottom = extent(line)
    reach = 5  # the radius of a dot, and a little
    assert abs(left - start[0]) < reach
    assert abs(top - start[1]) < reach
    assert abs(right - end[0]) < reach
    assert abs(bottom - end[1]) < reach


FIRST = (255, 102, 102)  # the colour of the first line


@pytest.mark.parametrize("ground", [(0, 0, 0), (255, 255, 255), (128, 128, 128), FIRST, draw.MARK])
def test_marks_show_on_any_ground(ground: tuple[int, int, int], tmp_path: Path, out: Path) -> None:
    """Even where a mark has the colour of the ground: there its rim shows."""
    picture = plain(tmp_path / "ground.png", ground)
    region = Region(60, 60, 200, 150)
    draw_matches(picture, [(matching((30, 30, 30, 30), query_region=region), picture)], out)
    sheet = pixels(out)
    scale = 1132 / 2 / 400  # pictures as wide as a row without its gap
    for y in (30, 60):  # the line, the upper edge of the frame
        top = round(draw.MARGIN + y * scale)
        strip = sheet[top - 8 : top + 8, 150].astype(int)
        assert np.abs(strip - ground).max() > 100
        assert np.abs(strip[[0, -1]] - ground).max() == 0


def test_frames_are_where_the_regions_are(query: Path, result: Path, out: Path) -> None:
    hit = Hit("key", 1.0, query_region=Region(40, 30, 200, 100), region=Region(100, 150, 120, 90))
    draw_matches(query, [(hit, result)], out)
    sheet = pixels(out)
    yellow = near(sheet, draw.MARK)
    middle = (extent(near(sheet, TEAL, 0))[2] + extent(near(sheet, BROWN, 0))[0]) // 2
    for mask, part, offset, (x, y, right, bottom) in (
        (near(sheet, TEAL, 0), yellow[:, :middle], 0, (40, 30, 240, 130)),
        (near(sheet, BROWN, 0), yellow[:, middle:], middle, (100, 150, 220, 240)),
    ):
        found = np.array(extent(part)) + np.array([offset, 0, offset, 0])
        assert np.abs(found - np.concatenate([at(mask, x, y), at(mask, right, bottom)])).max() <= 2.5
        inside = part[int(found[1]) + 6 : int(found[3]) - 6, int(found[0]) - offset + 6 : int(found[2]) - offset - 6]
        assert not inside.any()


def test_the_frame_in_the_result_is_the_mapped_region(query: Path, result: Path, out: Path) -> None:
    """A quarter turn and a shear, worked out by hand: x' = 300 − y, y' = x/2 + 0.2 y + 40."""
    hit = Hit(
        "key",
        1.0,
        transform=((0, -1, 300), (0.5, 0.2, 40)),
        query_region=Region(100, 50, 200, 100),
        region=Region(10, 10, 380, 280),  # not drawn: the map says more
    )
    draw_matches(query, [(hit, result)], out)
    sheet = pixels(out)
    yellow, there = near(sheet, draw.MARK), near(sheet, BROWN, 0)
    corners = [at(there, x, y) for x, y in [(250, 100), (250, 200), (150, 220), (150, 120)]]
    for first, second in zip(corners, corners[1:] + corners[:1], strict=True):
        for share in np.linspace(0, 1, 20):
            assert value(yellow, first + share * (second - first))
    assert not value(yellow, at(there, 10, 150), 4)
    assert not value(yellow, (corners[0] + corners[2]) / 2, 10)


def test_a_frame_stays_in_its_picture(query: Path, result: Path, out: Path) -> None:
    hit = Hit("key", 1.0, transform=((4, 0, -900), (0, 4, -300)), query_region=Region(150, 100, 100, 50))
    draw_matches(query, [(hit, result)], out)
    sheet = pixels(out)
    yellow = near(sheet, draw.MARK)
    left, top, right, bottom = extent(near(sheet, BROWN, 0))
    outside = yellow.copy()
    outside[top:bottom, left:right] = False
    assert yellow[top:bottom, left:right].any()
    assert extent(outside)[2] < extent(near(sheet, TEAL, 0))[2]  # what is left is the frame in the query
    assert not yellow[bottom:].any()


def test_pictures_are_upright_and_coloured(tmp_path: Path, result: Path, out: Path) -> None:
    """Stored 300 × 200 with orientation 6, to be turned a quarter clockwise: 200 × 300, what was left on top."""
    stored = Image.new("RGB", (300, 200), TEAL)
    stored.paste(PLUM, (0, 0, 60, 200))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    path = tmp_path / "turned.jpg"
    stored.save(path, exif=exif, quality=95)
    draw_matches(path, [(matching((150, 280, 20, 20)), result)], out)
    sheet = pixels(out)
    teal, plum, line = near(sheet, TEAL), near(sheet, PLUM), bright(sheet)
    whole = teal | plum
    left, top, right, bottom = extent(whole)
    assert (right - left) / (bottom - top) == pytest.approx(2 / 3, abs=0.01)
    assert plum[top : top + 50, left:right].all()
    assert extent(teal)[1] - top == pytest.approx((bottom - top) / 5, abs=3)
    assert value(line, at(whole, 150, 280, (200, 300)), 0)
    assert value(line, at(near(sheet, BROWN, 0), 20, 20), 0)


def test_large_pictures_are_reduced_with_their_marks(tmp_path: Path, out: Path) -> None:
    large = plain(tmp_path / "large.png", TEAL, (4000, 3000))
    small = plain(tmp_path / "small.png", BROWN, (80, 60))
    region = Region(1000, 600, 2000, 1500)
    draw_matches(large, [(matching((3000, 2100, 40, 30), query_region=region), small)], out)
    sheet = pixels(out)
    here, there = near(sheet, TEAL, 0), near(sheet, BROWN, 0)
    assert sheet.shape[1] <= 1200
    _, _, right, _ = extent(bright(sheet))
    assert abs(right - draw.DOT - at(there, 40, 30, (80, 60))[0]) < 2.5  # a pixel of the small one is seven wide here
    found = extent(near(sheet, draw.MARK))
    expected = [*at(here, 1000, 600, (4000, 3000)), *at(here, 3000, 2100, (4000, 3000))]
    assert np.abs(np.array(found) - expected).max() <= 2.5


def test_a_hit_without_matches_has_no_lines_and_says_so(query: Path, result: Path, out: Path, said: list[str]) -> None:
    draw_matches(query, [(Hit("key", 1.0, confidence=0.04), result)], out)
    sheet = pixels(out)
    assert not bright(sheet).any()
    assert not near(sheet, draw.MARK).any()
    assert said == ["1", "key", "not verified  ·  4% sure"]


def test_the_text_names_rank_key_inliers_and_confidence(query: Path, result: Path, out: Path, said: list[str]) -> None:
    sure, lone = matching((1, 1, 1, 1), (9, 9, 9, 9), confidence=0.87), matching((5, 5, 5, 5))
    draw_matches(query, [(sure, result), (lone, result)], out)
    assert said == ["1", "key", "2 inliers  ·  87% sure", "2", "key", "1 inlier"]


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [(1.0, "100%"), (0.9999, ">99%"), (0.994, "99%"), (0.5, "50%"), (0.004, "<1%"), (0.0, "0%")],
)
def test_what_is_nearly_certain_is_not_called_certain(
    confidence: float, shown: str, query: Path, result: Path, out: Path, said: list[str]
) -> None:
    draw_matches(query, [(Hit("key", 1.0, confidence=confidence), result)], out)
    assert said[-1] == f"not verified  ·  {shown} sure"


def test_of_many_matches_sixty_are_drawn(query: Path, result: Path, out: Path) -> None:
    """Level lines, one per pixel row: in the space between the pictures they can be counted."""
    rows = [(200.0, float(y), 200.0, float(y)) for y in range(1, 299)]
    draw_matches(query, [(matching(*rows), result)], out)
    sheet = pixels(out)
    middle = (extent(near(sheet, TEAL, 0))[2] + extent(near(sheet, BROWN, 0))[0]) // 2
    column = bright(sheet)[:, middle]
    starts = np.flatnonzero(np.diff(np.concatenate([[0], column])) == 1)
    assert len(starts) == draw.LINES
    gaps = np.diff(starts)
    assert gaps.max() <= 3 * gaps.min()  # 2 is what the method promises, the rest is rounding
    cores = [max(sheet[y : y + 3, middle].tolist(), key=max) for y in starts]  # the brightest pixel is least mixed
    assert np.abs(np.diff(cores, axis=0)).max(axis=1).min() > 80  # and each differs from the next


def test_spread_takes_something_from_everywhere() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([(0, 0), (100, 0), (0, 100), (100, 100), (50, 50)], float)
    crowd = np.repeat(np.arange(5), [400, 3, 1, 50, 7])
    chosen = spread(centres[crowd] + rng.normal(0, 1, (len(crowd), 2)), 5)
    assert sorted(crowd[chosen]) == [0, 1, 2, 3, 4]


def test_spread_takes_all_of_a_few_and_the_same_point_more_than_once() -> None:
    assert spread(np.zeros((3, 2)), 3) == [0, 1, 2]
    assert spread(np.zeros((0, 2)), 3) == []
    assert len(spread(np.zeros((5, 2)), 3)) == 3


@pytest.mark.parametrize("content", [None, b"", b"no picture", "truncated"])
def test_a_result_that_cannot_be_read_is_an_empty_frame_with_the_reason(
    content: bytes | str | None, query: Path, result: Path, tmp_path: Path, out: Path, said: list[str]
) -> None:
    broken = tmp_path / "broken.png"
    if content is not None:
        broken.write_bytes(content if isinstance(content, bytes) else result.read_bytes()[:100])
    hit = matching((40, 60, 350, 240), query_region=Region(40, 30, 200, 100), region=Region(1, 1, 50, 50))
    draw_matches(query, [(hit, broken), (hit, result)], out)
    reason = said[0].replace("\n", " ")
    with pytest.raises(ImageError) as caught:
        decode(read_bytes(broken), name=str(broken), max_side=8)
    assert reason.replace(" ", "") == str(caught.value).replace(" ", "")  # a long path is cut where the line ends
    sheet = pixels(out)
    first = sheet[: extent(near(sheet, BROWN, 0))[1]]
    assert near(first, draw.MARK).any()  # the region in the query is known all the same
    assert near(first, draw.EDGE, 0).any()
    assert bright(sheet[len(first) :]).any()  # and the next row is as ever


@pytest.mark.parametrize("source", ["missing.png", b"no picture", b""])
def test_an_unreadable_query_is_an_error(source: str | bytes, result: Path, tmp_path: Path, out: Path) -> None:
    with pytest.raises(ImageError):
        draw_matches(tmp_path / source if isinstance(source, str) else source, [(Hit("key", 1.0), result)], out)
    assert list(out.parent.iterdir()) == []


def test_the_query_may_be_a_name_or_content(query: Path, result: Path, out: Path) -> None:
    drawn = []
    for source in (query, str(query), query.read_bytes()):
        draw_matches(source, [(matching((40, 60, 350, 240)), result)], out)
        drawn.append(out.read_bytes())
    assert drawn[0] == drawn[1] == drawn[2]


def test_no_hits_show_the_query_alone(query: Path, out: Path, said: list[str]) -> None:
    draw_matches(query, [], out)
    assert near(pixels(out), TEAL, 0).any()
    assert said == ["nothing was found"]


@pytest.mark.parametrize(
    ("name", "head"),
    [("a.png", b"\x89PNG"), ("a.PNG", b"\x89PNG"), ("a.jpg", b"\xff\xd8\xff"), ("a.b.JPEG", b"\xff\xd8\xff")],
)
def test_the_ending_chooses_the_format(name: str, head: bytes, query: Path, result: Path, out: Path) -> None:
    file = out.with_name(name)
    draw_matches(query, [(Hit("key", 1.0), result)], file)
    assert file.read_bytes().startswith(head)
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("name", ["a.gif", "a", "a.png.txt", ".png", "a."])
def test_another_ending_is_refused_before_anything_is_read(name: str, tmp_path: Path, out: Path) -> None:
    with pytest.raises(UsageError, match=r"none of \.png, \.jpg, \.jpeg; use one of these"):
        draw_matches(tmp_path / "missing", [], out.with_name(name))
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("a/b c.jpg", "a/b c.jpg"),
        ("Größe.jpg", r"Gr\xf6\xdfe.jpg"),
        ("中", r"\u4e2d"),
        ("👍🏽", r"\U0001f44d\U0001f3fd"),
        ("two\nlines\t\x00\x1b[31m", r"two\nlines\t\x00\x1b[31m"),
        ("\udcff\u202e", r"\udcff\u202e"),
        ("", ""),
    ],
)
def test_any_text_can_be_drawn(key: str, shown: str, query: Path, result: Path, out: Path, said: list[str]) -> None:
    draw_matches(query, [(Hit(key, 1.0), result), (Hit(key, 1.0), Path(f"/none/{key}"))], out)
    assert said[1] == shown


@pytest.mark.parametrize("letter", ["W", "l", "ß", "/"])
def test_of_a_long_key_the_end_is_shown(letter: str, tmp_path: Path, result: Path, out: Path, said: list[str]) -> None:
    narrow = plain(tmp_path / "narrow.png", TEAL, (20, 900))
    for query in (result, narrow):
        draw_matches(query, [(Hit(letter * 5000 + "end.jpg", 1.0, confidence=0.5), query)], out)
        rank, key, facts = said[-3:]
        assert (rank, facts) == ("1", "not verified  ·  50% sure")
        assert key.startswith("…")
        assert key.endswith("end.jpg")
        font = ImageFont.load_default(draw.TEXT)
        assert font.getlength(key) + font.getlength(facts) < pixels(out).shape[1] - 2 * draw.MARGIN


@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 1), (2, 5)])
def test_any_shape_can_be_drawn(size: tuple[int, int], query: Path, tmp_path: Path, out: Path) -> None:
    odd = plain(tmp_path / "odd.png", BROWN, size)
    hit = matching((0, 0, 0, 0), query_region=Region(0, 0, 0, 0), region=Region(0, 0, 0, 0))
    for one, other in ((query, odd), (odd, query), (odd, odd)):
        draw_matches(one, [(hit, other), (hit, tmp_path / "missing")], out)
        assert pixels(out).shape[1] <= 1200


def test_a_jpeg_that_would_be_too_tall_is_refused(
    query: Path, result: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draw, "TALLEST_JPEG", 1000)
    hits = [(Hit("key", 1.0), result)] * 3
    with pytest.raises(UsageError, match=r"3 hits .* at most 1000; .*\.png"):
        draw_matches(query, hits, out.with_suffix(".jpg"))
    draw_matches(query, hits, out)
    assert list(out.parent.iterdir()) == [out]


def test_the_tallest_jpeg_can_be_written() -> None:
    Image.new("L", (1, draw.TALLEST_JPEG)).save(BytesIO(), "JPEG")
    with pytest.raises(OSError, match="writing image file"):
        Image.new("L", (1, draw.TALLEST_JPEG + 1)).save(BytesIO(), "JPEG")


def _full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def _half_then_full_disk(self: Image.Image, path: Path, *_: object, **__: object) -> None:
    path.write_bytes(b"half")
    _full_disk()


@pytest.mark.parametrize("before", [None, b"what was there"])
@pytest.mark.parametrize(
    ("target", "name", "failure"),
    [(Image.Image, "save", _half_then_full_disk), (Path, "replace", _full_disk)],
)
def test_a_failed_write_leaves_what_was_there_and_nothing_else(
    before: bytes | None,
    target: type,
    name: str,
    failure: Any,
    query: Path,
    result: Path,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if before:
        out.write_bytes(before)
    monkeypatch.setattr(target, name, failure)
    with pytest.raises(UsageError, match="No space left on device; name another file"):
        draw_matches(query, [(Hit("key", 1.0), result)], out)
    assert {p.name: p.read_bytes() for p in out.parent.iterdir()} == ({out.name: before} if before else {})


def test_a_place_that_cannot_be_written_is_named(query: Path, result: Path, out: Path) -> None:
    out.mkdir()  # a folder where the file should be
    (out.parent / "file").touch()
    for place in (out, out.parent / "none" / "a.png", out.parent / "file" / "a.png", out.parent / "a\0.png"):
        with pytest.raises(UsageError, match=r"cannot write .*; name another file"):
            draw_matches(query, [(Hit("key", 1.0), result)], place)
    assert sorted(p.name for p in out.parent.iterdir()) == ["file", out.name]


def test_an_empty_list_of_matches_is_none(query: Path, result: Path, out: Path, said: list[str]) -> None:
    nothing: Float32 = np.zeros((0, 4), np.float32)
    draw_matches(query, [(Hit("key", 1.0, matches=nothing), result)], out)
    assert not bright(pixels(out)).any()
    assert said[-1] == "not verified"
