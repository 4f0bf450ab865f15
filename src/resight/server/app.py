"""The routes: thin, typed at the edge, everything else is done elsewhere."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Collection as Many
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, unquote

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from pydantic import AfterValidator
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import ResightError, UsageError
from ..index import Index
from ..machine import processors
from ..options import ServeOptions, parse_region
from ..recipes import DEFAULT, RECIPES
from ..types import SearchResult
from . import shapes
from .collection import Collection
from .groups import Groups, Job, living
from .guard import COOKIE, Guard, Names, Token
from .metrics import Metrics
from .problems import DETAILS, Json, Problem, problem_of
from .work import Work

log = logging.getLogger("uvicorn.error")
STATIC = Path(__file__).parent / "static"
MOST = 500  # hits that can be paged through
PICTURE = {
    "requestBody": {
        "required": True,
        "description": "The picture's file: JPEG, PNG, WebP, TIFF, BMP or HEIC, told by content.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
REFUSED: dict[int | str, dict[str, Any]] = {
    status: {
        "description": "A problem (RFC 9457).",
        "content": {"application/problem+json": {"schema": shapes.Refusal.model_json_schema()}},
    }
    for status in ("4XX", "5XX")
}
JPEG: dict[int | str, dict[str, Any]] = {
    200: {"description": "The picture.", "content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}},
    304: {"description": "The client has it already."},
}


def _known_recipe(name: str) -> str:
    """No files: paths never come from requests."""
    if name not in RECIPES:
        raise ValueError(f"must be one of {', '.join(RECIPES)}")
    return name


Top = Annotated[int, Query(ge=1, le=MOST, description="Hits wanted.")]
Offset = Annotated[int, Query(ge=0, lt=MOST, description="Hits to leave out, the best ones.")]
RegionText = Annotated[str | None, Query(max_length=200, description="x,y,width,height in the query's pixels.")]
ChosenRecipe = Annotated[
    str,
    AfterValidator(_known_recipe),
    Query(description="How to search; see /v1/recipes.", json_schema_extra={"enum": list(RECIPES)}),
]
Sure = Annotated[float, Query(ge=0, le=1, description="Leave out hits that are less likely right.")]
GroupKind = Annotated[Literal["copy", "scene"], Query(description="Copies, or pictures of the same scene.")]
GroupSure = Annotated[float, Query(ge=0, le=1, description="How sure geometry must be of two pictures.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many, at most.")]
After = Annotated[str | None, Query(max_length=20_000, description="``next`` of the page before.")]
Side = Annotated[int, Query(ge=16, le=4096, description="Of the longest side, in pixels; never enlarged.")]


class State:
    """What the routes share."""

    def __init__(self, collection: Collection, options: ServeOptions, token: Token, metrics: Metrics) -> None:
        self.collection, self.token, self.metrics, self.groups = collection, token, metrics, Groups()
        self.work = Work(at_once=options.at_once or processors(), queue=options.queue, seconds=options.seconds)
        self.writes = Work(at_once=1, queue=options.queue, seconds=options.seconds)

    def close(self) -> None:
        self.groups.close()
        self.work.close()
        self.writes.close()


def _state(request: Request) -> State:
    state: State = request.app.state.resight
    return state


Shared = Annotated[State, Depends(_state)]


def _named(request: Request, name: str) -> str:
    """A query parameter; bytes that are no text stand for themselves, as in keys."""
    return parse_qs(request.url.query, keep_blank_values=True, errors="surrogateescape")[name][-1]


def _key(request: Request, key: Annotated[str, Query(description="An indexed picture.")]) -> str:
    return _named(request, "key")


def _one(request: Request, one: Annotated[str, Query(description="An indexed picture.")]) -> str:
    return _named(request, "one")


def _other(request: Request, other: Annotated[str, Query(description="An indexed picture.")]) -> str:
    return _named(request, "other")


def _key_in_path(request: Request, key: str) -> str:
    raw = request.scope["raw_path"].decode("latin-1").removeprefix("/v1/images/")
    return unquote(raw, errors="surrogateescape")


async def _body(request: Request) -> bytes:
    return await request.body()


Key = Annotated[str, Depends(_key)]
One = Annotated[str, Depends(_one)]
Other = Annotated[str, Depends(_other)]
KeyInPath = Annotated[str, Depends(_key_in_path)]
Picture = Annotated[bytes, Depends(_body)]


class _AnyText(PathConvertor):
    """Keys may hold line feeds, which Starlette's own ``path`` takes for an end."""

    regex = r"[\s\S]*"


register_url_convertor("key", _AnyText())
router = APIRouter(prefix="/v1", responses=REFUSED)


@router.post("/search", openapi_extra=PICTURE)
async def search_with_picture(
    shared: Shared,
    picture: Picture,
    top: Top = 20,
    offset: Offset = 0,
    region: RegionText = None,
    recipe: ChosenRecipe = DEFAULT,
    min_confidence: Sure = 0.0,
) -> shapes.Result:
    """Pictures that show what the posted picture, or a region of it, shows."""
    _insist_on_pages(top, offset)
    found = await shared.work.run(_search, shared.collection, picture, None, region, recipe, min_confidence)
    return shapes.Result.of(found, key=None, offset=offset, top=top)


@router.get("/search")
async def search_with_key(
    shared: Shared,
    key: Key,
    top: Top = 20,
    offset: Offset = 0,
    region: RegionText = None,
    recipe: ChosenRecipe = DEFAULT,
    min_confidence: Sure = 0.0,
) -> shapes.Result:
    """Pictures that show what an indexed picture, or a region of it, shows."""
    _insist_on_pages(top, offset)
    found = await shared.work.run(_search, shared.collection, None, key, region, recipe, min_confidence)
    return shapes.Result.of(found, key=key, offset=offset, top=top)


def _insist_on_pages(top: int, offset: int) -> None:
    if offset + top > MOST:
        raise UsageError(f"offset + top must be at most {MOST}, not {offset + top}")


def _search(
    collection: Collection, picture: bytes | None, key: str | None, region: str | None, recipe: str, sure: float
) -> SearchResult:
    """As many as there are pages for: so all pages are parts of the same ranking."""
    sources = [] if picture is None else [picture]
    box = None if region is None else parse_region(region)
    return collection.index.search(*sources, key=key, top=MOST, region=box, recipe=recipe, min_confidence=sure)


@router.get("/compare")
async def compare_two(shared: Shared, one: One, other: Other) -> shapes.Comparison:
    """Where two indexed pictures show the same thing."""
    found = await shared.work.run(lambda: shared.collection.index.compare(key=one, other=other))
    return shapes.Comparison.of(found, key=one)


@router.post("/compare", openapi_extra=PICTURE)
async def compare_picture(
    shared: Shared, picture: Picture, other: Other, region: RegionText = None
) -> shapes.Comparison:
    """Where the posted picture and an indexed one show the same thing."""
    box = None if region is None else parse_region(region)
    found = await shared.work.run(lambda: shared.collection.index.compare(picture, other=other, region=box))
    return shapes.Comparison.of(found, key=None)


@router.get("/images")
def list_pictures(shared: Shared, limit: Limit = 50, after: After = None) -> shapes.Page:
    """The collection, by key."""
    index = shared.collection.index
    rows = index.page(after=None if after is None else _from_cursor(after), limit=limit + 1)
    more = _cursor(rows[limit - 1].key) if len(rows) > limit else None
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
    name: Annotated[str | None, Query(description="To be shown; kept as metadata.")] = None,
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
async def show_thumbnail(
    shared: Shared, key: Key, side: Side = 320, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """A small JPEG of a picture."""
    return await _jpeg(shared, key, side, if_none_match)


@router.get("/picture", response_class=Response, responses=JPEG)
async def show_picture(
    shared: Shared, key: Key, side: Side = 1600, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """A larger JPEG of a picture."""
    return await _jpeg(shared, key, side, if_none_match)


async def _jpeg(shared: State, key: str, side: int, known: str | None) -> Response:
    row = await shared.work.run(shared.collection.row, key)
    tag = f'"{row.content.hex()}-{side}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if known == tag:
        return Response(status_code=304, headers=headers)
    data = await shared.work.run(shared.collection.jpeg, row, side=side)
    return Response(data, media_type="image/jpeg", headers=headers)


@router.get("/duplicates")
def show_duplicates(
    shared: Shared, kind: GroupKind = "copy", min_confidence: GroupSure = 0.95, limit: Limit = 50, after: After = None
) -> shapes.Duplicates:
    """Groups of pictures that belong together, if they were looked for, the largest first."""
    first = 0 if after is None else _number(after)
    return _duplicates(shared.collection.index, shared.groups.job(kind, min_confidence), range(first, first + limit))


@router.post("/duplicates", status_code=202)
def find_duplicates(shared: Shared, kind: GroupKind = "copy", min_confidence: GroupSure = 0.95) -> shapes.Duplicates:
    """Look for groups, in the background."""
    index = shared.collection.index
    return _duplicates(index, shared.groups.start(index, kind=kind, min_confidence=min_confidence), range(0))


def _duplicates(index: Index, job: Job | None, wanted: range) -> shapes.Duplicates:
    if job is None:
        return shapes.Duplicates(state="idle", done=0, total=len(index), groups=[], next=None, commit=None)
    found = job.groups or []
    groups = [left for group in found[wanted.start : wanted.stop] if (left := living(group, index))]
    return shapes.Duplicates(
        state=job.state,  # type: ignore[arg-type]
        done=job.done,
        total=job.total,
        groups=[shapes.Together.of(group) for group in groups],
        next=_cursor(str(wanted.stop)) if wanted.stop < len(found) else None,
        commit=job.commit,
    )


@router.get("/health", response_model_exclude_none=True)
def show_health(shared: Shared, request: Request) -> shapes.Health:
    """Whether the server answers; for those who may know, what it serves."""
    if not shared.token.known(request.headers):
        return shapes.Health(status="ok")
    facts = shared.collection.index.info()
    return shapes.Health(status="ok", pictures=facts.pictures, commit=facts.commit, version=__version__)


@router.get("/metrics", response_class=PlainTextResponse)
async def show_metrics(shared: Shared) -> PlainTextResponse:
    """Counts for Prometheus."""
    facts = await run_in_threadpool(lambda: shared.collection.index.info())  # noqa: PLW0108  # `index` may open files
    text = shared.metrics.text(
        work_under_way=shared.work.under_way,
        writes_under_way=shared.writes.under_way,
        pictures=facts.pictures,
        commit=facts.commit,
    )
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


@router.get("/recipes")
def list_recipes(shared: Shared) -> shapes.Recipes:
    """The ways to search, and which of them this index is made for."""
    index, listed = shared.collection.index, []
    for name, recipe in RECIPES.items():
        needs = None
        try:
            index.insist_on_searchable(recipe)
        except UsageError as error:
            needs = problem_of(error, index=str(index.path)).detail
        listed.append(
            shapes.Described(name=name, description=recipe.description, searchable=needs is None, needs=needs)
        )
    return shapes.Recipes(default=DEFAULT, recipes=listed)


@router.get("/session")
def show_session(shared: Shared, request: Request) -> shapes.Session:
    """Whether a token is needed, and known."""
    return shapes.Session(token_needed=shared.token.needed, signed_in=shared.token.known(request.headers))


@router.post("/session", status_code=204, response_class=Response)
def sign_in(shared: Shared, request: Request) -> Response:
    """A cookie for the token, so that a page can show pictures."""
    shared.token.insist(request.headers)
    response = Response(status_code=204)
    if shared.token.needed:
        response.set_cookie(COOKIE, shared.token.session, httponly=True, samesite="strict")
    return response


@router.delete("/session", status_code=204, response_class=Response)
def sign_out() -> Response:
    """Without the cookie again."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def _cursor(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode("utf-8", "surrogateescape")).decode()


def _from_cursor(text: str) -> str:
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        raise _lost() from None


def _number(cursor: str) -> int:
    text = _from_cursor(cursor)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _lost()
    return int(text)


def _lost() -> UsageError:
    return UsageError("`after` must be what `next` of another page was")


def make_app(
    collection: Collection, *, options: ServeOptions, token: str | None = None, names: Many[str] = ()
) -> FastAPI:
    """The application, guarded. Whoever runs it calls ``app.state.resight.close`` at the end."""
    app = FastAPI(
        title="resight",
        version=__version__,
        description="Find every picture of the same thing.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        default_response_class=Json,
        redirect_slashes=False,
    )
    access, metrics = Token(token), Metrics()
    app.state.resight = State(collection, options, access, metrics)
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_api_route("/", lambda: FileResponse(STATIC / "index.html"), include_in_schema=False)
    _answer_errors(app, str(collection.path))
    app.add_middleware(Guard, options=options, names=Names(options.host, names), token=access, metrics=metrics)
    return app


def _answer_errors(app: FastAPI, index: str) -> None:
    """Errors become problems here and nowhere else."""

    @app.exception_handler(Problem)
    def refused(request: Request, problem: Problem) -> Response:
        return problem.response()

    @app.exception_handler(ResightError)
    def failed(request: Request, error: ResightError) -> Response:
        problem = problem_of(error, index=index)
        if problem.status == 500:
            log.error("%s: %s", type(error).__name__, error)
        return problem.response()

    @app.exception_handler(RequestValidationError)
    def wrong(request: Request, error: RequestValidationError) -> Response:
        said = "; ".join(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors())
        return Problem("wrong-parameter", said).response()

    @app.exception_handler(HTTPException)
    def none(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            detail = "see /v1/openapi.json for what can be done"
            return Problem("wrong-method", detail, headers=error.headers).response()
        return Problem("no-such-page", "see /v1/openapi.json for what there is").response()

    @app.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> Response:
        return Problem("unexpected", DETAILS["unexpected"]).response()
