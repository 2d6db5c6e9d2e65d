"""The presence of people: a live stream or a request shows that a person is there; a person without either for long is
gone. Presence is stored in rows, so a restart loses nothing.

A gateway notes every few seconds whose streams it has. A member is gone only if a gateway has been there for as long as
they have not: when all of them were away, everybody gets as long as they need to come back.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member, record_of
from parley_lab.answers.seats_again import may_be_given
from parley_lab.base.errors import Conflict, NotFound
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.members.designs import stage_of
from parley_lab.members.held_cohorts import COHORT_HELD, is_held
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.people.own_arms import lock_draws
from parley_lab.people.shells import shows_others
from parley_lab.people.standing_in import stand_in
from parley_lab.store.facts import Event
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

BEAT_SECONDS: Final = 5.0
"""How often a gateway notes whose streams it has."""
GRACE_SECONDS: Final = 20.0
"""Who has not been seen for so long is gone: a page that is loaded again, or a network that breaks, is back before."""
GONE: Final = "gone for too long"

_COME: Final = text(
    """
    INSERT INTO presence (member_id, seen_at) VALUES (:member_id, :now)
    ON CONFLICT (member_id) DO UPDATE SET seen_at = greatest(presence.seen_at, excluded.seen_at)
    RETURNING gone_at
    """
)
_BACK: Final = text("UPDATE presence SET gone_at = NULL WHERE member_id = :member_id AND gone_at IS NOT NULL")


async def come(session: Session, member_id: UUID, now: datetime) -> None:
    """A member has opened a live stream."""
    row = await session.one(_COME, {"member_id": member_id, "now": now})
    if row.gone_at is not None:
        await come_back(session, member_id, now)


async def come_back(session: Session, member_id: UUID, now: datetime) -> None:
    """Record that a member who was gone is there again; nothing happens if that was done."""
    standing = await lock_standing(session, member_id)
    if await session.run(_BACK, {"member_id": member_id}):
        _record(session, standing, "member.returned", now)
        _tell_others(session, standing, now)


# A stream is a sign of life by itself. Rows are changed in the order of ids: several gateways do so at once.
_ASKED: Final = text(
    f"""
    INSERT INTO presence (member_id, asked_at)
    SELECT m.id, :now FROM members m LEFT JOIN presence p ON p.member_id = m.id
    WHERE m.token_hash = ANY(:token_hashes) AND m.player = 'person' AND m.status IN {in_sql(TAKING_PART)}
        AND (p.seen_at IS NULL OR p.seen_at < :streamed)
    ORDER BY m.id
    ON CONFLICT (member_id) DO UPDATE SET asked_at = greatest(presence.asked_at, excluded.asked_at)
    RETURNING member_id, gone_at
    """  # noqa: S608 - put together from constants
)


async def have_asked(session: Session, token_hashes: Collection[str], now: datetime) -> Sequence[UUID]:
    """The people with these tokens have made requests, so those without a stream are there, too; who of them was gone,
    and comes back with that (`come_back`)."""
    asked = {"token_hashes": sorted(token_hashes), "now": now, "streamed": now - timedelta(seconds=BEAT_SECONDS + 1)}
    return [row.member_id for row in await session.all(_ASKED, asked) if row.gone_at is not None]


_BEAT: Final = text(
    """
    WITH beat AS (
        INSERT INTO gateways (id, started_at, seen_at) VALUES (:gateway_id, :started_at, :now)
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
    )
    UPDATE presence SET seen_at = greatest(seen_at, :now) WHERE member_id = ANY(:member_ids)
    """
)
_FORGET: Final = text("DELETE FROM gateways WHERE seen_at < :before")


async def beat(
    session: Session, gateway_id: UUID, started_at: datetime, member_ids: Collection[UUID], now: datetime
) -> None:
    """This gateway is there, and has live streams of these members."""
    params = {"gateway_id": gateway_id, "started_at": started_at, "member_ids": sorted(member_ids), "now": now}
    await session.run(_BEAT, params)
    await session.run(_FORGET, {"before": now - timedelta(days=1)})


_MISSING: Final = text(
    f"""
    SELECT p.member_id FROM presence p JOIN members m ON m.id = p.member_id JOIN experiments e ON e.id = m.experiment_id
    WHERE p.gone_at IS NULL AND greatest(p.seen_at, p.asked_at) < :before AND m.player = 'person'
        AND m.status IN {in_sql(TAKING_PART)}
        AND e.status = 'running'
        AND EXISTS (SELECT FROM gateways g WHERE g.started_at < :before
            AND g.seen_at > greatest(p.seen_at, p.asked_at) AND g.seen_at > :alive)
    """  # noqa: S608 - put together from constants
)


async def missing(session: ReadSession, now: datetime) -> Sequence[UUID]:
    """People who have had no stream and made no request for longer than the grace period, and are not known as gone."""
    params = {"before": now - timedelta(seconds=GRACE_SECONDS), "alive": now - timedelta(seconds=3 * BEAT_SECONDS)}
    return [row.member_id for row in await session.all(_MISSING, params)]


_MARK: Final = text(
    """
    UPDATE presence SET gone_at = :now
    WHERE member_id = :member_id AND gone_at IS NULL AND greatest(seen_at, asked_at) < :before
    """
)


async def mark_gone(session: Session, member_id: UUID, now: datetime) -> None:
    """Record that a member is gone, unless they have come back meanwhile."""
    standing = await lock_standing(session, member_id)
    before = now - timedelta(seconds=GRACE_SECONDS)
    if await session.run(_MARK, {"member_id": member_id, "now": now, "before": before}):
        _record(session, standing, "member.gone", now)
        _tell_others(session, standing, now)


# For a person `m` in an experiment `e` with the presence `p`.
_SINCE: Final = f"""
    greatest(p.gone_at, e.resumed_at, m.arrived_at, (SELECT max(h.resolved_at) FROM alerts h
        WHERE h.cohort_id = m.cohort_id AND h.type = '{COHORT_HELD}')) AS since
"""  # noqa: S608 - put together from constants
_GONE: Final = text(
    f"""
    SELECT p.member_id, m.experiment_id, e.version, coalesce(m.treatment_id, c.treatment_id) AS treatment_id,
        m.stage_ids[m.position + 1] AS stage_id, {_SINCE}
    FROM presence p JOIN members m ON m.id = p.member_id JOIN cohorts c ON c.id = m.cohort_id
        JOIN experiments e ON e.id = m.experiment_id
    WHERE p.gone_at IS NOT NULL AND m.player = 'person' AND m.status IN {in_sql(TAKING_PART)} AND e.status = 'running'
        AND m.position < cardinality(m.stage_ids) AND NOT {is_held("m.cohort_id")}
    """  # noqa: S608 - put together from constants
)
_SINCE_WHEN: Final = text(
    f"""
    SELECT {_SINCE} FROM presence p JOIN members m ON m.id = p.member_id JOIN experiments e ON e.id = m.experiment_id
    WHERE p.member_id = :member_id AND p.gone_at IS NOT NULL
    """  # noqa: S608 - put together from constants
)


async def due(session: ReadSession, now: datetime) -> Sequence[UUID]:
    """People who are gone for as long as their stage allows, where it has a rule for that. Takes no lock."""
    return [row.member_id for row in await session.all(_GONE) if await _is_due(session, row, now)]


async def _is_due(session: ReadSession, row: Row, now: datetime) -> bool:
    try:
        stage = await stage_of(session, row.experiment_id, row.version, row.treatment_id, row.stage_id)
    except (Conflict, NotFound):
        # The work on this person alone fails, and the guard raises an alert.
        return True
    return _is_over(stage, row.since, now)


def _is_over(stage: StageConfig, since: datetime, now: datetime) -> bool:
    """Whether something follows by now for a person who is gone since then."""
    return stage.when_gone != "wait" and since + timedelta(seconds=stage.gone_after_seconds) <= now


async def apply_rule(session: Session, member_id: UUID, now: datetime) -> bool:
    """Apply the stage's rule for a member who is gone, once its time is over; False when nothing is to be done.

    The time begins when they were found gone, came to the stage, or the experiment went on after a pause, or their
    cohort after it was held.
    """
    standing = await lock_standing(session, member_id)
    row = await session.first(_SINCE_WHEN, {"member_id": member_id})
    stage = standing.stage
    if row is None or stage is None or standing.is_paused or standing.is_in_held_cohort:
        return False
    if standing.status not in TAKING_PART or standing.member.player != "person":
        return False
    if not _is_over(stage, row.since, now):
        return False
    if stage.when_gone == "replace" and await stand_in(session, standing, stage.stand_in or "", now):
        # To the others the member is there again.
        _tell_others(session, standing, now)
        return True
    return await end_member(session, standing, "dropped_out", GONE, now, cause="timer", actor="lab")


_GONE_BEFORE: Final = text(
    """
    SELECT p.member_id FROM presence p JOIN members m ON m.id = p.member_id JOIN cohorts c ON c.id = m.cohort_id
    WHERE p.gone_at IS NOT NULL AND m.experiment_id = :experiment_id AND m.player = 'person'
        AND m.status = 'in_progress' AND NOT c.alone
    ORDER BY p.member_id
    """
)


# The join may make a cohort later, for which it takes this lock: a pause has it while it waits for the members.
_HOLD_EXPERIMENT: Final = text("SELECT FROM experiments WHERE id = :experiment_id FOR SHARE")


async def free_seats_of_gone(session: Session, experiment_id: UUID, now: datetime) -> None:
    """Give the seats of people who are gone to those who come, where the file gives the seats of those who went.

    A person who is gone has dropped out by that. To be called by a join, before it takes a seat; takes the lock of
    draws, that of the experiment, then those of the members.
    """
    gone = await session.all(_GONE_BEFORE, {"experiment_id": experiment_id})
    if not gone:
        return
    await lock_draws(session, experiment_id)
    await session.run(_HOLD_EXPERIMENT, {"experiment_id": experiment_id})
    for row in gone:
        standing = await lock_standing(session, row.member_id)
        still = await session.first(_SINCE_WHEN, {"member_id": row.member_id})
        is_there = standing.is_in_progress and not standing.is_in_held_cohort
        if still is not None and is_there and await may_be_given(session, standing):
            await end_member(session, standing, "dropped_out", GONE, now, cause="request", actor="lab")


def _record(session: Session, standing: Standing, event_type: str, now: datetime) -> None:
    """For the experimenter alone."""
    record_of(
        session,
        standing,
        event_type,
        {},
        now,
        cause="lab",
        actor="lab",
        audience=[],
    )


def _tell_others(session: Session, standing: Standing, now: datetime) -> None:
    """Have the pages of those who see who is there read anew; what has changed they are not told."""
    if not shows_others(standing) or standing.stage is None:
        return
    told = {"stage_id": standing.stage.id}
    session.record(
        Event(
            experiment_id=standing.experiment_id,
            cohort_id=standing.cohort_id,
            type="stage.updated",
            actor="lab",
            cause="lab",
            subject=f"{standing.member.path}/{standing.stage.id}",
            subject_id=None,
            payload=told,
            public=told,
            audience=None,
            at=now,
        )
    )
    session.tell(standing.cohort_id)
