"""What the routes share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from ..machine import processors
from ..options import ServeOptions
from .collection import Collection
from .groups import Groups
from .guard import Token
from .metrics import Metrics
from .work import Work

FETCHES = 2  # at once


class State:
    """The index, who may ask, and where work is done."""

    def __init__(self, collection: Collection, options: ServeOptions, token: Token, metrics: Metrics) -> None:
        self.collection, self.token, self.metrics, self.groups = collection, token, metrics, Groups()
        self.work = Work(at_once=options.at_once or processors(), queue=options.queue, seconds=options.seconds)
        # Pictures that were indexed from URLs, wherever those lead: a site that is slow must not keep searches waiting.
        self.fetches = Work(at_once=FETCHES, queue=options.queue, seconds=options.seconds)
        self.writes = Work(at_once=1, queue=options.queue, seconds=options.seconds)

    def close(self) -> None:
        self.groups.close()
        self.work.close()
        self.fetches.close()
        # Whoever closes the index gives its lock away, under which a commit must not be.
        self.writes.close(wait=True)


async def _state(request: Request) -> State:
    state: State = request.app.state.resight
    return state


Shared = Annotated[State, Depends(_state)]
