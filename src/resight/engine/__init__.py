"""Where work runs: local processes."""

from .local import processors, run

__all__ = ["processors", "run"]
