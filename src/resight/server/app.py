"""The application: routes, the page, and what errors become."""

from __future__ import annotations

import logging
from collections.abc import Collection as Many
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import ResightError
from ..options import ServeOptions
from .collection import Collection
from .guard import Guard, Names, Token
from .metrics import Metrics
from .parameters import require_known_parameters
from .problems import DETAILS, Json, Problem, problem_of
from .routes import ROUTERS
from .shapes import Refusal
from .state import State

log = logging.getLogger("uvicorn.error")
STATIC = Path(__file__).parent / "static"
REFUSED: dict[int | str, dict[str, Any]] = {
    status: {
        "description": "A problem (RFC 9457).",
        "content": {"application/problem+json": {"schema": Refusal.model_json_schema()}},
    }
    for status in ("4XX", "5XX")
}


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
    for router in ROUTERS:
        app.include_router(router, responses=REFUSED, dependencies=[Depends(require_known_parameters)])
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
