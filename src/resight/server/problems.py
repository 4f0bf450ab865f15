"""What can go wrong, as clients see it: RFC 9457, with a stable type, and never a path of this machine."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.responses import JSONResponse, Response

from ..errors import (
    ImageError,
    ImageKindError,
    ImageSizeError,
    IndexLockedError,
    KeyMissingError,
    ResightError,
    StoreError,
    UsageError,
    VocabularyError,
)


class Kind(NamedTuple):
    """What all problems of one type have in common."""

    status: int
    title: str


KINDS = {
    "bad-request": Kind(400, "The request makes no sense"),
    "token-needed": Kind(401, "A token is needed"),
    "token-wrong": Kind(401, "The token is wrong"),
    "foreign-origin": Kind(403, "Another site's page asked"),
    "no-such-page": Kind(404, "There is nothing here"),
    "no-such-picture": Kind(404, "There is no such picture"),
    "no-such-group": Kind(404, "The picture is in no group"),
    "picture-gone": Kind(404, "The picture's file is gone"),
    "wrong-method": Kind(405, "This cannot be done here"),
    "head-too-slow": Kind(408, "The request came too slowly"),
    "body-too-slow": Kind(408, "The body came too slowly"),
    "already-running": Kind(409, "It is being done"),
    "picture-too-large": Kind(413, "The picture is too large"),
    "url-too-long": Kind(414, "The address is too long"),
    "picture-kind": Kind(415, "The file is of another kind"),
    "form-sent": Kind(415, "A form was sent instead of a picture"),
    "wrong-host": Kind(421, "The server has another name"),
    "picture-unreadable": Kind(422, "The picture cannot be read"),
    "wrong-parameter": Kind(422, "A parameter is wrong"),
    "too-many-requests": Kind(429, "Too many requests"),
    "unexpected": Kind(500, "Something unexpected happened"),
    "index-trouble": Kind(500, "The index cannot be used"),
    "busy": Kind(503, "Too much is asked at the moment"),
    "index-locked": Kind(503, "The index is being written to"),
    "too-slow": Kind(503, "It took too long"),
}

# Errors → problems; the first that fits.
OF_ERRORS: tuple[tuple[type[ResightError], str], ...] = (
    (ImageKindError, "picture-kind"),
    (ImageSizeError, "picture-too-large"),
    (ImageError, "picture-unreadable"),
    (KeyMissingError, "no-such-picture"),
    (IndexLockedError, "index-locked"),
    (StoreError, "index-trouble"),
    (VocabularyError, "index-trouble"),
    (UsageError, "bad-request"),
    (ResightError, "unexpected"),
)
# Where an error's own words would name files.
DETAILS = {
    "index-locked": "another process is writing to the index; try again in a moment (searching goes on)",
    "index-trouble": "the index cannot be read or written; whoever runs the server should try `resight check`",
    "unexpected": "this should not have happened; whoever runs the server finds the reason in its messages",
}
RETRY_AFTER = 2  # seconds


class Problem(Exception):  # noqa: N818  # as RFC 9457 calls it
    """A refusal."""

    def __init__(
        self, kind: str, detail: str, *, retry_after: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.headers = kind, detail, dict(headers or {})
        self.status, self.title = KINDS[kind]
        if retry_after is None and self.status == 503:
            retry_after = RETRY_AFTER
        if retry_after is not None:
            self.headers["retry-after"] = str(retry_after)

    def response(self) -> Response:
        values = {"type": f"/problems/{self.kind}", "title": self.title, "status": self.status, "detail": self.detail}
        return Json(values, self.status, headers=self.headers, media_type="application/problem+json")


class Json(JSONResponse):
    """JSON in ASCII alone: keys that are names of files may hold bytes that are no text, as lone surrogates."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def problem_of(error: ResightError, *, index: str) -> Problem:
    """The problem that an error is to clients; ``index``: the folder, which they are not told."""
    kind = next(kind for error_kind, kind in OF_ERRORS if isinstance(error, error_kind))
    text = str(error).replace(f" {shlex.quote(index)} -", " INDEX -").replace(index, "this index")  # first: in commands
    return Problem(kind, DETAILS.get(kind) or text)
