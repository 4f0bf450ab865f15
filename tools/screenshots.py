"""Renew the pictures of the page in docs/: results, groups and duplicates of the demo, on a desktop and on a phone.

    python tools/screenshots.py [FOLDER]

Needs Playwright's Python package and a Chromium, as tests/browser does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageOps
from playwright.sync_api import Page, expect, sync_playwright

from resight import Index, list_pictures
from resight.demo.collection import build

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def with_copies(pictures: Path) -> None:
    """A photograph in three more sizes and shapes."""
    whole = Image.open(pictures / "astronaut-turned.jpg").convert("RGB")
    whole.resize((whole.width // 2, whole.height // 2)).save(pictures / "astronaut-small.jpg", quality=60)
    ImageOps.mirror(whole).save(pictures / "astronaut-mirrored.jpg")
    ImageOps.expand(whole, 30, "white").save(pictures / "astronaut-framed.jpg")


def look(page: Page, address: str, queries: Path, folder: Path) -> None:
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.goto(address)
        page.locator("input[type=file]").first.set_input_files(sorted(queries.glob("astronaut*"))[0])
        expect(page.locator("main h1")).to_contain_text("found")
        shoot(page, folder / f"page-{name}.png")
        page.goto(f"{address}#/groups")
        expect(page.locator("main h1")).to_contain_text("groups")
        shoot(page, folder / f"page-groups-{name}.png")
        page.goto(f"{address}#/duplicates?kind=copy")
        expect(page.locator("main h1")).to_have_text("Duplicates")
        start, group = page.get_by_role("button", name="Look for groups"), page.locator(".group").first
        expect(start.or_(group)).to_be_visible()
        if start.count():
            start.click()
        expect(group).to_be_visible(timeout=120_000)
        shoot(page, folder / f"page-duplicates-{name}.png")


def shoot(page: Page, file: Path) -> None:
    """With all pictures that are on the screen."""
    seen = "image => image.getBoundingClientRect().top > innerHeight || (image.complete && image.naturalWidth > 0)"
    page.wait_for_load_state("networkidle")
    page.wait_for_function(f"[...document.querySelectorAll('main img')].every({seen})")
    page.screenshot(path=file)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs"
    with tempfile.TemporaryDirectory() as temporary:
        build(Path(temporary))
        with_copies(Path(temporary) / "pictures")
        place = Path(temporary) / "demo.resight"
        with Index.create(place) as index:
            for _ in index.add_files(list_pictures([Path(temporary) / "pictures"]).pictures):
                pass
            index.learn.links()
        command = [sys.executable, "-m", "resight", "serve", str(place), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
            assert server.stderr
            address = next(
                word.rstrip(";") for line in server.stderr for word in line.split() if word.startswith("http")
            )
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            try:
                look(browser.new_page(bypass_csp=True), address, Path(temporary) / "queries", folder)
            finally:
                browser.close()
                server.terminate()


if __name__ == "__main__":
    main()
