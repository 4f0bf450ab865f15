"""The one way kernels are compiled: cached on disk, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """numba.njit; without its cache where no folder can be written to (a read-only package and home)."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # "no locator available"
        return numba.njit(nogil=True)(function)
