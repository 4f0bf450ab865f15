"""What a process holds."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def open_files(folder: Path, process: int | str = "self") -> int:
    """Files below this folder that a process holds open, each as often as it is open."""
    count = 0
    for entry in os.scandir(f"/proc/{process}/fd"):
        with suppress(OSError):  # the one that lists them
            count += os.readlink(entry.path).startswith(f"{folder}/")
    return count
