"""`resight train --held-out`: from pictures to a recipe that a search takes, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from resight.cli import app
from resight.evaluation.fitting import MIXTURES
from resight.options import DensityOptions
from resight.recipes import RECIPES, recipe

from ..support.commands import run, run_json
from ..support.pictures import texture, write

FEW = ("--words", 20, "--processes", 1)


@pytest.fixture
def learning(tmp_path: Path) -> Path:
    folder = tmp_path / "learning"
    folder.mkdir()
    for seed in (90, 91, 92):
        write(folder / f"{seed}.png", texture(seed))
    return folder


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Three groups of two views (crops)."""
    for number in range(6):
        folder, shift = tmp_path / "held" / str(number // 2), 20 * (number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"{number}.png", texture(number // 2, size=280)[shift : shift + 200, shift : shift + 200])
    return tmp_path / "held"


def test_from_pictures_to_a_search_with_the_fitted_recipe(learning: Path, held: Path, tmp_path: Path) -> None:
    own, index = tmp_path / "own.npz", tmp_path / "i.resight"
    facts = run_json("train", learning, "--out", own, "--held-out", held, *FEW, "--set", "features.contrast=0.02")
    fitted = facts["fitted"]
    assert [each["mixture"] for each in fitted["figures"]] == list(MIXTURES)
    figures = {each["mixture"]: each["map"] for each in fitted["figures"]}
    assert figures[fitted["mixture"]] == max(figures.values())
    assert (fitted["base"], fitted["pictures"], fitted["queries"], fitted["skipped"]) == ("density", 6, 6, [])
    toml = tmp_path / "own.toml"
    assert fitted["recipe"] == str(toml)
    written = recipe(str(toml))
    assert written.scoring == DensityOptions(mixture=fitted["mixture"])
    assert written.features.contrast == 0.02
    assert "fitted on 6 pictures of held" in written.description
    assert facts["fingerprint"] in written.description
    assert sorted(p.name for p in tmp_path.iterdir()) == ["held", "learning", "own.npz", "own.toml"]
    chosen = ("--vocabulary", own, "--set", "features.contrast=0.02", "--processes", 1)
    run("index", held, "--into", index, "--relative-to", held, *chosen)
    hits = run_json("search", index, held / "1" / "2.png", "--recipe", toml)["results"][0]["hits"]
    assert hits[0]["key"] == "1/2.png"


def test_the_table_and_unreadable_pictures(learning: Path, held: Path, tmp_path: Path) -> None:
    (held / "0" / "broken.png").write_bytes(b"no picture")
    (tmp_path / "own.toml").write_text("an older one")
    words = ("train", learning, "--out", tmp_path / "own.npz", "--held-out", held, "--recipe", "density-hamming", *FEW)
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 1, result.output
    first, title, *rows, last = result.stdout.splitlines()
    assert "own.npz: 20 words" in first
    assert title.split() == ["λ", "mAP"]
    assert [float(row.split()[0]) for row in rows] == list(MIXTURES)
    (chosen,) = (row.split() for row in rows if row.rstrip().endswith("best"))
    assert f"own.toml: density-hamming with λ = {chosen[0]}, fitted on 6 pictures" in last
    written = (tmp_path / "own.toml").read_text()
    assert written.startswith('base = "density-hamming"\ndescription = "as density-hamming, λ fitted on 6 pictures of')
    assert written.endswith(f"\n\n[scoring]\nmixture = {chosen[0]}\n")
    assert result.stderr.count("skipped") == 1
    assert "broken.png" in result.stderr


def test_a_recipe_that_keeps_codes(learning: Path, held: Path, tmp_path: Path) -> None:
    words = ("train", learning, "--out", tmp_path / "own.npz", "--held-out", held, "--recipe", "knn", *FEW)
    assert "add --set vocabulary.codes=8" in run_json(*words, code=2)["error"]
    assert not (tmp_path / "own.npz").exists()
    run(*words, "--set", "vocabulary.codes=8", "--set", "vocabulary.iterations=2")
    fitted = recipe(str(tmp_path / "own.toml"))
    assert (fitted.indexing, fitted.assign) == (RECIPES["knn"].indexing, RECIPES["knn"].assign)


def refused(held: Path | None, learning: Path, out: Path, *more: object) -> str:
    given: tuple[Any, ...] = ("--held-out", held) if held else ()
    return str(run_json("train", learning, "--out", out, *given, *FEW, *more, code=2)["error"])


def test_what_is_refused_before_any_work(learning: Path, held: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "own.npz"
    out.parent.mkdir()
    assert "give --held-out" in refused(None, learning, out, "--recipe", "density")
    for wrong in ("bow-l1", "magic", "own.toml"):
        error = refused(held, learning, out, "--recipe", wrong)
        assert f"{wrong!r} has no λ" in error
        assert error.endswith("recipes that have: density-hamming, knn, knn-exact, density")
    assert "name the vocabulary own.npz" in refused(held, learning, out.with_suffix(".toml"))
    assert "no folder with two or more pictures" in refused(learning.parent / "out", learning, out)
    assert "not a folder" in refused(tmp_path / "nowhere", learning, out)
    assert "in no group" in refused(learning, held, out)
    assert list(out.parent.iterdir()) == []


def test_held_out_pictures_must_be_others(learning: Path, held: Path, tmp_path: Path) -> None:
    """Whatever they are called: a link to a picture is that picture."""
    (learning / "link.png").symlink_to(held / "1" / "2.png")
    (learning / "other.png").symlink_to(held / "1" / "3.png")
    error = refused(held, learning, tmp_path / "own.npz")
    assert error.startswith(f"2 pictures to learn from would also be held out, such as {held}/1/2.png")
    assert not (tmp_path / "own.npz").exists()


def test_held_out_pictures_that_find_nothing(learning: Path, held: Path, tmp_path: Path) -> None:
    for file in held.rglob("*.png"):
        file.write_bytes(b"no picture")
    error = refused(held, learning, tmp_path / "own.npz")
    assert "λ was not fitted" in error
    assert "(6 could not be read); the vocabulary is written" in error
    assert (tmp_path / "own.npz").exists()
    assert not (tmp_path / "own.toml").exists()
