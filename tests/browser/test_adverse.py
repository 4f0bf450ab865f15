"""The web page when answers are late, files are gone, names are no text, and people change their mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote_plus

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect

from resight import Index

from ..support.pictures import texture, write
from .conftest import BANNER, OTHERS, POSTER, Opener, serving
from .looking import draw, keys, settled


@pytest.fixture
def small(tmp_path: Path) -> Iterator[str]:
    """The address of a server over three pictures, to be changed."""
    with Index.create(tmp_path / "small.resight") as index:
        for seed in range(3):
            index.add(write(tmp_path / f"{seed}.png", texture(seed)), key=f"{seed}.png")
    with serving(tmp_path / "small.resight") as address:
        yield address


@pytest.fixture(scope="module")
def two_things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over the poster and the banner, beside each other and far apart."""
    folder = tmp_path_factory.mktemp("two")
    scene = texture(104, 700)
    scene[10:250, 10:250], scene[400:640, 400:640] = POSTER, BANNER
    with Index.create(folder / "two.resight") as index:
        for name, pixels in {"both.png": np.hstack([POSTER, BANNER]), "scene.png": scene}.items():
            index.add(write(folder / name, pixels), key=name)
    with serving(folder / "two.resight") as address:
        yield address


class Held:
    """Requests that are held back until they are let go."""

    def __init__(self, page: Page, addresses: str, method: str = "GET") -> None:
        self.page, self.method = page, method
        self.waiting: list[Route] = []
        page.route(addresses, self._hold)

    def _hold(self, route: Route) -> None:
        if route.request.method == self.method:
            self.waiting.append(route)
        else:
            route.continue_()

    def next(self) -> Route:
        for _ in range(600):
            if self.waiting:
                return self.waiting.pop(0)
            self.page.wait_for_timeout(50)
        pytest.fail("nothing was asked")


def test_what_is_kept_while_others_are_removed_stays(open_page: Opener, small: str) -> None:
    page = open_page(f"{small}#/collection").page
    settled(page)
    held = Held(page, "**/v1/images/*", "DELETE")
    buttons = {
        name: page.get_by_role("button", name=f"Mark {name} to be removed") for name in ("0.png", "1.png", "2.png")
    }
    for button in buttons.values():
        button.click()
    page.get_by_role("button", name="Remove 3 pictures").click()
    first = held.next()
    expect(buttons["0.png"]).to_be_disabled()  # it cannot be called back
    buttons["1.png"].click()
    expect(buttons["1.png"]).to_have_text("Remove")
    first.continue_()
    last = held.next()
    assert last.request.url.endswith("/2.png")
    last.continue_()
    expect(page.get_by_role("heading", level=1)).to_have_text("Collection of 1 picture")
    expect(page.locator(".card[data-key='1.png']")).to_have_count(1)
    assert not held.waiting


def test_the_match_of_a_part_is_that_of_the_part(open_page: Opener, two_things: str) -> None:
    page = open_page(f"{two_things}#/search?key=both.png&region=250,5,220,230").page
    card = page.locator(".card[data-key='scene.png']")
    with page.expect_response("**/v1/compare?*") as asked:
        card.get_by_role("link").click()
    banner = asked.value.json()["query_region"]  # the poster, on the left, is elsewhere in the scene
    assert banner["x"] >= 249
    expect(page.locator(".stage path.ends").first).to_be_attached()


def test_a_match_that_comes_late_is_not_shown_as_another(open_page: Opener, address: str) -> None:
    page = open_page(address).page
    settled(page)
    held = Held(page, "**/v1/picture?key=posters%2Fturned.png")
    match = "#/match?key=posters%2Fwhole.png&alone=1&with=posters%2F"
    page.evaluate("(hash) => (location.hash = hash)", f"{match}turned.png")
    late = held.next()
    page.evaluate("(hash) => (location.hash = hash)", f"{match}small.png")
    result = page.get_by_role("img", name="Result")
    expect(result).to_have_attribute("src", re.compile("small.png"))
    with page.expect_event("requestfinished", lambda request: "turned.png" in request.url):
        late.continue_()
    page.wait_for_timeout(300)  # for what should not happen
    page.get_by_label("Lines").uncheck()
    expect(page.locator(".stage path")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("small.png")
    expect(result).to_have_attribute("src", re.compile("small.png"))


def test_more_results_come_also_to_those_who_looked_at_one_meanwhile(open_page: Opener, address: str) -> None:
    page = open_page(f"{address}#/search?key=posters%2Fwhole.png").page
    cards = page.locator(".found .card")
    expect(cards).to_have_count(24)
    held = Held(page, "**/v1/search?*offset=24*")
    page.get_by_role("button", name="More results").click()
    late = held.next()
    cards.first.get_by_role("link").click()
    expect(page.locator(".stage path.ends").first).to_be_attached()
    page.go_back()
    expect(cards.first.get_by_role("link")).to_be_focused()
    late.continue_()
    expect(cards).to_have_count(48)
    expect(cards.first.get_by_role("link")).to_be_focused()
    page.unroute("**/v1/search?*offset=24*")
    page.get_by_role("button", name="More results").click()
    expect(cards).to_have_count(OTHERS + 7)
    assert len(keys(cards)) == OTHERS + 7
    expect(page.get_by_role("button", name="More results")).to_be_hidden()


LATIN = "caf\udce9/\udcc3\u00e9 100%+1?.png"  # a name in Latin-1, and much else that addresses take for their own


def test_pictures_whose_names_are_no_text_are_opened_and_removed(open_page: Opener, tmp_path: Path) -> None:
    names = {"a.png": POSTER, LATIN: POSTER[10:220, 10:220], "z.png": texture(1)}
    with Index.create(tmp_path / "latin.resight") as index:
        for number, (key, pixels) in enumerate(names.items()):
            index.add(write(tmp_path / f"{number}.png", np.ascontiguousarray(pixels)), key=key)
    with serving(tmp_path / "latin.resight") as address:
        page = open_page(f"{address}#/search?key=a.png").page
        confirmed = page.locator(".confirmed .card")
        confirmed.get_by_role("link").click()
        expect(page).to_have_url(re.compile("with=caf%E9%2F%C3%C3%A9%20100%25%2B1%3F.png$"))
        shown = page.get_by_role("img", name="Result")
        expect(shown).to_be_visible()
        page.reload()
        assert shown.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 210
        page.get_by_role("link", name="Search from here").click()
        expect(confirmed.locator(".name")).to_have_text("a.png")
        page.locator(".asked img").evaluate("(image) => image.decode()")
        page.reload()
        confirmed.get_by_role("link").click()
        expect(page.locator(".stage path.ends").first).to_be_attached()
        page.get_by_role("link", name="Collection").click()
        buttons = page.get_by_role("button", name="Mark")
        expect(buttons).to_have_count(3)
        for button in buttons.all():
            button.click()
        page.get_by_role("button", name="Remove 3 pictures").click()
        expect(page.get_by_text("The collection is empty")).to_be_visible()
        expect(page.get_by_text(f"resight index FOLDER --into {tmp_path / 'latin.resight'}")).to_be_visible()


def test_addresses_of_keys_are_read_and_written_as_in_python(page: Page) -> None:
    """There bytes that are no text are lone surrogates, which Playwright does not pass on: hence the numbers."""
    script = """(texts) => import("/static/api.js").then(({ quote, unquote }) => texts.map(unquote).map((text) =>
        [Array.from(text, (letter) => letter.codePointAt(0)), quote(text)]))"""
    texts = [
        "a%2fb+c",
        "%E9",
        "%E2%82",
        "%E2%82%ACx%AC",
        "%ED%A0%80",
        "%F0%9F%90%88%9F",
        "%F5%80%80%80",
        "100%",
        "%zz%4",
    ]
    expected = [unquote_plus(text, errors="surrogateescape") for text in texts]
    assert page.evaluate(script, texts) == [
        [list(map(ord, text)), quote(text, safe="", errors="surrogateescape")] for text in expected
    ]


def test_no_overlay_of_a_picture_that_cannot_be_shown(open_page: Opener, address: str) -> None:
    watched = open_page(address)
    page = watched.page
    settled(page)
    page.route("**/v1/picture?key=posters%2Fsmall.png", lambda route: route.fulfill(status=404, body="{}"))
    match = "#/match?key=posters%2Fwhole.png&alone=1&with=posters%2F"
    page.evaluate("(hash) => (location.hash = hash)", f"{match}turned.png")
    overlay = page.get_by_label("Overlay")
    page.get_by_text("Overlay").click()
    expect(page.locator(".stage canvas")).to_be_visible()
    page.evaluate("(hash) => (location.hash = hash)", f"{match}small.png")
    expect(overlay).to_be_disabled()
    reason = "There is no overlay, as the result cannot be shown."
    expect(overlay).to_have_accessible_description(reason)
    expect(page.get_by_role("status")).to_contain_text(reason)
    expect(page.get_by_role("img", name="Result, which cannot be shown")).to_have_text(re.compile("cannot be shown"))
    expect(page.locator(".stage img")).to_have_count(1)
    expect(page.locator(".stage path.ends").first).to_be_attached()
    page.evaluate("(hash) => (location.hash = hash)", f"{match}turned.png")
    expect(overlay).to_be_enabled()
    expect(overlay).to_have_accessible_description("")
    page.get_by_text("Overlay").click()
    expect(page.locator(".stage canvas")).to_be_visible()
    watched.expect_complaint("404")


def test_a_part_of_a_thin_picture_has_at_least_a_pixel(page: Page, tmp_path: Path) -> None:
    settled(page)
    thin = write(tmp_path / "thin.png", np.tile(texture(9, 600)[:12], (1, 4)))
    page.get_by_label("Choose a picture").set_input_files(thin)
    page.get_by_role("button", name="Choose a part").click()
    part = page.get_by_role("application")
    for _ in range(30):
        part.press("Shift+ArrowUp")
    expect(part).to_have_accessible_name(re.compile("3 % high$"))
    for _ in range(40):
        part.press("ArrowDown")
    with page.expect_response(re.compile(r"/v1/search\?.*region=600%2C11%2C1200%2C1&")) as answer:
        part.press("Enter")
    assert answer.value.ok
    settled(page)


def test_no_part_of_a_picture_that_the_browser_does_not_turn_upright(page: Page, tmp_path: Path) -> None:
    settled(page)
    held_sideways = Image.Exif()
    held_sideways[0x0112] = 6
    path = tmp_path / "sideways.webp"
    Image.fromarray(np.hstack([POSTER, BANNER])).convert("RGB").save(path, quality=95, exif=held_sideways)
    page.get_by_label("Choose a picture").set_input_files(path)
    expect(page.get_by_role("heading", level=1)).to_have_text("8 pictures found")
    reason = re.compile("does not show the picture upright")
    expect(page.get_by_text(reason)).to_be_visible()
    choose = page.get_by_role("button", name="Choose a part")
    expect(choose).to_be_disabled()
    expect(choose).to_have_accessible_description(reason)
    draw(page, 0.5, 1.0)
    page.wait_for_timeout(300)  # for what should not happen
    expect(page).not_to_have_url(re.compile("region="))
    page.locator(".confirmed .card").first.get_by_role("link").click()
    expect(page.get_by_label("Overlay")).to_be_disabled()
    expect(page.locator("main")).to_contain_text("this browser does not show the query upright")
    expect(page.locator(".stage path")).to_have_count(0)
    page.get_by_role("link", name="Search from here").click()
    expect(choose).to_be_enabled()
    expect(page.get_by_text(reason)).to_be_hidden()


def test_a_busy_server_is_not_taken_for_a_missing_file(open_page: Opener, small: str, tmp_path: Path) -> None:
    (tmp_path / "0.png").unlink()
    watched = open_page(small)
    page = watched.page
    settled(page)
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        if "1.png" in route.request.url and refused.count(route.request.url) > 2:
            return route.continue_()
        body = '{"title": "Too much is asked at the moment"}'
        return route.fulfill(status=503, headers={"retry-after": "1"}, body=body)

    page.route(re.compile("/v1/(thumbnail|picture).*[12].png"), refuse)
    page.get_by_role("link", name="Collection").click()
    gone, busy_once, busy = (page.locator(f".card[data-key='{number}.png']") for number in range(3))
    expect(gone).to_contain_text("The file is no longer there")
    expect(busy).to_contain_text("Too much is asked at the moment")
    expect(busy_once.locator(".gone")).to_have_count(0)
    assert busy_once.locator("img").evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 240

    asked = page.get_by_role("region", name="Your picture")
    gone.get_by_role("link").click()
    expect(asked).to_contain_text("The file is no longer there")
    expect(page.get_by_alt_text("The picture that is searched for")).to_be_hidden()  # as a broken one
    expect(page.get_by_role("button", name="Choose a part")).to_be_disabled()
    page.go_back()
    busy.get_by_role("link").click()
    expect(asked).to_contain_text("Too much is asked at the moment")
    page.go_back()
    busy_once.get_by_role("link").click()
    expect(page.get_by_alt_text("The picture that is searched for")).to_have_attribute("src", re.compile("^blob:"))
    expect(asked).not_to_contain_text("asked at the moment")
    watched.expect_complaint("status of 404")
    watched.expect_complaint("status of 503")
