"""A place that is not this machine: a file system in memory that fails on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsspec import register_implementation
from fsspec.implementations.memory import MemoryFileSystem

COUNTED = ("cat_file", "get_file", "put_file", "info", "cp_file", "rm_file", "find", "makedirs")


class FaultyFileSystem(MemoryFileSystem):  # type: ignore[misc]
    """faulty:// is memory:// where operation number ``at`` fails: before it, or after it was done (uploads: half)."""

    protocol = "faulty"
    done: tuple[str, ...] = ()
    at: int | None = None
    when: str = "before"
    inside = False  # an operation is made of others
    hook: Callable[[str, str], None] | None = None  # hears of each operation and its path first

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.replace("faulty://", "memory://")))

    @classmethod
    def rest(cls) -> None:
        cls.done, cls.at, cls.hook = (), None, None

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        return self._counted("open", super().open, path, mode, **options) if "x" in mode else super().open(
            path, mode, **options
        )  # fmt: skip

    @classmethod
    def _counted(cls, name: str, work: Callable[..., Any], *given: Any, **options: Any) -> Any:
        if cls.inside:
            return work(*given, **options)
        if cls.hook:
            hook, cls.hook = cls.hook, None
            hook(name, given[0])
            cls.hook = hook
        number = len(cls.done)
        cls.done = (*cls.done, name)
        if number == cls.at and (cls.when == "before" or name == "open"):
            raise OSError(f"{name} was struck")
        cls.inside = True
        try:
            result = work(*given, **options)
            if number == cls.at and name == "put_file":
                path = given[1]
                cls.store[path].truncate(cls.store[path].size // 2)
        finally:
            cls.inside = False
        if number == cls.at:
            raise OSError(f"{name} was struck after it was done")
        return result


def _counting(name: str) -> Callable[..., Any]:
    plain = getattr(MemoryFileSystem, name)

    def counted(self: FaultyFileSystem, *given: Any, **options: Any) -> Any:
        return self._counted(name, lambda *g, **o: plain(self, *g, **o), *given, **options)

    return counted


for _name in COUNTED:
    setattr(FaultyFileSystem, _name, _counting(_name))
register_implementation("faulty", FaultyFileSystem, clobber=True)
