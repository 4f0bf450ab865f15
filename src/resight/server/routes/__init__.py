"""The routes, by subject: thin, typed at the edge, everything else is done elsewhere."""

from . import about, grouping, pictures, searching

ROUTERS = tuple(subject.router for subject in (searching, pictures, grouping, about))

__all__ = ["ROUTERS"]
