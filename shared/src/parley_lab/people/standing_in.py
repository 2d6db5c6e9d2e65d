"""An agent takes the place of a person who is gone, or who has not come: the same member, with another player.

A person who is gone leaves profile, words and answers to the agent; an empty seat has a profile of its own.
"""

from datetime import datetime
from itertools import takewhile
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import record_of, record_staying_away
from parley_lab.base.logs import correlation
from parley_lab.contracts import lives
from parley_lab.contracts.hints import AGENT_STEPS, Hint, provider_queue
from parley_lab.contracts.providers import serving_provider
from parley_lab.design import snapshot
from parley_lab.members.alerts import raise_alert_about
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing, standing_of
from parley_lab.members.stays import LEAST, MOST
from parley_lab.people.assigning import arrive
from parley_lab.people.giving_back import BACK
from parley_lab.people.own_arms import give_own_arm, lock_draws
from parley_lab.people.spans import span_of
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

# The token goes with the person, so that a person who comes back with it is told.
_SITTINGS: Final = text(
    """
    WITH again AS (
        UPDATE sittings s SET token_hash = m.token_hash, until = :now
        FROM members m WHERE m.id = :member_id AND s.member_id = m.id AND s.until IS NULL
        RETURNING s.number
    ), first AS (
        INSERT INTO sittings (member_id, number, player, token_hash, since, until)
        SELECT id, 1, player, token_hash, joined_at, :now FROM members
        WHERE id = :member_id AND NOT EXISTS (SELECT FROM again)
    )
    INSERT INTO sittings (member_id, number, player, persona, since)
    VALUES (:member_id, coalesce((SELECT number FROM again), 1) + 1, 'agent', :persona, :now)
    """
)
_REPLACE: Final = text(
    """
    WITH offered AS (
        SELECT transfer_to FROM members WHERE id = :member_id
    ), stopped AS (
        UPDATE timers SET state = 'cancelled'
        WHERE member_id = :member_id AND NOT purpose = ANY(:of_stage) AND state IN ('armed', 'held')
    ), missed AS (
        UPDATE attention_checks SET closed_at = :now, outcome = 'missed'
        WHERE member_id = :member_id AND closed_at IS NULL
    ), begun AS (
        UPDATE partial_answers SET outcome = 'not_sent' WHERE member_id = :member_id AND outcome IS NULL
    )
    UPDATE members SET player = 'agent', agent_config = CAST(:agent AS jsonb), provider = :provider, token_hash = NULL,
        status = :status, transfer_to = NULL, stage_ids = CAST(:stage_ids AS text[]), version = version + 1
    WHERE id = :member_id
    RETURNING (SELECT transfer_to FROM offered) AS transfer_to
    """
)
# An agent was on this seat before, and its work was called off when the person came back: this agent goes on with it.
# Asks are opened first, by a statement of their own, so that the next one sees them.
_ASKS_AGAIN: Final = text(
    """
    UPDATE asks k SET state = 'open', reason = NULL, closed_at = NULL
    WHERE member_id = :member_id AND cohort_id = :cohort_id AND stage_id = :stage_id AND generation = :generation
        AND state = 'cancelled' AND reason = :called_off
        AND NOT EXISTS (SELECT FROM answers a
            WHERE (a.member_id, a.stage_id, a.key) = (k.member_id, k.stage_id, k.key))
    """
)
# The agent is asked all that the person has not answered. Calls that were made before use up no attempt now; a fixed
# line needs no model. A lease closes each draft that the conversation has overtaken.
_DRAFTS: Final = text(
    """
    WITH again AS (
        UPDATE drafts d SET state = CASE WHEN d.provider = 'line' THEN 'ready' ELSE 'wanted' END, reason = NULL,
            closed_at = NULL, provider = CASE WHEN d.provider = 'line' THEN d.provider ELSE :provider END,
            reply = CASE WHEN d.provider = 'line' THEN d.reply END, ready_to_end = false, finish_ms = NULL,
            due_at = CASE WHEN d.provider = 'line' THEN CAST(:now AS timestamptz) END,
            attempts = 0, waits_for = NULL, not_before = :now, tried_since = :now, correlation = :correlation,
            free_calls = (SELECT count(*) FROM model_calls x WHERE x.draft_id = d.id AND x.part = '')
        WHERE d.member_id = :member_id AND d.cohort_id = :cohort_id AND d.stage_id = :stage_id
            AND d.state = 'cancelled' AND d.reason = :called_off
            AND (d.thread_id IS NOT NULL OR EXISTS (SELECT FROM asks k WHERE k.id = d.ask_id AND k.state = 'open'))
        RETURNING d.id, d.provider
    ), first AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, ask_id, purpose, provider, not_before,
            correlation, created_at)
        SELECT gen_random_uuid(), k.path || '/draft', k.cohort_id, k.stage_id, k.member_id, k.id, k.purpose,
            :provider, :now, :correlation, :now
        FROM asks k WHERE k.member_id = :member_id AND k.state = 'open'
        ON CONFLICT DO NOTHING
        RETURNING id, provider
    )
    SELECT id, provider FROM again WHERE provider <> 'line' UNION ALL SELECT id, provider FROM first
    """
)


async def stand_in(session: Session, standing: Standing, persona_id: str, now: datetime) -> bool:
    """Let the agent of this persona play on for a locked person, with their profile and all that they said.

    Where people meet anew, its part ends before the next meeting. False when that is where the person is, or when the
    arm has no such agent: the experimenter gets an alert.

    Raises:
        Conflict: no one takes part on this seat now.
    """
    status = lives.after(standing.status, "replace")
    until = (await span_of(session, standing.cohort_id)).until
    way = list(takewhile(lambda one: one != until, standing.stage_ids))
    if standing.position >= len(way):
        return False
    agent = await _agent(session, standing, persona_id, now)
    if agent is None:
        return False
    whose = {"member_id": standing.member.id, "now": now}
    await session.run(_SITTINGS, {**whose, "persona": persona_id})
    # The stage's own times are for everyone who plays the seat.
    played = {**agent, "status": status, "stage_ids": way, "of_stage": [LEAST, MOST]}
    replaced = await session.one(_REPLACE, {**whose, **played})
    if replaced.transfer_to is not None:
        record_staying_away(session, standing, replaced.transfer_to, now, cause="timer")
    await _ask(session, standing, agent["provider"], now)
    _record(session, standing, "member.replaced", persona_id, now)
    return True


async def _ask(session: Session, standing: Standing, provider: str, now: datetime) -> None:
    """Ask the agent all that the person has not answered, and all that was called off when they came back before."""
    place = {
        "member_id": standing.member.id,
        "cohort_id": standing.cohort_id,
        "stage_id": standing.stage_ids[standing.position],
        "called_off": BACK,
    }
    await session.run(_ASKS_AGAIN, {**place, "generation": 1 + standing.stay})
    drafts = await session.all(_DRAFTS, {**place, "provider": provider, "correlation": correlation.get(), "now": now})
    for draft in drafts:
        session.announce(Hint(provider_queue(draft.provider), "draft.wanted", str(draft.id)))


_FILL: Final = text(
    """
    WITH seated AS (
        INSERT INTO sittings (member_id, number, player, persona, since) VALUES (:member_id, 1, 'agent', :persona, :now)
    )
    UPDATE members SET player = 'agent', agent_config = CAST(:agent AS jsonb), provider = :provider, status = :status,
        joining = '{"rule": "filled"}', joined_at = :now, arrived_at = :now, version = version + 1
    WHERE id = :member_id
    """
)
_SEAT: Final = text(
    """
    SELECT e.id AS experiment_id, e.document -> 'assigned' AS assigned, c.path,
        coalesce(e.document #>> '{allocation,by}' = 'participant', false) AS has_own_arm
    FROM members m JOIN cohorts c ON c.id = m.cohort_id JOIN experiments e ON e.id = m.experiment_id
    WHERE m.id = :member_id
    """
)


async def fill_seat(session: Session, member_id: UUID, persona_id: str, now: datetime) -> bool:
    """Let the agent of this persona take an empty seat; it begins at the first stage.

    False when a person has joined meanwhile, or the arm has no such agent: the experimenter is told.
    """
    row = await session.one(_SEAT, {"member_id": member_id})
    if row.has_own_arm:
        await lock_draws(session, row.experiment_id)
    standing = await lock_standing(session, member_id)
    if standing.status != "expected":
        return False
    if row.has_own_arm:
        await give_own_arm(session, row.experiment_id, member_id)
    if row.assigned:
        await arrive(session, row.experiment_id, member_id, row.path, row.assigned)
    if row.has_own_arm or row.assigned:
        standing = await standing_of(session, member_id)
    agent = await _agent(session, standing, persona_id, now)
    if agent is None:
        return False
    status = lives.after(standing.status, "fill")
    await session.run(_FILL, {"member_id": member_id, "now": now, "persona": persona_id, "status": status, **agent})
    _record(session, standing, "member.seated", persona_id, now)
    return True


async def _agent(session: Session, standing: Standing, persona_id: str, now: datetime) -> dict[str, str] | None:
    """The private part of the agent's profile and its provider; None when the arm has no such agent."""
    persona = standing.design.personas.get(persona_id)
    if persona is None or persona.player != "agent":
        await raise_alert_about(
            session,
            standing,
            "stand_in",
            "no_stand_in",
            f"{standing.member.path} is not there, and there is no agent {persona_id!r} that could play.",
            now,
        )
        return None
    persona = standing.design.persona_for(persona_id, standing.facts.variables)
    return {
        "agent": as_json(snapshot(persona).model_dump(mode="json")),
        "provider": serving_provider("real" if standing.model_mode == "real" else "mock", persona.model.provider),
    }


def _record(session: Session, standing: Standing, event_type: str, persona_id: str, now: datetime) -> None:
    record_of(
        session,
        standing,
        event_type,
        {"player": "agent", "persona": persona_id},
        now,
        cause="timer",
        actor="lab",
        audience=[],
    )
    session.announce(Hint(AGENT_STEPS, "member.changed", str(standing.member.id)))
