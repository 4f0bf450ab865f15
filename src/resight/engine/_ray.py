"""Ray, loaded where it is asked for. Nothing outside ``engine/`` imports it."""

from __future__ import annotations

import os
from typing import Any

from ..errors import EngineError
from ..machine import processors


def load() -> Any:
    """The module ``ray``."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reports its use to its makers unless told not to
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # that of one job is raised; others are of no use
    try:
        import ray
    except ImportError:
        raise EngineError(
            "the engine `ray` needs Ray; install it with `pip install 'resight[ray]'`, or leave --engine out"
        ) from None
    return ray


def connect(address: str | None = None) -> Any:
    """The module ``ray``, connected to the cluster at this address; None: to one that is started on this machine."""
    ray = load()
    if ray.is_initialized():
        return ray
    try:
        own: dict[str, Any] = {} if address else {"num_cpus": processors(), "include_dashboard": False}
        # Without "local" Ray would join whatever cluster it finds on this machine, and refuse num_cpus.
        ray.init(address=address or "local", log_to_driver=False, logging_level="warning", namespace="resight", **own)
    except Exception as error:  # Ray raises what it pleases, also plain exceptions
        raise EngineError(
            f"no Ray cluster answers at {address or 'this machine'} ({error}); see `ray status`"
        ) from None
    return ray
