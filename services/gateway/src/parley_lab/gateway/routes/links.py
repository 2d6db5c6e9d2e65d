"""Joining by a link: what it leads to, and taking a place there."""

from typing import Annotated

from fastapi import APIRouter, Path

from parley_lab.base.urgency import Urgency, urgency
from parley_lab.contracts.experiment import Profile
from parley_lab.gateway.context import CountedByAddress, InContext
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.appearance import shown_appearance
from parley_lab.gateway.resources.participants import (
    CompletionResource,
    Joined,
    JoinPageResource,
    LinkJoinRequest,
)
from parley_lab.gateway.routes.participants import joined
from parley_lab.members.completions import completion_of
from parley_lab.people import links
from parley_lab.people.shells import appearance_of
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1/join", tags=["participants"], route_class=Route)

Code = Annotated[str, Path(max_length=100, pattern=NO_NUL, description="The last part of the link.")]


@router.get("/{code}", summary="What a link leads to")
async def find(code: Code, context: InContext) -> JoinPageResource:
    """A code with spaces or marks around it, or in another case, leads where the one code leads that it can mean."""
    async with context.database.read() as session:
        link = await links.find(session, code)
        appearance = await appearance_of(session, link.experiment_id)
        may_get_free = await links.may_get_free(session, link)
        full = await completion_of(session, link.experiment_id, "full") if link.state == "full" else None
    return JoinPageResource(
        code=link.code,
        title=link.title,
        text=link.text,
        external_id_parameter=link.external_id_parameter,
        parameters=list(link.parameters),
        language=link.language,
        state=link.state,
        may_get_free=may_get_free,
        record=link.record,
        completion=None if full is None else CompletionResource(**full.model_dump()),
        appearance=shown_appearance(appearance),
    )


@router.post("/{code}", status_code=201, summary="Take a place where a link leads", dependencies=[CountedByAddress])
async def join(code: Code, body: LinkJoinRequest, context: InContext) -> Joined:
    """The token in the answer is shown this once. The same `join_key` again gives the same place, and a new token."""
    urgency.set(Urgency.PERSON)
    profile = Profile(**body.profile.model_dump()) if body.profile else None

    async def work(session: Session) -> Joined:
        member_id, token = await links.join_by(
            session,
            code,
            body.join_key,
            context.clock.now(),
            profile=profile,
            external_id=body.external_id,
            parameters=body.parameters,
            old_token=body.token,
        )
        if body.is_rehearsal:
            await links.mark_rehearsed(session, member_id)
        return await joined(session, context, member_id, token)

    return await context.database.transact(work)
