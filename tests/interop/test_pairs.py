"""Lists of pairs, and who can read them."""

from __future__ import annotations

import os
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from resight import Index
from resight.errors import UsageError
from resight.interop import best_pairs, linked_pairs, names_for_pairs

from ..support.commands import PROGRAM, run, run_json
from ..support.pictures import texture
from ..support.scenes import run_pycolmap

SCENES, EACH = 4, 3


def made(folder: Path, *keys: str) -> Path:
    """An index of pictures, ``EACH`` alike and next to each other."""
    with Index.create(folder / "i.resight") as index:
        for number, key in enumerate(keys):
            index.add(texture(number // EACH)[number % EACH * 8 :], key=key)
    return folder / "i.resight"


def keys(prefix: str) -> list[str]:
    return [f"{prefix}/s{scene}/{number}.png" for scene in range(SCENES) for number in range(EACH)]


def expected(names: list[str]) -> list[tuple[str, str]]:
    scenes = [names[i : i + EACH] for i in range(0, len(names), EACH)]
    return [pair for scene in scenes for pair in combinations(scene, 2)]


def test_each_pair_is_listed_once_and_in_order(tmp_path: Path) -> None:
    """Every picture finds the two others of its scene: three pairs for each scene, whoever found whom."""
    place = made(tmp_path, *keys("/data/im"))
    lines = run("pairs", place, "--top", EACH - 1, "--recipe", "verified").splitlines()
    wanted = [" ".join(pair) for pair in expected([k.removeprefix("/data/im/") for k in keys("/data/im")])]
    assert lines == wanted == sorted(set(wanted))
    out = tmp_path / "pairs.txt"
    facts = run_json("pairs", place, "--top", EACH - 1, "--recipe", "verified", "--out", out)
    assert (facts["pictures"], facts["pairs"]) == (SCENES * EACH, len(wanted))
    assert out.read_text().splitlines() == lines
    found = run_json("pairs", place, "--top", EACH - 1, "--recipe", "verified", "--relative-to", "/data")["pairs"]
    assert found == [[f"im/{a}", f"im/{b}"] for a, b in (line.split() for line in lines)]


def test_it_is_what_searches_by_key_find(tmp_path: Path) -> None:
    with Index.open(made(tmp_path, *keys("im"))) as index:
        names = names_for_pairs(index)
        found = list(best_pairs(index, names, top=5, recipe="bow-cosine"))
        wanted = {
            tuple(sorted((key, hit.key)))
            for key in names
            for hit in index.search(key=key, top=5, recipe="bow-cosine").hits
        }
    assert found == sorted(wanted)
    assert len(found) > len(expected(keys("im")))


def test_links_are_pairs_with_counts(tmp_path: Path) -> None:
    """As many as the pictures of each scene have found; hloc and COLMAP get the two names alone."""
    place = made(tmp_path, *keys("im"))
    error = run_json("pairs", place, "--links", code=2)["error"]
    assert error.endswith("has no links between its pictures yet; find them with `resight link`")
    with Index.open(place) as index:
        index.learn.links()
        found = list(linked_pairs(index, names_for_pairs(index), top=20))
        counts = {tuple(sorted((key, hit.key))): hit.inliers for key in index for hit in index.links(key)}
        assert found == [(*pair, counts[pair]) for pair in sorted(counts)]
    assert [pair[:2] for pair in found] == expected(keys("im"))
    assert run("pairs", place, "--links").splitlines() == [f"{one} {other}" for one, other, _ in found]
    assert run_json("pairs", place, "--links")["pairs"] == [list(pair) for pair in found]
    run("pairs", place, "--links", "--csv", "--out", tmp_path / "pairs.csv")
    lines = (tmp_path / "pairs.csv").read_text().splitlines()
    assert lines == ["name1,name2,inliers", *(f"{one},{other},{inliers}" for one, other, inliers in found)]
    assert len(run("pairs", place, "--links", "--top", 1).splitlines()) < len(found)


def test_options_that_would_have_no_effect_are_refused(tmp_path: Path) -> None:
    place = made(tmp_path)
    assert "give one of" in run_json("pairs", place, "--csv", code=2)["error"]
    run("pairs", place, "--csv", code=2)
    for options in (["--links", "--recipe", "verified"], ["--links", "--set", "verify.shortlist=10"]):
        assert "leave" in run_json("pairs", place, *options, code=2)["error"]


def test_keys_that_are_names_stay_as_they_are(tmp_path: Path) -> None:
    with Index.open(made(tmp_path, "db/a.png", "db/b.png")) as index:
        assert names_for_pairs(index) == {"db/a.png": "db/a.png", "db/b.png": "db/b.png"}
        assert names_for_pairs(index, Path("db")) == {"db/a.png": "a.png", "db/b.png": "b.png"}
        with pytest.raises(UsageError, match=r"not inside .*other: 'db/a.png', 'db/b.png'; give a folder"):
            names_for_pairs(index, Path("other"))


def test_names_that_a_list_cannot_hold_are_refused_first(tmp_path: Path) -> None:
    bad = ["a b.png", "c\td.png", "#e.png", " f.png", "g\u00a0h.png", "i\nj.png"]
    place = made(tmp_path, "fine.png", *bad)
    error = run_json("pairs", place, "--out", tmp_path / "pairs.txt", code=2)["error"]
    assert error.startswith("6 names have white space in them or begin with '#'")
    assert "'a b.png'" in error
    assert "and 1 more; rename" in error
    assert not (tmp_path / "pairs.txt").exists()


def test_nothing_to_pair(tmp_path: Path) -> None:
    assert run("pairs", made(tmp_path)) == ""
    (tmp_path / "one").mkdir()
    assert run("pairs", made(tmp_path / "one", "/data/a.png")) == ""
    error = run_json("pairs", tmp_path / "i.resight", "--out", tmp_path / "no/p.txt", code=2)["error"]
    assert "there is no folder" in error


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = made(tmp_path, "a.png", "b.png")
    assert "is a folder; name a file" in run_json("pairs", place, "--out", tmp_path, code=2)["error"]

    def full(pair: tuple[str, str]) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("resight.cli.pairing._line", full)
    (tmp_path / "pairs.txt").write_text("before")
    error = run_json("pairs", place, "--out", tmp_path / "pairs.txt", code=2)["error"]
    assert "pairs.txt': No space left on device; name another file" in error
    assert (tmp_path / "pairs.txt").read_text() == "before"
    assert not (tmp_path / "pairs.txt.new").exists()


def test_more_wanted_than_there_are(tmp_path: Path) -> None:
    assert run("pairs", made(tmp_path, "a.png", "b.png"), "--top", 10**12) == "a.png b.png\n"


def test_names_that_are_no_text_are_written_as_they_are(tmp_path: Path) -> None:
    place = made(tmp_path, os.fsdecode(b"a\xff.png"), "b.png")
    run("pairs", place, "--out", tmp_path / "pairs.txt")
    said = subprocess.run([*PROGRAM, "pairs", str(place)], stdout=subprocess.PIPE, check=True).stdout
    assert said == (tmp_path / "pairs.txt").read_bytes() == b"a\xff.png b.png\n"


READ = """
with pycolmap.Database.open(sys.argv[1]) as database:
    camera = pycolmap.Camera(model="SIMPLE_PINHOLE", width=640, height=480, params=[500, 320, 240])
    camera = database.write_camera(camera)
    for name in sys.argv[3:]:
        database.write_image(pycolmap.Image(name=name, camera_id=camera))
options = pycolmap.ImportedPairingOptions(match_list_path=sys.argv[2])
with pycolmap.Database.open(sys.argv[1]) as database:
    names = {image.image_id: image.name for image in database.read_all_images()}
    for one, other in pycolmap.ImportedPairGenerator(options, database).all_pairs():
        print(names[one], names[other])
"""


def test_pycolmap_and_hloc_read_the_list(tmp_path: Path) -> None:
    place, out = made(tmp_path, *keys("/data/im")), tmp_path / "pairs.txt"
    run("pairs", place, "--top", EACH - 1, "--recipe", "verified", "--out", out)
    # As hloc does: two names on each line, with white space between them.
    by_hloc = [tuple(line.split()) for line in out.read_text().splitlines()]
    assert by_hloc == expected([k.removeprefix("/data/im/") for k in keys("/data/im")])
    names = [key.removeprefix("/data/im/") for key in keys("/data/im")]
    by_colmap = run_pycolmap(READ, tmp_path / "d.db", out, *names)
    assert by_colmap == out.read_text()
