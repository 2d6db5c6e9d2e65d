"""Where a member stands: read with one statement, under the member's lock or not."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, text

from shared.contracts.experiment import PageSettings, StageConfig
from shared.db.designs import design
from shared.db.scenes import turn_of
from shared.db.session import Row, Session
from shared.errors import NotFound, NotSignedIn
from shared.experiment import Resolved
from shared.stage import PAGE, Json, Member, OwnView, Speaker, Thread
from shared.stages import kind_of
from shared.views import Facts, People, attendee, member_of, own_view


@dataclass(frozen=True, slots=True)
class OpenAsk:
    """What the lab wants from a member now."""

    id: UUID
    stage_id: str
    key: str
    purpose: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """A participant, locked, and everything that decides what they may do now."""

    member: Member
    experiment_id: UUID
    cohort_id: UUID
    seed: int
    pace: str
    model_mode: str
    status: str
    status_reason: str | None
    position: int
    version: int
    stepped_version: int
    provider: str | None
    pages: PageSettings
    """How long an agent takes for pages."""
    paused_at: datetime | None
    """Since when the experiment is paused; None while it goes on."""
    resumed_at: datetime | None
    design: Resolved
    stage_ids: tuple[str, ...]
    unlocked: frozenset[str]
    facts: Facts
    """What was read of the cohort: this member's own answers, and what was drawn and came of everybody's."""
    threads: Mapping[str, Mapping[str, Any]]
    """The threads this member may read, by stage."""
    asks: tuple[OpenAsk, ...]
    """What is open, the oldest first."""
    arrived: Mapping[str, tuple[int, int]]
    """For a person: how many have arrived at the stage they are on, of how many who are counted."""

    @property
    def stage(self) -> StageConfig | None:
        """The stage this member is on; None after the last one."""
        return self.design.stage(self.stage_ids[self.position]) if self.position < len(self.stage_ids) else None

    @property
    def is_in_progress(self) -> bool:
        return self.status == "in_progress"

    @property
    def is_paused(self) -> bool:
        """Whether nothing may happen now, because the experiment is paused."""
        return self.paused_at is not None

    @property
    def is_locked(self) -> bool:
        return self.stage is not None and self.stage.id not in self.unlocked

    def view(self, stage: StageConfig, now: datetime) -> OwnView:
        """What the rules of one stage may read on behalf of this member."""
        return own_view(self.facts, stage, self.member.id, thread=self._thread(stage, now))

    def page(self, stage_id: str) -> Json | None:
        """The member's page of this stage, as far as it is answered."""
        return self.facts.own(stage_id, self.member.id).get(PAGE)

    def conversation_id(self, stage: StageConfig) -> UUID | None:
        """The thread in which this member talks on this stage; None when there is none, or nobody talks in it."""
        thread = self.threads.get(stage.id) if kind_of(stage).thread == "conversation" else None
        return None if thread is None else UUID(thread["id"])

    def with_answer(self, stage_id: str, key: str, value: Json) -> "Standing":
        """The same once this was answered."""
        answers = {self.member.id: {**self.facts.own(stage_id, self.member.id), key: value}}
        return replace(
            self,
            facts=self.facts.with_answers(stage_id, answers),
            asks=tuple(ask for ask in self.asks if (ask.stage_id, ask.key) != (stage_id, key)),
        )

    def _thread(self, stage: StageConfig, now: datetime) -> Thread | None:
        stored = self.threads.get(stage.id)
        if stored is None:
            return None
        turn = turn_of(stored["turn_state"])
        me = self.member.id
        now = self.paused_at or now
        return Thread(
            path=stored["path"],
            pace="fast" if self.pace == "fast" else "live",
            trigger_key=turn.trigger or "",
            last_author_id=UUID(stored["last_author_id"]) if stored["last_author_id"] else None,
            message_count=stored["last_seq"],
            agent_run=stored["agent_run"],
            speakers=(Speaker(self.member, turn.spoken.get(me, 0), me in turn.ready, me in turn.done),),
            ended=stored["ended_at"] is not None,
            topic=turn.topic,
            holder=turn.holder,
            is_overtime=turn.is_overtime,
            is_thinking=stored["is_thinking"],
            elapsed_ms=_since(stored["opened_at"], now),
            started_ms=turn.started_ms,
            silent_ms=_since(stored["last_spoken_at"], now, not_before=self.resumed_at),
        )


def _since(then: str | None, now: datetime, *, not_before: datetime | None = None) -> int:
    if then is None:
        return 0
    since = datetime.fromisoformat(then)
    if not_before is not None:
        since = max(since, not_before)
    return int((now - since) / timedelta(milliseconds=1))


_STANDING = """
    SELECT m.id, m.path, m.kind, m.player, m.profile, m.provider, m.status, m.status_reason, m.stage_ids, m.position,
        m.version, m.stepped_version, m.agent_config -> 'chat' AS chat, m.agent_config -> 'pages' AS pages,
        m.cohort_id, m.experiment_id, e.seed, e.pace, e.model_mode, e.paused_at, e.resumed_at,
        e.version AS design_version, c.treatment_id,
        (SELECT jsonb_object_agg(s.stage_id, jsonb_build_array(s.draws, s.state))
            FROM cohort_stages s WHERE s.cohort_id = m.cohort_id) AS opened,
        (SELECT jsonb_agg(jsonb_build_array(a.stage_id, a.key, a.value))
            FROM answers a WHERE a.member_id = m.id) AS answers,
        (SELECT jsonb_agg(jsonb_build_array(k.id, k.stage_id, k.key, k.purpose, k.opened_at)
                ORDER BY k.opened_at, k.path)
            FROM asks k WHERE k.member_id = m.id AND k.state = 'open') AS asks,
        (SELECT jsonb_object_agg(t.stage_id, jsonb_build_object('id', t.id, 'path', t.path, 'last_seq', t.last_seq,
                'agent_run', t.agent_run, 'ended_at', t.ended_at, 'turn_state', t.turn_state,
                'opened_at', t.opened_at + t.paused_ms * interval '1 millisecond',
                'last_author_id', t.last_author_id, 'last_spoken_at', s.created_at,
                'is_thinking', EXISTS (SELECT FROM drafts d JOIN members thinker ON thinker.id = d.member_id
                    WHERE d.thread_id = t.id AND thinker.status = 'in_progress'
                    AND d.state IN ('wanted', 'thinking', 'ready')
                    AND (t.turn_state -> 'late' ? d.trigger_key
                        OR d.trigger_key
                            = coalesce(t.turn_state ->> 'trigger', 'message:' || t.last_spoken_id, 'start')))))
            FROM threads t LEFT JOIN messages s ON s.id = t.last_spoken_id
            WHERE t.cohort_id = m.cohort_id AND t.stage_id = ANY(m.stage_ids)
                AND t.scope IN ('group', 'private:' || m.path)) AS threads,
        (SELECT jsonb_object_agg(w.stage_id, jsonb_build_array(w.arrived, w.expected)) FROM (
            SELECT m.stage_ids[m.position + 1] AS stage_id,
                count(*) FILTER (WHERE o.status = 'in_progress'
                    AND array_position(o.stage_ids, m.stage_ids[m.position + 1]) <= o.position + 1
                    OR o.status = 'completed') AS arrived,
                count(*) FILTER (WHERE o.status IN ('expected', 'in_progress', 'completed')) AS expected
            FROM members o
            WHERE o.cohort_id = m.cohort_id AND o.kind = 'participant' AND m.player = 'person'
        ) w WHERE w.stage_id IS NOT NULL) AS arrived
    FROM members m JOIN cohorts c ON c.id = m.cohort_id JOIN experiments e ON e.id = m.experiment_id
    WHERE {condition}
"""
_BY_ID = text(_STANDING.format(condition="m.id = :key"))
_BY_TOKEN = text(_STANDING.format(condition="m.token_hash = :key"))
# The lock is a statement of its own: what is read after it was waited for has a snapshot taken after it was got.
# NO KEY: new drafts and answers refer to the member while others hold this lock.
_LOCK_BY_ID = text("SELECT id FROM members WHERE id = :key FOR NO KEY UPDATE")
_LOCK_BY_TOKEN = text("SELECT id FROM members WHERE token_hash = :key FOR NO KEY UPDATE")


async def lock_standing(session: Session, member_id: UUID) -> Standing:
    """Where this member stands, under the member's lock until the transaction ends.

    Raises:
        NotFound: there is no such member.
    """
    await session.first(_LOCK_BY_ID, {"key": member_id})
    return await standing_of(session, member_id)


async def standing_of(session: Session, member_id: UUID) -> Standing:
    """Where this member stands, without locking; for somebody whose lock is held, or to look only.

    Raises:
        NotFound: there is no such member.
    """
    standing = await _standing(session, _BY_ID, member_id)
    if standing is None:
        raise NotFound("There is no such participant.")
    return standing


async def sign_in(session: Session, token: str, *, lock: bool) -> Standing:
    """The member whose token this is, under the member's lock when `lock`.

    Raises:
        NotSignedIn: nobody has this token.
    """
    key = hash_token(token)
    if lock:
        await session.first(_LOCK_BY_TOKEN, {"key": key})
    standing = await _standing(session, _BY_TOKEN, key)
    if standing is None:
        raise NotSignedIn("This participant token is not valid. Join the experiment to get one.")
    return standing


async def _standing(session: Session, statement: TextClause, key: object) -> Standing | None:
    row = await session.first(statement, {"key": key})
    return None if row is None else await _as_standing(session, row)


async def _as_standing(session: Session, row: Row) -> Standing:
    opened = row.opened or {}
    resolved = await design(session, row.experiment_id, row.design_version, row.treatment_id)
    me = attendee(row._asdict())
    answers: dict[str, dict[UUID, dict[str, Json]]] = {}
    for stage_id, key, value in row.answers or ():
        answers.setdefault(stage_id, {me.id: {}})[me.id][key] = value
    facts = Facts(
        people=People((me,)),
        draws={stage_id: draws for stage_id, (draws, _) in opened.items()},
        states={stage_id: state for stage_id, (_, state) in opened.items() if state is not None},
        answers=answers,
        variables=resolved.variables,
    )
    return Standing(
        member=member_of(me, me.stage_id or ""),
        experiment_id=row.experiment_id,
        cohort_id=row.cohort_id,
        seed=row.seed,
        pace=row.pace,
        model_mode=row.model_mode,
        status=row.status,
        status_reason=row.status_reason,
        position=row.position,
        version=row.version,
        stepped_version=row.stepped_version,
        provider=row.provider,
        pages=PageSettings.model_validate(row.pages or {}),
        paused_at=row.paused_at,
        resumed_at=row.resumed_at,
        design=resolved,
        stage_ids=me.stage_ids,
        unlocked=frozenset(opened),
        facts=facts,
        threads=row.threads or {},
        asks=tuple(_open_ask(*fields) for fields in row.asks or ()),
        arrived={stage_id: (arrived, expected) for stage_id, (arrived, expected) in (row.arrived or {}).items()},
    )


def _open_ask(ask_id: str, stage_id: str, key: str, purpose: str, opened_at: str) -> OpenAsk:
    return OpenAsk(UUID(ask_id), stage_id, key, purpose, datetime.fromisoformat(opened_at))


def hash_token(token: str) -> str:
    """How a token is stored: tokens are long and random, so a plain hash is enough."""
    return sha256(token.encode()).hexdigest()


_PEOPLE = text(
    """
    SELECT EXISTS (SELECT FROM members WHERE cohort_id = :cohort_id AND player = 'person' AND status = 'in_progress')
        AS are_here
    """
)


async def has_people(session: Session, cohort_id: UUID) -> bool:
    """Whether people take part in the cohort now."""
    return bool((await session.one(_PEOPLE, {"cohort_id": cohort_id})).are_here)
