"""Tickets for clients whose streams cannot send a header."""

from fastapi import APIRouter

from parley_lab.gateway.context import AnyBearer, InContext
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.lab import StreamTicket
from parley_lab.people import stream_tickets
from parley_lab.store.keys import hash_key
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["lab"], route_class=Route)


@router.post("/stream-tickets", status_code=201, summary="Get a ticket for one live stream")
async def issue(context: InContext, bearer: AnyBearer) -> StreamTicket:
    """For `?ticket=` of a stream, in place of the header: it opens one stream of the bearer, once, within a minute."""

    async def work(session: Session) -> StreamTicket:
        ticket, until = await stream_tickets.issue(session, hash_key(bearer), context.clock.now())
        return StreamTicket(ticket=ticket, expires_at=until)

    return await context.database.transact(work)
