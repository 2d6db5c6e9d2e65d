"""The guest list of an experiment: who may join, and who of them came."""

from uuid import UUID

from fastapi import APIRouter

from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.guests import GuestList, GuestResource, GuestsRequest
from parley_lab.gateway.routes.experiments import owned
from parley_lab.people import guests
from parley_lab.store.session import ReadSession, Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get("/experiments/{experiment_id}/guests", summary="Who may join, and who of them came")
async def read(experiment_id: UUID, context: InContext, key: ApiKey) -> GuestList:
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        return await _list(session, experiment_id)


@router.put("/experiments/{experiment_id}/guests", summary="Let certain people join, and no others")
async def replace(experiment_id: UUID, body: GuestsRequest, context: InContext, key: ApiKey) -> GuestList:
    """Replaces the list. Ids are compared without spaces and characters that no one sees; ids that are the same then
    are one guest. Other people are refused (409, `not_invited`); people who have joined keep their place. An empty
    list lets no one join. Idempotent.
    """

    async def work(session: Session) -> GuestList:
        await owned(session, context, key, experiment_id, "write")
        await guests.replace_guests(session, experiment_id, body.guests, context.clock.now())
        return await _list(session, experiment_id)

    return await context.database.transact(work)


@router.delete("/experiments/{experiment_id}/guests", status_code=204, summary="Let everybody join")
async def delete(experiment_id: UUID, context: InContext, key: ApiKey) -> None:
    """Takes the list away: everyone who has the link may join. Idempotent."""

    async def work(session: Session) -> None:
        await owned(session, context, key, experiment_id, "write")
        await guests.let_everybody(session, experiment_id)

    await context.database.transact(work)


async def _list(session: ReadSession, experiment_id: UUID) -> GuestList:
    found = await guests.guests_of(session, experiment_id)
    listed = [GuestResource.model_validate(one, from_attributes=True) for one in found]
    forgotten = await guests.forgotten_guests(session, experiment_id)
    came = sum(one.member_id is not None for one in listed)
    has_list = await guests.has_guest_list(session, experiment_id)
    return GuestList(guests=listed, came=came, forgotten=forgotten, has_list=has_list)
