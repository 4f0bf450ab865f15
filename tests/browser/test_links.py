"""What the page shows of links: groups, other pictures of what one shows, and hits that were found through others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from resight import Index

from ..support.pictures import striped, texture, write
from .conftest import Opener, serving
from .looking import keys, settled
from .test_page import FAINT_TEXT, PHONE

GROUPS, GROUP, FOUND = "#/groups", "#/groups?key=c.png", "#/search?key=a.png"
VIEWS = (GROUPS, GROUP, FOUND, "#/match?key=a.png&with=c.png")


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server: pictures a and c share something with b alone, two others with each other, one with none."""
    folder = tmp_path_factory.mktemp("linked")
    pair = texture(1), texture(1)[:200, :200]
    pictures = {**striped(), "whole.png": pair[0], "part.png": pair[1], "alone.png": texture(2)}
    with Index.create(folder / "linked.resight") as index:
        for key, pixels in pictures.items():
            index.add(write(folder / key, pixels), key=key)
        index.commit()
        index.learn.links()
    with serving(folder / "linked.resight") as address:
        yield address


@pytest.fixture
def page(open_page: Opener, linked: str) -> Page:
    return open_page(linked).page


def test_groups_are_listed_and_opened_by_keyboard(page: Page) -> None:
    settled(page)
    page.get_by_role("link", name="Groups").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 groups")
    cards = page.locator(".card")
    expect(cards).to_have_count(2)
    expect(cards.first).to_contain_text("3 pictures")
    assert cards.first.get_attribute("data-key") == "b.png"
    expect(page.get_by_role("status")).to_have_text("2 groups")
    cards.first.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("3 pictures of the same thing")
    assert keys(cards) == {"a.png", "b.png", "c.png"}
    expect(cards.first).to_contain_text(re.compile(r"\d+ details agree"))
    page.get_by_role("link", name="All groups").click()
    expect(cards).to_have_count(2)


def test_other_pictures_of_it_are_known_at_once(open_page: Opener, linked: str) -> None:
    page = open_page(linked).page
    settled(page)
    page.route("**/v1/search?*", lambda route: None)  # the search never answers
    page.goto(f"{linked}#/search?key=b.png")
    others = page.get_by_role("region", name="Other pictures of this")
    expect(others.locator(".card")).to_have_count(2)
    assert keys(others.locator(".card")) == {"a.png", "c.png"}
    page.unroute("**/v1/search?*")
    others.get_by_role("link", name="c.png").click()
    expect(page.locator(".stage path.ends").first).to_be_attached()
    expect(others.locator(".card")).to_have_count(1)  # those of c
    page.goto(f"{linked}#/search?key=alone.png")
    settled(page)
    expect(others).to_have_count(0)


def test_a_hit_says_through_which_pictures_it_was_found(page: Page, linked: str) -> None:
    page.goto(linked + FOUND)
    expect(page.get_by_role("heading", level=1)).to_have_text("2 pictures found")
    expect(page.get_by_role("status")).to_have_text(re.compile("^2 pictures found, 1 through others. "))
    assert keys(page.get_by_role("region", name="Confirmed").locator(".card")) == {"b.png"}
    through = page.get_by_role("region", name="Found through others").locator(".card")
    assert keys(through) == {"c.png"}
    expect(through).to_contain_text("found through b.png")
    through.get_by_role("link").click()
    expect(page.locator(".facts")).to_have_text(
        re.compile("^Almost certain · .* found through b.png; their own details")
    )
    page.locator(".facts").get_by_role("link", name="b.png").click()
    expect(page.locator(".stage path.ends").first).to_be_attached()


def test_without_links_it_says_how_to_get_some(open_page: Opener, address: str) -> None:
    page = open_page(address + GROUPS).page
    expect(page.get_by_role("heading", name="There are no links yet")).to_be_visible()
    expect(page.locator("main code")).to_have_text("resight link")


def test_a_phone_shows_all_of_it(open_page: Opener, linked: str) -> None:
    page = open_page(linked, **PHONE).page
    for view in VIEWS:
        page.goto(linked + view)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(open_page: Opener, linked: str, scheme: str) -> None:
    page = open_page(linked, color_scheme=scheme).page
    for view in VIEWS:
        page.goto(linked + view)
        settled(page)
        assert page.evaluate(FAINT_TEXT) == []
