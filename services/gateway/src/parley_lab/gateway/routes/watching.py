"""Following an experiment: its board, and the stream of what happens in it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from fastapi import APIRouter, Query
from fastapi.responses import Response

from parley_lab.base.errors import Unavailable
from parley_lab.experiments import board as boards
from parley_lab.experiments.board import Board
from parley_lab.gateway.context import ApiKey, Context, ExperimentersStream, InContext
from parley_lab.gateway.events import Frame
from parley_lab.gateway.live import RETRY_MS, Show, Tick
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.board import COHORT_COLUMNS, MEMBER_COLUMNS, BoardResource
from parley_lab.gateway.routes.experiments import owned, owned_by
from parley_lab.gateway.routes.listing import item_of
from parley_lab.gateway.routes.own_stream import LastEventId, StreamCursor, StreamWaits, stream_responses
from parley_lab.gateway.streaming import EventStream
from parley_lab.gateway.typists import TypingFrame
from parley_lab.gateway.watching import IN_FLIGHT, BoardTicks, Followed, followed_from, progress_of
from parley_lab.store import keys
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS
from parley_lab.talk import streams as stream_reads

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get("/experiments/{experiment_id}/board", summary="Everyone at one moment", response_model=BoardResource)
async def board(experiment_id: UUID, context: InContext, key: ApiKey) -> Response:
    """Groups and members in rows without the names of their fields, which are in `cohort_columns` and `columns`. Follow
    with `GET .../stream?of=board&after={cursor}`: an event up to the `stream_seq` of its cohort is in the board."""
    now = context.clock.now()
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
    async with context.database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        found = await boards.read_board(session, experiment_id, now - IN_FLIGHT)
    return Response(orjson.dumps(_board(found), default=str), media_type="application/json")


class _Index(dict[Any, int]):
    """The places of values in the order in which they are first asked for."""

    def of(self, value: Any) -> int | None:
        return None if value is None else self.setdefault(value, len(self))


def _board(found: Board) -> dict[str, Any]:
    stages, treatments, personas, ways, cohorts = _Index(), _Index(), _Index(), _Index(), _Index()
    for stage in found.design.stages or ():
        stages.of(stage["id"])
    cohort_rows = [_cohort(row, cohorts, stages, treatments) for row in found.cohorts]
    member_rows = [_member(row, cohorts, treatments, personas, ways) for row in found.members]
    progress = {**progress_of(found.item), "max_calls": found.design.max_calls, "calls_taken": found.design.calls_taken}
    return {
        "cursor": Followed(dict(found.positions), found.seq).cursor,
        "experiment": item_of(found.item).model_dump(mode="json"),
        "join_code": found.design.join_code,
        "stages": [_stage(stage) for stage in found.design.stages or ()],
        "treatments": list(treatments),
        "personas": list(personas),
        "ways": [[stages.of(stage) for stage in way] for way in ways],
        "progress": progress,
        "cohort_columns": COHORT_COLUMNS,
        "cohorts": cohort_rows,
        "columns": MEMBER_COLUMNS,
        "members": member_rows,
    }


def _stage(stage: dict[str, Any]) -> dict[str, Any]:
    progress = stage["progress"] or {}
    return {
        "id": stage["id"],
        "kind": stage["kind"],
        "title": stage["name"] or stage["id"],
        "wait_for_all": progress.get("wait_for_all", False),
        "min_participants": progress.get("min_participants", 0),
    }


def _cohort(row: Any, cohorts: _Index, stages: _Index, treatments: _Index) -> list[Any]:
    cohorts.of(row.id)
    return [
        row.id, row.path, row.name, treatments.of(row.treatment_id), row.status, row.locked, row.join_code,
        row.created_at, row.ended_at, row.last, sorted(stages[one] for one in row.unlocked if one in stages),
        [[stages.get(stage), over_at, outcome] for stage, over_at, outcome in row.waits or ()], row.alone,
    ]  # fmt: skip


def _member(row: Any, cohorts: _Index, treatments: _Index, personas: _Index, ways: _Index) -> list[Any]:
    return [
        row.id, row.path, cohorts.get(row.cohort_id), row.kind, row.player, row.name, row.avatar,
        personas.of(row.persona), treatments.of(row.treatment_id), row.status, ways.of(tuple(row.stage_ids)),
        row.position, row.arrived_at, row.gone_at, row.paused_at, row.ask, row.draft,
    ]  # fmt: skip


StreamOf = Annotated[
    Literal["all", "board"],
    Query(description="`board`: without any text of members, and with hints about drafts, alerts and the experiment."),
]


@router.get(
    "/experiments/{experiment_id}/stream",
    response_class=EventStream,
    summary="Follow everything that happens (server-sent events)",
    responses=stream_responses("ExperimenterEvent"),
)
async def stream(
    experiment_id: UUID,
    context: InContext,
    bearer: ExperimentersStream,
    after: StreamCursor = None,
    last_event_id: LastEventId = None,
    wait: StreamWaits = True,
    of: StreamOf = "all",
) -> EventStream:
    """The last event of each chunk has an `id`: the cursor over all cohorts, of at most 200 characters. After a
    reconnect some events may come again; `cohort_id` and `stream_seq` tell them. `of=board` has events as `BoardEvent`
    and hints as `BoardHint`, which have no cursor."""
    async with context.database.transaction() as session:
        key_hash = await bearer.key_hash(session, context)
        owner = await keys.sign_in_by_hash(session, key_hash, context.clock.now(), scope="read")
        await owned_by(session, owner, experiment_id)
        hints = await boards.hints(session, experiment_id) if of == "board" else None
        ids = await stream_reads.cohorts_of(session, experiment_id)
        followed = await followed_from(session, ids, last_event_id or after, context)
    show = _for_experimenters if of == "all" else _for_boards
    if not wait:
        return EventStream(_events_until_now(context, followed, show))
    ticks = None if of == "all" else BoardTicks(context, experiment_id, hints)
    return EventStream(_events_of(context, experiment_id, key_hash, followed, show, ticks))


def _for_experimenters(frame: Frame | TypingFrame) -> bytes | None:
    return frame.for_experimenters


def _for_boards(frame: Frame | TypingFrame) -> bytes | None:
    return frame.for_boards


async def _events_until_now(context: Context, followed: Followed, show: Show) -> AsyncGenerator[bytes, None]:
    yield f"retry: {RETRY_MS}\n".encode() + followed.mark() + b"\n"
    async with aclosing(context.live.catch_up(followed.sent, show, mark=followed.mark)) as chunks:
        async for chunk in chunks:
            yield chunk
    with suppress(Unavailable):
        async with context.database.read() as session:
            await followed.note(session, context)
    yield followed.mark() + b"\n"


async def _events_of(
    context: Context, experiment_id: UUID, key_hash: str, followed: Followed, show: Show, ticks: BoardTicks | None
) -> AsyncGenerator[bytes, None]:
    """Until the key ends; with the events of groups that are made later."""
    later: dict[UUID, int] = {}
    yield f"retry: {RETRY_MS}\n".encode() + followed.mark() + b"\n"

    async def look() -> bool:
        """Whether nothing has changed."""
        with suppress(Unavailable):
            async with context.database.read() as session:
                found = await stream_reads.cohorts_of(session, experiment_id)
                is_valid = await keys.is_valid(session, key_hash, context.clock.now())
                await followed.note(session, context)
            later.update({one: 0 for one in found if one not in followed.sent})
            return is_valid and not later
        return True

    # A draft has no cohorts; they come with its start.
    while not followed.sent and not context.live.is_closed:
        await context.live.wait_for_news()
        if not await look() and not later:
            return
        followed.sent.update(later)
        later.clear()
        yield b": ping\n\n" if ticks is None else await ticks.tell() or b": ping\n\n"
    tick = None if ticks is None else Tick(context.settings.board_tick_seconds, ticks.tell)
    while True:
        follow = context.live.follow(followed.sent, show, mark=followed.mark, look=look, tick=tick)
        async with aclosing(follow) as chunks:
            async for chunk in chunks:
                yield chunk
        if not later:
            return
        followed.sent.update(later)
        later.clear()
