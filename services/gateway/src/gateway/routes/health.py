"""Whether the process lives, and whether it can serve."""

import asyncio

from fastapi import APIRouter

from gateway.context import InContext
from gateway.parameters import Route
from gateway.resources.lab import Health, Readiness
from shared.db.context import check_reachable
from shared.errors import Unavailable

router = APIRouter(tags=["health"], route_class=Route)

LONGEST_CHECK_SECONDS = 2.0


@router.get("/healthz", summary="The process lives")
async def health() -> Health:
    return Health()


@router.get("/readyz", summary="The database answers")
async def readiness(context: InContext) -> Readiness:
    """A gateway without a bus stays ready: what it accepts is published later."""
    try:
        async with asyncio.timeout(LONGEST_CHECK_SECONDS):
            await check_reachable(context.database)
    except TimeoutError:
        raise Unavailable("The database does not answer in time.") from None
    return Readiness(bus=await _bus_answers(context))


async def _bus_answers(context: InContext) -> bool:
    try:
        async with asyncio.timeout(LONGEST_CHECK_SECONDS):
            return await context.bus.ping()
    except TimeoutError:
        return False
