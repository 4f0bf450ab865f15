"""`resight serve`: the index over HTTP, with a page to look at."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from ..options import ServeOptions
from ..urls import is_url
from .app import AnIndex, Set, command, default_index
from .arguments import ENGINE, RAY_ADDRESS, build, parse_settings, take_in
from .output import patience, printable, say_compiling


@command
def serve(
    place: AnIndex = None,
    host: Annotated[
        str | None,
        typer.Option(help="The address to listen at; any but a loopback address needs a token."),
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen at; 0: any that is free.")] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="RESIGHT_TOKEN",
            help="The token that clients must send, 16 characters or more. Better: set $RESIGHT_TOKEN.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Another name under which clients reach the server; repeatable.")
    ] = None,
    settings: Set = None,
    engine: ENGINE = "local",
    ray_address: RAY_ADDRESS = None,
) -> int:
    """Serve an index over HTTP, and a page to search it with. Ctrl-C ends it.

    Clients can search for pictures, add and remove them. Searches see commits of other processes without a restart.
    With --engine ray each machine of a cluster searches a part of the index; everything else happens here.
    """
    changed = parse_settings(settings, ServeOptions)
    take_in(changed, ServeOptions, "host", ("--host", host))
    take_in(changed, ServeOptions, "port", ("--port", port))
    options = build(ServeOptions, changed)

    from ..engine import engine_named, one_thread_each
    from ..server import Collection, address_of, listen, make_app, require_safety, server

    require_safety(options, token)
    found = place or default_index()
    if is_url(found):
        raise UsageError(f"{found} is not on this machine, whose commits a server watches; copy it here and serve that")
    with engine_named(engine, address=ray_address).searchers() as searchers, listen(options) as listener:
        collection = Collection(Path(found), searchers, max_pixels=options.max_pixels)
        one_thread_each()
        with patience("getting ready …", after=5):
            collection.warm(say_compiling)
        app = make_app(collection, options=options, token=token, names=name or ())
        typer.echo(f"serving {printable(str(collection.path))} at {address_of(listener)}; Ctrl-C ends it", err=True)
        try:
            # uvicorn ends in order, and passes Ctrl-C on unless whoever started us ignores it
            with suppress(KeyboardInterrupt):
                server(app, options).run(sockets=[listener])
            typer.echo("ended", err=True)
        finally:
            app.state.resight.close()
            collection.close()
    return 0
