"""What lab staff do in a cohort that runs: speak in its conversations, and add agents to it."""

import asyncio
from uuid import UUID

import orjson
from fastapi import APIRouter
from fastapi.responses import Response

from parley_lab.design import Experiment, with_persona
from parley_lab.experiments import experiments
from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.members import AdditionRequest, MemberResource
from parley_lab.gateway.resources.threads import MessageResource, StaffMessageRequest, ThreadList, ThreadResource
from parley_lab.gateway.routes.experiments import require_models
from parley_lab.gateway.routes.members import member_resource
from parley_lab.people.adding import Addition, add_agent
from parley_lab.store import keys, ownership
from parley_lab.store.session import Session
from parley_lab.talk import conversation
from parley_lab.talk import pages as reads

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get("/cohorts/{cohort_id}/threads", summary="The conversations of a cohort")
async def threads(cohort_id: UUID, context: InContext, key: ApiKey) -> ThreadList:
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_cohort(session, cohort_id, owner.id)
        rows = await reads.threads(session, cohort_id)
    return ThreadList(threads=[ThreadResource.model_validate(row, from_attributes=True) for row in rows])


@router.post(
    "/cohorts/{cohort_id}/members", status_code=201, summary="Add an agent or a mediator to a cohort that runs"
)
async def add(cohort_id: UUID, body: AdditionRequest, context: InContext, key: ApiKey, once: InOnce) -> MemberResource:
    """It gets a seat of its own, after all others, and is waited for as they are. What was said before it came is known
    to it. Refused where it would come to a game that has begun (409, `in_a_game`) or is for fewer players (`full`).
    `added_by` says in the data who added it. Each request adds one, but the same one under an
    `Idempotency-Key`; `POST /v1/members/{id}/remove` takes it out."""

    async def work(session: Session) -> MemberResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        keys.note(session, await ownership.check_cohort(session, cohort_id, owner.id), body.reason)
        row = await experiments.of_cohort(session, cohort_id)
        experiment = Experiment.model_validate(row.document)
        if isinstance(body.persona, str):
            wanted = Addition(body.persona, body.kind, body.stage_id)
        else:
            # The checks of a large file take a while.
            experiment = await asyncio.to_thread(with_persona, experiment, body.persona)
            new = experiment.personas[-1]
            wanted = Addition(new.id, body.kind, body.stage_id, new)
        await require_models(session, context, experiment, row.model_mode, also=[wanted.persona_id])
        member_id = await add_agent(session, cohort_id, wanted, now, actor=owner.name)
        return member_resource(await reads.roster_entry(session, member_id))

    return await once.transact(MemberResource, work, sign_in=by_key(context, key))


@router.post(
    "/threads/{thread_id}/messages",
    status_code=201,
    summary="Say something in a conversation",
    response_model=MessageResource,
)
async def say(thread_id: UUID, body: StaffMessageRequest, context: InContext, key: ApiKey) -> Response:
    """Members and models see a line of the lab (`author` is null); the data say who said it. It is no member's message:
    no agent is asked for a reply to it, and those who speak later have read it. Refused once the conversation is over
    (409, `thread_ended`), and in a pause. The same `client_message_id` again returns the stored message."""

    async def work(session: Session) -> bytes:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        keys.note(session, await ownership.check_thread(session, thread_id, owner.id))
        said = await conversation.say_as_staff(
            session, thread_id, body.text, now, client_key=body.client_message_id, actor=owner.name
        )
        return orjson.dumps(said)

    return Response(await context.database.transact(work), status_code=201, media_type="application/json")
