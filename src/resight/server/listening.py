"""From an application to a socket that is listened at."""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI

from ..errors import UsageError
from ..options import ServeOptions
from .connection import Connection
from .guard import is_loopback

TOKEN_LENGTH = 16
READ = 2**18  # bytes of a request's head: up to here one that is too long gets an answer, not a closed connection


def require_safety(options: ServeOptions, token: str | None) -> None:
    """Raise UsageError where strangers could reach the server without a token, or guess it."""
    if token is None and not is_loopback(options.host):
        raise UsageError(
            f"others can reach {options.host}, so a token is needed: set $RESIGHT_TOKEN, for example to what "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'` prints, or listen at 127.0.0.1"
        )
    if token is not None and (len(token) < TOKEN_LENGTH or not token.isascii() or not token.isprintable()):
        raise UsageError(f"a token needs at least {TOKEN_LENGTH} printable ASCII characters; choose another")


def listen(options: ServeOptions) -> socket.socket:
    """A socket at the host and port, or a UsageError that says why there is none."""
    try:
        ((family, kind, protocol, _, address), *_) = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(256)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise UsageError(
            f"cannot listen at {options.host} port {options.port}: {error.strerror}; choose another --host or --port"
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """To be typed into a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def server(app: FastAPI, options: ServeOptions) -> uvicorn.Server:
    """Run it with ``run(sockets=[listener])``. Nothing that a client or proxy says about addresses is believed."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=Connection.limited(options),
            h11_max_incomplete_event_size=READ,
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=True,
            timeout_graceful_shutdown=5,
        )
    )
