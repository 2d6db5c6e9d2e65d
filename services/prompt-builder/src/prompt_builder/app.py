"""The prompt builder over HTTP; the embedded lab calls the same application without a socket."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import orjson
from fastapi import FastAPI, Request, Response
from pydantic import TypeAdapter, ValidationError

from prompt_builder import previews
from prompt_builder.rendering import render
from shared.contracts.prompts import PreviewQuestion, Prompt, PromptQuestion
from shared.db.context import PromptContext, check_reachable, prompt_contexts
from shared.db.gathering import Gathering
from shared.db.session import Database
from shared.errors import Conflict, InvalidInput, NotFound, ParleyError
from shared.logs import correlation
from shared.urgency import is_urgent

_MOST_AT_ONCE: Final = 16
"""Drafts whose contexts are read together: each may have thousands of messages."""
CORRELATION_HEADER = "x-correlation-id"


class PromptBuilder:
    """Makes the prompts of one process. What is asked for at the same time is read together."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = Gathering[bool, UUID, PromptContext](self._read, most=_MOST_AT_ONCE)

    async def build(self, draft_id: UUID, token_budget: int | None = None) -> Prompt:
        """The prompt for one draft: what a preview shows is what is sent, because both are this.

        token_budget: makes the prompt shorter than it would be, when that was too long for the model.

        Raises:
            NotFound: there is no such draft, or its stage asks nothing of a model.
            Unavailable: Postgres cannot be reached.
        """
        # What a person waits for is not read behind what nobody waits for.
        context = await self._reading.do(is_urgent(), draft_id)
        prompt = render(context, token_budget)
        return prompt.model_copy(update={"is_held": True}) if context.is_held else prompt

    async def _read(self, draft_ids: Sequence[UUID]) -> list[PromptContext | Exception]:
        async with self._database.looking() as session:
            contexts = await prompt_contexts(session, draft_ids)
        return [contexts.get(draft_id) or NotFound("There is no such draft.") for draft_id in draft_ids]


def create_app(database: Database) -> FastAPI:
    """The service on this database; whoever opened the database closes it."""
    app = FastAPI(title="Parley prompt builder", openapi_url=None, docs_url=None, redoc_url=None)

    prompts = PromptBuilder(database)

    async def post_prompt(request: Request) -> Response:
        correlation.set(request.headers.get(CORRELATION_HEADER, ""))
        try:
            question = _question(await request.body())
            prompt = await prompts.build(question.draft_id, question.token_budget)
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
        "reason": error.reason if isinstance(error, Conflict) else None,
        "can_retry": error.can_retry,
        "correlation_id": correlation.get(),
    }
    return Response(orjson.dumps(body), status_code=error.status, media_type="application/problem+json")
