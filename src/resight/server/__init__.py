"""Answering over HTTP: `resight serve`."""

from .app import make_app
from .collection import Collection
from .listening import address_of, insist_on_safety, listen, server

__all__ = ["Collection", "address_of", "insist_on_safety", "listen", "make_app", "server"]
