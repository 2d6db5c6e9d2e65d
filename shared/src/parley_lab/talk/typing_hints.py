"""Who is typing: a hint that lives for seconds. Postgres' notifications carry it to all gateways; it is stored nowhere.

An agent is typing from the moment its reply is ready until it is due; a reply that is dropped stops it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final
from uuid import UUID

import orjson
from sqlalchemy import text

from parley_lab.contracts.lives import in_sql
from parley_lab.store.session import ReadSession

TYPING_CHANNEL: Final = "parley_typing"
LASTS_MS: Final = 6000
"""How long a member is shown as typing after the last sign of it, or after a reply was due that did not come."""


@dataclass(frozen=True, slots=True)
class TypingHint:
    """A member is typing in a thread for so long from now on; `for_ms` 0: they have stopped."""

    cohort_id: UUID
    thread_id: UUID
    stage_id: str
    scope: str
    member_id: UUID
    for_ms: int

    def as_text(self) -> str:
        return orjson.dumps(asdict(self)).decode()


def typing_hint(payload: str) -> TypingHint:
    """The hint that a notification carries."""
    told = orjson.loads(payload)
    cohort_id, thread_id, member_id = (UUID(told[name]) for name in ("cohort_id", "thread_id", "member_id"))
    return TypingHint(cohort_id, thread_id, told["stage_id"], told["scope"], member_id, told["for_ms"])


_SEND: Final = text("SELECT pg_notify(:channel, p) FROM unnest(CAST(:payloads AS text[])) AS p")


async def send(session: ReadSession, hints: Sequence[TypingHint]) -> None:
    """Tell all gateways of these hints with the commit."""
    if hints:
        await session.all(_SEND, {"channel": TYPING_CHANNEL, "payloads": [hint.as_text() for hint in hints]})


_BY_PERSON: Final = text(
    f"""
    SELECT pg_notify('{TYPING_CHANNEL}', json_build_object('cohort_id', t.cohort_id, 'thread_id', t.id,
        'stage_id', t.stage_id, 'scope', t.scope, 'member_id', m.id, 'for_ms', CAST(:for_ms AS int))::text)
    FROM members m JOIN threads t ON t.cohort_id = m.cohort_id
    WHERE m.token_hash = :token_hash AND t.id = :thread_id AND m.status IN {in_sql(["in_progress"])}
        AND m.player = 'person' AND NOT t.held AND t.ended_at IS NULL AND t.stage_id = m.stage_ids[m.position + 1]
        AND t.scope IN ('group', 'private:' || m.path)
    """  # noqa: S608 - put together from constants
)


async def send_by_person(session: ReadSession, token_hash: str, thread_id: UUID, *, for_ms: int) -> bool:
    """Tell all gateways that the person is typing there; False when they cannot say anything there now."""
    return (
        await session.first(_BY_PERSON, {"token_hash": token_hash, "thread_id": thread_id, "for_ms": for_ms})
        is not None
    )
