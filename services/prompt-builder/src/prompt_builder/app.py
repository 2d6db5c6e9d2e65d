"""The prompt builder over HTTP; the embedded lab calls the same application without a socket."""

from typing import Final
from uuid import UUID

import orjson
from fastapi import FastAPI, Request, Response
from pydantic import TypeAdapter, ValidationError

from prompt_builder import previews
from prompt_builder.rendering import render
from shared.contracts.prompts import PreviewQuestion, Prompt, PromptQuestion
from shared.db.context import check_reachable, prompt_context
from shared.db.session import Database
from shared.errors import InvalidInput, ParleyError
from shared.logs import correlation

CORRELATION_HEADER = "x-correlation-id"


async def build_prompt(database: Database, draft_id: UUID, token_budget: int | None = None) -> Prompt:
    """The prompt for one draft: what a preview shows is what is sent, because both are this.

    token_budget: makes the prompt shorter than it would be, when that was too long for the model.

    Raises:
        NotFound: there is no such draft, or its stage asks nothing of a model.
        Unavailable: Postgres cannot be reached.
    """
    async with database.looking() as session:
        context = await prompt_context(session, draft_id)
    prompt = render(context, token_budget)
    return prompt.model_copy(update={"is_held": True}) if context.is_held else prompt


def create_app(database: Database) -> FastAPI:
    """The service on this database; whoever opened the database closes it."""
    app = FastAPI(title="Parley prompt builder", openapi_url=None, docs_url=None, redoc_url=None)

    async def post_prompt(request: Request) -> Response:
        correlation.set(request.headers.get(CORRELATION_HEADER, ""))
        try:
            question = _question(await request.body())
            prompt = await build_prompt(database, question.draft_id, question.token_budget)
        except ParleyError as error:
            return _problem(error)
        return Response(prompt.model_dump_json(), media_type="application/json")

    async def post_preview(request: Request) -> Response:
        correlation.set(request.headers.get(CORRELATION_HEADER, ""))
        try:
            question = _preview_question(await request.body())
            found = await previews.preview(database, question)
        except ParleyError as error:
            return _problem(error)
        return Response(found.model_dump_json(), media_type="application/json")

    async def get_healthz(_: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def get_readyz(_: Request) -> Response:
        try:
            await check_reachable(database)
        except ParleyError as error:
            return _problem(error)
        return Response(b'{"status":"ready"}', media_type="application/json")

    # Plain routes: parameters and response models would cost more than the prompt itself.
    app.add_route("/v1/prompts", post_prompt, methods=["POST"])
    app.add_route("/v1/previews", post_preview, methods=["POST"])
    app.add_route("/healthz", get_healthz, methods=["GET"])
    app.add_route("/readyz", get_readyz, methods=["GET"])
    return app


def _question(body: bytes) -> PromptQuestion:
    try:
        return PromptQuestion.model_validate_json(body)
    except ValidationError as error:
        raise InvalidInput('The question must be {"draft_id": "<id of a draft>"}.') from error


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
        "can_retry": error.can_retry,
        "correlation_id": correlation.get(),
    }
    return Response(orjson.dumps(body), status_code=error.status, media_type="application/problem+json")
