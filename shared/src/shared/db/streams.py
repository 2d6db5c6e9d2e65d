"""Events as live streams read them: by cohort, in commit order, from a cursor on; and facts as Postgres tells them."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final
from uuid import UUID

import structlog
from psycopg import AsyncConnection, OperationalError
from sqlalchemy import text

from shared.db.facts import FACTS_CHANNEL
from shared.db.failures import NOTICES_SILENCE, hang_up_after
from shared.db.session import STATEMENT_SECONDS, Row, Session

_AFTER = text(
    """
    SELECT e.cohort_id, e.stream_seq, e.type, e.actor, e.cause, e.subject, e.subject_id, e.audience, e.at,
        CAST(e.payload AS text) AS payload, CAST(e.public AS text) AS public,
        e.public ->> 'thread_id' AS thread_id, t.stage_id AS thread_stage_id, t.scope AS thread_scope
    FROM events e LEFT JOIN threads t ON t.id = CAST(e.public ->> 'thread_id' AS uuid)
    WHERE e.cohort_id = :cohort_id AND e.stream_seq > :after AND e.stream_seq <= :until
    ORDER BY e.stream_seq LIMIT :most
    """
)
_NEWEST = 2**62
_LAST = text("SELECT cohort_id, last FROM streams WHERE cohort_id = ANY(:cohort_ids)")

_COHORTS = text(
    """
    SELECT id FROM cohorts WHERE experiment_id = :experiment_id ORDER BY created_at, length(path), path COLLATE "C"
    """
)


async def events_after(
    session: Session, cohort_id: UUID, after: int, *, until: int = _NEWEST, most: int = 500
) -> Sequence[Row]:
    """The next events of a cohort; `payload` and `public` come as JSON text, ready to be sent.

    What happens in a thread says so in `public.thread_id`; the thread's stage and scope come with it.
    """
    return await session.all(_AFTER, {"cohort_id": cohort_id, "after": after, "until": until, "most": most})


async def last_of(session: Session, cohort_ids: Collection[UUID]) -> dict[UUID, int]:
    """The number of the newest event of each of these cohorts."""
    rows = await session.all(_LAST, {"cohort_ids": list(cohort_ids)})
    return {row.cohort_id: row.last for row in rows}


async def cohorts_of(session: Session, experiment_id: UUID) -> list[UUID]:
    """The cohorts of an experiment in the order in which they came to be: new ones stand at the end."""
    return [row.id for row in await session.all(_COHORTS, {"experiment_id": experiment_id})]


log = structlog.get_logger(__name__)
_AGAIN_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 5.0


async def hear_facts(url: str, hear: Callable[[str], None], may_have_missed: Callable[[], None]) -> None:
    """Call `hear` with the id that a fact is about, for every fact from now on, until cancelled.

    `may_have_missed` is called whenever the connection stands anew: what was told meanwhile is not repeated.
    """
    while True:
        try:
            async with await AsyncConnection.connect(url, autocommit=True, **NOTICES_SILENCE) as connection:
                await connection.execute(f"LISTEN {FACTS_CHANNEL}")
                may_have_missed()
                while True:
                    async for notification in connection.notifies(timeout=_SILENCE_SECONDS):
                        hear(notification.payload)
                    # Nothing was told, or the server is gone without a word.
                    with hang_up_after(connection, STATEMENT_SECONDS):
                        await connection.execute("SELECT 1")
        except OperationalError as error:
            log.warning("facts.not_heard", reason=str(error))
        await asyncio.sleep(_AGAIN_SECONDS)
