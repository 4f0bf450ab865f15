"""Searching, and comparing two pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import AfterValidator

from ...errors import UsageError
from ...options import parse_region
from ...recipes import DEFAULT, RECIPES
from .. import shapes
from ..parameters import MOST, PICTURE, FileName, Key, One, Other, Picture, RegionText
from ..state import Shared, State

router = APIRouter(prefix="/v1")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which hits, and how they are looked for."""

    top: int
    offset: int
    region: str | None
    recipe: str
    min_confidence: float


def _known_recipe(name: str) -> str:
    """No files: paths never come from requests."""
    if name not in RECIPES:
        raise ValueError(f"must be one of {', '.join(RECIPES)}")
    return name


async def _wanted(
    top: Annotated[int, Query(ge=1, le=MOST, description="Hits wanted.")] = 20,
    offset: Annotated[int, Query(ge=0, lt=MOST, description="Hits to leave out, the best ones.")] = 0,
    region: RegionText = None,
    recipe: Annotated[
        str,
        AfterValidator(_known_recipe),
        Query(description="How to search; see /v1/recipes.", json_schema_extra={"enum": list(RECIPES)}),
    ] = DEFAULT,
    min_confidence: Annotated[float, Query(ge=0, le=1, description="Leave out hits that are less likely right.")] = 0.0,
) -> Wanted:
    if offset + top > MOST:
        raise UsageError(f"offset + top must be at most {MOST}, not {offset + top}")
    return Wanted(top, offset, region, recipe, min_confidence)


Asked = Annotated[Wanted, Depends(_wanted)]


@router.post("/search", openapi_extra=PICTURE)
async def search_with_picture(shared: Shared, picture: Picture, wanted: Asked, name: FileName = None) -> shapes.Result:
    """Pictures that show what the posted picture, or a region of it, shows."""
    return await _search(shared, wanted, picture, name=name)


@router.get("/search")
async def search_with_key(shared: Shared, key: Key, wanted: Asked) -> shapes.Result:
    """Pictures that show what an indexed picture, or a region of it, shows."""
    return await _search(shared, wanted, key=key)


async def _search(
    shared: State, wanted: Wanted, *picture: bytes, key: str | None = None, name: str | None = None
) -> shapes.Result:
    """As many hits as there are pages for are looked for: so all pages are parts of the same ranking."""
    region = None if wanted.region is None else parse_region(wanted.region)
    found = await shared.work.run(
        lambda: shared.collection.search(
            *picture,
            key=key,
            top=MOST,
            region=region,
            recipe=wanted.recipe,
            min_confidence=wanted.min_confidence,
            name=name,
        )
    )
    return shapes.Result.of(found, key=key, offset=wanted.offset, top=wanted.top)


@router.get("/compare")
async def compare_two(shared: Shared, one: One, other: Other, region: RegionText = None) -> shapes.Comparison:
    """Where an indexed picture, or a region of it, and another one show the same thing."""
    box = None if region is None else parse_region(region)
    found = await shared.work.run(lambda: shared.collection.compare(key=one, other=other, region=box))
    return shapes.Comparison.of(found, key=one)


@router.post("/compare", openapi_extra=PICTURE)
async def compare_picture(
    shared: Shared, picture: Picture, other: Other, region: RegionText = None, name: FileName = None
) -> shapes.Comparison:
    """Where the posted picture, or a region of it, and an indexed one show the same thing."""
    box = None if region is None else parse_region(region)
    found = await shared.work.run(lambda: shared.collection.compare(picture, other=other, region=box, name=name))
    return shapes.Comparison.of(found, key=None)
