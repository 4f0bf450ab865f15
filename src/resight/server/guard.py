"""The door: what every request must pass before a route sees it, and what every answer carries.

In this order: the name that the server is called by, the page that asks, how often the client asks, its token, and the
body, which is bounded in size, in time and, for all requests together, in memory, while it is read.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from math import ceil
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..options import ServeOptions
from .metrics import Metrics
from .problems import Problem

COOKIE = "resight-session"
WITHOUT_TOKEN = ("/v1/health", "/v1/session")  # and whatever is not under /v1: the page itself
HELD = 8  # bodies of the largest size that all requests together may hold in memory
LONGEST = 32_768  # bytes of path and query: two keys that are paths, with every byte escaped, fit
CLIENTS = 10_000  # that are remembered
LINGER = 2.0  # seconds for which the rest of a refused body is read, so that the client gets to see the answer
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Names:
    """What the server may be called: a foreign name that leads here (DNS rebinding) is refused."""

    def __init__(self, host: str, others: Collection[str]) -> None:
        self._any_address = is_wildcard(host)
        self._known = {host.lower(), *(name.lower() for name in others)}
        if self._any_address or is_loopback(host):
            self._known |= {*LOOPBACK}

    def check(self, headers: Headers) -> None:
        host = headers.get("host", "")
        with suppress(ValueError):
            name = urlsplit(f"//{host}").hostname or ""
            # Numbers cannot be made to lead elsewhere, as names can.
            if name in self._known or (self._any_address and _is_address(name)):
                return
        raise Problem(
            "wrong-host", f"the server is not called {host!r}; start it with `--name` if it should answer to that"
        )


def is_wildcard(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Token:
    """Who may ask. Browsers get a cookie for it, since pictures on a page are asked for without a header."""

    def __init__(self, token: str | None) -> None:
        self._token = token.encode() if token else None
        self.session = secrets.token_urlsafe(32)  # ends with the process

    @property
    def needed(self) -> bool:
        return self._token is not None

    def known(self, headers: Mapping[str, str]) -> bool:
        """Whether the request may be answered. Times tell nothing of the token."""
        if self._token is None or hmac.compare_digest(_bearer(headers).encode(), self._token):
            return True
        return any(hmac.compare_digest(given.encode(), self.session.encode()) for given in _sessions(headers))

    def check(self, headers: Mapping[str, str]) -> None:
        if self.known(headers):
            return
        kind, detail = "token-needed", "send the header `Authorization: Bearer TOKEN`, or sign in on the page"
        if _bearer(headers):
            kind, detail = "token-wrong", "take the one that the server was started with, by --token or $RESIGHT_TOKEN"
        elif any(_sessions(headers)):
            detail = "the session has ended, since the server was started again; sign in anew"
        raise Problem(kind, detail, headers={"www-authenticate": "Bearer"})


def _bearer(headers: Mapping[str, str]) -> str:
    """The token that was sent, if any."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def _sessions(headers: Mapping[str, str]) -> Iterator[str]:
    """Of our cookie. Not by http.cookies, which gives up at other programs' odd ones, and can be made to take long."""
    for cookie in headers.get("cookie", "").split(";"):
        name, _, value = cookie.strip().partition("=")
        if name == COOKIE:
            yield value


class Rate:
    """A bucket for each client: a request takes one drop out of it, and it is filled again at a steady rate."""

    def __init__(self, *, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._level: dict[str, tuple[float, float]] = {}  # client → drops, when

    def take(self, client: str, now: float) -> None:
        drops, since = self._level.pop(client, (float(self._burst), now))
        drops = min(self._burst, drops + (now - since) * self._rate)
        self._level[client] = (drops - 1 if drops >= 1 else drops, now)  # last: those who asked long ago come first
        if len(self._level) > CLIENTS:
            del self._level[next(iter(self._level))]
        if drops < 1:
            wait = ceil((1 - drops) / self._rate)
            raise Problem(
                "too-many-requests",
                f"no more than {self._rate:g} requests a second are answered; wait {wait} s",
                retry_after=wait,
            )


class Guard:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, *, options: ServeOptions, names: Names, token: Token, metrics: Metrics) -> None:
        self._app, self._options, self._names, self._token, self._metrics = app, options, names, token, metrics
        self._rate = Rate(rate=options.rate, burst=options.burst)
        self._held = 0  # bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, exchange = time.monotonic(), _Exchange(receive, send, self._options)
        try:
            try:
                self._admit(scope, Headers(scope=scope))
                await self._app(scope, lambda: self._receive(exchange), exchange.send)
            except Problem as problem:
                await problem.response()(scope, receive, exchange.send)
        finally:
            self._held -= exchange.held
            route = getattr(scope.get("route"), "path_format", "other")
            method = (
                scope["method"] if scope["method"] in METHODS else "other"
            )  # clients can invent as many as they like
            self._metrics.count(method, route, exchange.status, time.monotonic() - started)

    def _admit(self, scope: Scope, headers: Headers) -> None:
        self._names.check(headers)
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST:
            raise Problem("url-too-long", f"path and parameters may have {LONGEST} bytes together; shorten them")
        protected = scope["path"].startswith("/v1/")
        if protected:
            _require_own_page(headers)
        self._rate.take(scope["client"][0] if scope.get("client") else "", time.monotonic())
        if protected and scope["path"] not in WITHOUT_TOKEN:
            self._token.check(headers)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._options.max_body:
            raise self._too_large()

    async def _receive(self, exchange: _Exchange) -> Message:
        message = await exchange.receive()
        size = len(message.get("body", b""))
        exchange.held += size
        self._held += size
        if exchange.held > self._options.max_body:
            raise self._too_large()
        if self._held > HELD * self._options.max_body:
            raise Problem("busy", "too many pictures arrive at once; try again in a moment")
        return message

    def _too_large(self) -> Problem:
        return Problem("picture-too-large", f"a picture may have {self._options.max_body} bytes at most; reduce it")


def _require_own_page(headers: Headers) -> None:
    """Pages of other sites must not ask through a visitor's browser (CSRF)."""
    origin, asked_by = headers.get("origin"), headers.get("sec-fetch-site", "none")
    foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
    if foreign or asked_by not in ("same-origin", "none"):
        raise Problem("foreign-origin", "ask from the server's own page, or from a program that sends no Origin")


class _Exchange:
    """A request's messages, in and out."""

    def __init__(self, receive: Receive, send: Send, options: ServeOptions) -> None:
        self._receive, self._send = receive, send
        self._seconds = options.body_seconds
        self._deadline = time.monotonic() + options.body_seconds
        self._complete = False  # the request's body
        self.status, self.held = 500, 0

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()  # news of the client's going
        try:
            message = await asyncio.wait_for(self._receive(), max(self._deadline - time.monotonic(), 0.001))
        except TimeoutError:
            raise Problem("body-too-slow", f"a body must arrive within {self._seconds:g} seconds") from None
        self._complete = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
        elif not message.get("more_body", False) and self.status >= 400 and not self._complete:
            # The answer is out, its end is not: were the connection closed on unread bytes, the answer would be lost.
            await self._send({**message, "more_body": True})
            with suppress(TimeoutError):
                await asyncio.wait_for(self._drain(), LINGER)
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _drain(self) -> None:
        while (await self._receive()).get("more_body", False):
            pass
