"""What this machine gives us."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import UsageError


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_folder() -> Path:
    """$RESIGHT_CACHE, or a place in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("RESIGHT_CACHE") or Path(base) / "resight")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write instead, which then replaces what was there: never half of it, and nothing is left beside it.

    What the system refuses becomes a UsageError.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        yield new
        new.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot write {str(path)!r}: {reason}; name another file") from error
    finally:
        with suppress(OSError, ValueError):
            new.unlink()
