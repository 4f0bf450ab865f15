"""The one way kernels are compiled: cached on disk, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

P = ParamSpec("P")
R = TypeVar("R")


class _KernelCache(FunctionCache):
    """Loads a kernel without all that numba imports to compile one, which takes longer than to load every kernel.

    Numba imports it before it compiles, too.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # what kernels get memory from
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


# Names that numba does not promise. Where it has others, its own cache does the same, only slower.
_KNOWN = all(hasattr(FunctionCache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors"))


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """numba.njit with a cache, but where no folder can be written to (a read-only package and home)."""
    return _compiled(function, fastmath=False)


def summing_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that may add up floats in any order: several at once, so faster. Sums of whole numbers stay exact."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    compiled: Any = numba.njit(nogil=True, **options)(function)
    with suppress(RuntimeError):  # "no locator available"
        compiled.enable_caching()
        if _KNOWN and hasattr(compiled, "_cache"):
            compiled._cache = _KernelCache(function)  # type: ignore[no-untyped-call]
    found: Callable[P, R] = compiled
    return found


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
