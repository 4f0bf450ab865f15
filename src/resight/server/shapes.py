"""What answers look like. docs/SERVER.md explains them; OpenAPI is made of them."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel

from .. import duplicates, types
from ..duplicates import Group, Kind
from ..store import Row
from .groups import JobState

Transform = tuple[tuple[float, float, float], tuple[float, float, float]]


class Links(BaseModel):
    """Where more about a picture is found."""

    thumbnail: str
    picture: str
    facts: str

    @classmethod
    def of(cls, key: str) -> Links:
        quoted = quote(key, safe="", errors="surrogateescape")
        return cls(
            thumbnail=f"/v1/thumbnail?key={quoted}", picture=f"/v1/picture?key={quoted}", facts=f"/v1/images/{quoted}"
        )


class Box(BaseModel):
    """In full-size, upright pixels."""

    x: float
    y: float
    width: float
    height: float

    @classmethod
    def of(cls, region: types.Region | None) -> Box | None:
        return None if region is None else cls(x=region.x, y=region.y, width=region.width, height=region.height)


class Hit(BaseModel):
    """A picture found. What geometry says is null where it confirmed nothing or was not asked.

    ``via``: keys of the pictures that links lead through; then transform and region are composed, and inliers is null.
    """

    key: str
    rank: int
    score: float
    confidence: float | None
    inliers: int | None
    transform: Transform | None
    region: Box | None
    query_region: Box | None
    width: int
    height: int
    metadata: dict[str, Any]
    via: list[str]
    links: Links

    @classmethod
    def of(cls, hit: types.Hit, rank: int) -> Hit:
        return cls(
            key=hit.key,
            rank=rank,
            score=hit.score,
            confidence=hit.confidence,
            inliers=hit.inliers,
            transform=hit.transform,
            region=Box.of(hit.region),
            query_region=Box.of(hit.query_region),
            width=hit.width,
            height=hit.height,
            metadata=hit.metadata,
            via=list(hit.via),
            links=Links.of(hit.key),
        )


class Query(BaseModel):
    """The picture that was asked with."""

    width: int
    height: int
    features: int
    key: str | None


class Result(BaseModel):
    """A page of hits, best first. ``total`` counts those of all pages."""

    query: Query
    total: int
    offset: int
    hits: list[Hit]
    seconds: float

    @classmethod
    def of(cls, found: types.SearchResult, *, key: str | None, offset: int, top: int) -> Result:
        page = found.hits[offset : offset + top]
        return cls(
            query=Query(width=found.width, height=found.height, features=found.query_features, key=key),
            total=len(found),
            offset=offset,
            hits=[Hit.of(hit, rank) for rank, hit in enumerate(page, offset + 1)],
            seconds=round(sum(found.timings.values()), 6),
        )


class Linked(BaseModel):
    """Pictures that links lead to, surest first. ``total`` counts those beyond the limit, too."""

    total: int
    hits: list[Hit]

    @classmethod
    def of(cls, found: list[types.Hit], *, limit: int) -> Linked:
        return cls(total=len(found), hits=[Hit.of(hit, rank) for rank, hit in enumerate(found[:limit], 1)])


class Side(BaseModel):
    """One of two pictures."""

    width: int
    height: int
    key: str | None


class Comparison(BaseModel):
    """What two pictures have in common; nulls and no matches where geometry confirms nothing."""

    one: Side
    other: Side
    confidence: float | None
    inliers: int | None
    transform: Transform | None
    region: Box | None
    query_region: Box | None
    matches: list[tuple[float, float, float, float]]  # x, y in one and x, y in the other

    @classmethod
    def of(cls, found: types.SearchResult, *, key: str | None) -> Comparison:
        (hit,) = found.hits
        return cls(
            one=Side(width=found.width, height=found.height, key=key),
            other=Side(width=hit.width, height=hit.height, key=hit.key),
            confidence=hit.confidence if hit.inliers else None,
            inliers=hit.inliers,
            transform=hit.transform,
            region=Box.of(hit.region),
            query_region=Box.of(hit.query_region),
            matches=[] if hit.matches is None else hit.matches.tolist(),
        )


class Facts(BaseModel):
    """What is stored about a picture."""

    key: str
    width: int
    height: int
    features: int
    metadata: dict[str, Any]
    links: Links

    @classmethod
    def of(cls, row: Row) -> Facts:
        return cls(
            key=row.key,
            width=row.width,
            height=row.height,
            features=row.features,
            metadata=row.metadata,
            links=Links.of(row.key),
        )


class Page(BaseModel):
    """Some pictures, by key; ``next`` is what ``after`` must be for those that follow."""

    images: list[Facts]
    next: str | None
    total: int


class Member(BaseModel):
    """A picture of a group."""

    key: str
    width: int
    height: int
    confidence: float | None
    correlation: float | None
    links: Links


class Kept(BaseModel):
    """The picture to keep of a group of copies, and why."""

    key: str
    reason: str


class Together(BaseModel):
    """Pictures that belong together, the one with the most pixels first."""

    kind: Kind
    pictures: list[Member]
    keep: Kept | None

    @classmethod
    def of(cls, group: Group) -> Together:
        members = [
            Member(
                key=p.key,
                width=p.width,
                height=p.height,
                confidence=p.confidence,
                correlation=p.correlation,
                links=Links.of(p.key),
            )
            for p in group.pictures
        ]
        kept = Kept(key=group.keep.key, reason=group.keep.reason) if group.keep else None
        return cls(kind=group.kind, pictures=members, keep=kept)


class Duplicates(BaseModel):
    """How far the work has come, and groups once it is done, as of ``commit``."""

    state: JobState
    done: int
    total: int
    groups: list[Together]
    next: str | None
    commit: int | None
    dismissed: int  # groups that are left out
    unread: int  # pictures whose pixels could not be compared


class LinkedMember(BaseModel):
    """A picture of a group; ``inliers``: matches that agree with another picture of the group, at most."""

    key: str
    width: int
    height: int
    inliers: int
    metadata: dict[str, Any]
    links: Links

    @classmethod
    def of(cls, picture: duplicates.LinkedMember) -> LinkedMember:
        return cls(
            key=picture.key,
            width=picture.width,
            height=picture.height,
            inliers=picture.inliers,
            metadata=picture.metadata,
            links=Links.of(picture.key),
        )


class LinkedGroup(BaseModel):
    """Some pictures of a group: its representative, then the others, the strongest links first. ``size`` counts all."""

    representative: str
    size: int
    pictures: list[LinkedMember]

    @classmethod
    def of(cls, group: duplicates.LinkedGroup, wanted: range) -> LinkedGroup:
        return cls(
            representative=group.representative.key,
            size=len(group.pictures),
            pictures=[LinkedMember.of(picture) for picture in group.pictures[wanted.start : wanted.stop]],
        )


class LinkedGroupPage(LinkedGroup):
    """``next`` is what ``after`` must be for the pictures that follow."""

    next: str | None


class LinkedGroups(BaseModel):
    """Some groups, the largest first. ``unlinked`` counts pictures that have not looked for others yet."""

    groups: list[LinkedGroup]
    total: int
    next: str | None
    unlinked: int


class Health(BaseModel):
    """All but the status for those who may know."""

    status: Literal["ok"]
    index: str | None = None
    pictures: int | None = None
    linked: int | None = None  # pictures that have looked for others of the same thing
    commit: int | None = None
    version: str | None = None


class Described(BaseModel):
    """A recipe; ``needs`` says what is missing where it cannot be searched with here."""

    name: str
    description: str
    searchable: bool
    needs: str | None


class Recipes(BaseModel):
    """All recipes, and the one that is used where none is named."""

    default: str
    recipes: list[Described]


class Session(BaseModel):
    """Whether a token is needed, and whether this client has shown it."""

    token_needed: bool
    signed_in: bool


class Refusal(BaseModel):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
