"""A client's connection, cut off where it would hold the server up: uvicorn itself waits for ever."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..options import ServeOptions
from .guard import HEADERS
from .problems import Problem


class Connection(H11Protocol):
    """Refused if there are too many, or too many of its client; closed where a head does not come in time, or an answer
    is not taken. ``limited`` makes a class that knows the limits.
    """

    options: ClassVar[ServeOptions]

    @classmethod
    def limited(cls, options: ServeOptions) -> type[Connection]:
        return type(cls.__name__, (cls,), {"options": options})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._head: asyncio.TimerHandle | None = None
        self._answer: asyncio.TimerHandle | None = None
        most = self.options.connections
        own = sum(_host(other) == _host(self) for other in self.connections)
        if len(self.connections) > most or own > max(most // 2, 1):
            self._refuse(Problem("busy", "too many connections are open; close some, or try again in a moment"))
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        _stop(self._head)
        _stop(self._answer)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:  # None at first
            _stop(self._head)

    def on_response_complete(self) -> None:
        self._expect_head()  # first: the next one may have come already
        super().on_response_complete()
        if self.transport.is_closing():
            self._expect_taken()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_taken()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():  # else all must be taken, not only enough for more to be written
            _stop(self._answer)

    def _expect_taken(self) -> None:
        """What was written, in time; a connection that is closed otherwise waits for ever until it is."""
        _stop(self._answer)
        self._answer = self.loop.call_later(self.options.body_seconds, self.transport.abort)

    def _close(self) -> None:
        self.transport.close()
        self._expect_taken()

    def send_400_response(self, msg: str) -> None:
        self._refuse(Problem("bad-request", "this is no HTTP/1.1 request, or its head is far too long"))

    def _expect_head(self) -> None:
        _stop(self._head)
        self._head = self.loop.call_later(self.options.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        begun, _ = self.conn.trailing_data
        if begun:
            seconds = self.options.head_seconds
            self._refuse(Problem("head-too-slow", f"a request's head must arrive within {seconds:g} seconds"))
        else:
            self._close()  # browsers open connections that they may never use

    def _refuse(self, problem: Problem) -> None:
        """Answer what no route gets to see, if that is still possible, and close."""
        if self.cycle is not None:  # whoever waits for the rest, or answers, need not
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.transport.is_closing() or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        answer = problem.response()
        own = [(name.encode(), value.encode()) for name, value in {**HEADERS, "connection": "close"}.items()]
        said = h11.Response(
            status_code=problem.status, headers=[*answer.raw_headers, *own], reason=problem.title.encode()
        )
        for event in (said, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._close()


def _host(connection: asyncio.Protocol) -> str | None:
    client: tuple[str, int] | None = getattr(connection, "client", None)
    return client and client[0]


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer:
        timer.cancel()
