"""Groups of pictures that belong together: looked for in the background, then shown by pages, or dismissed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from ...duplicates import Kind, require_for_scenes
from ...index import Index
from .. import shapes
from ..groups import Job, still_shown
from ..parameters import After, Keys, Limit, cursor, number
from ..state import Shared

router = APIRouter(prefix="/v1")
GroupKind = Annotated[Kind, Query(description="Identical pictures, copies of one photograph, or one scene.")]
Sure = Annotated[float | None, Query(ge=0, le=1, description="Of scenes: how sure geometry must be of two pictures.")]


@router.get("/duplicates")
def show_duplicates(
    shared: Shared, kind: GroupKind = "copy", min_confidence: Sure = None, limit: Limit = 50, after: After = None
) -> shapes.Duplicates:
    """Groups of pictures that belong together, if they were looked for, the largest first."""
    first = 0 if after is None else number(after)
    return _duplicates(shared.collection.index, shared.groups.job(kind, min_confidence), range(first, first + limit))


@router.post("/duplicates", status_code=202)
def find_duplicates(shared: Shared, kind: GroupKind = "copy", min_confidence: Sure = None) -> shapes.Duplicates:
    """Look for groups, in the background."""
    require_for_scenes(kind, min_confidence)
    job = shared.groups.start(shared.collection, kind=kind, min_confidence=min_confidence)
    return _duplicates(shared.collection.index, job, range(0))


@router.post("/duplicates/dismissed", status_code=204, response_class=Response)
async def dismiss_group(shared: Shared, keys: Keys, kind: GroupKind = "copy") -> None:
    """Remember that these pictures are no duplicates: their group is left out until it gains another one."""
    await shared.writes.run(shared.collection.dismiss, keys, kind=kind)


@router.delete("/duplicates/dismissed", status_code=204, response_class=Response)
async def restore_group(shared: Shared, keys: Keys, kind: GroupKind = "copy") -> None:
    """Undo that."""
    await shared.writes.run(shared.collection.undismiss, keys, kind=kind)


def _duplicates(index: Index, job: Job | None, wanted: range) -> shapes.Duplicates:
    if job is None:
        return shapes.Duplicates(
            state="idle", done=0, total=len(index), groups=[], next=None, commit=None, dismissed=0, unread=0
        )
    found = job.found.groups if job.found else ()
    groups = still_shown(found[wanted.start : wanted.stop], index, job.kind)
    return shapes.Duplicates(
        state=job.state,
        done=job.done,
        total=job.total,
        groups=[shapes.Together.of(group) for group in groups],
        next=cursor(str(wanted.stop)) if wanted.stop < len(found) else None,
        commit=job.commit,
        dismissed=job.found.dismissed if job.found else 0,
        unread=job.found.unread if job.found else 0,
    )
