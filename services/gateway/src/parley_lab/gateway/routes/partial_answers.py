"""What participants have begun to answer: saved while they type, and given back to them alone."""

from uuid import UUID

from fastapi import APIRouter

from parley_lab.answers import partial_answers, processes
from parley_lab.contracts.experiment import Slug
from parley_lab.gateway.context import InContext, MemberToken
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.participants import AnswerRequest, PartialAnswerResource, ProcessRequest
from parley_lab.members import standings
from parley_lab.members.standings import hash_token

router = APIRouter(prefix="/v1/me", tags=["participants"], route_class=Route)


@router.put("/stages/{stage_id}/answer", status_code=204, summary="Save what has been entered on a page so far")
async def save_page(stage_id: Slug, body: AnswerRequest, context: InContext, token: MemberToken) -> None:
    """Nothing of it is checked, and it is no answer: `advance` gives that, and what was saved is deleted then."""
    async with context.database.autocommit() as session:
        await partial_answers.save_page(session, hash_token(token), stage_id, body.answer, context.clock.now())


@router.get("/stages/{stage_id}/answer", summary="What was saved of a page")
async def of_page(stage_id: Slug, context: InContext, token: MemberToken) -> PartialAnswerResource:
    async with context.database.read() as session:
        found = await partial_answers.of_page(session, hash_token(token), stage_id)
    return PartialAnswerResource(answer=found.value, saved_at=found.saved_at)


@router.put("/asks/{ask_id}/answer", status_code=204, summary="Save what has been entered for an ask so far")
async def save_ask(ask_id: UUID, body: AnswerRequest, context: InContext, token: MemberToken) -> None:
    """Nothing of it is checked, and it is no answer: `POST` gives that, and what was saved is deleted then."""
    async with context.database.autocommit() as session:
        await partial_answers.save_ask(session, hash_token(token), ask_id, body.answer, context.clock.now())


@router.get("/asks/{ask_id}/answer", summary="What was saved for an ask")
async def of_ask(ask_id: UUID, context: InContext, token: MemberToken) -> PartialAnswerResource:
    async with context.database.read() as session:
        found = await partial_answers.of_ask(session, hash_token(token), ask_id)
    return PartialAnswerResource(answer=found.value, saved_at=found.saved_at)


@router.put("/stages/{stage_id}/process", status_code=204, summary="Say how an answer or a message came about")
async def say_process(stage_id: Slug, body: ProcessRequest, context: InContext, token: MemberToken) -> None:
    """For experiments that record it (`record: process`); of others nothing is stored. Say it before the answer,
    or with the message."""
    questions = {name: one.model_dump() for name, one in body.questions.items()}
    async with context.database.read() as reading:
        standing = await standings.seen_by(reading, hash_token(token))
    if stage_id not in standing.stage_ids or standing.design.stage(stage_id).record is None:
        return
    async with context.database.transaction() as session:
        await processes.record(session, hash_token(token), stage_id, body.key, questions, context.clock.now())
