"""Documentation that can be checked is checked."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from .support.commands import run, run_json
from .support.pictures import texture, write
from .support.scenes import views, write_hdf5

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
WITH_EXAMPLES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_examples_in_docstrings_run(path: Path) -> None:
    words = path.relative_to(SOURCE).with_suffix("").parts
    name = ".".join(word for word in words if word != "__init__")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert not failed


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["API.md", "CLI.md", "OPTIONS.md"])
def test_generated_pages_are_current(page: str) -> None:
    assert (ROOT / "docs" / page).read_text() == generator().PAGES[page](), "stale: run `make docs`"


def test_every_option_and_every_argument_is_explained() -> None:
    for page in ("CLI.md", "OPTIONS.md"):
        assert not re.search(r"\| *(None)? *\|$", generator().PAGES[page](), re.MULTILINE)


def test_the_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    (tmp_path / "holiday").mkdir()
    for seed, name in enumerate(["holiday/beach.jpg", "holiday/tower.jpg", "query.jpg"]):
        write(tmp_path / name, texture(seed % 2 + 1))  # the query shows the beach
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith(f"{tmp_path}/holiday/beach.jpg ")


def test_the_interop_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "INTEROP.md").read_text()
    commands = re.findall(r"^resight ([^#\n]*)", text, re.MULTILINE)
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    scenes = [views(scene, dimension=16) for scene in range(4)]
    write_hdf5(tmp_path / "features.h5", {name: v for scene in scenes for name, v in scene.items()})
    write_hdf5(tmp_path / "queries.h5", {"query.jpg": scenes[2]["scene2/view1.jpg"]})
    monkeypatch.chdir(tmp_path)
    for command in commands:
        run(*command.split(), *(["--words", 50] if command.startswith("train") else []))
    assert (tmp_path / "pairs.txt").read_text().startswith("scene0/view0.jpg scene0/view1.jpg\n")
    exec(compile(block, "INTEROP.md", "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "scene2/view1.jpg"
    assert [line[:6] == line.split()[1][:6] for line in said[1:]] == [True] * 12  # three views: three pairs of each


def test_the_folder_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "FOLDERS.md").read_text()
    commands = re.findall(r"^resight ([^#\n]*)", text, re.MULTILINE)
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "photos" / "holiday").mkdir(parents=True)
    for seed, name in enumerate(["photos/a.png", "photos/holiday/b.png"]):
        write(tmp_path / name, texture(seed, size=48))
    monkeypatch.chdir(tmp_path)
    shown = [run(*shlex.split(command), *(["--processes", 1] if "index" in command else [])) for command in commands]
    assert "1 of 2 pictures would be removed" in shown[-1]
    (tmp_path / "photos/holiday/b.png").rename(tmp_path / "photos/c.png")
    exec(compile(block, "FOLDERS.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path}/photos/a.png None None",
        f"{tmp_path}/photos/c.png {tmp_path}/photos/holiday/b.png None",
    ]
    assert run_json("info", "photos.resight")["pictures"] == 2


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
