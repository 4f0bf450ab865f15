"""What requests are made of: parameters that several routes have, bodies, and places in a list."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any
from urllib.parse import parse_qs, unquote

from fastapi import Depends, Query, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import ClientDisconnect

from ..errors import UsageError
from .problems import Problem

MOST = 500  # hits that can be paged through, and of anything on a page
PICTURE = {
    "requestBody": {
        "required": True,
        "description": "The picture's file: JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC or camera RAW, told by content.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

LINKS = "/links"  # after a key: the pictures that it is linked to
NAME_LENGTH = 255  # characters; no file system has longer names
AS_BODY = "send the picture's file itself as the body, such as by `curl --data-binary @FILE`"

RegionText = Annotated[str | None, Query(max_length=200, description="x,y,width,height in the query's pixels.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many, at most.")]
FileName = Annotated[str | None, Query(max_length=NAME_LENGTH, description="The file's, for errors to name it.")]
After = Annotated[str | None, Query(max_length=20_000, description="``next`` of the page before.")]


async def require_known_parameters(request: Request) -> None:
    """A parameter that is misspelt must not be ignored."""
    described = request.app.openapi()["paths"][request.scope["route"].path_format][request.method.lower()]
    known = {parameter["name"] for parameter in described.get("parameters", ()) if parameter["in"] == "query"}
    if unknown := request.query_params.keys() - known:
        listed = ", ".join(sorted(known)) or "none"
        raise Problem("wrong-parameter", f"there is no parameter {min(unknown)!r} here; there are: {listed}")


def _named(request: Request, name: str) -> str:
    """A query parameter; bytes that are no text stand for themselves, as in keys."""
    return parse_qs(request.url.query, keep_blank_values=True, errors="surrogateescape")[name][-1]


async def _key(request: Request, key: Annotated[str, Query(description="An indexed picture.")]) -> str:
    return _named(request, "key")


async def _keys(request: Request, key: Annotated[list[str], Query(description="Indexed pictures.")]) -> list[str]:
    return parse_qs(request.url.query, keep_blank_values=True, errors="surrogateescape")["key"]


async def _one(request: Request, one: Annotated[str, Query(description="An indexed picture.")]) -> str:
    return _named(request, "one")


async def _other(request: Request, other: Annotated[str, Query(description="An indexed picture.")]) -> str:
    return _named(request, "other")


async def _key_in_path(request: Request, key: str) -> str:
    raw = request.scope["raw_path"].decode("latin-1").removeprefix("/v1/images/")
    if request.scope["route"].path_format.endswith(LINKS):
        raw = raw.removesuffix(LINKS)
    return unquote(raw, errors="surrogateescape")


async def _body(request: Request) -> bytes:
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise Problem("form-sent", f"forms are not read; {AS_BODY}, not `--form`")
    try:
        data = await request.body()
    except ClientDisconnect:  # nobody is left to hear of it
        raise Problem("bad-request", "the body ended early") from None
    if not data:
        raise Problem("picture-unreadable", f"the body is empty; {AS_BODY}")
    return data


Key = Annotated[str, Depends(_key)]
Keys = Annotated[list[str], Depends(_keys)]
One = Annotated[str, Depends(_one)]
Other = Annotated[str, Depends(_other)]
KeyInPath = Annotated[str, Depends(_key_in_path)]
Picture = Annotated[bytes, Depends(_body)]


class _AnyText(PathConvertor):
    """Keys may hold line feeds, which Starlette's own ``path`` takes for an end."""

    regex = r"[\s\S]*"


register_url_convertor("key", _AnyText())


def cursor(place: str) -> str:
    """A place in a list, as clients pass it on."""
    return base64.urlsafe_b64encode(place.encode("utf-8", "surrogateescape")).decode()


def from_cursor(text: str) -> str:
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        raise _lost() from None


def number(cursor: str) -> int:
    text = from_cursor(cursor)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _lost()
    return int(text)


def _lost() -> UsageError:
    return UsageError("`after` must be what `next` of another page was")


def binary(description: str, kind: str) -> dict[str, Any]:
    """A body of this kind, for OpenAPI."""
    return {"description": description, "content": {kind: {"schema": {"type": "string", "format": "binary"}}}}
