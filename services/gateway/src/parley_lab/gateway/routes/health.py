"""Whether the process lives, and whether it can serve."""

import asyncio
from typing import Final

from fastapi import APIRouter

from parley_lab.base.errors import Unavailable
from parley_lab.drafts.context import check_reachable
from parley_lab.gateway.context import InContext
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.lab import Health, Readiness

router = APIRouter(tags=["health"], route_class=Route)

LONGEST_CHECK_SECONDS: Final = 2.0
"""Proxies and the kubelet wait longer for the readiness: a broker that hangs takes no gateway out."""


@router.get("/healthz", summary="The process lives")
async def health() -> Health:
    return Health()


@router.get("/readyz", summary="The database answers")
async def readiness(context: InContext) -> Readiness:
    """A gateway without a bus stays ready: what it accepts is published later."""
    _, bus = await asyncio.gather(_require_database(context), _bus_answers(context))
    return Readiness(bus=bus)


async def _require_database(context: InContext) -> None:
    try:
        async with asyncio.timeout(LONGEST_CHECK_SECONDS):
            await check_reachable(context.database)
    except TimeoutError:
        raise Unavailable("The database does not answer in time.") from None


async def _bus_answers(context: InContext) -> bool:
    try:
        async with asyncio.timeout(LONGEST_CHECK_SECONDS):
            return await context.bus.ping()
    except TimeoutError:
        return False
