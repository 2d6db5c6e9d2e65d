"""The live stream of a participant, and what all live streams have in common."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from pydantic.config import JsonDict

from parley_lab.base.errors import Conflict, Unavailable
from parley_lab.gateway import cursors
from parley_lab.gateway.context import Context, InContext, ParticipantsStream
from parley_lab.gateway.live import RETRY_MS
from parley_lab.gateway.pages import withheld_in
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.streaming import EventStream
from parley_lab.gateway.visibility import MemberVisibility
from parley_lab.members.designs import design_of
from parley_lab.people import viewing
from parley_lab.talk import pages as reads

router = APIRouter(prefix="/v1", tags=["participants"], route_class=Route)

# Only described: a cursor that does not match is refused as any wrong one. Other characters take up to twelve bytes
# each in an address, of which the server reads 64 KiB.
_CURSOR: Final[JsonDict] = {"pattern": "^[0-9A-Za-z.:-]*$"}
StreamCursor = Annotated[
    str | None,
    Query(
        description="Where to go on; left out: from now. `start`: from the first event.",
        max_length=50_000,
        pattern=NO_NUL,
        json_schema_extra=_CURSOR,
    ),
]
LastEventId = Annotated[
    str | None,
    Header(
        description="Sent by browsers on reconnect; wins over `after`.", max_length=50_000, json_schema_extra=_CURSOR
    ),
]
StreamWaits = Annotated[
    bool,
    Query(
        description="`false`: what has happened since the cursor, and then the end. For networks that hold back an "
        "answer until it is complete: ask again every few seconds."
    ),
]


def stream_responses(model: str) -> dict[int | str, dict[str, Any]]:
    """How OpenAPI describes a live stream whose `data` are of this model.

    OpenAPI 3.1 has no word for one item of a stream: `schema` describes one event, as clients and tools read it.
    """
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{model}"},
    }
    event = {
        "type": "object",
        "description": "One server-sent event.",
        "properties": {"event": {"type": "string"}, "data": data, "id": {"type": "string"}},
        "required": ["event", "data"],
    }
    return {200: {"description": "Events as they happen.", "content": {"text/event-stream": {"schema": event}}}}


@router.get(
    "/me/stream",
    response_class=EventStream,
    summary="Follow what happens (server-sent events)",
    responses=stream_responses("StreamEvent"),
)
async def stream(
    context: InContext,
    bearer: ParticipantsStream,
    after: StreamCursor = None,
    last_event_id: LastEventId = None,
    wait: StreamWaits = True,
) -> EventStream:
    """Once the participant is out, nothing more is told to them: the stream ends, and a new one is refused."""
    who = await bearer.page_reader(context)
    async with context.database.read() as session:
        # Before the reader: what happens to them in between is in the stream.
        newest = await reads.cursor_of(session, who.key)
        reader = await reads.bearer(session, who.key)
        withheld = withheld_in(await design_of(session, reader.member_id))
    if reader.is_out:
        raise Conflict("You are not taking part any more.", reason="not_in_progress")
    cursor = last_event_id or after
    # Never ahead of what was known of the reader, or the stream would miss what happens to them.
    position = min(cursors.cohort_cursor(cursor, reader.cohort_id), newest) if cursor else newest
    # What happened before the member came to this cohort is not theirs.
    position = max(position, reader.entered_seq)
    if not wait:
        events = _events_until_now(context, reader, withheld, position)
        return EventStream(_in_presence(context, reader, events) if who.until is None else events)
    if who.until is None:
        return EventStream(_in_presence(context, reader, _events_of(context, reader, withheld, position)))

    async def look() -> bool:
        """Whether lab staff may look on still."""
        with suppress(Unavailable):
            async with context.database.read() as session:
                return await viewing.is_valid(session, who.view, context.clock.now())
        return True

    return EventStream(_until(context, who.until, _events_of(context, reader, withheld, position, look)))


async def _in_presence(
    context: Context, reader: reads.Bearer, events: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """The participant is there for as long as they follow the stream."""
    async with aclosing(events):
        yield await anext(events)
        async with context.presence.here(reader.member_id):
            async for chunk in events:
                yield chunk


async def _until(context: Context, until: datetime, events: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Lab staff look on until their token ends, which makes no participant present; pings come without news."""
    async with aclosing(events):
        async for chunk in events:
            if context.clock.now() >= until:
                return
            yield chunk


async def _events_of(
    context: Context,
    reader: reads.Bearer,
    withheld: Collection[str],
    position: int,
    look: Callable[[], Awaitable[bool]] | None = None,
) -> AsyncGenerator[bytes, None]:
    visibility = MemberVisibility(reader, withheld, lambda: context.live.typing_in(reader.cohort_id))
    yield _beginning(reader, position)
    async with aclosing(context.live.follow({reader.cohort_id: position}, visibility.see, look=look)) as chunks:
        async for chunk in chunks:
            yield chunk
            if visibility.is_over:
                return


async def _events_until_now(
    context: Context, reader: reads.Bearer, withheld: Collection[str], position: int
) -> AsyncGenerator[bytes, None]:
    visibility = MemberVisibility(reader, withheld)
    yield _beginning(reader, position)
    async with aclosing(context.live.catch_up({reader.cohort_id: position}, visibility.see)) as chunks:
        async for chunk in chunks:
            yield chunk


def _beginning(reader: reads.Bearer, position: int) -> bytes:
    return f"retry: {RETRY_MS}\nid: {cursors.cohort_cursor_text(reader.cohort_id, position)}\n\n".encode()
