"""The collection: listed, shown, added to and removed from."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response

from ...urls import is_url
from .. import shapes
from ..parameters import NAME_LENGTH, PICTURE, After, Key, KeyInPath, Limit, Picture, binary, cursor, from_cursor
from ..state import Shared, State

JPEG: dict[int | str, dict[str, Any]] = {
    200: binary("The picture.", "image/jpeg"),
    304: {"description": "The client has it already."},
}
router = APIRouter(prefix="/v1")
Side = Annotated[int, Query(ge=16, le=4096, description="Of the longest side, in pixels; never enlarged.")]
Known = Annotated[str | None, Header()]


@router.get("/images")
def list_pictures(shared: Shared, limit: Limit = 50, after: After = None) -> shapes.Page:
    """The collection, by key."""
    index = shared.collection.index
    rows = list(islice(index.pictures(after=None if after is None else from_cursor(after)), limit + 1))
    more = cursor(rows[limit - 1].key) if len(rows) > limit else None
    return shapes.Page(images=[shapes.Facts.of(row) for row in rows[:limit]], next=more, total=len(index))


@router.post(
    "/images",
    status_code=201,
    openapi_extra=PICTURE,
    responses={200: {"model": shapes.Facts, "description": "There is one with the same content."}},
)
async def add_picture(
    shared: Shared,
    response: Response,
    picture: Picture,
    name: Annotated[str | None, Query(max_length=NAME_LENGTH, description="To be shown; kept as metadata.")] = None,
) -> shapes.Facts:
    """Add a picture to the collection; the server chooses its key."""
    row, new = await shared.writes.run(shared.collection.add, picture, name=name)
    facts = shapes.Facts.of(row)
    response.status_code = 201 if new else 200
    response.headers["location"] = facts.links.facts
    return facts


@router.get("/images/{key:key}")
def show_facts(shared: Shared, key: KeyInPath) -> shapes.Facts:
    """What is stored about a picture."""
    return shapes.Facts.of(shared.collection.row(key))


@router.delete("/images/{key:key}", status_code=204, response_class=Response)
async def remove_picture(shared: Shared, key: KeyInPath) -> None:
    """Remove a picture from the collection; a file that was not uploaded stays where it is."""
    await shared.writes.run(shared.collection.remove, key)


@router.get("/thumbnail", response_class=Response, responses=JPEG)
async def show_thumbnail(shared: Shared, key: Key, side: Side = 320, if_none_match: Known = None) -> Response:
    """A small JPEG of a picture."""
    return await _jpeg(shared, key, side, if_none_match)


@router.get("/picture", response_class=Response, responses=JPEG)
async def show_picture(shared: Shared, key: Key, side: Side = 1600, if_none_match: Known = None) -> Response:
    """A larger JPEG of a picture."""
    return await _jpeg(shared, key, side, if_none_match)


async def _jpeg(shared: State, key: str, side: int, known: str | None) -> Response:
    row = await shared.work.run(shared.collection.row, key)
    tag = f'"{row.content.hex()}-{side}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if known == tag:
        return Response(status_code=304, headers=headers)
    work = shared.fetches if row.path and is_url(row.path) else shared.work
    data = await work.run(shared.collection.jpeg, row, side=side)
    return Response(data, media_type="image/jpeg", headers=headers)
