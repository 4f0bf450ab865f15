"""Pictures and indexes elsewhere: a URL → the file system behind it, by fsspec. Nothing else imports that.

A place is a path on this machine, or a URL such as ``s3://bucket/photos``, which must stay text: a Path would take
one of its slashes.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Place = str | Path
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
WHEN_CHANGED = ("ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "created")  # as fsspec's names go
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


def file_state(place: Place) -> str | None:
    """What differs once a file here, or one behind a URL, has changed; None: there is none that could be read."""
    if not is_url(place):
        try:
            facts = os.stat(place)
        except (OSError, ValueError):  # ValueError: a null character in the path
            return None
        if not stat.S_ISREG(facts.st_mode):
            return None
        return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"  # ctime: also of what may read it
    try:
        files, path = site(str(place))
        found = files.info(path)
    except Exception:  # each file system has errors of its own
        return None
    return " ".join(str(found[name]) for name in ("size", *WHEN_CHANGED) if name in found)


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
