"""How numbers of things are said."""

from __future__ import annotations


def count(number: int, noun: str = "picture", plural: str = "") -> str:
    """A number with its noun.

    >>> count(1), count(2), count(0, "query", "queries")
    ('1 picture', '2 pictures', '0 queries')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
