"""A real Chromium before a real server, over a collection whose answers are known."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from resight import Index

from ..support.pictures import Pixels, texture, write

expect.set_options(timeout=30_000)  # a slow machine is no failure
POSTER, BANNER = texture(100), texture(101)
OTHERS = 50  # more than a page of the collection


def views(name: str, pixels: Pixels, *, background: int) -> dict[str, Pixels]:
    """The same thing seen again, by the picture's key."""
    scene = texture(background, 400)
    scene[80:320, 100:340] = pixels
    turned = np.ascontiguousarray(np.rot90(pixels))
    smaller = np.asarray(cv2.resize(pixels, None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA), np.uint8)
    return {
        f"{name}/whole.png": pixels,
        f"{name}/turned.png": turned,
        f"{name}/small.png": smaller,
        f"{name}/scene.png": scene,
    }


POSTERS, BANNERS = views("posters", POSTER, background=102), views("banners", BANNER, background=103)


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, and ``query.png`` beside it: the poster on its left half, the banner on its right one."""
    folder = tmp_path_factory.mktemp("collection")
    others = {f"others/{seed:02}.png": texture(seed) for seed in range(OTHERS)}
    with Index.create(folder / "pictures.resight") as index:
        for key, pixels in {**POSTERS, **BANNERS, **others}.items():
            path = folder / "pictures" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            index.add(write(path, pixels), key=key)
    write(folder / "query.png", np.hstack([POSTER, BANNER]))
    return folder


@contextmanager
def serving(index: Path, *options: str) -> Iterator[str]:
    """The address of a server in a process of its own, as it says it on stderr."""
    command = [sys.executable, "-c", "from resight.cli import main; main()", "serve", str(index), "--port", "0"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if found := re.search(r"http://127\.0\.0\.1:\d+/", line):
                    yield found.group()
                    break
            else:
                pytest.fail(f"the server did not start: {''.join(said)}")
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def address(collection: Path) -> Iterator[str]:
    with serving(collection / "pictures.resight") as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        assert not os.environ.get("CI"), "there is no Chromium, and CI demands the tests of the web page"
        pytest.skip("there is no Chromium: apt install chromium")
    with sync_playwright() as playwright:
        # Without it a process that emulates a graphics card computes beside the tests.
        browser = playwright.chromium.launch(executable_path=found, args=["--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, and what its console complained of. Complaints that no test expects fail it."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def hear(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.complaints.append(said.text)

    def expect_complaint(self, part: str) -> None:
        assert [text for text in self.complaints if part in text]
        self.complaints = [text for text in self.complaints if part not in text]


Opener = Callable[..., Watched]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Opener]:
    """Opens an address in a browser that has forgotten everything; options are those of a Playwright context."""
    opened: list[Watched] = []

    def opener(address: str, **options: object) -> Watched:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})  # type: ignore[arg-type]
        watched = Watched(context.new_page())
        opened.append(watched)
        page = watched.page
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("console", watched.hear)
        page.goto(address)
        return watched

    yield opener
    for watched in opened:
        watched.page.context.close()
    assert [watched.complaints for watched in opened if watched.complaints] == []


@pytest.fixture
def page(open_page: Opener, address: str) -> Page:
    return open_page(address).page
