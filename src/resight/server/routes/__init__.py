"""The routes, by subject: thin, typed at the edge, everything else is done elsewhere."""

from . import about, grouping, linking, pictures, searching, things

# Links before pictures, whose keys may hold slashes, too.
ROUTERS = tuple(subject.router for subject in (searching, linking, pictures, things, grouping, about))

__all__ = ["ROUTERS"]
