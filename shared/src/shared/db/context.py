"""Everything that the prompt of one draft is made from, as of the moment the draft was wanted.

Reads only and locks nothing: what it reads is either never changed (messages up to a sequence number, final answers) or
does not matter to what is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from sqlalchemy import text

from shared.audience import may_read
from shared.contracts.experiment import AgentConfig, StageConfig
from shared.db.designs import design
from shared.db.session import Database, Row, Session, as_uuid
from shared.errors import NotFound
from shared.stage import PAGE, TALK, Ask, Json, Member, Message, OwnView, as_shown
from shared.stages import kind_of
from shared.views import Attendee, Facts, People, attendee, member_of, own_view


@dataclass(frozen=True, slots=True)
class PromptContext:
    """One draft with all that its author may know when it is written.

    `stages` are the author's own, in the author's order, up to the current one, which is the last. `as_of` is the
    number of the cohort's event up to which what others answered is known; None: all of it.
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
    """For a mediator alone with a participant: that participant's pages by stage, for rules to look at, not to show."""
    is_held: bool = False
    """Whether the experiment does not go on now, so that nobody may be asked."""
    _views: dict[str, OwnView] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def stage(self) -> StageConfig:
        """The stage that the draft is for."""
        return self.stages[-1]

    def view(self, stage: StageConfig) -> OwnView:
        """What the rules of one stage may read on behalf of the author."""
        if stage.id not in self._views:
            as_of = self.as_of if stage.id == self.stage.id else None
            self._views[stage.id] = own_view(self.facts, stage, self.author.id, as_of=as_of)
        return self._views[stage.id]


# What answers an ask is made of answers: a message of its own stage would tell when the prompt was made.
# Who goes through pages alone is shown nobody else, so of a cohort without any company (nothing said to all, no shared
# asks, no answers told) nobody else is read: the prompts of a big one would cost with its square.
# A member who has left a conversation knows nothing of what was said there after the line that says so, however late a
# prompt or a preview is made.
_ABOUT = """
    SELECT d.id AS draft_id, d.purpose, d.stage_id, d.member_id, coalesce(k.key, '') AS key, k.as_of, m.kind,
        m.stage_ids, m.agent_config, m.experiment_id, e.version, e.seed, c.path AS cohort_path, c.treatment_id,
        c.variables, e.status <> 'running' AS is_held,
        (SELECT json_agg(json_build_object(
            'id', o.id, 'path', o.path, 'kind', o.kind, 'player', o.player, 'profile', o.profile,
            'chat', o.agent_config -> 'chat',
            'script', CASE WHEN o.id = d.member_id THEN o.agent_config -> 'script' END,
            'status', o.status, 'stage_ids', o.stage_ids, 'position', o.position
        ) ORDER BY o.path)
        FROM members o
        WHERE (o.id = d.member_id OR o.status <> 'expected') AND o.id IN (
            SELECT d.member_id
            UNION SELECT x.id FROM members x WHERE x.cohort_id = d.cohort_id AND x.kind = 'mediator'
            UNION SELECT x.id FROM members x WHERE x.cohort_id = d.cohort_id AND has.company
            UNION SELECT x.id FROM members x
                WHERE x.experiment_id = m.experiment_id AND x.path = substr(here.scope, length('private:') + 1)
        )) AS members,
        here.scope,
        (SELECT json_object_agg(s.stage_id, json_build_array(s.draws, s.state))
            FROM cohort_stages s WHERE s.cohort_id = d.cohort_id) AS opened,
        (SELECT json_object_agg(a.stage_id, a.value) FROM members p JOIN answers a ON a.member_id = p.id
        WHERE here.scope <> 'group' AND m.kind = 'mediator' AND p.cohort_id = d.cohort_id
            AND here.scope = 'private:' || p.path AND a.key = '' AND a.valid) AS partner_pages,
        (SELECT json_agg(json_build_array(a.member_id, a.stage_id, a.key, a.value, a.audience, a.counted_at)
            ORDER BY a.member_id, a.stage_id, a.key)
        FROM (
            SELECT own.* FROM answers own WHERE own.member_id = m.id
            UNION ALL SELECT other.* FROM answers other
            WHERE other.cohort_id = d.cohort_id AND other.member_id <> m.id
                AND (other.audience IS NOT NULL OR has.moved_on AND other.stage_id = d.stage_id)
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
            AND (t.stage_id <> d.stage_id OR k.id IS NULL)
            AND (t.stage_id <> d.stage_id OR d.as_of_seq IS NULL OR x.seq <= d.as_of_seq)
            AND (t.stage_id = d.stage_id AND d.as_of_seq IS NOT NULL
                OR x.seq <= coalesce(CAST(t.turn_state -> 'left' ->> CAST(m.id AS text) AS int), x.seq))) AS messages
    FROM {drafts} d JOIN members m ON m.id = d.member_id JOIN cohorts c ON c.id = d.cohort_id
        JOIN experiments e ON e.id = m.experiment_id LEFT JOIN asks k ON k.id = d.ask_id
        LEFT JOIN threads here ON here.id = d.thread_id
        CROSS JOIN LATERAL (SELECT {is_only_looked_at} OR EXISTS (SELECT FROM answers a
            WHERE a.cohort_id = d.cohort_id AND a.stage_id = d.stage_id AND a.counted_at > k.as_of) AS moved_on,
            k.id IS NULL AND here.id IS NULL
                OR EXISTS (SELECT FROM threads g
                    WHERE g.cohort_id = d.cohort_id AND g.stage_id = ANY(m.stage_ids) AND g.scope = 'group')
                OR EXISTS (SELECT FROM cohort_stages g WHERE g.cohort_id = d.cohort_id AND g.state IS NOT NULL)
                OR EXISTS (SELECT FROM answers g WHERE g.cohort_id = d.cohort_id AND g.audience IS NOT NULL)
            AS company) has
    WHERE d.id = ANY(:draft_ids) AND m.agent_config IS NOT NULL
"""
_CONTEXT = text(_ABOUT.format(drafts="drafts", is_only_looked_at="false"))
# Nobody has wanted anything of the member: as if somebody did now, whatever it is.
_CONTEXT_NOW = text(
    _ABOUT.format(
        drafts="""(
            SELECT m.id, m.id AS member_id, m.cohort_id, CAST(:stage_id AS text) AS stage_id,
                CAST(:purpose AS text) AS purpose, CAST(NULL AS uuid) AS ask_id, CAST(NULL AS int) AS as_of_seq,
                (SELECT t.id FROM threads t WHERE t.cohort_id = m.cohort_id AND t.stage_id = :stage_id
                    AND (t.scope IN ('group', 'private:' || m.path) OR m.kind = 'mediator')
                ORDER BY t.path LIMIT 1) AS thread_id
            FROM members m WHERE :stage_id = ANY(m.stage_ids)
        )""",
        is_only_looked_at="""EXISTS (SELECT FROM cohort_stages g
            WHERE g.cohort_id = d.cohort_id AND g.stage_id = d.stage_id AND g.state IS NOT NULL)""",
    )
)


async def prompt_context(session: Session, draft_id: UUID) -> PromptContext:
    """All that the author of this draft may know.

    Raises:
        NotFound: there is no such draft.
    """
    contexts = await prompt_contexts(session, [draft_id])
    if draft_id not in contexts:
        raise NotFound("There is no such draft.")
    return contexts[draft_id]


async def prompt_contexts(session: Session, draft_ids: Sequence[UUID]) -> dict[UUID, PromptContext]:
    """The same for each of these drafts that exists; one statement, and the design once per process and version."""
    rows = await session.all(_CONTEXT, {"draft_ids": list(draft_ids)})
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


async def member_context(session: Session, member_id: UUID, stage_id: str | None) -> tuple[PromptContext, UUID | None]:
    """What an agent may know that is asked now on this stage (None: where it is), and its open draft, if it has one.

    Without an open draft nobody has asked it anything: the ask is to talk.

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
    params = {"draft_ids": [member_id], "stage_id": asked["stage_id"], "purpose": TALK}
    found = await session.first(_CONTEXT_NOW, params)
    if found is None:
        raise NotFound(f"This agent does not come to a stage {asked['stage_id']!r}.")
    return await _as_context(session, member_id, found), None


_SENT = text("SELECT prompt FROM model_calls WHERE draft_id = :draft_id ORDER BY attempt, started_at LIMIT 1")


async def sent_messages(session: Session, draft_id: UUID) -> Sequence[Mapping[str, str]] | None:
    """The messages that a model was shown first for this draft; None when none was called yet."""
    row = await session.first(_SENT, {"draft_id": draft_id})
    return None if row is None else row.prompt


async def _as_context(session: Session, draft_id: UUID, row: Row) -> PromptContext:
    resolved = await design(session, row.experiment_id, row.version, row.treatment_id)
    people = People(tuple(attendee({**fields, "profile": as_seen(fields["profile"])}) for fields in row.members))
    stages = _stages_until(row, resolved.stages)
    return PromptContext(
        draft_id=draft_id,
        seed=row.seed,
        cohort_path=row.cohort_path,
        ask=Ask(row.member_id, row.key, row.purpose),
        author=member_of(people.row(row.member_id), stages[-1].id),
        agent=AgentConfig.model_validate(row.agent_config),
        stages=stages,
        facts=_facts(row, people, stages[-1]),
        as_of=row.as_of,
        partner_pages=row.partner_pages or {},
        is_held=row.is_held,
    )


def _facts(row: Row, people: People, stage: StageConfig) -> Facts:
    opened = row.opened or {}
    answers: dict[str, dict[UUID, dict[str, Json]]] = {}
    counted_at: dict[tuple[UUID, str], int | None] = {}
    told: dict[str, dict[UUID, Sequence[str]]] = {}
    for owner, stage_id, key, value, audience, number in row.answers or ():
        member_id = as_uuid(owner)
        answers.setdefault(stage_id, {}).setdefault(member_id, {})[key] = value
        if stage_id == stage.id:
            counted_at[member_id, key] = number
        if audience is not None and key == PAGE:
            told.setdefault(stage_id, {})[member_id] = audience
    states = {stage_id: state for stage_id, (_, state) in opened.items() if state is not None}
    # Before the cohort is settled for the first time on a stage with shared asks, nobody has answered there.
    is_whole = row.moved_on or (kind_of(stage).has_shared_asks and stage.id not in states)
    return Facts(
        people=people,
        draws={stage_id: draws for stage_id, (draws, _) in opened.items()},
        states=states,
        answers=answers,
        variables=row.variables,
        messages=_messages(row.messages or (), people.on(stage.id), row.member_id),
        whole=(stage.id,) if is_whole else (),
        counted_at={stage.id: counted_at},
        told=told,
        at=stage.id,
        partner=_partner(row, people.rows, stage),
    )


def _partner(row: Row, rows: Sequence[Attendee], stage: StageConfig) -> UUID | None:
    if row.scope is None:
        return first_partner(stage, rows)
    return next((one.id for one in rows if f"private:{one.path}" == row.scope), None)


def first_partner(stage: StageConfig, rows: Sequence[Attendee]) -> UUID | None:
    """With whom a mediator is shown alone while nobody has begun to talk; None where members talk together."""
    is_alone = kind_of(stage).has_private_threads
    return next((one.id for one in rows if is_alone and one.kind == "participant"), None)


def _stages_until(row: Row, stages: Sequence[StageConfig]) -> tuple[StageConfig, ...]:
    """A mediator goes through no stages: it knows all that lie before the conversation."""
    by_id = {stage.id: stage for stage in stages}
    order = [*by_id] if row.kind == "mediator" else row.stage_ids
    return tuple(by_id[stage_id] for stage_id in order[: order.index(row.stage_id) + 1])


def as_seen(profile: Mapping[str, str]) -> dict[str, str]:
    """Names are chosen by those who bear them: in a prompt each is one short line, and nothing but a name."""
    return {field: as_shown(value) for field, value in profile.items()}


def _messages(rows: Sequence[Sequence[Any]], members: Sequence[Member], reader: UUID) -> dict[str, tuple[Message, ...]]:
    authors = {str(member.id): member for member in members}
    # By number: a reader has part in one thread of a stage.
    transcripts: dict[str, dict[int, Message]] = {}
    for stage_id, seq, author_id, author_kind, said, elapsed_ms, audience, topic, answered_seq in rows:
        if may_read(str(reader), author=author_id, audience=audience):
            author = None if author_kind == "system" else authors.get(author_id)
            transcript = transcripts.setdefault(stage_id, {})
            # What the reader may not read is not there, so it cannot be quoted.
            line = Message(seq, author.id if author else None, author.name if author else "", said, elapsed_ms, topic)
            transcript[seq] = _answering(line, transcript.get(answered_seq))
    return {stage_id: tuple(transcript.values()) for stage_id, transcript in transcripts.items()}


def _answering(message: Message, answered: Message | None) -> Message:
    return message if answered is None else replace(message, answered=replace(answered, answered=None))


_PING = text("SELECT 1")


async def check_reachable(database: Database) -> None:
    """Return when Postgres answers.

    Raises:
        Unavailable: it does not.
    """
    async with database.looking() as session:
        await session.one(_PING)
