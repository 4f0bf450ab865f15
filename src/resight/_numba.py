"""The one way kernels are compiled: cached on disk, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """numba.njit; without its cache where no folder can be written to (a read-only package and home)."""
    return _compiled(function, fastmath=False)


def summing_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that may add up floats in any order: several at once, so faster. Sums of whole numbers stay exact."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # "no locator available"
        compiled = numba.njit(nogil=True, **options)(function)
    return compiled


class _FirstCompilation(event.Listener):
    """Numba tells of kernels that it compiles, not of those that it loads from its cache."""

    def __init__(self, compiling: Callable[[bool], None]) -> None:
        self._compiling, self._told = compiling, False

    def on_start(self, event: Any) -> None:
        if not self._told:
            self._told = True
            self._compiling(event.data["dispatcher"].stats.cache_path is not None)

    def on_end(self, event: Any) -> None:
        pass


def telling(compiling: Callable[[bool], None]) -> AbstractContextManager[Any]:
    """Inside, ``compiling`` is called once, when a kernel has to be compiled; with whether a cache will keep it."""
    told: AbstractContextManager[Any] = event.install_listener("numba:compile", _FirstCompilation(compiling))
    return told
