"""Work that takes a while, in threads: some at once, some more waiting, none for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from .problems import Problem

P = ParamSpec("P")
R = TypeVar("R")


class Work:
    """Used from one event loop."""

    def __init__(self, *, at_once: int, queue: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="work")
        self._room, self._seconds = at_once + queue, seconds
        self._under_way: set[Future[Any]] = set()

    @property
    def under_way(self) -> int:
        """How much is being done, or waits."""
        return len(self._under_way)

    async def run(self, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
        """What the function returns, in a thread. Raises Problem where there is no room, or it takes too long."""
        if self.under_way >= self._room:
            raise Problem("busy", f"{self._room} others are being served or wait; try again in a moment")
        future = self._pool.submit(function, *args, **options)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)  # its place is free when it ends, not when we lose patience
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise Problem(
                "too-slow", f"this was not done after {self._seconds:g} seconds; ask for less, or again later"
            ) from None

    def close(self, *, wait: bool = False) -> None:
        """Begin nothing more; wait: until what was begun has ended."""
        self._pool.shutdown(wait=wait, cancel_futures=True)
