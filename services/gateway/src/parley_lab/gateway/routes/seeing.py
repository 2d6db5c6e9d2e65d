"""See as: a stage as one seat is shown it, as a person and as an agent, of a file that is stored or only written."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Query, Request

from parley_lab.base import seeds
from parley_lab.base.errors import Unavailable
from parley_lab.contracts.prompts import SeatQuestion, Seen
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.cursors import cohort_cursor_text
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.members import ProfileResource, PromptMessage, PromptResource
from parley_lab.gateway.resources.participants import (
    AskResource,
    CompanionResource,
    Me,
    QuestionForm,
    StageMark,
    StagePage,
    ThreadState,
)
from parley_lab.gateway.resources.seeing import SeenResource
from parley_lab.gateway.routes.experiments import FILE_BODY, owned
from parley_lab.gateway.routes.sources import BesideOf, read_sent
from parley_lab.kinds import PAGE

router = APIRouter(prefix="/v1", tags=["prompts"], route_class=Route)

_UNSAVED = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Place:
    """What is looked at."""

    stage: Annotated[str | None, Query(max_length=100, pattern=NO_NUL, description="Left out: the first one.")] = None
    seat: Annotated[
        str | None,
        Query(max_length=100, pattern=NO_NUL, description="The path of a member; left out: the first of the arm."),
    ] = None
    treatment: Annotated[
        str | None, Query(max_length=100, pattern=NO_NUL, description="Left out: that of the first cohort.")
    ] = None


Looked = Annotated[Place, Depends()]


@router.get("/experiments/{experiment_id}/see", summary="A stage as a person and as an agent are shown it")
async def see(experiment_id: UUID, context: InContext, key: ApiKey, place: Looked) -> SeenResource:
    """Of the file, whatever the run has come to: when the stage has just opened, after the mock has answered for all in
    the stages before. Draws are those of a run. Nothing is stored, and no model is called."""
    async with context.database.transaction() as session:
        row = await owned(session, context, key, experiment_id, "read")
    return await _look_at(context, row.document, experiment_id, place)


@router.post(
    "/experiments/see",
    summary="A stage of a file as a person and as an agent are shown it",
    openapi_extra=FILE_BODY,
    responses={404: {"description": "The file has no such stage, seat or arm."}},
)
async def see_file(
    request: Request, context: InContext, key: ApiKey, place: Looked, beside: BesideOf = None
) -> SeenResource:
    """The same of a file that need not be stored."""
    draft = await read_sent(request, context, key, beside)
    return await _look_at(context, orjson.loads(draft.document), _UNSAVED, place)


async def _look_at(context: Context, document: dict[str, Any], experiment_id: UUID, place: Place) -> SeenResource:
    if context.prompt_builder is None:
        raise Unavailable("This gateway does not know where the prompt builder is.")
    question = SeatQuestion(
        document=document,
        experiment_id=experiment_id,
        stage_id=place.stage,
        seat=place.seat,
        treatment_id=place.treatment,
    )
    found, now = await context.prompt_builder.see(question), context.clock.now()
    return SeenResource(
        **found.model_dump(include={"stage_id", "treatment_id", "seat", "why_no_prompt"}),
        stages=list(found.stages),
        treatments=list(found.treatments),
        seats=list(found.seats),
        me=_me(found, experiment_id, now, language=document.get("language")),
        page=_page(found, now),
        prompt=_prompt(found),
        texts=list(found.texts),
        made_up=list(found.made_up),
    )


def _prompt(found: Seen) -> PromptResource | None:
    prompt = found.prompt
    if prompt is None:
        return None
    return PromptResource(
        draft_id=None,
        was_sent=False,
        messages=[PromptMessage(role=one.role, content=one.content) for one in prompt.messages],
        reply_schema=prompt.reply_schema,
        purpose=prompt.purpose,
        fingerprint=prompt.fingerprint,
        left_out=prompt.left_out,
    )


def _me(found: Seen, experiment_id: UUID, now: datetime, *, language: str | None) -> Me:
    cohort_id = seeds.row_id(experiment_id, found.seat.partition("/")[0])
    at = [one.id for one in found.stages].index(found.stage_id)
    return Me(
        member_id=found.me.id,
        cohort_id=cohort_id,
        experiment_id=experiment_id,
        profile=_profile(found.me.profile),
        status="in_progress",
        status_reason=None,
        language=language,
        members=[
            CompanionResource(member_id=one.id, profile=_profile(one.profile), presence="connected", is_ready=None)
            for one in found.others
        ],
        stages=[
            StageMark(
                id=one.id,
                title=one.title if place <= at else "",
                kind=one.kind,
                state="current" if place == at else "done" if place < at else "locked",
                look_back="all",
            )
            for place, one in enumerate(found.stages)
        ],
        stage_id=found.stage_id,
        asks=_asks(found, now),
        now=now,
        cursor=cohort_cursor_text(cohort_id, 0),
    )


def _page(found: Seen, now: datetime) -> StagePage:
    return StagePage(
        stage_id=found.stage_id,
        kind=found.kind,
        state="current",
        lock=None,
        view=found.view,  # type: ignore[arg-type]  # the page of a kind, as JSON
        links=found.links,
        answer=None,
        blocked_by=[],
        thread=ThreadState(id=_id(found, "thread"), last_seq=0, has_ended=False) if found.has_thread else None,
        asks=_asks(found, now),
        forms=[
            QuestionForm(
                ask_id=None if one.key == PAGE else _id(found, one.key), key=one.key, form=one.form, saved=None
            )
            for one in found.forms
        ],
    )


def _asks(found: Seen, now: datetime) -> list[AskResource]:
    return [
        AskResource(
            id=_id(found, one.key),
            stage_id=found.stage_id,
            key=one.key,
            purpose=one.purpose,
            opened_at=now,
            form=one.form,
            ends_at=None,
        )
        for one in found.forms
        if one.key != PAGE
    ]


def _id(found: Seen, name: str) -> UUID:
    return seeds.row_id(found.me.id, f"{found.stage_id}/{name}")


def _profile(fields: dict[str, str]) -> ProfileResource:
    return ProfileResource(**{name: fields.get(name, "") for name in ("name", "avatar", "pronouns")})
