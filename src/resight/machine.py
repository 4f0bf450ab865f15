"""What this machine gives us."""

from __future__ import annotations

import os
from pathlib import Path


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_folder() -> Path:
    """$RESIGHT_CACHE, or a place in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("RESIGHT_CACHE") or Path(base) / "resight")
