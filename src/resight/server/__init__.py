"""Answering over HTTP: `resight serve`."""

from .app import make_app
from .collection import Collection
from .listening import address_of, listen, require_safety, server

__all__ = ["Collection", "address_of", "listen", "make_app", "require_safety", "server"]
