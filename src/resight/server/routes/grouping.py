"""Groups of pictures that belong together: looked for in the background, then shown by pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from ...duplicates import SURE, Kind
from ...index import Index
from .. import shapes
from ..groups import Job, living
from ..parameters import After, Limit, cursor, number
from ..state import Shared

router = APIRouter(prefix="/v1")
GroupKind = Annotated[Kind, Query(description="Copies, or pictures of the same scene.")]
Sure = Annotated[float, Query(ge=0, le=1, description="How sure geometry must be of two pictures.")]


@router.get("/duplicates")
def show_duplicates(
    shared: Shared, kind: GroupKind = "copy", min_confidence: Sure = SURE, limit: Limit = 50, after: After = None
) -> shapes.Duplicates:
    """Groups of pictures that belong together, if they were looked for, the largest first."""
    first = 0 if after is None else number(after)
    return _duplicates(shared.collection.index, shared.groups.job(kind, min_confidence), range(first, first + limit))


@router.post("/duplicates", status_code=202)
def find_duplicates(shared: Shared, kind: GroupKind = "copy", min_confidence: Sure = SURE) -> shapes.Duplicates:
    """Look for groups, in the background."""
    job = shared.groups.start(shared.collection, kind=kind, min_confidence=min_confidence)
    return _duplicates(shared.collection.index, job, range(0))


def _duplicates(index: Index, job: Job | None, wanted: range) -> shapes.Duplicates:
    if job is None:
        return shapes.Duplicates(state="idle", done=0, total=len(index), groups=[], next=None, commit=None)
    found = job.groups or []
    groups = [left for group in found[wanted.start : wanted.stop] if (left := living(group, index))]
    return shapes.Duplicates(
        state=job.state,
        done=job.done,
        total=job.total,
        groups=[shapes.Together.of(group) for group in groups],
        next=cursor(str(wanted.stop)) if wanted.stop < len(found) else None,
        commit=job.commit,
    )
