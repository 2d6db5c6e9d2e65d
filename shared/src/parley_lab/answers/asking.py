"""Asking: what is wanted of one member, final once given; found, and closed for want of an answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from parley_lab.base import seeds
from parley_lab.base.errors import NotFound
from parley_lab.base.logs import correlation
from parley_lab.contracts.hints import Hint, provider_queue
from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.kinds import Ask, Json
from parley_lab.kinds.attendees import Attendee
from parley_lab.members.cohort_state import CohortState, record
from parley_lab.members.standing import Standing
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json

# A member who has left meanwhile is asked nothing. The members' rows are locked by the caller or here, in the order of
# ids; a lock that was waited for looks at the row again.
_OPEN = text(
    f"""
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:asks AS jsonb)) AS g(
            id uuid, path text, member_id uuid, key text, generation int, purpose text, draft_id uuid,
            provider text)
    ), here AS (
        SELECT m.id FROM members m
        WHERE m.id = ANY(:member_ids) AND m.cohort_id = :cohort_id AND m.status IN {in_sql(TAKING_PART)}
            AND (m.kind = 'mediator' OR m.stage_ids[m.position + 1] = :stage_id)
        ORDER BY m.id FOR NO KEY UPDATE
    ), opened AS (
        INSERT INTO asks (id, path, cohort_id, stage_id, member_id, key, generation, purpose, as_of, opened_at)
        SELECT g.id, g.path, :cohort_id, :stage_id, g.member_id, g.key, g.generation, g.purpose,
            CAST(:as_of AS bigint), :now
        FROM given g JOIN here ON here.id = g.member_id
        ON CONFLICT DO NOTHING
        RETURNING id
    ), drafted AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, ask_id, purpose, provider, not_before,
            correlation, created_at)
        SELECT g.draft_id, g.path || '/draft', :cohort_id, :stage_id, g.member_id, g.id, g.purpose, g.provider, :now,
            :correlation, :now
        FROM given g JOIN opened USING (id) WHERE g.provider IS NOT NULL
        RETURNING id, ask_id, provider
    ), kept AS (
        UPDATE cohort_stages SET state = CAST(:state AS jsonb)
        WHERE cohort_id = :cohort_id AND stage_id = :stage_id AND CAST(:state AS jsonb) IS NOT NULL
    )
    SELECT o.id, d.id AS draft_id, d.provider FROM opened o LEFT JOIN drafted d ON d.ask_id = o.id
    """  # noqa: S608 - put together from constants
)


def open_asks(session: Session, standing: Standing, asks: Sequence[Ask], now: datetime) -> None:
    """Open these asks of one agent on its stage, each with the draft of its answer; what was opened before stays.

    They are written with the next statement. The caller holds the member's lock, and the hint of a draft that was
    closed before finds nothing to do.
    """
    assert standing.stage is not None
    is_open = {ask.key for ask in standing.asks if ask.stage_id == standing.stage.id}
    rows = [
        _row(standing.experiment_id, standing.member.path, standing.stay, standing.stage.id, ask, standing.provider)
        for ask in asks
        if ask.key not in is_open
    ]
    if rows:
        session.later(_OPEN, _opening(rows, cohort_id=standing.cohort_id, stage_id=standing.stage.id, now=now))
        _announce(session, ((row["draft_id"], row["provider"]) for row in rows))


async def open_shared_asks(
    session: Session,
    cohort: CohortState,
    stage_id: str,
    asks: Sequence[Ask],
    state: Mapping[str, Json],
    *,
    as_of: int,
    now: datetime,
) -> None:
    """Open asks of several members and keep the state of the stage, for a caller that holds the cohort's lock.

    Their prompts will show what was known at `as_of`. Agents get a draft each, people are told, of a new state too.
    """
    is_new = cohort.states.get(stage_id) != state
    if is_new:
        _record_new_state(session, cohort, stage_id, now)
    if not asks and not is_new:
        return
    members = {member.id: member for member in cohort.members}
    rows = [
        _row(cohort.experiment_id, one.path, one.stay, stage_id, ask, one.provider)
        for ask in asks
        for one in (members[ask.member_id],)
    ]
    params = _opening(
        rows, cohort_id=cohort.id, stage_id=stage_id, as_of=as_of, state=state if is_new else None, now=now
    )
    found = await session.all(_OPEN, params)
    _announce(session, ((row.draft_id, row.provider) for row in found))
    opened = {row.id for row in found}
    for ask, row in zip(asks, rows, strict=True):
        if row["id"] in opened and members[ask.member_id].player == "person":
            _record_opening(session, cohort, members[ask.member_id], stage_id, ask, row["id"], now)


def _row(
    experiment_id: UUID, member_path: str, stay: int, stage_id: str, ask: Ask, provider: str | None
) -> dict[str, Any]:
    """A member who has moved to another cohort may be asked the same thing again there."""
    place = f"{member_path}@{stay}" if stay else member_path
    path = f"{place}/{stage_id}/{ask.key or 'page'}"
    return {
        "id": seeds.row_id(experiment_id, path),
        "path": path,
        "member_id": ask.member_id,
        "key": ask.key,
        "generation": 1 + stay,
        "purpose": ask.purpose,
        "draft_id": seeds.row_id(experiment_id, f"{path}/draft"),
        "provider": provider,
    }


def _opening(
    rows: Sequence[Mapping[str, Any]],
    *,
    cohort_id: UUID,
    stage_id: str,
    as_of: int | None = None,
    state: Mapping[str, Json] | None = None,
    now: datetime,
) -> dict[str, Any]:
    return {
        "asks": as_json(rows),
        "member_ids": sorted({row["member_id"] for row in rows}),
        "cohort_id": cohort_id,
        "stage_id": stage_id,
        "as_of": as_of,
        "state": None if state is None else as_json(state),
        "correlation": correlation.get(),
        "now": now,
    }


def _announce(session: Session, drafts: Iterable[tuple[UUID, str | None]]) -> None:
    for draft_id, provider in drafts:
        if provider is not None:
            session.announce(Hint(provider_queue(provider), "draft.wanted", str(draft_id)))


def _record_new_state(session: Session, cohort: CohortState, stage_id: str, now: datetime) -> None:
    """Tell people that there is something new to see."""
    people = [member.id for member in cohort.members if member.player == "person"]
    if people:
        subject = f"{cohort.path}/{stage_id}"
        record(session, cohort, "stage.updated", subject, {"stage_id": stage_id}, now, audience=people)


def _record_opening(
    session: Session, cohort: CohortState, member: Attendee, stage_id: str, ask: Ask, ask_id: UUID, now: datetime
) -> None:
    payload = {"ask_id": str(ask_id), "stage_id": stage_id, "key": ask.key, "purpose": ask.purpose}
    record(session, cohort, "ask.opened", member.path, payload, now, subject_id=member.id, audience=[member.id])


_CLOSE = text(
    """
    UPDATE asks SET state = :state, reason = :reason, closed_at = :now WHERE id = :ask_id AND state = 'open'
    """
)


async def close_ask(session: Session, ask_id: UUID, state: str, reason: str | None, now: datetime) -> bool:
    """Fail or expire an open ask without an answer; False when it was closed before."""
    return bool(await session.run(_CLOSE, {"ask_id": ask_id, "state": state, "reason": reason, "now": now}))


@dataclass(frozen=True, slots=True)
class FoundAsk:
    """An ask in its present state; `answer` is what was stored when `state` is `answered`."""

    id: UUID
    stage_id: str
    ask: Ask
    state: str
    answer: Json


_FIND = text(
    """
    SELECT k.id, k.stage_id, k.member_id, k.key, k.purpose, k.state, a.value
    FROM asks k LEFT JOIN answers a ON (a.member_id, a.stage_id, a.key) = (k.member_id, k.stage_id, k.key)
    WHERE k.id = :ask_id AND k.member_id = :member_id
    """
)


async def find(session: ReadSession, ask_id: UUID, member_id: UUID) -> FoundAsk:
    """One ask of this member.

    Raises:
        NotFound: there is no such ask, or it is another's.
    """
    row = await session.first(_FIND, {"ask_id": ask_id, "member_id": member_id})
    if row is None:
        raise NotFound("There is no such question to you.")
    return FoundAsk(row.id, row.stage_id, Ask(row.member_id, row.key, row.purpose), row.state, row.value)
