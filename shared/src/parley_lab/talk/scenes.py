"""Reads the scene of a thread, under its lock or before it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import NotFound
from parley_lab.contracts.turn_state import turn_of
from parley_lab.kinds.attendees import attendee
from parley_lab.members.attendance import ATTENDANCE
from parley_lab.members.designs import cohorts_design
from parley_lab.members.held_cohorts import began_on_clock, held_since
from parley_lab.members.standings import in_own_words
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row
from parley_lab.talk import START, Draft, Scene
from parley_lab.views.builder import member_of

_THREAD = """
    SELECT t.id, t.cohort_id, t.stage_id, t.scope, t.path, t.last_seq, t.last_spoken_id, t.last_spoken_trigger,
        t.last_author_id, t.agent_run, t.clock_ms, t.turn_state, t.held, t.ended_at, t.opened_at, t.paused_ms,
        e.id AS experiment_id, e.version, e.seed, e.pace, e.resumed_at, c.treatment_id, c.assigned,
        CAST(t.xmin AS text) AS seen
    FROM threads t JOIN cohorts c ON c.id = t.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE t.id = :thread_id
"""
_LOCK = text(f"{_THREAD} FOR NO KEY UPDATE OF t")


def around(of: str) -> str:
    """The columns of what surrounds a thread; `of` precedes the names of its own: a colon, or a table."""
    return f"""
        (SELECT jsonb_agg(jsonb_build_object(
            'id', m.id, 'path', m.path, 'kind', m.kind, 'player', m.player, 'profile', m.profile,
            'provider', m.provider, 'chat', m.agent_config -> 'chat', 'status', m.status, 'stage_ids', m.stage_ids,
            'position', m.position
        ) ORDER BY m.path)
        FROM {ATTENDANCE} m WHERE m.cohort_id = {of}cohort_id AND m.id IN (
            SELECT x.id FROM {ATTENDANCE} x WHERE x.cohort_id = {of}cohort_id AND {of}scope = 'group'
            UNION SELECT x.id FROM members x WHERE x.cohort_id = {of}cohort_id AND x.kind = 'mediator'
            UNION SELECT x.id FROM members x
                WHERE x.experiment_id = {of}experiment_id AND x.path = substr({of}scope, length('private:') + 1)
        ) AND (m.kind <> 'mediator' OR {of}stage_id = ANY(m.stage_ids))) AS members,
        (SELECT jsonb_agg(jsonb_build_object(
            'id', d.id, 'path', d.path, 'member_id', d.member_id, 'trigger_key', d.trigger_key, 'state', d.state,
            'due_at', d.due_at, 'finish_ms', d.finish_ms, 'text', d.reply ->> 'text',
            'explanation', d.reply ->> 'explanation', 'ready_to_end', d.ready_to_end, 'as_of_seq', d.as_of_seq
        ) ORDER BY d.path)
        FROM drafts d WHERE d.thread_id = {of}thread_id AND d.state IN ('wanted', 'thinking', 'ready')) AS drafts,
        (SELECT jsonb_object_agg(f.member_id, f.state) FROM drafts f
        WHERE f.thread_id = {of}thread_id AND f.trigger_key = {of}trigger_key AND f.state IN ('failed', 'invalid'))
            AS failed,
        {held_since(f"{of}cohort_id")} AS held_since,
        (SELECT o.resumed_at FROM members o
            WHERE o.experiment_id = {of}experiment_id AND o.path = substr({of}scope, length('private:') + 1))
            AS alone_resumed_at,
        last.text AS last_text, last.created_at AS last_spoken_at
    """  # noqa: S608 - put together from constants


# A second statement, so that its snapshot is taken after the lock was acquired.
AROUND: Final = f"SELECT {around(':')}"
LAST: Final = "FROM (SELECT 1) AS one LEFT JOIN messages last ON last.id = :last_spoken_id"
_PRESENT = text(AROUND + LAST)

UNLOCKED: Final = f"""
    FROM (
        SELECT t.*, t.id AS thread_id, (SELECT s.last FROM streams s WHERE s.cohort_id = t.cohort_id) AS cursor,
            coalesce(t.turn_state ->> 'trigger', 'message:' || t.last_spoken_id, '{START}') AS trigger_key
        FROM ({_THREAD}) t
    ) t LEFT JOIN messages last ON last.id = t.last_spoken_id
"""  # noqa: S608 - put together from constants
"""The row of a thread without its lock. `seen` changes with every change of the thread, `cursor` with every event of
its cohort."""


async def lock_scene(session: Session, thread_id: UUID, now: datetime) -> Scene:
    """The scene of the thread, locked until the transaction ends.

    Raises:
        NotFound: there is no such thread.
    """
    row = await locked_thread(session, thread_id)
    return await scene_of(session, row, await session.one(_PRESENT, around_params(row)), now)


def around_params(row: Row) -> dict[str, Any]:
    """The parameters of AROUND for a locked thread."""
    said_last = START if row.last_spoken_id is None else f"message:{row.last_spoken_id}"
    return {
        "thread_id": row.id,
        "experiment_id": row.experiment_id,
        "cohort_id": row.cohort_id,
        "scope": row.scope,
        "stage_id": row.stage_id,
        "last_spoken_id": row.last_spoken_id,
        "trigger_key": row.turn_state.get("trigger") or said_last,
    }


async def locked_thread(session: Session, thread_id: UUID) -> Row:
    """The thread's own row, under its lock.

    Raises:
        NotFound: there is no such thread.
    """
    row = await session.first(_LOCK, {"thread_id": thread_id})
    if row is None:
        raise NotFound("There is no such conversation.")
    return row


async def scene_of(session: ReadSession, row: Row, around: Row, now: datetime) -> Scene:
    """The scene of a locked thread; `around` is a row of AROUND."""
    resolved = await cohorts_design(session, row.experiment_id, row.version, row.treatment_id, row.assigned)
    stage = resolved.stage(row.stage_id)
    members = [await in_own_words(session, attendee(member)) for member in around.members or ()]
    return Scene(
        experiment_id=row.experiment_id,
        cohort_id=row.cohort_id,
        thread_id=row.id,
        path=row.path,
        stage=stage,
        seed=row.seed,
        pace=row.pace,
        now=now,
        opened_at=began_on_clock(row.opened_at, row.paused_ms, around.held_since, now),
        is_clock_stopped=around.held_since is not None,
        ended=row.ended_at is not None,
        held=row.held,
        last_seq=row.last_seq,
        last_spoken_id=row.last_spoken_id,
        last_spoken_trigger=row.last_spoken_trigger,
        last_author_id=row.last_author_id,
        last_text=around.last_text or "",
        agent_run=row.agent_run,
        clock_ms=row.clock_ms,
        turn=turn_of(row.turn_state),
        members=tuple(member_of(member, stage.id) for member in members),
        providers={member.id: member.provider for member in members if member.provider},
        drafts=tuple(_draft(draft) for draft in around.drafts or ()),
        failed={UUID(member_id): state for member_id, state in (around.failed or {}).items()},
        last_spoken_at=_silent_since(row, around),
        scope=row.scope,
        statuses={member.id: member.status for member in members},
    )


def _silent_since(row: Row, around: Row) -> datetime | None:
    """Since when there is silence; pauses of the experiment, and of the member of a private thread, do not count."""
    if around.last_spoken_at is None:
        return None
    times = (around.last_spoken_at, row.resumed_at, around.alone_resumed_at)
    return max(one for one in times if isinstance(one, datetime))


def _draft(fields: Mapping[str, Any]) -> Draft:
    due_at = fields["due_at"]
    return Draft(
        id=UUID(fields["id"]),
        path=fields["path"],
        member_id=UUID(fields["member_id"]),
        trigger_key=fields["trigger_key"],
        state=fields["state"],
        due_at=datetime.fromisoformat(due_at) if due_at else None,
        finish_ms=fields["finish_ms"],
        text=fields["text"],
        explanation=fields["explanation"],
        ready_to_end=fields["ready_to_end"],
        as_of_seq=fields["as_of_seq"] or 0,
    )
