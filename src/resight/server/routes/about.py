"""The server itself: whether it answers, what it counts, how it can search, and who is signed in."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool

from ... import __version__
from ...errors import UsageError
from ...recipes import DEFAULT, RECIPES
from .. import shapes
from ..guard import COOKIE
from ..problems import problem_of
from ..state import Shared

router = APIRouter(prefix="/v1")


@router.get("/health", response_model_exclude_none=True)
def show_health(shared: Shared, request: Request) -> shapes.Health:
    """Whether the server answers; for those who may know, what it serves."""
    if not shared.token.known(request.headers):
        return shapes.Health(status="ok")
    facts = shared.collection.index.info()
    return shapes.Health(
        status="ok",
        index=facts.path,
        pictures=facts.pictures,
        linked=facts.linked,
        commit=facts.commit,
        version=__version__,
    )


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
            index.require_searchable(recipe)
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
    shared.token.check(request.headers)
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
