"""`resight link`: which pictures of an index show the same thing, found once."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..wording import count
from .app import AnIndex, AsJson, command, default_index
from .arguments import ENGINE, RAY_ADDRESS
from .output import counting, printable, say_compiling, say_json, stoppable


@command
def link(
    place: AnIndex = None,
    again: Annotated[bool, typer.Option("--again", help="Look for the links of all pictures anew.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Forget all links.")] = False,
    engine: ENGINE = "local",
    ray_address: RAY_ADDRESS = None,
    as_json: AsJson = False,
) -> int:
    """Find out which indexed pictures show the same thing: searches follow such links.

    Each picture that has not looked for others yet does so. `resight index` does it for new pictures where an index has
    links, or at most 50,000 pictures. Groups of scenes are read from links. An interrupted run resumes where it
    stopped. With --engine ray the machines of a cluster do the searching; links are the same.
    """
    from ..engine import engine_named
    from ..index import Index
    from ..warm import warm

    if again and forget:
        raise UsageError("give one of --again and --forget")
    with (
        Index.open(place or default_index()) as target,
        engine_named(engine, address=ray_address).searchers() as searchers,
        stoppable() as stop,
    ):
        if searchers:
            target.spread(searchers)
        facts: dict[str, Any] = {"index": target.place}
        if forget:
            facts["forgotten"] = target.learn.forget_links()
            text = "forgotten" if facts["forgotten"] else "there was nothing to forget"
        else:
            warm(detectors=[], compiling=say_compiling)
            waiting = len(target) if again else target.snapshot.unlinked
            with counting(waiting, text="linking") as done:
                asked = target.learn.links(again=again, done=done, stop=lambda: stop.wanted)
            facts |= {"asked": asked, "left": target.snapshot.unlinked}
            left = f"; {facts['left']} are left: repeat the command" if facts["left"] else ""
            text = f"{count(asked)} asked{left}"
    if as_json:
        say_json(facts)
    else:
        typer.echo(printable(text))
    return 1 if facts.get("left") else 0
