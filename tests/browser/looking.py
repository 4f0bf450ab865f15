"""Looking at the page, and pointing at it."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def keys(cards: Locator) -> set[str]:
    return {str(card.get_attribute("data-key")) for card in cards.all()}


def settled(page: Page) -> None:
    """All that was asked for is there."""
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)


def draw(page: Page, left: float, right: float) -> None:
    """A part of the query, over its whole height, between two shares of its width."""
    box = page.locator(".frame img").bounding_box()
    assert box
    page.mouse.move(box["x"] + left * box["width"] + 1, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(box["x"] + right * box["width"] - 1, box["y"] + box["height"] - 1, steps=4)
    page.mouse.up()
