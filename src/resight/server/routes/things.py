"""The collection by thing shown: groups of pictures, read from the links that `resight link` has stored."""

from __future__ import annotations

from fastapi import APIRouter

from .. import shapes
from ..parameters import After, Key, Limit, cursor, number
from ..problems import Problem
from ..state import Shared

FEW = 4  # pictures of each group in a list of groups

router = APIRouter(prefix="/v1")


@router.get("/groups")
async def list_groups(shared: Shared, limit: Limit = 50, after: After = None) -> shapes.LinkedGroups:
    """Groups of pictures that show the same thing, the largest first, each with its first pictures."""
    first = 0 if after is None else number(after)
    found = await shared.work.run(shared.collection.groups)
    return shapes.LinkedGroups(
        groups=[shapes.LinkedGroup.of(group, range(FEW)) for group in found.groups[first : first + limit]],
        total=len(found),
        next=cursor(str(first + limit)) if first + limit < len(found) else None,
        unlinked=found.unlinked,
    )


@router.get("/group")
async def show_group(shared: Shared, key: Key, limit: Limit = 50, after: After = None) -> shapes.LinkedGroupPage:
    """The group that a picture is in, by pages."""
    first = 0 if after is None else number(after)
    row = await shared.work.run(shared.collection.row, key)
    found = await shared.work.run(shared.collection.groups)
    group = next((each for each in found if any(p.key == row.key for p in each.pictures)), None)
    if group is None:
        raise Problem("no-such-group", "no other picture is known to show the same thing as this one")
    page = shapes.LinkedGroup.of(group, range(first, first + limit))
    more = cursor(str(first + limit)) if first + limit < page.size else None
    return shapes.LinkedGroupPage(**dict(page), next=more)
