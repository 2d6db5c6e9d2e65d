"""The gates that calls pass, one row each, shared by all workers; and the drafts that wait before a closed one.

A row is locked before any draft, and together with no other lock but those of drafts. A gate that nothing has gone
wrong with is looked up in memory, and costs no statement. The row's lock lets one call at a time try a closed gate; the
call that opens it announces all waiting drafts in the same transaction.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.hints import Hint, provider_queue
from parley_lab.contracts.key_rules import Gate, may_try, tried_by_one
from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.drafts.drafts import Lease
from parley_lab.members.alerts import resolve_alerts
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

KEY_PAUSED: Final = "key_paused"
"""The type of the alerts about a paused key."""
_LOOK_AGAIN_AFTER: Final = timedelta(minutes=10)
"""A draft that waits is looked at after so long even if it was not released."""

_COLUMNS: Final = (
    "name, is_tried, refusals, refused_at, refused_before_at, accepted_at, paused_at, fault, reason, asked, next_try_at"
)
_MAKE = text("INSERT INTO gates (name, is_tried) VALUES (:name, :is_tried) ON CONFLICT DO NOTHING")
_LOCK = text(f"SELECT {_COLUMNS} FROM gates WHERE name = :name FOR UPDATE")  # noqa: S608 - a constant
_KEEP = text(
    """
    UPDATE gates SET is_tried = :is_tried, refusals = :refusals, refused_at = :refused_at,
        refused_before_at = :refused_before_at, accepted_at = :accepted_at,
        paused_at = :paused_at, fault = :fault, reason = :reason, asked = :asked, next_try_at = :next_try_at
    WHERE name = :name
    """
)
_ALL = text(f"SELECT {_COLUMNS} FROM gates ORDER BY name")  # noqa: S608 - a constant


async def locked_gate(session: Session, name: str, *, is_tried: bool) -> Gate:
    """The gate under its lock; made if there is none, and then open exactly if `is_tried`."""
    await session.run(_MAKE, {"name": name, "is_tried": is_tried})
    return _gate(await session.one(_LOCK, {"name": name}))


async def keep(session: Session, gate: Gate) -> None:
    """Store the gate, whose lock is held."""
    await session.run(_KEEP, asdict(gate))


async def gates(session: ReadSession) -> Sequence[Gate]:
    """All gates, for those who look."""
    return [_gate(row) for row in await session.all(_ALL)]


async def enter(
    session: Session, names: Collection[str], now: datetime, until: datetime, *, first_alone: bool
) -> tuple[Sequence[Gate], Gate | None]:
    """Pass these gates, or be the one call that tries those of them that are closed, until `until` at the latest.

    Returns the gates as they are then, and the first of them that is closed now: then nothing has changed.
    The rows' locks make it one call, of however many ask at once. first_alone: no call has come through a gate that is
    new.
    """
    found = [await locked_gate(session, name, is_tried=not first_alone) for name in names]
    closed = next((gate for gate in found if not may_try(gate, now)), None)
    if closed is not None:
        return found, closed
    entered = [tried_by_one(gate, until) for gate in found]
    for before, after in zip(found, entered, strict=True):
        if before != after:
            await keep(session, after)
    return entered, None


_LEAVE = text(
    "UPDATE gates SET next_try_at = :now WHERE name = ANY(:names) AND NOT (is_tried AND paused_at IS NULL)"
    " AND next_try_at = :until"
)


async def leave(session: Session, names: Collection[str], now: datetime, until: datetime) -> None:
    """The call that was to try these gates until `until` was not made: the next one may."""
    await session.run(_LEAVE, {"names": list(names), "now": now, "until": until})


_WAIT = text(
    """
    UPDATE drafts SET state = 'wanted', lease_owner = NULL, lease_until = NULL, waits_for = :gate, reason = :reason,
        not_before = :not_before, attempts = attempts - 1, free_calls = free_calls + :free_calls
    WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'
    """
)


async def wait_before(session: Session, lease: Lease, gate: Gate, now: datetime, *, free_calls: int = 0) -> None:
    """Put a leased draft back until the gate opens, whose lock the caller holds.

    `free_calls` of those that were made since it was taken use up no attempt.
    """
    await session.run(
        _WAIT,
        {
            "draft_id": lease.draft_id,
            "owner": lease.owner,
            "gate": gate.name,
            "reason": f"waits for the key of {gate.name}: {gate.reason or 'the first call with it is not over'}",
            "not_before": now + _LOOK_AGAIN_AFTER,
            "free_calls": free_calls,
        },
    )


# What was asked in vain before the key was paused is long ago when it is asked again.
_RELEASE = text(
    """
    UPDATE drafts SET waits_for = NULL, reason = NULL, not_before = :now, tried_since = :now
    WHERE waits_for = :gate AND state = 'wanted' RETURNING id, provider
    """
)


async def release(session: Session, gate: Gate, now: datetime) -> None:
    """Announce all drafts that wait for this gate, whose lock the caller holds."""
    for row in await session.all(_RELEASE, {"gate": gate.name, "now": now}):
        session.announce(Hint(provider_queue(row.provider), "draft.wanted", str(row.id)))


_RELEASE_ONE = text(
    """
    UPDATE drafts SET waits_for = NULL, not_before = :now, tried_since = :now
    WHERE id = (
        SELECT d.id FROM drafts d JOIN cohorts c ON c.id = d.cohort_id JOIN experiments e ON e.id = c.experiment_id
        WHERE d.waits_for = :gate AND d.state = 'wanted' AND e.status = 'running'
        ORDER BY d.tried_since NULLS FIRST, d.created_at, d.path LIMIT 1 FOR UPDATE OF d SKIP LOCKED
    ) RETURNING id, provider
    """
)


async def release_one(session: Session, name: str, now: datetime) -> None:
    """Announce one of the drafts that wait for this gate: its call may try it.

    They take turns, because the fault may be in a draft's own call.
    """
    row = await session.first(_RELEASE_ONE, {"gate": name, "now": now})
    if row is not None:
        session.announce(Hint(provider_queue(row.provider), "draft.wanted", str(row.id)))


_FORGET = text("DELETE FROM gates")
_RELEASE_ALL = text(
    "UPDATE drafts SET waits_for = NULL, not_before = :now, tried_since = :now WHERE waits_for IS NOT NULL"
)


async def forget(session: Session, now: datetime) -> None:
    """Know nothing of any key: only for a lab that is the only one on its database and has just started."""
    await session.run(_FORGET)
    await resolve_alerts(session, KEY_PAUSED, now)
    await session.run(_RELEASE_ALL, {"now": now})


@dataclass(frozen=True, slots=True)
class Waiting:
    """Drafts of one experiment that wait for a gate."""

    gate: Gate
    drafts: int


_WAITING = text(
    f"""
    SELECT {", ".join(f"g.{name}" for name in Gate.__slots__)}, w.n
    FROM (SELECT d.waits_for, count(*) AS n FROM drafts d JOIN cohorts c ON c.id = d.cohort_id
            WHERE c.experiment_id = :id AND d.waits_for IS NOT NULL AND d.state = 'wanted' GROUP BY d.waits_for) w
        JOIN gates g ON g.name = w.waits_for
    WHERE g.paused_at IS NOT NULL ORDER BY g.paused_at, g.name
    """  # noqa: S608 - put together from constants
)


async def waiting_for_keys(session: ReadSession, experiment_id: UUID) -> Sequence[Waiting]:
    """The paused keys that drafts of this experiment wait for, the longest pause first."""
    return [Waiting(_gate(row), row.n) for row in await session.all(_WAITING, {"id": experiment_id})]


_IS_AWAITED = text(
    f"""
    SELECT EXISTS (
        SELECT FROM members o JOIN members m ON m.cohort_id = o.cohort_id
        WHERE m.id = :member_id AND o.player = 'person' AND o.status IN {in_sql(TAKING_PART)} AND (
            :is_shared AND o.stage_ids[o.position + 1] = :stage_id
            OR NOT EXISTS (SELECT FROM cohort_stages u
                WHERE u.cohort_id = o.cohort_id AND u.stage_id = o.stage_ids[o.position + 1])
            OR EXISTS (SELECT FROM threads t WHERE t.cohort_id = o.cohort_id AND t.scope = 'group'
                AND t.stage_id = o.stage_ids[o.position + 1] AND t.ended_at IS NULL AND t.stage_id <> :stage_id))
    ) AS is_awaited
    """  # noqa: S608 - put together from constants
)


async def is_awaited(session: ReadSession, member_id: UUID, stage_id: str, *, is_shared: bool) -> bool:
    """Whether a person waits for this agent to be done on its stage: in the same game or interview (`is_shared`),
    before a stage that is not open yet, or in a conversation that the agent has not come to."""
    params = {"member_id": member_id, "stage_id": stage_id, "is_shared": is_shared}
    return bool((await session.one(_IS_AWAITED, params)).is_awaited)


def _gate(row: Row) -> Gate:
    fields: dict[str, Any] = {name: getattr(row, name) for name in Gate.__slots__}
    return Gate(**fields)
