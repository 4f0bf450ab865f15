"""The command line: thin commands over the Python interface.

Exit codes: 0 all well; 1 nothing found (by a recipe that checks no geometry: no candidates), or some pictures or keys
failed (named); 2 wrong usage; 3 index damaged; 141 whoever read the output has gone.
"""

from __future__ import annotations

import io
import sys

from . import (
    duplicating,
    evaluating,
    experimenting,
    grouping,
    indexes,
    indexing,
    learning,
    linking,
    pairing,
    searching,
    serving,
    training,
    watching,
)
from .app import app
from .output import printable

__all__ = [
    "app",
    "duplicating",
    "evaluating",
    "experimenting",
    "grouping",
    "indexes",
    "indexing",
    "learning",
    "linking",
    "main",
    "pairing",
    "printable",
    "searching",
    "serving",
    "training",
    "watching",
]


def main() -> None:
    for stream in (sys.stdout, sys.stderr):  # names that the terminal cannot show are escaped, not fatal
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()
