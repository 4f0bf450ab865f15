"""The demonstration collection is its own ground truth, so its answers are proved here from the pixels."""

from __future__ import annotations

import importlib.util
import re
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

import resight.demo
from resight.demo import collection, sheet
from resight.demo.collection import Collection, Query, build
from resight.demo.sheet import SheetCell, SheetRow, cell_box, contact_sheet
from resight.errors import UsageError
from resight.types import Float32, Region

SHIFTS = [(0, 0), (5, 0), (-5, 0), (0, 5), (0, -5)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return build(tmp_path_factory.mktemp("demo"))


def _grey(path: Path) -> Float32:
    return np.asarray(cv2.imread(str(path), cv2.IMREAD_GRAYSCALE), np.float32)


def _likeness(query: Query, shown: Float32, name: str, picture: Float32) -> list[float]:
    """Correlation of the picture with the query laid over it by the true map, moved by each of SHIFTS."""
    height, width = picture.shape
    place = cv2.fillConvexPoly(np.zeros((height, width), np.uint8), query.places[name].astype(np.int32), 1)
    inside = cv2.erode(place, np.ones((15, 15), np.uint8), borderValue=0) > 0
    laid = cv2.warpPerspective(shown, query.homographies[name], (width, height))
    moved = [np.roll(laid, shift, axis=(0, 1))[inside] for shift in SHIFTS]
    return [float(v) for v in np.corrcoef([picture[inside], *moved])[0, 1:]]


def test_same_seed_same_bytes_and_another_seed_other_bytes(built: Collection, tmp_path: Path) -> None:
    first = built.pictures[0].parents[1]
    again = build(tmp_path / "again")
    written = sorted(p.relative_to(first) for p in first.rglob("*.*"))
    assert written == sorted(p.relative_to(tmp_path / "again") for p in (tmp_path / "again").rglob("*.*"))
    assert all((first / p).read_bytes() == (tmp_path / "again" / p).read_bytes() for p in written)
    np.testing.assert_equal([q.homographies for q in built.queries], [q.homographies for q in again.queries])
    rendered = collection._photograph(collection.SUBJECTS[0])
    (tmp_path / "pictures").mkdir()
    recipe = collection.PICTURE_VIEWS["tilted"]
    files = []
    for seed in (0, 1):
        view = collection._render(rendered, tmp_path / "pictures" / "astronaut-tilted.jpg", recipe, [], seed)
        files.append(view.path.read_bytes())
    assert files[0] == built.pictures[0].read_bytes() != files[1]


def test_the_collection_returned_is_what_lies_in_the_folders(built: Collection) -> None:
    folder = built.pictures[0].parents[1]
    assert sorted(built.pictures) == sorted((folder / "pictures").iterdir())
    assert sorted(q.path for q in built.queries) == sorted((folder / "queries").iterdir())
    assert 80 <= len(built.pictures) <= 100
    for path in (*built.pictures, *(q.path for q in built.queries)):
        with Image.open(path) as picture:
            assert 400 <= max(picture.size) <= 640, path.name


def test_every_query_has_its_subjects_views_as_answers(built: Collection) -> None:
    names = {path.name for path in built.pictures}
    for query in built.queries:
        assert len(query.relevant) >= 3
        assert query.relevant == {n for n in names if n.startswith(f"{query.subject}-")}
        assert query.relevant == set(query.homographies) == set(query.places)


def test_the_true_maps_lay_each_query_on_the_same_pixels(built: Collection) -> None:
    pictures = {path.name: _grey(path) for path in built.pictures}
    found = []
    for query in built.queries:
        shown = _grey(query.path)
        found += [_likeness(query, shown, name, pictures[name]) for name in sorted(query.relevant)]
    likeness = np.array(found)
    assert np.all(likeness[:, 0] > likeness[:, 1:].max(axis=1)), "a map moved by 5 pixels fits better than the true one"
    assert np.median(likeness[:, 0]) > 0.85
    assert np.all(likeness[:, 0] > 0.25)  # the least alike are those where covers hide much of both


def test_a_place_is_inside_its_picture_and_holds_much_of_the_query(built: Collection) -> None:
    for query in built.queries:
        height, width = _grey(query.path).shape
        for name, place in query.places.items():
            rows, columns = _grey(built.pictures[0].parent / name).shape
            assert np.all(place >= -0.5)
            assert np.all(place <= (columns - 0.5, rows - 0.5))
            back = cv2.perspectiveTransform(place[None], np.linalg.inv(query.homographies[name]))
            assert cv2.contourArea(back.astype(np.float32)) > 0.5 * width * height, (query.path.name, name)


def test_parts_with_different_roles_share_no_columns() -> None:
    """Pictures are made of these parts alone, so no unrelated picture can share a pixel with a subject or a query."""
    roles = (collection.SUBJECTS, collection.SCENES, collection.QUERY_COVERS, collection.UNRELATED)
    for one, other in combinations(roles, 2):
        for a in one:
            assert not [b for b in other if a.file == b.file and a.left < b.right and b.left < a.right]
    assert len({part.file for part in collection.SUBJECTS}) == len(collection.SUBJECTS) == 12


def test_the_credits_name_a_licence_for_every_photograph_used(built: Collection) -> None:
    text = resight.demo.__doc__ or ""
    licences = dict(re.findall(r"^(\w+) +(public domain|CC0|CC BY 2\.0|no known restrictions) {2,}\S", text, re.M))
    parts = (*collection.SUBJECTS, *collection.SCENES, *collection.QUERY_COVERS, *collection.UNRELATED)
    assert set(licences) == {Path(part.file).stem for part in parts}
    assert (built.pictures[0].parents[1] / "CREDITS.txt").read_text(encoding="utf-8") == text


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape("pip install resight[demo]")):
        build(tmp_path)


def test_sheet_has_its_size_frames_and_regions(tmp_path: Path) -> None:
    Image.new("RGB", (404, 304), (0, 0, 255)).save(tmp_path / "blue.png")  # twice the size of the area it is shown in
    good = SheetCell(tmp_path / "blue.png", "score 1.0", True, Region(100, 50, 200, 150))
    bad = SheetCell(tmp_path / "blue.png", "a caption that is much too long for its cell " * 3, False)
    contact_sheet([SheetRow(tmp_path / "blue.png", "blue", [good, bad])] * 3, tmp_path / "sheet.png")
    pixels = np.asarray(Image.open(tmp_path / "sheet.png"))
    assert pixels.shape == (62 + 3 * (160 + 44 + 16) - 16 + 28, 28 + 3 * 210 + 22 + 14 + 28, 3)
    for row in range(3):
        for column, colour in enumerate((sheet.QUERY, sheet.RIGHT, sheet.WRONG)):
            left, top, right, bottom = cell_box(row, column)
            edge = np.concatenate([pixels[top, left:right], pixels[bottom - 1, left:right], pixels[top:bottom, left]])
            assert np.all(edge == colour)
            assert np.all(pixels[top + 10, left + 10] == (0, 0, 255))
        left, top, _, _ = cell_box(row, 1)
        marked = np.argwhere(np.all(pixels[top : top + 160, left : left + 210] == sheet.MARK, axis=2)) - sheet.FRAME
        assert marked.min(axis=0).tolist() == [25, 50]  # y, x: half of the region's
        assert marked.max(axis=0).tolist() == [100, 150]
    assert np.all(pixels[:, -sheet.MARGIN :] == sheet.PAPER)  # nothing, not even long text, runs into the margin


def test_ten_rows_of_five_fit_a_page_and_no_rows_give_a_header(built: Collection, tmp_path: Path) -> None:
    cells = [SheetCell(path, "score 1.0", True) for path in built.pictures[:5]]
    contact_sheet([SheetRow(built.queries[0].path, "q", cells)] * 10, tmp_path / "ten.jpg")
    contact_sheet([], tmp_path / "none.png")
    with Image.open(tmp_path / "ten.jpg") as ten, Image.open(tmp_path / "none.png") as none:
        assert ten.width <= 1400
        assert none.height < 100
