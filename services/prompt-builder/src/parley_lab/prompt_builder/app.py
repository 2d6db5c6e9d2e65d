"""The prompt builder over HTTP."""

from collections.abc import Callable
from time import perf_counter
from typing import Final

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from pydantic import TypeAdapter, ValidationError

from parley_lab.base.errors import Conflict, InvalidInput, ParleyError, Unavailable
from parley_lab.base.logs import correlation, go_on_with
from parley_lab.base.metrics import METRICS_TYPE, REQUEST_SECONDS, in_words_of_prometheus
from parley_lab.contracts.prompts import PreviewQuestion, PromptQuestion, SeatQuestion
from parley_lab.drafts.context import check_reachable
from parley_lab.prompt_builder.builder import PromptBuilder
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)

CORRELATION_HEADER = "x-correlation-id"


def create_app(database: Database, *, may_be_ready: Callable[[], bool] = lambda: True) -> FastAPI:
    """The service on this database; the caller closes the database. Ready while that answers and `may_be_ready`."""
    app = FastAPI(title="Parley prompt builder", openapi_url=None, docs_url=None, redoc_url=None)

    prompts = PromptBuilder(database)

    async def post_prompt(request: Request) -> Response:
        go_on_with(request.headers.get(CORRELATION_HEADER, ""))
        began = perf_counter()
        try:
            question = _question(await request.body())
            prompt = await prompts.build(question.draft_id, question.token_budget)
        except ParleyError as error:
            return _noted(_problem(error), began)
        log.info("prompt.made", draft=str(question.draft_id), messages=len(prompt.messages))
        return _noted(Response(prompt.model_dump_json(), media_type="application/json"), began)

    async def post_preview(request: Request) -> Response:
        go_on_with(request.headers.get(CORRELATION_HEADER, ""))
        try:
            question = _preview_question(await request.body())
            found = await prompts.preview(question)
        except ParleyError as error:
            return _problem(error)
        return Response(found.model_dump_json(), media_type="application/json")

    async def post_seen(request: Request) -> Response:
        go_on_with(request.headers.get(CORRELATION_HEADER, ""))
        try:
            found = await prompts.see(_seat_question(await request.body()))
        except ParleyError as error:
            return _problem(error)
        return Response(found.model_dump_json(), media_type="application/json")

    async def get_healthz(_: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def get_metrics(_: Request) -> Response:
        return Response(in_words_of_prometheus(), headers={"content-type": METRICS_TYPE})

    async def get_readyz(_: Request) -> Response:
        try:
            await check_reachable(database)
        except ParleyError as error:
            return _problem(error)
        if not may_be_ready():
            return _problem(Unavailable("The tables of the database are not known yet. Try again."))
        return Response(b'{"status":"ready"}', media_type="application/json")

    # Plain routes: parameters and response models would cost more than the prompt itself.
    app.add_route("/v1/prompts", post_prompt, methods=["POST"])
    app.add_route("/v1/previews", post_preview, methods=["POST"])
    app.add_route("/v1/seen", post_seen, methods=["POST"])
    app.add_route("/healthz", get_healthz, methods=["GET"])
    app.add_route("/metrics", get_metrics, methods=["GET"])
    app.add_route("/readyz", get_readyz, methods=["GET"])
    return app


def _noted(response: Response, began: float) -> Response:
    REQUEST_SECONDS.labels("POST", str(response.status_code)).observe(perf_counter() - began)
    return response


def _question(body: bytes) -> PromptQuestion:
    try:
        return PromptQuestion.model_validate_json(body)
    except ValidationError as error:
        raise InvalidInput('The question must be {"draft_id": "<id of a draft>"}.') from error


def _seat_question(body: bytes) -> SeatQuestion:
    try:
        return SeatQuestion.model_validate_json(body)
    except ValidationError as error:
        raise InvalidInput("The question must have the document of an experiment, and its id.") from error


_PREVIEWS: Final[TypeAdapter[PreviewQuestion]] = TypeAdapter(PreviewQuestion)


def _preview_question(body: bytes) -> PreviewQuestion:
    try:
        return _PREVIEWS.validate_json(body)
    except ValidationError as error:
        raise InvalidInput("The question must name a draft, a member, or a persona and a stage.") from error


def _problem(error: ParleyError) -> Response:
    body = {
        "type": f"urn:parley:problem:{error.code}",
        "status": error.status,
        "code": error.code,
        "detail": error.message,
        "reason": error.reason if isinstance(error, Conflict) else None,
        "can_retry": error.can_retry,
        "correlation_id": correlation.get(),
    }
    return Response(orjson.dumps(body), status_code=error.status, media_type="application/problem+json")
