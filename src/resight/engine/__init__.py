"""Where work runs: local processes."""

from .local import one_thread_each, run

__all__ = ["one_thread_each", "run"]
