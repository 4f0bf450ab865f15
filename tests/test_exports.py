"""What ``resight`` exports: everything that its methods take or return."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import resight
from resight.index import Index, Learning


def named_in(hint: Any) -> Iterator[type]:
    """Classes of resight in an annotation, however deep."""
    if inspect.isclass(hint) and hint.__module__.startswith("resight"):
        yield hint
    for part in get_args(hint):
        for inner in part if isinstance(part, list) else [part]:
            yield from named_in(inner)


def annotated(kind: type) -> Iterator[Any]:
    """What public methods and properties take and return."""
    for name, member in inspect.getmembers(kind):
        function = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isroutine(function):
            yield from get_type_hints(function).values()


# Where an index goes beyond daily use, it hands out what its layers work with.
INSIDE = {"Snapshot", "Writer", "Searchers"}


def test_all_that_methods_take_or_return_can_be_imported() -> None:
    used = {each.__name__ for kind in (Index, Learning) for hint in annotated(kind) for each in named_in(hint)}
    assert used - INSIDE <= {*resight.__all__}


def test_every_name_is_there_and_documented() -> None:
    for name in resight.__all__:
        value = getattr(resight, name)
        assert not inspect.isclass(value) or inspect.getdoc(value)
