"""Events for live streams, by cohort, in commit order, from a cursor on; and Postgres' notifications of facts."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog
from psycopg import AsyncConnection, Notify
from psycopg import Error as DriverError
from sqlalchemy import text

from parley_lab.store.facts import FACTS_CHANNEL
from parley_lab.store.failures import NOTICES_SILENCE, hang_up_after
from parley_lab.store.session import STATEMENT_SECONDS, ReadSession
from parley_lab.store.statements import Row
from parley_lab.talk.typing_hints import TYPING_CHANNEL

# The thread is looked up event by event: Postgres expects far more events than there are, and would read all threads.
_AFTER = text(
    """
    SELECT wanted.place, e.cohort_id, e.stream_seq, e.type, e.actor, e.cause, e.subject, e.subject_id, e.audience, e.at,
        CAST(e.payload AS text) AS payload, CAST(e.public AS text) AS public,
        e.public ->> 'thread_id' AS thread_id, t.stage_id AS thread_stage_id, t.scope AS thread_scope,
        CASE WHEN e.type IN ('member.joined', 'member.rejoined', 'member.added', 'member.arrived', 'member.seated',
            'member.replaced') THEN (SELECT CAST(m.profile AS text) FROM members m WHERE m.id = e.subject_id)
        END AS profile
    FROM unnest(CAST(:cohort_ids AS uuid[]), CAST(:after AS bigint[]), CAST(:until AS bigint[])) WITH ORDINALITY
        AS wanted(cohort_id, after, until, place)
        CROSS JOIN LATERAL (
            SELECT * FROM events n
            WHERE n.cohort_id = wanted.cohort_id AND n.stream_seq > wanted.after AND n.stream_seq <= wanted.until
            ORDER BY n.stream_seq LIMIT :most
        ) e LEFT JOIN LATERAL (
            SELECT stage_id, scope FROM threads WHERE id = CAST(e.public ->> 'thread_id' AS uuid) OFFSET 0
        ) t ON true
    ORDER BY wanted.place, e.stream_seq
    """
)
NEWEST: Final = 2**62
"""After the number of every event."""
_LAST = text("SELECT cohort_id, last FROM streams WHERE cohort_id = ANY(:cohort_ids)")

_COHORTS = text(
    """
    SELECT id FROM cohorts WHERE experiment_id = :experiment_id ORDER BY created_at, length(path), path COLLATE "C"
    """
)


async def events_after(
    session: ReadSession, places: Sequence[tuple[UUID, int, int]], *, most: int = 500
) -> list[list[Row]]:
    """The next events at each of these places, at most so many; `payload` and `public` are JSON text, ready to be sent.

    A place is a cohort, the number after which its events are read, and the number of the last one. An event of a
    thread has `public.thread_id`; the thread's stage and scope come with it, and with who has come their `profile`.
    """
    cohort_ids, after, until = ([place[column] for place in places] for column in range(3))
    params = {"cohort_ids": cohort_ids, "after": after, "until": until, "most": most}
    found: list[list[Row]] = [[] for _ in places]
    for row in await session.all(_AFTER, params):
        found[row.place - 1].append(row)
    return found


async def last_of(session: ReadSession, cohort_ids: Collection[UUID]) -> dict[UUID, int]:
    """The number of the newest event of each of these cohorts."""
    rows = await session.all(_LAST, {"cohort_ids": list(cohort_ids)})
    return {row.cohort_id: row.last for row in rows}


async def cohorts_of(session: ReadSession, experiment_id: UUID) -> list[UUID]:
    """The cohorts of an experiment in the order of their creation."""
    return [row.id for row in await session.all(_COHORTS, {"experiment_id": experiment_id})]


_POSITIONS = text(
    """
    SELECT c.id, coalesce((
        SELECT e.stream_seq FROM events e WHERE e.cohort_id = c.id AND e.seq <= :seq ORDER BY e.stream_seq DESC LIMIT 1
    ), 0) AS position
    FROM unnest(CAST(:cohort_ids AS uuid[])) c(id)
    """
)
_SAFE_SEQ = text(
    """
    WITH behind AS (
        SELECT min(e.seq) AS first
        FROM unnest(CAST(:cohort_ids AS uuid[]), CAST(:positions AS bigint[])) AS sent(cohort_id, position)
            JOIN streams s ON s.cohort_id = sent.cohort_id AND s.last > sent.position
            CROSS JOIN LATERAL (
                SELECT n.seq FROM events n WHERE n.cohort_id = sent.cohort_id AND n.stream_seq > sent.position
                ORDER BY n.stream_seq LIMIT 1
            ) e
    )
    SELECT least(coalesce((SELECT seq FROM events WHERE at < :before ORDER BY seq DESC LIMIT 1), 0),
        (SELECT first - 1 FROM behind)) AS seq
    """
)


async def positions_at(session: ReadSession, cohort_ids: Collection[UUID], seq: int) -> dict[UUID, int]:
    """The number of the last event of each of these cohorts among the events of the lab up to `seq`.

    Within a cohort both numbers grow together: both are given under the lock of the cohort's counter.
    """
    rows = await session.all(_POSITIONS, {"cohort_ids": list(cohort_ids), "seq": seq})
    found = {row.id: row.position for row in rows}
    return {one: found[one] for one in cohort_ids}


async def safe_seq(session: ReadSession, positions: Mapping[UUID, int], before: datetime) -> int:
    """A number of the lab up to which all events of these cohorts are among the first `positions` of each.

    An event with a smaller number may be committed after one with a larger number, in another cohort. So it is the
    number of an event from `before`, which is so long ago that every smaller number is committed or given up.
    """
    params = {"cohort_ids": list(positions), "positions": list(positions.values()), "before": before}
    seq: int = (await session.one(_SAFE_SEQ, params)).seq
    return seq


log = structlog.get_logger(__name__)
_AGAIN_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 5.0
STILL_LISTENING: Final = "SELECT 1 AS still_listening"
"""The statement by which a connection that listens finds a server that is gone; no other connection sends it."""


async def hear_facts(
    url: str,
    hear: Callable[[str], None],
    may_have_missed: Callable[[], None],
    hear_typing: Callable[[str], None] = lambda _: None,
) -> None:
    """Call `hear` with the id of every cohort that changes, and `hear_typing` with every typing hint, until cancelled.

    `may_have_missed` is called after each reconnection, because notifications in between are lost. A notification at
    which the called function raises is logged, and those after it are heard.
    """
    while True:
        try:
            async with await AsyncConnection.connect(url, autocommit=True, **NOTICES_SILENCE) as connection:
                await connection.execute(f"LISTEN {FACTS_CHANNEL}; LISTEN {TYPING_CHANNEL}")
                may_have_missed()
                while True:
                    async for notification in connection.notifies(timeout=_SILENCE_SECONDS):
                        _tell(hear_typing if notification.channel == TYPING_CHANNEL else hear, notification)
                    # No notification came, or the server is gone silently.
                    with hang_up_after(connection, STATEMENT_SECONDS):
                        await connection.execute(STILL_LISTENING)
        except DriverError as error:
            log.warning("facts.not_heard", reason=str(error))
        await asyncio.sleep(_AGAIN_SECONDS)


def _tell(hear: Callable[[str], None], notification: Notify) -> None:
    try:
        hear(notification.payload)
    except Exception:
        # The task would end, and with it the streams of this process.
        log.exception("facts.not_taken", channel=notification.channel, payload=notification.payload)
