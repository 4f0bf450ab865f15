"""Pictures and indexes elsewhere: a URL → the file system behind it, by fsspec. Nothing else imports that.

A place is a path on this machine, or a URL such as ``s3://bucket/photos``, which must stay text: a Path would take
one of its slashes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Place = str | Path
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PASSWORD = re.compile(r"[^/]*//[^/?#]*:[^/?#]*@")  # not by urlsplit, which refuses what some take: memory://a[1]/x


class Site(NamedTuple):
    """Where a URL leads: a file system, and the path on it."""

    files: AbstractFileSystem
    path: str


def is_url(place: Place) -> bool:
    return isinstance(place, str) and bool(_URL.match(place))


def as_place(place: Place) -> Place:
    """Text as a place; of a URL without the slashes at its end."""
    return str(place).rstrip("/") if is_url(place) else Path(place)


def absolute(place: Place) -> str:
    """abspath, not Path.absolute: one file must not get two names by way of '..'."""
    return str(place) if is_url(place) else os.path.abspath(place)


def site(url: str) -> Site:
    """Raises UsageError, which names the remedy, where nothing can be reached by such a URL."""
    if "::" in url:
        raise UsageError(f"{url!r} is a chain of URLs, which resight does not follow; unpack or copy the files first")
    if _PASSWORD.match(url):
        raise UsageError(
            "a URL with a password in it would become a picture's key, for all to see; "
            "keep the password where the protocol's own package looks for it"
        )
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(f"to read {url!r}: pip install 'resight[remote]'") from None
    protocol = url.partition("://")[0].lower()
    made: dict[str, Any] = {"auto_mkdir": True} if protocol in ("file", "local") else {}
    try:
        files, path = url_to_fs(url, **made)
    except ImportError as error:  # fsspec knows which package speaks the protocol
        raise UsageError(f"to read {url!r}: {error} (pip install it)") from None
    except Exception as error:  # ValueError: an unknown protocol; others as the package pleases
        raise UsageError(f"cannot reach {url!r}: {error}; check the URL") from error
    return Site(files, str(path))


def files_under(url: str) -> list[str] | None:
    """The paths of all files under a URL, from there on, sorted; None if it is a file itself."""
    files, path = site(url)
    try:
        files.invalidate_cache()  # what was listed before may have changed
        if files.info(path)["type"] == "file":
            return None
        start = len(path.rstrip("/")) + 1
        return sorted(str(found)[start:] for found in files.find(path))
    except FileNotFoundError:
        raise UsageError(f"{url!r} does not exist; check the URL") from None
    except Exception as error:  # each file system has errors of its own
        raise UsageError(f"cannot list {url!r}: {reason_of(error)}; check the URL and your access to it") from error


def move_file(files: AbstractFileSystem, source: str, target: str) -> None:
    """In one step for readers: by the file system's own move or, where it has none, by a copy.

    What fsspec does for those that have none takes ``[``, ``*`` and ``?`` in a name for a pattern.
    """
    from fsspec import AbstractFileSystem

    if getattr(files.mv, "__func__", None) is AbstractFileSystem.mv:
        files.cp_file(source, target)
        files.rm_file(source)
    else:
        files.mv(source, target)


def reason_of(error: Exception) -> str:
    """What a file system says, which may be anything, on one line."""
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())
