"""Pictures that show the same thing as one of the collection, as `resight link` has found out."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match

from .. import shapes
from ..parameters import LINKS, KeyInPath, Limit
from ..state import Shared


class _OfPicture(APIRoute):
    """Where the slash stands as itself: ``a%2Flinks`` is the key ``a/links``, not what ``a`` is linked to."""

    def matches(self, scope: MutableMapping[str, Any]) -> tuple[Match, MutableMapping[str, Any]]:
        if not scope["raw_path"].endswith(LINKS.encode()):
            return Match.NONE, {}
        return super().matches(scope)


router = APIRouter(prefix="/v1", route_class=_OfPicture)


@router.get("/images/{key:key}" + LINKS)
async def show_links(shared: Shared, key: KeyInPath, limit: Limit = 50) -> shapes.Linked:
    """The pictures that show the same thing as this one, surest first; nothing is searched."""
    found = await shared.work.run(lambda: shared.collection.index.links(key))
    return shapes.Linked.of(found, limit=limit)
