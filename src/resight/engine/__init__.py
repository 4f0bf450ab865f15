"""Where work runs: local processes."""

from .local import run

__all__ = ["run"]
