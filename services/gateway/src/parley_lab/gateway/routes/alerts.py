"""What experimenters should look at."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parley_lab.gateway import cursors
from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.lab import AlertList, AlertResource
from parley_lab.gateway.routes.experiments import owned
from parley_lab.members.alerts import alert, alerts_of, check_owned_alert
from parley_lab.people import notices
from parley_lab.store import keys
from parley_lab.store.places import Place
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get("/experiments/{experiment_id}/alerts", summary="What you should look at, the oldest first")
async def list_alerts(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    after: Annotated[
        str | None, Query(max_length=100, pattern=NO_NUL, description="The `next_after` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    is_open: Annotated[bool | None, Query(description="Only those that are open, or over.")] = None,
) -> AlertList:
    """Models that failed for good, missing answers, paused keys, spent calls. What is over has a `resolved_at`."""
    place = None if after is None else cursors.list_cursor(after)
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        found = await alerts_of(session, experiment_id, after=place, most=limit + 1, is_open=is_open)
    page = found[:limit]
    return AlertList(
        alerts=[AlertResource.model_validate(one, from_attributes=True) for one in page],
        next_after=cursors.list_cursor_text(Place(page[-1].created_at, page[-1].id)) if len(found) > limit else None,
    )


@router.post("/alerts/{alert_id}/resolve", summary="Mark an alert as resolved")
async def resolve(alert_id: UUID, context: InContext, key: ApiKey) -> AlertResource:
    """The alert keeps who resolved it. Idempotent. The lab alone resolves an alert of the type `cohort_held` (409)."""

    async def work(session: Session) -> AlertResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        keys.note(session, await check_owned_alert(session, alert_id, owner.id))
        await notices.resolve_alert(session, alert_id, now, by=owner.name)
        return AlertResource.model_validate(await alert(session, alert_id), from_attributes=True)

    return await context.database.transact(work)
