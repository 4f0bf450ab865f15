"""The web page as people use it: by mouse, by keyboard, by touch; whatever the server or a file does."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from ..support.pictures import texture, write
from .conftest import BANNERS, OTHERS, POSTER, POSTERS, Opener, serving
from .looking import draw, keys, settled

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TOKEN = "correct horse battery"
VIEWS = ("#/search", "#/search?key=posters%2Fwhole.png", "#/match?key=posters%2Fwhole.png&with=posters%2Fturned.png")
ALL_VIEWS = (*VIEWS, "#/collection", "#/groups", "#/duplicates")


def give(page: Page, path: Path, how: str, *, times: int = 1) -> None:
    """Drop or paste a file somewhere on the page; several files, all of them this one."""
    page.evaluate(
        """([how, name, data, times]) => {
            const transfer = new DataTransfer();
            const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
            while (times--) transfer.items.add(new File([bytes], name, { type: "image/png" }));
            const [kind, holder] = how === "paste" ? [ClipboardEvent, "clipboardData"] : [DragEvent, "dataTransfer"];
            const made = new kind(how, { [holder]: transfer, bubbles: true, cancelable: true });
            document.body.dispatchEvent(made);
        }""",
        [how, path.name, base64.b64encode(path.read_bytes()).decode(), times],
    )


def test_drop_a_picture_draw_a_region_open_a_match_and_page_through(page: Page, collection: Path) -> None:
    settled(page)
    give(page, collection / "query.png", "dragover")
    expect(page.get_by_text("Drop to search")).to_be_visible()
    give(page, collection / "query.png", "drop")
    confirmed = page.get_by_role("region", name="Confirmed").locator(".card")
    expect(confirmed).to_have_count(8)
    assert keys(confirmed) == {*POSTERS, *BANNERS}
    expect(confirmed.first.locator("polygon.mark")).to_have_count(1)
    expect(confirmed.first).to_contain_text(re.compile(r"Almost certain · >99\s%"))
    unlikely = page.locator(".unlikely .card")
    expect(unlikely).to_have_count(16)
    expect(unlikely.first).to_be_hidden()
    page.get_by_text(re.compile(r"^Show all: 16 more candidates below 1\s%$")).click()
    expect(unlikely.first).to_contain_text(re.compile(r"· <1\s%"))
    page.get_by_role("button", name="More results").click()
    expect(unlikely).to_have_count(40)
    expect(page.get_by_text("Show all: 40 more candidates")).to_be_visible()

    draw(page, 0.5, 1.0)
    expect(page).to_have_url(re.compile("region=24[0-9]%2C"))
    expect(page.get_by_role("heading", level=1)).to_have_text("4 pictures found")
    assert keys(confirmed) == set(BANNERS)
    page.go_back()
    expect(confirmed).to_have_count(8)
    page.go_forward()
    expect(confirmed).to_have_count(4)

    confirmed.nth(1).get_by_role("link").click()
    expect(page.locator(".stage path.ends").first).to_be_attached()
    assert 10 < page.locator(".stage path.ends").count() <= 60
    page.get_by_label("Lines").uncheck()
    expect(page.locator(".stage path")).to_have_count(0)
    expect(page.get_by_text("2 of 24")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("3 of 24")).to_be_visible()
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_text("2 of 24")).to_be_visible()
    page.reload()
    expect(page.get_by_text("2 of 24")).to_be_visible()  # the picture that was dropped is still there
    page.get_by_role("link", name="Search from here").click()
    expect(confirmed).to_have_count(3)
    assert keys(confirmed) < set(BANNERS)


def test_paste_and_choose(page: Page, collection: Path) -> None:
    settled(page)
    give(page, collection / "query.png", "drop", times=2)
    expect(page.get_by_role("alert")).to_contain_text("Only the first of the 2 pictures is searched for.")
    give(page, collection / "query.png", "paste")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("8 pictures found")
    page.get_by_text("Another picture").click()
    page.get_by_label("Choose a picture").set_input_files(collection / "pictures/posters/turned.png")
    expect(page.get_by_role("heading", level=1)).to_have_text("4 pictures found")


def test_everything_by_keyboard(page: Page) -> None:
    settled(page)

    def tab_to(target: Locator) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if target.evaluate("(wanted) => wanted === document.activeElement"):
                return
        pytest.fail(f"{target} is never reached")

    tab_to(page.locator(".card a").first)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("3 pictures found")
    expect(page.get_by_role("status")).to_have_text(re.compile("^3 pictures found. 21 weak candidates.$"))
    tab_to(page.get_by_role("button", name="Choose a part"))
    page.keyboard.press("Enter")
    part = page.get_by_role("application")
    expect(part).to_be_focused()
    for key in ("ArrowLeft", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    expect(part).to_have_accessible_name("Chosen part: 23 % from the left, 23 % from the top, 54 % wide, 50 % high")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("region="))
    expect(page.locator(".confirmed .card").first).to_be_visible()
    expect(part).to_be_focused()
    page.keyboard.press("Delete")
    expect(page).not_to_have_url(re.compile("region="))
    expect(page.get_by_role("button", name="Choose a part")).to_be_focused()
    expect(page.locator(".confirmed .card")).to_have_count(3)
    second = page.locator(".confirmed .card a").nth(1)
    tab_to(second)
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 24")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("1 of 24")).to_be_visible()
    tab_to(page.get_by_label("Side by side"))
    page.keyboard.press("ArrowRight")
    expect(page.locator("canvas")).to_be_visible()
    page.locator("main h1").focus()
    page.keyboard.press("Escape")
    expect(second).to_be_focused()


def test_the_overlay_lays_the_query_on_what_it_matches(page: Page, tmp_path: Path) -> None:
    settled(page)
    turned = np.ascontiguousarray(np.rot90(cv2.resize(POSTER, None, fx=2, fy=2)))
    page.get_by_label("Choose a picture").set_input_files(write(tmp_path / "turned.png", np.asarray(turned, np.uint8)))
    page.locator(".card[data-key='posters/whole.png'] a").click()
    page.get_by_text("Overlay").click()
    blend = page.get_by_role("slider")
    seen = []
    for value in ("0", "100"):  # the query alone, the result alone
        blend.fill(value)
        code = page.locator("canvas").evaluate("(canvas) => canvas.toDataURL().split(',')[1]")
        coded = np.frombuffer(base64.b64decode(code), np.uint8)
        seen.append(np.asarray(cv2.imdecode(coded, cv2.IMREAD_GRAYSCALE), float))
    inside = np.s_[8:-8, 8:-8]
    query, result = (pixels[inside] for pixels in seen)
    assert np.abs(result - POSTER[inside]).mean() < 4
    assert np.abs(query - result).mean() < 4
    assert np.abs(query - np.fliplr(result)).mean() > 20  # what a wrong map would give


def test_browse_add_and_remove(open_page: Opener, address: str, tmp_path: Path) -> None:
    watched = open_page(address)
    page = watched.page
    settled(page)
    page.get_by_role("link", name="Collection").click()
    total = OTHERS + 8
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Collection of {total} pictures")
    expect(page.locator(".card")).to_have_count(48)
    page.get_by_role("link", name="Next page").click()
    expect(page.locator(".card")).to_have_count(total - 48)
    assert page.evaluate("scrollY") == 0
    page.reload()
    expect(page.locator(".card")).to_have_count(total - 48)
    page.get_by_role("link", name="First page").click()
    expect(page.locator(".card")).to_have_count(48)

    new, bad = write(tmp_path / "zebra crossing.png", texture(200)), tmp_path / "words.jpg"
    bad.write_text("this is no picture")
    page.get_by_label("Add pictures").set_input_files([new, bad, new])
    expect(page.get_by_text("1 of 3 pictures added")).to_be_visible()
    fates = page.locator(".uploads li")
    expect(fates.nth(0)).to_contain_text("Added")
    expect(fates.nth(1)).to_have_class("failed")
    expect(fates.nth(1)).to_contain_text("'words.jpg' holds an unknown kind of file; resight reads")
    watched.expect_complaint("status of 415")
    expect(fates.nth(2)).to_contain_text("Already there")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Collection of {total + 1} pictures")
    page.get_by_role("link", name="Next page").click()

    page.get_by_role("button", name="Mark zebra crossing.png to be removed").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("region", name="Removal")).to_be_hidden()
    page.get_by_role("button", name="Mark zebra crossing.png to be removed").click()
    page.get_by_role("button", name="Remove 1 picture").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Collection of {total} pictures")
    expect(page.locator(".card").filter(has_text="zebra")).to_have_count(0)


def test_duplicates_are_found_compared_and_removed(page: Page, tmp_path: Path) -> None:
    settled(page)
    page.get_by_role("link", name="Collection").click()
    copy = np.asarray(cv2.GaussianBlur(texture(7), (3, 3), 0), np.uint8)
    page.get_by_label("Add pictures").set_input_files(write(tmp_path / "copy of 07.png", copy))
    expect(page.get_by_text("1 of 1 picture added")).to_be_visible()
    page.get_by_role("link", name="Duplicates").click()
    page.get_by_role("button", name="Look for groups").click()
    group = page.locator(".group").filter(has_text="07.png")
    expect(group.locator(".card")).to_have_count(2)
    group.get_by_role("link").first.click()
    expect(page.locator(".stage path.ends").first).to_be_attached()
    page.go_back()
    expect(group).to_contain_text("Best: ")
    group.get_by_role("button", name="Not duplicates").click()
    again = page.locator(".group").filter(has=page.get_by_role("button", name="Undo"))
    expect(group.locator(".grid")).to_be_hidden()
    again.get_by_role("button", name="Undo").click()
    group.get_by_role("button", name="Keep only 07.png").click()
    page.get_by_role("button", name="Remove 1 picture").click()
    expect(page.get_by_text("The collection has changed since.")).to_be_visible()
    page.get_by_role("link", name="Collection").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Collection of {OTHERS + 8} pictures")
    expect(page.locator(".card[data-key='others/07.png']")).to_have_count(1)


def test_sign_in(open_page: Opener, collection: Path) -> None:
    with serving(collection / "pictures.resight", "--token", TOKEN) as address:
        watched = open_page(f"{address}{VIEWS[-1]}&alone=1")
        page = watched.page
        page.get_by_label("Token").fill("wrong horse battery")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("The token is wrong")
        watched.expect_complaint("401")
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("turned.png")  # where the address led
        page.get_by_role("img", name="Result").evaluate("(image) => image.decode()")  # pictures need the cookie
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_focused()


def test_what_is_no_picture_is_named(open_page: Opener, address: str, tmp_path: Path) -> None:
    watched = open_page(address)
    settled(watched.page)
    bad = tmp_path / "words.png"
    bad.write_text("this is no picture")
    give(watched.page, bad, "drop")
    expect(watched.page.get_by_role("alert")).to_contain_text(
        "'words.png' holds an unknown kind of file; resight reads"
    )
    watched.expect_complaint("status of 4")


def test_a_server_that_is_gone_is_named_and_tried_again(open_page: Opener, address: str) -> None:
    watched = open_page(address)
    page = watched.page
    settled(page)
    page.context.set_offline(True)
    page.get_by_role("link", name="Collection").click()
    expect(page.get_by_role("heading", name="The server does not answer")).to_be_visible()
    watched.expect_complaint("ERR_INTERNET_DISCONNECTED")
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card").first).to_be_visible()


def test_a_part_is_chosen_by_touch(open_page: Opener, address: str, collection: Path) -> None:
    page = open_page(address, **PHONE).page
    settled(page)
    page.get_by_label("Choose a picture").set_input_files(collection / "query.png")
    page.get_by_role("button", name="Choose a part").tap()
    picture, corner = page.locator(".frame img").bounding_box(), page.locator(".corner").last.bounding_box()
    assert picture
    assert corner
    touch = page.context.new_cdp_session(page)
    x, y = corner["x"] + corner["width"] / 2, corner["y"] + corner["height"] / 2
    way = [(x, y), (x + 10, y + 10), (picture["x"] + picture["width"] - 2, picture["y"] + picture["height"] - 2)]
    for number, (right, down) in enumerate(way):
        kind = "touchMove" if number else "touchStart"
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": right, "y": down}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page).to_have_url(re.compile("region=120%2C60%2C35[0-9]%2C1[78][0-9]$"))
    expect(page.locator(".confirmed .card").first).to_be_visible()


@pytest.mark.parametrize("view", ALL_VIEWS)
def test_a_phone_shows_all_of_it_and_fingers_can_hit_it(open_page: Opener, address: str, view: str) -> None:
    page = open_page(address + view, **PHONE).page
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    targets = page.locator("button:visible, a.button:visible, header a:visible, label:visible, summary:visible").all()
    sizes = [(target.inner_text(), target.bounding_box()) for target in targets]
    assert len(sizes) > 3
    assert [(text, box) for text, box in sizes if box and min(box["height"], box["width"]) < 43.5] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(open_page: Opener, address: str, scheme: str) -> None:
    page = open_page(address, color_scheme=scheme).page
    for view in ALL_VIEWS:
        page.goto(address + view)
        settled(page)
        assert page.evaluate(FAINT_TEXT) == []


# Words on a ground of their own colour or that of an ancestor, with the contrast of WCAG 2 below 4.5; or none at all.
FAINT_TEXT = """() => {
    const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
    const ground = (node) => {
        const colour = parse(getComputedStyle(node).backgroundColor);
        return colour.length === 4 && colour[3] === 0 ? ground(node.parentElement) : colour;
    };
    const texts = [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility() &&
        !node.closest(":disabled, .choice:has(:disabled), a:not([href]), .unseen, .skip") &&
        [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
    if (texts.length < 5) return ["no words"];
    return texts.map((node) => {
        const [one, other] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
        return [node.textContent, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)];
    }).filter(([, contrast]) => contrast < 4.5);
}"""
