"""Reads everything that the prompt of one draft is made of, as of the moment the draft was wanted.

Reads only and locks nothing: what it reads never changes (messages up to a sequence number, final answers), or does not
affect the prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from psycopg.errors import ReadOnlySqlTransaction
from sqlalchemy import text

from parley_lab.base.errors import NotFound
from parley_lab.contracts.agent_config import AgentConfig
from parley_lab.contracts.audience import may_read
from parley_lab.contracts.experiment import Persona, StageConfig
from parley_lab.design import Resolved, snapshot, values_of
from parley_lab.drafts.prompts import PROMPT
from parley_lab.kinds import Ask, Json, Member, OwnView
from parley_lab.kinds.attendees import Attendee, as_uuid, attendee
from parley_lab.kinds.names import as_shown
from parley_lab.kinds.stages import parts_of, read_of_everybody
from parley_lab.kinds.view import TALK, Message
from parley_lab.members.attendance import ATTENDANCE, DRAWN_ELSEWHERE
from parley_lab.members.designs import design
from parley_lab.members.parts import with_parts
from parley_lab.members.reader_texts import reader_roles, reader_values
from parley_lab.members.standings import STAGE_IS_OVER
from parley_lab.store.session import Database, ReadSession
from parley_lab.store.statements import Row
from parley_lab.views.builder import Facts, People, by_tag, draws_for, member_of, own_view


@dataclass(frozen=True, slots=True)
class PromptContext:
    """One draft, with all that its author may know when it replies.

    `stages` are the author's own, in the author's order, up to the current one, which is the last. `as_of`: the number
    of the cohort's event up to which others' answers are known; None: all of them.
    """

    draft_id: UUID
    seed: int
    cohort_path: str
    ask: Ask
    author: Member
    agent: AgentConfig
    stages: tuple[StageConfig, ...]
    facts: Facts
    as_of: int | None = None
    partner_pages: Mapping[str, Json] = field(default_factory=dict)
    """For a mediator alone with a participant: the participant's pages by stage, for rules only, not to be shown."""
    pace: str = "fast"
    is_held: bool = False
    """Whether the experiment is paused or has ended, so that the model must not be called."""
    _views: dict[str, OwnView] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def stage(self) -> StageConfig:
        """The stage of the draft."""
        return self.stages[-1]

    def view(self, stage: StageConfig) -> OwnView:
        """The author's view of one stage."""
        if stage.id not in self._views:
            as_of = self.as_of if stage.id == self.stage.id else None
            self._views[stage.id] = own_view(self.facts, stage, self.author.id, as_of=as_of)
        return self._views[stage.id]


# An answer to an ask is made of answers: messages of its own stage would depend on the time when the prompt is made.
# A cohort without company (no shared messages, no shared asks, no answers for others) shows no other member on its
# pages, so no other member is read: otherwise the cost of prompts would grow with the square of the cohort.
# OFFSET keeps the partner of a private conversation from being joined as a table: before Postgres has statistics, it
# would read all members of the experiment for each draft.
# A member who has left a conversation knows nothing of what was said after the line about that, however late a prompt
# or a preview is made.
_CONTEXT = text(
    f"""
    SELECT d.id AS draft_id, d.purpose, d.stage_id, d.member_id, coalesce(k.key, '') AS key, k.as_of, m.kind,
        m.stage_ids, m.agent_config, m.experiment_id, m.cohort_id, e.version, e.seed, e.pace, c.path AS cohort_path,
        coalesce(m.treatment_id, partner.treatment_id, c.treatment_id) AS treatment_id,
        partner.treatment_id IS NOT NULL AS has_arm_of_partner, c.variables,
        c.assigned || m.assigned || coalesce(partner.assigned, CAST('{{}}' AS jsonb)) AS assigned,
        e.status <> 'running' OR m.status = 'paused' AS is_held,
        (SELECT json_agg(json_build_object(
            'id', o.id, 'path', o.path, 'kind', o.kind, 'player', o.player, 'profile', o.profile,
            'chat', o.agent_config -> 'chat',
            'script', CASE WHEN o.id = d.member_id THEN o.agent_config -> 'script' END,
            'status', o.status, 'stage_ids', o.stage_ids, 'position', o.position
        ) ORDER BY o.path)
        FROM {ATTENDANCE} o
        WHERE o.cohort_id = d.cohort_id AND (o.id = d.member_id OR o.status <> 'expected') AND o.id IN (
            SELECT d.member_id
            UNION SELECT x.id FROM members x WHERE x.cohort_id = d.cohort_id AND x.kind = 'mediator'
            UNION SELECT x.id FROM {ATTENDANCE} x WHERE x.cohort_id = d.cohort_id AND has.company
            UNION SELECT x.id FROM members x
                WHERE x.experiment_id = m.experiment_id AND x.path = substr(here.scope, length('private:') + 1)
        )) AS members,
        here.scope,
        (SELECT json_object_agg(s.stage_id, json_build_array(s.draws, s.state, s.result))
            FROM cohort_stages s WHERE s.cohort_id = d.cohort_id) AS opened,
        {DRAWN_ELSEWHERE} AS drawn_elsewhere,
        (SELECT array_agg(s.stage_id) FROM cohort_stages s
        WHERE s.cohort_id = d.cohort_id AND s.audience = 'cohort' AND {STAGE_IS_OVER}) AS over,
        (SELECT json_object_agg(a.stage_id, a.value) FROM members p JOIN answers a ON a.member_id = p.id
        WHERE here.scope <> 'group' AND m.kind = 'mediator' AND p.cohort_id = d.cohort_id
            AND p.path = substr(here.scope, length('private:') + 1) AND a.key = '' AND a.valid) AS partner_pages,
        (SELECT json_agg(json_build_array(a.member_id, a.stage_id, a.key, a.value, a.counted_at)
            ORDER BY a.member_id, a.stage_id, a.key)
        FROM (
            SELECT own.* FROM answers own WHERE own.member_id = m.id
            UNION ALL SELECT other.* FROM answers other
            WHERE other.cohort_id = d.cohort_id AND other.member_id <> m.id
                AND (has.moved_on AND other.stage_id = d.stage_id OR other.key = '' AND other.stage_id IN (
                    SELECT s.stage_id FROM cohort_stages s
                    WHERE s.cohort_id = d.cohort_id AND s.audience <> 'private'))
        ) a) AS answers,
        has.moved_on,
        (SELECT json_agg(json_build_array(
            t.stage_id, x.seq, x.member_id, x.author_kind, x.text, x.elapsed_ms, x.audience, x.topic,
            (SELECT q.seq FROM messages q WHERE q.id = x.reply_to AND q.thread_id = t.id)
        ) ORDER BY t.stage_id, x.seq)
        FROM threads t
            JOIN messages x ON x.thread_id = t.id
        WHERE t.id IN (
                SELECT d.thread_id
                UNION SELECT s.id FROM threads s
                WHERE s.cohort_id = d.cohort_id AND s.stage_id = ANY(m.stage_ids)
                    AND s.scope IN ('group', 'private:' || m.path, here.scope)
            ) AND array_position(m.stage_ids, t.stage_id) <= array_position(m.stage_ids, d.stage_id)
            AND (m.entered_at IS NULL OR x.created_at >= m.entered_at
                AND array_position(m.stage_ids, t.stage_id) > m.entered_position)
            AND (t.stage_id <> d.stage_id OR k.id IS NULL)
            AND (t.stage_id <> d.stage_id OR d.as_of_seq IS NULL OR x.seq <= d.as_of_seq)
            AND (t.stage_id = d.stage_id AND d.as_of_seq IS NOT NULL
                OR x.seq <= coalesce(CAST(t.turn_state -> 'left' ->> CAST(m.id AS text) AS int), x.seq))) AS messages
    FROM drafts d JOIN members m ON m.id = d.member_id JOIN cohorts c ON c.id = d.cohort_id
        JOIN experiments e ON e.id = m.experiment_id LEFT JOIN asks k ON k.id = d.ask_id
        LEFT JOIN threads here ON here.id = d.thread_id
        LEFT JOIN LATERAL (SELECT p.treatment_id, p.assigned FROM members p
            WHERE m.kind = 'mediator' AND p.experiment_id = m.experiment_id
                AND p.path = substr(here.scope, length('private:') + 1)
            OFFSET 0) partner ON true
        CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM answers a
                WHERE a.cohort_id = d.cohort_id AND a.stage_id = d.stage_id AND a.counted_at > k.as_of)
                OR :is_only_looked_at AND EXISTS (SELECT FROM cohort_stages g
                    WHERE g.cohort_id = d.cohort_id AND g.stage_id = d.stage_id AND g.state IS NOT NULL) AS moved_on,
            k.id IS NULL AND here.id IS NULL
                OR EXISTS (SELECT FROM threads g
                    WHERE g.cohort_id = d.cohort_id AND g.stage_id = ANY(m.stage_ids) AND g.scope = 'group')
                OR EXISTS (SELECT FROM cohort_stages g WHERE g.cohort_id = d.cohort_id AND g.state <> '{{}}')
                OR EXISTS (SELECT FROM cohort_stages g WHERE g.cohort_id = d.cohort_id AND g.audience <> 'private')
            AS company) has
    WHERE d.id = ANY(:draft_ids) AND m.agent_config IS NOT NULL
    """  # noqa: S608 - put together from constants
)
# The member has no draft: the preview assumes one that is wanted now.
_CONTEXT_NOW = text(
    """
    WITH drafts AS (
        SELECT m.id, m.id AS member_id, m.cohort_id, CAST(:stage_id AS text) AS stage_id,
            CAST(:purpose AS text) AS purpose, CAST(NULL AS uuid) AS ask_id, CAST(NULL AS int) AS as_of_seq,
            (SELECT t.id FROM threads t WHERE t.cohort_id = m.cohort_id AND t.stage_id = :stage_id
                AND (t.scope IN ('group', 'private:' || m.path) OR m.kind = 'mediator')
            ORDER BY t.path LIMIT 1) AS thread_id
        FROM members m WHERE :stage_id = ANY(m.stage_ids)
    )
    """  # noqa: S608 - put together from constants
    + _CONTEXT.text
)


async def prompt_context(session: ReadSession, draft_id: UUID) -> PromptContext:
    """All that the author of this draft may know.

    Raises:
        NotFound: there is no such draft.
    """
    contexts = await prompt_contexts(session, [draft_id])
    if draft_id not in contexts:
        raise NotFound("There is no such draft.")
    return contexts[draft_id]


async def prompt_contexts(session: ReadSession, draft_ids: Sequence[UUID]) -> dict[UUID, PromptContext]:
    """The same for each existing draft of these; one statement, and the design once per process and version."""
    rows = await session.all(_CONTEXT, {"draft_ids": list(draft_ids), "is_only_looked_at": False})
    return {row.draft_id: await _as_context(session, row.draft_id, row) for row in rows}


_NOW = text(
    """
    SELECT agent_config IS NOT NULL AS is_agent, coalesce(
        (SELECT t.stage_id FROM threads t
        WHERE m.kind = 'mediator' AND t.cohort_id = m.cohort_id AND t.stage_id = ANY(m.stage_ids)
        ORDER BY t.opened_at DESC, t.id LIMIT 1), m.stage_ids[m.position + 1], m.stage_ids[cardinality(m.stage_ids)]
    ) AS stage_id
    FROM members m WHERE m.id = :member_id
    """
)
_OPEN_DRAFT = text(
    """
    SELECT id FROM drafts
    WHERE member_id = :member_id AND stage_id = :stage_id AND state IN ('wanted', 'thinking', 'ready')
    ORDER BY created_at DESC, path LIMIT 1
    """
)


async def member_context(
    session: ReadSession, member_id: UUID, stage_id: str | None
) -> tuple[PromptContext, UUID | None]:
    """What an agent may know when it is asked now on this stage (None: its current one), and its open draft, if any.

    Without an open draft, the ask is to talk.
    Raises:
        NotFound: there is no such agent, or no such stage on its way.
    """
    row = await session.first(_NOW, {"member_id": member_id})
    if row is None or not row.is_agent:
        raise NotFound("There is no such agent.")
    asked = {"member_id": member_id, "stage_id": stage_id or row.stage_id}
    draft = await session.first(_OPEN_DRAFT, asked)
    if draft is not None:
        return await prompt_context(session, draft.id), draft.id
    params = {"draft_ids": [member_id], "stage_id": asked["stage_id"], "purpose": TALK, "is_only_looked_at": True}
    found = await session.first(_CONTEXT_NOW, params)
    if found is None:
        raise NotFound(f"This agent does not come to a stage {asked['stage_id']!r}.")
    return await _as_context(session, member_id, found), None


_SENT = text(
    f"""
    SELECT {PROMPT} AS prompt FROM (
        SELECT * FROM model_calls WHERE draft_id = :draft_id AND part = '' ORDER BY attempt, started_at LIMIT 1
    ) k
    """  # noqa: S608 - put together from constants
)


async def sent_messages(session: ReadSession, draft_id: UUID) -> Sequence[Mapping[str, str]] | None:
    """The messages of the first model call for this draft; None before it."""
    row = await session.first(_SENT, {"draft_id": draft_id})
    return None if row is None else row.prompt


_EVERYBODY = text(
    f"""
    SELECT o.id, o.path, o.kind, o.player, o.profile, o.agent_config -> 'chat' AS chat,
        CASE WHEN o.id = :member_id THEN o.agent_config -> 'script' END AS script, o.status, o.stage_ids, o.position
    FROM {ATTENDANCE} o WHERE o.cohort_id = :cohort_id AND (o.id = :member_id OR o.status <> 'expected') ORDER BY o.path
    """  # noqa: S608 - put together from constants
)


async def _everybody(session: ReadSession, row: Row) -> Sequence[Mapping[str, Any]]:
    """All members of the cohort, for a stage that reads their parts or names them, although there may be no company."""
    found = await session.all(_EVERYBODY, {"cohort_id": row.cohort_id, "member_id": row.member_id})
    return [one._asdict() for one in found]


async def _as_context(session: ReadSession, draft_id: UUID, row: Row) -> PromptContext:
    resolved = await design(session, row.experiment_id, row.version, row.treatment_id)
    stages = _stages_until(row, resolved.stages)
    names_others = any(parts_of(stage).names_others for stage in stages)
    is_everybody_read = row.kind == "participant" and (names_others or bool(read_of_everybody(stages)))
    rows = await _everybody(session, row) if is_everybody_read else row.members
    people = by_tag(row.seed, (attendee({**fields, "profile": as_seen(fields["profile"])}) for fields in rows))
    facts = _facts(row, people, stages, resolved.variables)
    agent, assigned = AgentConfig.model_validate(row.agent_config), values_of(row.assigned)
    if row.has_arm_of_partner and agent.persona_id in resolved.personas:
        agent = _in_words_of(resolved.personas[agent.persona_id], agent)
    if resolved.unfilled or resolved.unfilled_personas:
        values = await reader_values(session, resolved, facts, row.member_id, assigned)
        roles = reader_roles(resolved, facts, row.member_id)
        stages = _stages_until(row, resolved.for_reader(values, roles).stages)
        facts = replace(facts, stages={one.id: one for one in stages})
        agent = _agent_for(agent, resolved, values)
    if is_everybody_read:
        facts = await with_parts(session, facts, row.cohort_id, stages, but_own=row.member_id)
    return PromptContext(
        draft_id=draft_id,
        seed=row.seed,
        cohort_path=row.cohort_path,
        ask=Ask(row.member_id, row.key, row.purpose),
        author=member_of(people.row(row.member_id), stages[-1].id),
        agent=agent,
        stages=stages,
        facts=facts,
        as_of=row.as_of,
        partner_pages=row.partner_pages or {},
        pace=row.pace,
        is_held=row.is_held,
    )


def _agent_for(agent: AgentConfig, resolved: Resolved, values: Mapping[str, Json]) -> AgentConfig:
    """The agent with own answers in the texts of its persona, where they name some."""
    if agent.persona_id not in resolved.unfilled_personas:
        return agent
    return _in_words_of(resolved.persona_for(agent.persona_id, values), agent)


def _in_words_of(persona: Persona, agent: AgentConfig) -> AgentConfig:
    """The agent with what this form of its persona says of it; how it talks and which model speaks stay."""
    return snapshot(persona).model_copy(update={"chat": agent.chat, "model": agent.model})


def _facts(row: Row, people: People, stages: Sequence[StageConfig], variables: Mapping[str, Json]) -> Facts:
    stage = stages[-1]
    opened = row.opened or {}
    answers: dict[str, dict[UUID, dict[str, Json]]] = {}
    counted_at: dict[tuple[UUID, str], int | None] = {}
    for owner, stage_id, key, value, number in row.answers or ():
        member_id = as_uuid(owner)
        answers.setdefault(stage_id, {}).setdefault(member_id, {})[key] = value
        if stage_id == stage.id:
            counted_at[member_id, key] = number
    states = {stage_id: state for stage_id, (_, state, _) in opened.items() if state is not None}
    # Before the first settle of a stage with shared asks, it has no answers.
    is_whole = row.moved_on or (parts_of(stage).state is not None and stage.id not in states)
    return Facts(
        people=people,
        draws=draws_for(stages, {one: draws for one, (draws, _, _) in opened.items()}, row.drawn_elsewhere),
        states=states,
        results={stage_id: result for stage_id, (_, _, result) in opened.items() if result is not None},
        stages={one.id: one for one in stages},
        answers=answers,
        variables={**row.variables, **variables, **values_of(row.assigned)},
        messages=_messages(row.messages or (), people.on(stage.id), row.member_id),
        whole=(stage.id,) if is_whole else (),
        counted_at={stage.id: counted_at},
        over=row.over or (),
        at=stage.id,
        partner=_partner(row, people.rows, stage),
    )


def _partner(row: Row, rows: Sequence[Attendee], stage: StageConfig) -> UUID | None:
    if row.scope is None:
        return first_partner(stage, rows)
    return next((one.id for one in rows if f"private:{one.path}" == row.scope), None)


def _path(one: Attendee) -> str:
    return one.path


def first_partner(stage: StageConfig, rows: Sequence[Attendee]) -> UUID | None:
    """The participant whom a mediator sees in private before anyone has talked; None where members talk together."""
    is_alone = parts_of(stage).is_private
    return next((one.id for one in sorted(rows, key=_path) if is_alone and one.kind == "participant"), None)


def _stages_until(row: Row, stages: Sequence[StageConfig]) -> tuple[StageConfig, ...]:
    """The stages up to the current one; a mediator, who goes through none, knows all before the conversation."""
    by_id = {stage.id: stage for stage in stages}
    order = [*by_id] if row.kind == "mediator" else row.stage_ids
    return tuple(by_id[stage_id] for stage_id in order[: order.index(row.stage_id) + 1])


def as_seen(profile: Mapping[str, str]) -> dict[str, str]:
    """The profile with names shortened to one line and stripped of markup: members choose their own names."""
    return {field: as_shown(value) for field, value in profile.items()}


def _messages(rows: Sequence[Sequence[Any]], members: Sequence[Member], reader: UUID) -> dict[str, tuple[Message, ...]]:
    authors = {str(member.id): member for member in members}
    # By number: a reader takes part in one thread of a stage.
    transcripts: dict[str, dict[int, Message]] = {}
    for stage_id, seq, author_id, author_kind, said, elapsed_ms, audience, topic, answered_seq in rows:
        if may_read(str(reader), author=author_id, audience=audience):
            author = None if author_kind == "system" else authors.get(author_id)
            transcript = transcripts.setdefault(stage_id, {})
            # Messages that the reader may not read are missing here, so none of them can be quoted.
            line = Message(seq, author.id if author else None, author.name if author else "", said, elapsed_ms, topic)
            transcript[seq] = _answering(line, transcript.get(answered_seq))
    return {stage_id: tuple(transcript.values()) for stage_id, transcript in transcripts.items()}


def _answering(message: Message, answered: Message | None) -> Message:
    return message if answered is None else replace(message, answered=replace(answered, answered=None))


_PING = text("SELECT current_setting('transaction_read_only') = 'on' AS only_reads")


async def check_reachable(database: Database) -> None:
    """Return when Postgres answers and can write.

    Raises:
        Unavailable: it does not, or can only be read; then all connections are replaced.
    """
    async with database.read() as session:
        if (await session.one(_PING)).only_reads:
            raise ReadOnlySqlTransaction("this connection can only read")
