# ruff: noqa: S608 - statements are put together from constants of this module only
"""The research data, read in one snapshot and streamed row by row in an order that two runs share.

Everything is sorted by path, numbers in it as numbers. Tokens, hashes of keys and leases are never selected.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.lives import OUT, in_sql
from parley_lab.data.export_sections import (
    ANSWERED,
    ARM,
    ARM_OF_PRIVATE,
    CALLED,
    CALLS,
    OF_COHORT,
    OF_MOMENT,
    ONLY_WHERE_GIVEN,
    PLAYED,
    PLAYER,
    REHEARSED,
    SECTIONS,
    by,
)
from parley_lab.design import OF_PARTICIPANTS
from parley_lab.experiments.experiments import find
from parley_lab.kinds import PAGE
from parley_lab.kinds.view import READY
from parley_lab.members.attendance import ATTENDANCE
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Database, ReadSession, Session
from parley_lab.store.statements import Row, as_json

BATCH: Final = 200

_SNAPSHOT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


@asynccontextmanager
async def snapshot(database: Database) -> AsyncIterator[Session]:
    """A session in which every read sees the same moment.

    Raises:
        Unavailable: Postgres cannot be reached.
    """
    async with database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        await session.run(_SNAPSHOT)
        yield session


_CONVERSATIONS: Final = f"""
    WITH held AS (
        SELECT x.id, x.stage_id, coalesce({ARM_OF_PRIVATE.format("x")}, c.treatment_id) AS treatment_id
        FROM threads x {OF_COHORT}
    ), said AS (
        SELECT h.treatment_id, h.stage_id,
            count(*) FILTER (WHERE g.author_kind = 'person') AS messages_of_people,
            count(*) FILTER (WHERE g.author_kind = 'agent') AS messages_of_agents,
            count(*) FILTER (WHERE d.provider = 'line') AS opening_lines
        FROM held h JOIN messages g ON g.thread_id = h.id LEFT JOIN drafts d ON d.message_id = g.id GROUP BY 1, 2
    ), drafted AS (
        SELECT treatment_id, stage_id, jsonb_object_agg(state, count) AS drafts
        FROM (
            SELECT h.treatment_id, h.stage_id, d.state, count(*) AS count
            FROM held h JOIN drafts d ON d.thread_id = h.id GROUP BY 1, 2, 3
        ) AS counted GROUP BY 1, 2
    ), paid AS (
        SELECT h.treatment_id, h.stage_id,
            count(*) FILTER (WHERE d.purpose <> '{READY}' AND m.kind = 'participant') AS calls_speaking,
            count(*) FILTER (WHERE d.purpose <> '{READY}' AND m.kind = 'mediator') AS calls_mediating,
            count(*) FILTER (WHERE d.purpose = '{READY}') AS calls_readiness
        FROM held h JOIN drafts d ON d.thread_id = h.id JOIN members m ON m.id = d.member_id
            JOIN model_calls k ON k.draft_id = d.id
        GROUP BY 1, 2
    )
    SELECT h.treatment_id AS treatment, h.stage_id AS stage, count(*) AS conversations,
        coalesce(min(s.messages_of_people), 0) AS messages_of_people,
        coalesce(min(s.messages_of_agents), 0) AS messages_of_agents,
        coalesce(min(s.opening_lines), 0) AS opening_lines,
        coalesce(min(p.calls_speaking), 0) AS calls_speaking,
        coalesce(min(p.calls_mediating), 0) AS calls_mediating,
        coalesce(min(p.calls_readiness), 0) AS calls_readiness,
        coalesce((array_agg(r.drafts))[1], '{{}}') AS drafts
    FROM held h LEFT JOIN said s USING (treatment_id, stage_id) LEFT JOIN drafted r USING (treatment_id, stage_id)
        LEFT JOIN paid p USING (treatment_id, stage_id)
    GROUP BY 1, 2 ORDER BY {by("h.treatment_id", "h.stage_id")}
"""

_MODELS_CALLED: Final = f"""
    SELECT k.endpoint, {ANSWERED} AS model, count(*) AS calls FROM {CALLS} GROUP BY 1, 2
    ORDER BY k.endpoint COLLATE "C", {ANSWERED} COLLATE "C"
"""

_PARTICIPANTS: Final = f"""
    WITH called AS (SELECT d.member_id, {CALLED} FROM {CALLS} GROUP BY 1)
    SELECT x.id AS member_id, x.path, c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort,
        coalesce(x.treatment_id, c.treatment_id) AS treatment,
        coalesce(x.treatment_id, (SELECT o.treatment_id FROM stays s JOIN cohorts o ON o.id = s.cohort_id
            WHERE s.member_id = x.id ORDER BY s.number LIMIT 1), c.treatment_id) AS assigned_arm,
        {PLAYER} AS player, x.profile, x.agent_config AS agent, x.status,
        x.status_reason, x.stage_ids AS stages, x.position, x.is_test,
        coalesce(x.joining, x.allocated, c.allocated) AS joining,
        coalesce(x.allocated, x.joining, c.allocated) AS drawn,
        CASE WHEN x.joining IS NOT NULL AND (x.allocated IS NOT NULL OR x.joining ->> 'draw' IS NOT NULL) THEN 'people'
            WHEN coalesce(x.allocated, x.joining, c.allocated) ->> 'draw' IS NOT NULL THEN 'seats' END AS arm_drawn_for,
        x.added_by, x.created_at, x.joined_at, x.ended_at,
        k.endpoint, k.model, c.assigned || x.assigned AS assigned,
        (SELECT jsonb_object_agg(a.stage_id, a.value) FROM answers a
            WHERE a.member_id = x.id AND a.key = '' AND a.valid AND a.completed_at IS NOT NULL) AS pages,
        CASE WHEN x.stay > 0 AND x.treatment_id IS NULL THEN (
            SELECT jsonb_object_agg(a.stage_id, o.treatment_id) FROM answers a JOIN cohorts o ON o.id = coalesce(
                (SELECT s.cohort_id FROM stays s WHERE s.member_id = x.id AND s.entered_at <= a.written_at
                    AND (s.left_at IS NULL OR a.written_at <= s.left_at) ORDER BY s.number LIMIT 1), a.cohort_id)
            WHERE a.member_id = x.id AND a.key = '') END AS arms_of_pages,
        (SELECT jsonb_object_agg(r.stage_id, r.result) FROM cohort_stages r
            WHERE r.cohort_id = c.id AND r.result IS NOT NULL) AS results
    FROM members x LEFT JOIN called k ON k.member_id = x.id
    {OF_COHORT} AND x.kind = 'participant' ORDER BY {by("x.path")}
"""

_ANSWERS: Final = f"""
    WITH called AS (SELECT d.member_id, d.stage_id, {CALLED} FROM {CALLS} GROUP BY 1, 2),
    counted AS (
        SELECT a.member_id, a.stage_id, jsonb_object_agg(a.key, a.calls) AS attempts,
            jsonb_object_agg(a.key, a.reason) FILTER (WHERE a.reason IS NOT NULL) AS reasons
        FROM (
            SELECT a.member_id, a.stage_id, a.key, (array_agg(a.reason ORDER BY a.generation DESC))[1] AS reason,
                count(*) AS calls
            FROM asks a JOIN drafts d ON d.ask_id = a.id JOIN model_calls k ON k.draft_id = d.id
                JOIN cohorts c ON c.id = a.cohort_id
            WHERE c.experiment_id = :experiment_id GROUP BY 1, 2, 3
        ) AS a GROUP BY 1, 2
    )
    SELECT x.member_id, m.path, c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort,
        {ARM} AS treatment, {PLAYED} AS player, x.stage_id AS stage, x.key, x.value, x.invalid, x.marks, x.revision,
        k.endpoint, k.model, n.attempts, n.reasons, x.completed_at, x.written_at,
        c.assigned || m.assigned AS assigned,
        CASE WHEN CAST(:with_pages AS boolean) THEN (SELECT jsonb_object_agg(p.stage_id, p.value) FROM answers p WHERE
            p.member_id = x.member_id AND p.key = '{PAGE}' AND p.valid AND p.completed_at IS NOT NULL) END AS pages,
        CASE WHEN CAST(:with_pages AS boolean) THEN (SELECT jsonb_object_agg(r.stage_id, r.result) FROM cohort_stages r
            WHERE r.cohort_id = c.id AND r.result IS NOT NULL) END AS results,
        (SELECT p.questions FROM answer_processes p WHERE p.member_id = x.member_id AND p.stage_id = x.stage_id
            AND p.key = x.key) AS process,
        EXISTS (SELECT FROM answers p WHERE p.member_id = x.member_id AND p.stage_id = x.stage_id AND p.key = '{PAGE}'
            AND p.completed_at IS NOT NULL) AS has_page
    FROM answers x JOIN members m ON m.id = x.member_id
        LEFT JOIN counted n ON n.member_id = x.member_id AND n.stage_id = x.stage_id
        LEFT JOIN called k ON k.member_id = x.member_id AND k.stage_id = x.stage_id
    {OF_MOMENT} AND (x.valid OR x.invalid IS NOT NULL)
    ORDER BY {by("m.path")}, array_position(m.stage_ids, x.stage_id), {by("x.key")}
"""


# All stored answers are here, also substitutes for missing ones: the kind tells them apart. The kept state is missing
# when settle has not seen all of its sources: an answer that is not counted yet, or a member who was out when the stage
# was settled for the last time. A page is made of the state, and is not counted.
_COHORT_STAGES: Final = f"""
    SELECT c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort, c.treatment_id AS treatment, x.stage_id AS stage,
        x.draws,
        CASE WHEN NOT EXISTS (SELECT FROM answers a WHERE a.cohort_id = c.id AND a.stage_id = x.stage_id
                AND a.key <> '{PAGE}' AND a.counted_at IS NULL)
            AND NOT EXISTS (SELECT FROM {ATTENDANCE} m WHERE m.cohort_id = c.id AND m.kind = 'participant'
                AND m.status IN {in_sql(OUT)} AND m.stage_ids[m.position + 1] = x.stage_id)
        THEN x.state END AS state,
        x.result,
        (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'path', m.path, 'kind', m.kind, 'player', m.player,
            'profile', m.profile, 'persona', m.agent_config ->> 'persona_id', 'script', m.agent_config -> 'script',
            'status', m.status, 'stage_ids', m.stage_ids, 'position', m.position, 'treatment', m.treatment_id)
            ORDER BY m.path)
        FROM {ATTENDANCE} m WHERE m.cohort_id = c.id AND m.kind = 'participant') AS members,
        (SELECT jsonb_object_agg(o.id, jsonb_build_array(o.path, o.profile ->> 'name'))
            FROM stays s JOIN members here ON here.id = s.member_id JOIN {ATTENDANCE} o ON o.cohort_id = s.cohort_id
        WHERE here.cohort_id = c.id AND s.left_at IS NOT NULL) AS met_before,
        (SELECT jsonb_agg(jsonb_build_array(m.path, a.key, jsonb_build_object('cohort_id', o.id, 'cohort_path', o.path,
                'cohort', o.name, 'treatment', coalesce(m.treatment_id, o.treatment_id))))
            FROM answers a JOIN members m ON m.id = a.member_id CROSS JOIN LATERAL (SELECT s.cohort_id FROM stays s
                WHERE s.member_id = a.member_id AND s.entered_at <= a.written_at
                    AND (s.left_at IS NULL OR a.written_at <= s.left_at) ORDER BY s.number LIMIT 1) s
                JOIN cohorts o ON o.id = s.cohort_id
        WHERE a.cohort_id = c.id AND a.stage_id = x.stage_id AND m.stay > 0 AND o.id <> c.id) AS given_elsewhere,
        (SELECT jsonb_agg(jsonb_build_array(a.member_id, a.key, a.value))
        FROM answers a WHERE a.cohort_id = c.id AND a.stage_id = x.stage_id) AS answers,
        (SELECT jsonb_agg(jsonb_build_array(a.member_id, a.stage_id, a.value))
        FROM answers a WHERE a.cohort_id = c.id AND a.key = '{PAGE}' AND a.completed_at IS NOT NULL AND a.stage_id IN (
            SELECT jsonb_array_elements_text(CAST(:reads AS jsonb) -> c.treatment_id -> x.stage_id))) AS read,
        (SELECT jsonb_object_agg(r.stage_id, r.result) FROM cohort_stages r
            WHERE r.cohort_id = c.id AND r.result IS NOT NULL) AS results
    FROM cohort_stages x {OF_COHORT} AND x.stage_id = ANY(:stage_ids) ORDER BY {by("c.path", "x.stage_id")}
"""


async def experiment(session: ReadSession, experiment_id: UUID) -> Row:
    """The experiment's row, its document included.

    Raises:
        NotFound: there is none.
    """
    return await find(session, experiment_id)


async def models_called(session: ReadSession, experiment_id: UUID) -> list[dict[str, Any]]:
    """The hosts and models that were called, with the number of calls; the mock has no endpoint."""
    rows = await session.all(_as_text(_MODELS_CALLED), {"experiment_id": experiment_id})
    return [row._asdict() for row in rows]


async def section(
    session: Session, name: str, experiment_id: UUID, *, most: int | None = None
) -> AsyncIterator[Mapping[str, Any]]:
    """The rows of one of `SECTIONS`, with few of them in memory at a time; `most`: only so many, the first ones."""
    optional = ONLY_WHERE_GIVEN.get(name, ())
    statement = SECTIONS[name] if most is None else f"SELECT * FROM ({SECTIONS[name]}) x LIMIT {most:d}"
    async for row in _stream(session, statement, experiment_id):
        if optional:
            yield {column: value for column, value in row.items() if value is not None or column not in optional}
        else:
            yield row


_COUNTS: Final = f"""
    SELECT (SELECT count(*) FROM messages g JOIN threads x ON x.id = g.thread_id {OF_COHORT}) AS messages,
        (SELECT count(*) FROM {CALLS}) AS model_calls
"""


async def counts(session: ReadSession, experiment_id: UUID) -> Mapping[str, int]:
    """The number of rows of the sections that are as long as what was said and asked."""
    row = await session.one(_as_text(_COUNTS), {"experiment_id": experiment_id})
    return {"messages": row.messages, "model_calls": row.model_calls}


async def conversations(session: Session, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """The figures of conversations by treatment and stage: messages, drafts, and paid calls of models.

    `drafts` counts the agents' drafts by their final state.
    """
    async for row in _stream(session, _CONVERSATIONS, experiment_id):
        yield row


NUMERAL: Final = re.compile(r"-?[0-9]+([.][0-9]+)?")
"""A number as the cell of a table has it, in Python and in Postgres."""
_BALANCE: Final = f"""
    WITH seats AS (
        SELECT x.*, coalesce(x.treatment_id, c.treatment_id) AS arm FROM members x
        {OF_COHORT} AND x.kind = 'participant'
    )
    SELECT x.arm AS treatment, count(DISTINCT x.cohort_id) AS cohorts, count(*) AS seats,
        count(*) FILTER (WHERE x.player = 'person' AND x.joined_at IS NOT NULL) AS people,
        count(*) FILTER (WHERE x.player <> 'person') AS agents,
        count(*) FILTER (WHERE x.status = 'completed') AS completed,
        count(*) FILTER (WHERE x.status IN {in_sql(OUT)} AND (x.player <> 'person' OR x.joined_at IS NOT NULL)) AS out,
        (SELECT jsonb_object_agg(k.name, k.mean) FROM (
            SELECT a.key AS name, round(avg(CAST(a.value #>> '{{}}' AS numeric)), 6) AS mean
            FROM seats p CROSS JOIN LATERAL jsonb_each(p.agent_config -> 'attributes') a
            WHERE p.arm = x.arm AND (jsonb_typeof(a.value) = 'number'
                OR jsonb_typeof(a.value) = 'string' AND a.value #>> '{{}}' ~ '^{NUMERAL.pattern}$')
            GROUP BY a.key
        ) k) AS means
    FROM seats x WHERE x.arm <> '{OF_PARTICIPANTS}' GROUP BY x.arm ORDER BY {by("x.arm")}
"""


async def balance(session: Session, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """How many cohorts and participants each treatment has, and the means of their numeric attributes."""
    async for row in _stream(session, _BALANCE, experiment_id):
        yield row


async def participants(session: Session, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """Participants with `pages`, their completed page answers by stage."""
    async for row in _stream(session, _PARTICIPANTS, experiment_id):
        yield row


async def answers(session: Session, experiment_id: UUID, *, with_pages: bool) -> AsyncIterator[Mapping[str, Any]]:
    """Valid answers and missing ones, in the order in which each participant went through the stages.

    with_pages: each row also has all pages of the participant and the results, for texts that name them.
    """
    async for row in _stream(session, _ANSWERS, experiment_id, with_pages=with_pages):
        yield row


async def cohort_stages(
    session: Session,
    experiment_id: UUID,
    stage_ids: Sequence[str],
    read: Mapping[str, Mapping[str, Sequence[str]]],
) -> AsyncIterator[Mapping[str, Any]]:
    """Each of these stages in each cohort that has opened it: draws, kept state, participants and all answers.

    The state is None where it is not up to date with the answers. `read` names the stages whose pages each stage reads,
    by arm.
    """
    params = {"stage_ids": list(stage_ids), "reads": as_json(read)}
    async for row in _stream(session, _COHORT_STAGES, experiment_id, **params):
        yield row


_REHEARSED: Final = (
    f"SELECT 1 AS one FROM members x WHERE experiment_id = :experiment_id AND {REHEARSED.format('x')} LIMIT 1"
)
_HAS_PEOPLE: Final = "SELECT 1 AS one FROM members WHERE experiment_id = :experiment_id AND joins > 0 LIMIT 1"
# A line for each currency; earnings of a stand-in are not the person's.
_PAYMENTS: Final = """
    SELECT m.external_id, m.parameters, e.document -> 'completion' -> o.outcome ->> 'code' AS code, o.outcome,
        y.currency, y.amount, y.parts
    FROM members m JOIN experiments e ON e.id = m.experiment_id
        CROSS JOIN LATERAL (SELECT CASE WHEN m.player = 'person' THEN m.status ELSE 'dropped_out' END AS outcome) o
        LEFT JOIN LATERAL (
            SELECT p.currency, CAST(sum(p.amount) AS text) AS amount, jsonb_agg(jsonb_build_object(
                'stage', p.stage_id, 'amount', p.amount, 'parts', p.parts) ORDER BY p.paid_at, p.stage_id) AS parts
            FROM payments p WHERE p.member_id = m.id AND NOT EXISTS (SELECT FROM sittings s
                WHERE s.member_id = m.id AND s.player = 'agent' AND s.since <= p.paid_at
                    AND (s.until IS NULL OR p.paid_at < s.until))
            GROUP BY p.currency ORDER BY p.currency
        ) y ON true
    WHERE m.experiment_id = :experiment_id AND m.joined_at IS NOT NULL
        AND (m.player = 'person' OR EXISTS (SELECT FROM sittings s WHERE s.member_id = m.id AND s.player = 'person'))
    ORDER BY m.external_id COLLATE "C" NULLS LAST, o.outcome, y.currency
"""


async def is_rehearsed(session: ReadSession, experiment_id: UUID) -> bool:
    """Whether made-up people have taken part."""
    return await session.first(_as_text(_REHEARSED), {"experiment_id": experiment_id}) is not None


async def has_people(session: ReadSession, experiment_id: UUID) -> bool:
    """Whether a person has joined."""
    return await session.first(_as_text(_HAS_PEOPLE), {"experiment_id": experiment_id}) is not None


async def payments(session: Session, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """People under their external ids, with the parameters of their links, and how their part ended. In an order that
    does not lead to other tables."""
    async for row in _stream(session, _PAYMENTS, experiment_id):
        yield row


# A compiled statement is cached for good, by its object and not by its text.
_as_text = cache(text)


async def _stream(
    session: Session, statement: str, experiment_id: UUID, **params: Any
) -> AsyncIterator[Mapping[str, Any]]:
    async for row in session.stream(_as_text(statement), {"experiment_id": experiment_id, **params}, at_once=BATCH):
        yield row._asdict()
