"""Names, which may hold anything, as text and as HTML."""

from __future__ import annotations

import html


def printable(name: str) -> str:
    """Control characters, and bytes of a file name that are no text, as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def escape(name: str) -> str:
    """Safe between tags and in quoted attributes."""
    return html.escape(printable(name))


def shorten(name: str, length: int) -> str:
    """Printable, without its middle where it is longer than this: both ends tell names apart."""
    text = printable(name)
    return text if len(text) <= length else f"{text[: length // 2 - 1]}…{text[-(length // 2) :]}"
