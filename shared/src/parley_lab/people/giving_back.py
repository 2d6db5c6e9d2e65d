"""A person who was gone comes back, and the agent on their seat has done nothing yet: the seat is theirs again.

What the agent was about to do is not done: its drafts are cancelled under the locks of the member and of the thread, so
if a reply and the return happen at once, one waits for the other and sees what it did
(`tests/races/test_giving_back_race.py`).
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import record_of
from parley_lab.kinds.stages import parts_of
from parley_lab.members.standing import Standing
from parley_lab.members.standings import hash_token, lock_standing, unknown_token
from parley_lab.people.attention import arm_schedule, whose
from parley_lab.people.spans import span_of
from parley_lab.store.session import ReadSession, Session
from parley_lab.talk.conversation import advance_thread

BACK: Final = "the person is back"
CALLED_OFF: Final = "The person came back with this call in hand. It may have been sent and paid."
"""The error of a call that has its number from then on: an agent that goes on with its draft makes another one."""

# Before the thread, as where a reply is stored: it holds its draft when it takes the lock of its thread.
_LOCK_THOUGHTS: Final = text(
    "SELECT id FROM drafts WHERE member_id = :member_id AND state = 'thinking' ORDER BY id FOR NO KEY UPDATE"
)
_LOCK_THREAD: Final = text("SELECT id FROM threads WHERE id = :thread_id FOR NO KEY UPDATE")
# An event of the member is whatever others could see of it: going on, an answer in a game, being ready to end.
_SITTING: Final = text(
    """
    SELECT s.player = 'agent' AND (
            EXISTS (SELECT FROM messages g WHERE g.member_id = m.id AND g.author_kind = 'agent'
                AND g.created_at >= s.since)
            OR EXISTS (SELECT FROM answers a WHERE a.member_id = m.id AND a.written_at >= s.since)
            OR EXISTS (SELECT FROM reactions r WHERE r.member_id = m.id AND r.reacted_at >= s.since)
            OR EXISTS (SELECT FROM events e WHERE e.cohort_id = m.cohort_id AND e.actor = m.path AND e.at > s.since)
            OR m.arrived_at > s.since
        ) AS has_acted,
        (SELECT b.token_hash FROM sittings b WHERE b.member_id = m.id AND b.player = 'person'
            ORDER BY b.number DESC LIMIT 1) AS token_hash,
        s.number
    FROM members m JOIN sittings s ON s.member_id = m.id
    WHERE m.id = :member_id ORDER BY s.number DESC LIMIT 1
    """
)
_GIVE_BACK: Final = text(
    """
    WITH agent AS (
        UPDATE sittings SET until = :now WHERE member_id = :member_id AND number = :number
    ), person AS (
        INSERT INTO sittings (member_id, number, player, since) VALUES (:member_id, :number + 1, 'person', :now)
    ), token AS (
        UPDATE sittings SET token_hash = NULL WHERE member_id = :member_id AND number < :number
    ), begun AS (
        UPDATE partial_answers SET outcome = NULL
        WHERE member_id = :member_id AND stage_id = :stage_id AND outcome = 'not_sent'
    ), lost AS (
        INSERT INTO model_calls (id, draft_id, part, attempt, path, provider, model_asked, model_mode, settings, prompt,
            prompt_hash, status, error, started_at, finished_at)
        SELECT gen_random_uuid(), d.id, 'lost:back:' || k.number, k.number,
            d.path || '/call:' || k.number || '/lost:back:' || k.number, d.provider,
            coalesce(m.agent_config #>> '{model,model}', ''), e.model_mode, '{}', '[]', '', 'lost',
            :called_off, :now, :now
        FROM drafts d JOIN members m ON m.id = d.member_id JOIN experiments e ON e.id = m.experiment_id
            CROSS JOIN LATERAL (SELECT coalesce(max(x.attempt), 0) + 1 AS number
                FROM model_calls x WHERE x.draft_id = d.id) k
        WHERE d.member_id = :member_id AND d.state = 'thinking'
    ), drafts AS (
        UPDATE drafts SET state = 'cancelled', reason = :reason, lease_owner = NULL, lease_until = NULL,
            closed_at = :now
        WHERE member_id = :member_id AND state IN ('wanted', 'thinking', 'ready')
    ), asks AS (
        UPDATE asks SET state = 'cancelled', reason = :reason, closed_at = :now
        WHERE member_id = :member_id AND state = 'open' AND :has_own_asks
    ), seen AS (
        UPDATE presence SET seen_at = :now, gone_at = NULL WHERE member_id = :member_id
    )
    UPDATE members SET player = 'person', agent_config = NULL, provider = NULL, token_hash = :token_hash,
        stage_ids = CAST(:stage_ids AS text[]), version = version + 1
    WHERE id = :member_id
    """
)
# A pause of the experiment has held the others.
_HOLD: Final = text(
    """
    UPDATE timers SET state = 'held', due_at = NULL,
        remaining_ms = ceil(extract(epoch FROM due_at - CAST(:now AS timestamptz)) * 1000)
    WHERE member_id = :member_id AND state = 'armed'
    """
)


async def give_back(session: Session, member_id: UUID, now: datetime) -> bool:
    """Give the seat of an agent that plays on back to its person, under their token of before.

    False when it stays the agent's: it has done something that others or the data could have, or the part is over. True
    when a person has it already. Takes the locks of the member, of its thoughts, and of the thread.
    """
    standing = await lock_standing(session, member_id)
    if standing.member.player == "person":
        return True
    stage, row = standing.stage, await session.first(_SITTING, {"member_id": member_id})
    if not standing.is_in_progress or stage is None or row is None or row.token_hash is None:
        return False
    thread_id = standing.conversation_id(stage)
    if thread_id is not None:
        await session.all(_LOCK_THOUGHTS, {"member_id": member_id})
        await session.first(_LOCK_THREAD, {"thread_id": thread_id})
        row = await session.one(_SITTING, {"member_id": member_id})
    if row.has_acted:
        return False
    back = {"token_hash": row.token_hash, "number": row.number, "stage_id": stage.id, "now": now}
    # Of people, only what is shared is asked by asks: their page is not.
    has_own_asks = parts_of(stage).state is None
    stage_ids = await _whole_way(session, standing)
    await session.run(
        _GIVE_BACK,
        {
            **back,
            "member_id": member_id,
            "has_own_asks": has_own_asks,
            "stage_ids": stage_ids,
            "reason": BACK,
            "called_off": CALLED_OFF,
        },
    )
    record_of(
        session, standing, "member.returned", {"player": "person"}, now, cause="request", actor="lab", audience=[]
    )
    await arm_schedule(session, whose(standing), now)
    if standing.is_paused:
        await session.run(_HOLD, {"member_id": member_id, "now": now})
    if thread_id is not None:
        await advance_thread(session, thread_id, now, cause="request")
    return True


async def _whole_way(session: ReadSession, standing: Standing) -> list[str]:
    """The stages of the person, of which the agent has none from the next meeting on."""
    until = (await span_of(session, standing.cohort_id)).until
    if until is None or until in standing.stage_ids:
        return [*standing.stage_ids]
    whole = standing.design.way_at(until, standing.facts.variables)
    return [*standing.stage_ids, *whole[whole.index(until) :]]


async def come_back(session: Session, token: str, now: datetime) -> UUID:
    """The member whose person comes back with the token that they had; nothing happens where it holds.

    Raises:
        NotSignedIn: the token was never one.
        Conflict: the agent on the seat has done something.
    """
    row = await session.first(_HOLDER, {"token_hash": hash_token(token)})
    if row is None or not await give_back(session, row.member_id, now):
        raise await unknown_token(session, hash_token(token))
    member_id: UUID = row.member_id
    return member_id


_HOLDER: Final = text(
    """
    SELECT id AS member_id FROM members WHERE token_hash = :token_hash
    UNION ALL SELECT member_id FROM sittings WHERE token_hash = :token_hash
    """
)
