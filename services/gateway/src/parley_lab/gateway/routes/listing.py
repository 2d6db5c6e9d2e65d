"""All experiments of an experimenter: a list with how far each is, and a stream of what changes in any of them."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import suppress
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.sse import KEEPALIVE_COMMENT

from parley_lab.base.errors import Unavailable
from parley_lab.experiments import listing
from parley_lab.experiments.listing import NamedPlace, Seen, Sort, Wanted
from parley_lab.gateway import cursors
from parley_lab.gateway.context import ApiKey, Context, ExperimentersStream, InContext
from parley_lab.gateway.events import alert_hint, hint
from parley_lab.gateway.live import RETRY_MS
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.experiments import (
    ExperimentCounts,
    ExperimentItem,
    ExperimentList,
    ExperimentStatus,
    ExperimentSummary,
)
from parley_lab.gateway.routes.own_stream import stream_responses
from parley_lab.gateway.streaming import EventStream
from parley_lab.members import alerts
from parley_lab.store import keys
from parley_lab.store.places import Place

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)

_Text = Annotated[str | None, Query(max_length=200, pattern=NO_NUL)]


@router.get("/experiments", summary="My experiments, with how far they are")
async def list_experiments(
    context: InContext,
    key: ApiKey,
    status: Annotated[ExperimentStatus | None, Query(description="Only those in this state.")] = None,
    name: Annotated[_Text, Query(description="Only those with this in their name.")] = None,
    study: Annotated[_Text, Query(description="Only those of this study.")] = None,
    is_archived: Annotated[bool | None, Query(description="Only those that are put away, or are not.")] = None,
    is_test: Annotated[bool | None, Query(description="Only tests, or none.")] = None,
    sort: Annotated[Sort, Query(description="Which comes first.")] = "newest",
    after: Annotated[
        str | None, Query(max_length=2000, pattern=NO_NUL, description="The `next_after` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> ExperimentList:
    """A page of them; `next_after` says from where to read on. Test chats with personas are left out."""
    wanted = Wanted(status, name, study, is_archived, is_test)
    place = None if after is None else (cursors.name_cursor if sort == "name" else cursors.list_cursor)(after)
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        rows = await listing.list_of(session, owner.id, wanted, most=limit + 1, sort=sort, after=place)
    page = rows[:limit]
    return ExperimentList(
        experiments=[item_of(row) for row in page],
        next_after=_cursor_text(sort, page[-1]) if len(rows) > limit else None,
    )


def _cursor_text(sort: Sort, row: Any) -> str:
    if sort == "name":
        return cursors.name_cursor_text(NamedPlace(row.name, row.id))
    return cursors.list_cursor_text(Place(row.created_at, row.id))


def item_of(row: Any) -> ExperimentItem:
    """The experiment of a row of `listing`."""
    return ExperimentItem(
        **ExperimentSummary.model_validate(row, from_attributes=True).model_dump(),
        is_test=row.is_test,
        is_archived=row.is_archived,
        counts=ExperimentCounts.model_validate(row, from_attributes=True),
        messages=int(row.messages),
        model_calls=row.model_calls,
        cost=None if row.cost is None else float(row.cost),
        alerts_open=row.alerts_open,
    )


@router.get(
    "/stream",
    response_class=EventStream,
    summary="Follow all my experiments (server-sent events)",
    responses=stream_responses("HomeEvent"),
)
async def stream(context: InContext, bearer: ExperimentersStream) -> EventStream:
    """`experiment.changed` has the experiment as `GET /v1/experiments` lists it, at most once in a few seconds;
    `experiment.deleted`, `alert.raised` and `alert.resolved` say which. There are no cursors: open the stream, then
    read the list, and do so again after a reconnect."""
    async with context.database.transaction() as session:
        key_hash = await bearer.key_hash(session, context)
        owner = await keys.sign_in_by_hash(session, key_hash, context.clock.now(), scope="read")
        before = await listing.seen(session, owner.id)
    return EventStream(_news_of(context, owner.id, key_hash, before))


async def _news_of(context: Context, owner_id: UUID, key_hash: str, before: Seen) -> AsyncGenerator[bytes, None]:
    """What changes after `before`, until the key or the sign-in ends."""
    settings = context.settings
    told_at = asyncio.get_running_loop().time()
    yield f"retry: {RETRY_MS}\n\n".encode()
    while not context.live.is_closed:
        await asyncio.sleep(settings.stream_look_seconds / 2)
        chunk = b""
        with suppress(Unavailable):
            async with context.database.read() as session:
                if not await keys.is_valid(session, key_hash, context.clock.now()):
                    return
                now = await listing.seen(session, owner_id)
                changed = [one for one, mark in now.marks.items() if before.marks.get(one) != mark]
                changed_rows = await listing.some(session, changed) if changed else ()
                alert_ids = now.alerts.keys() ^ before.alerts.keys()
                alert_rows = await alerts.some(session, alert_ids) if alert_ids else ()
            chunk = _told(
                changed_rows, before.marks.keys() - now.marks.keys(), alert_rows, {**before.alerts, **now.alerts}
            )
            before = now
        if not chunk and asyncio.get_running_loop().time() >= told_at + settings.stream_ping_seconds:
            chunk = KEEPALIVE_COMMENT
        if chunk:
            yield chunk
            told_at = asyncio.get_running_loop().time()


def _told(
    changed: Collection[Any], deleted: Collection[UUID], changed_alerts: Collection[alerts.Alert], of: dict[UUID, UUID]
) -> bytes:
    told = [hint("experiment.changed", item_of(row).model_dump(mode="json")) for row in changed]
    told += [hint("experiment.deleted", {"id": str(one)}) for one in deleted]
    for alert in changed_alerts:
        told.append(alert_hint(alert, experiment_id=str(of[alert.id])))
    return b"".join(told)
