# ruff: noqa: S608 - statements are put together from constants of this module only
"""The research data, read in one snapshot and streamed row by row in an order that two runs share.

Everything is sorted by path, numbers in it as numbers. Tokens, hashes of keys and leases are never selected.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from shared.db.experiments import find
from shared.db.messages import EXCERPT
from shared.db.session import WHOLE_EXPERIMENT_SECONDS, Database, Row, Session
from shared.stage import PAGE, READY

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


def _by(*columns: str) -> str:
    return ", ".join(map(_natural, columns))


def _natural(column: str) -> str:
    """Sorts c2 before c10: every number is filled up to nine digits. The column itself decides what is left equal."""
    filled = rf"regexp_replace({column}, '\d+', '00000000\&', 'g')"
    return rf"""regexp_replace({filled}, '\d*(\d{{9}})', '\1', 'g') COLLATE "C", {column} COLLATE "C" """


_OF_COHORT: Final = "JOIN cohorts c ON c.id = x.cohort_id WHERE c.experiment_id = :experiment_id"

_REACTED: Final = f"""(
    SELECT jsonb_object_agg(o.reaction, o.paths) FROM (
        SELECT x.reaction, jsonb_agg(a.path ORDER BY {_by("a.path")}) AS paths
        FROM reactions x JOIN members a ON a.id = x.member_id WHERE x.message_id = g.id GROUP BY x.reaction
    ) AS o
)"""

# The model is the one that the endpoint says it is, where it says so; nothing has answered where nothing came.
_ANSWERED: Final = "coalesce(k.model_returned, CASE WHEN k.raw <> '' THEN k.model_asked END)"
_LISTED: Final = """string_agg(DISTINCT {0} COLLATE "C", '; ' ORDER BY {0} COLLATE "C")"""
_CALLED: Final = f"{_LISTED.format('k.endpoint')} AS endpoint, {_LISTED.format(_ANSWERED)} AS model"
_CALLS: Final = """
    model_calls k JOIN drafts d ON d.id = k.draft_id JOIN cohorts c ON c.id = d.cohort_id
    WHERE c.experiment_id = :experiment_id
"""

SECTIONS: Final[Mapping[str, str]] = {
    "treatments": f"""
        SELECT x.id AS treatment, x.levels, x.resolved FROM treatments x
        WHERE x.experiment_id = :experiment_id ORDER BY {_by("x.id")}
    """,
    "cohorts": f"""
        SELECT x.id AS cohort_id, x.path AS cohort_path, x.name AS cohort, x.treatment_id AS treatment, x.variables,
            x.status, x.locked, x.created_at, x.ended_at
        FROM cohorts x WHERE x.experiment_id = :experiment_id ORDER BY {_by("x.path")}
    """,
    "members": f"""
        SELECT x.id AS member_id, x.path, c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort,
            c.treatment_id AS treatment, x.kind, x.player, x.profile, x.agent_config AS agent, x.status,
            x.status_reason, x.stage_ids AS stages, x.position, x.is_test, x.joining, x.created_at, x.joined_at,
            x.arrived_at, x.ended_at
        FROM members x {_OF_COHORT} ORDER BY {_by("x.path")}
    """,
    "stages": f"""
        SELECT c.path AS cohort_path, x.stage_id AS stage, x.draws, x.unlocked_at, x.ended_at
        FROM cohort_stages x {_OF_COHORT} ORDER BY {_by("c.path", "x.stage_id")}
    """,
    "answers": f"""
        SELECT m.path AS member_path, x.member_id, c.path AS cohort_path, x.stage_id AS stage, x.key, x.value, x.valid,
            x.invalid,
            x.audience AS audience_ids, x.revision, x.completed_at, x.written_at
        FROM answers x JOIN members m ON m.id = x.member_id {_OF_COHORT} ORDER BY {_by("m.path", "x.stage_id", "x.key")}
    """,
    "asks": f"""
        SELECT x.path, x.id AS ask_id, c.path AS cohort_path, m.path AS member_path, x.stage_id AS stage, x.key,
            x.generation, x.purpose, x.state, x.reason, x.opened_at, x.closed_at
        FROM asks x JOIN members m ON m.id = x.member_id {_OF_COHORT} ORDER BY {_by("x.path")}, x.generation
    """,
    "threads": f"""
        SELECT x.path, x.id AS thread_id, c.path AS cohort_path, x.stage_id AS stage, x.scope, x.last_seq,
            x.agent_run, x.clock_ms, x.turn_state, x.held, x.end_reason, x.opened_at, x.ended_at
        FROM threads x {_OF_COHORT} ORDER BY {_by("x.path")}
    """,
    "messages": f"""
        SELECT t.path AS thread_path, g.seq, g.id AS message_id, t.id AS thread_id, c.path AS cohort_path,
            c.name AS cohort, c.treatment_id AS treatment, t.stage_id AS stage, m.path AS author_path,
            g.member_id AS author_id, g.author_kind, m.kind AS author_role,
            coalesce(g.author_name, m.profile ->> 'name') AS author_name, g.text, g.topic, q.seq AS reply_to_seq,
            w.path AS reply_to_author_path, {EXCERPT} AS reply_to_text, g.reply_to AS reply_to_id,
            coalesce({_REACTED}, '{{}}') AS reactions, g.audience AS audience_ids, g.trigger_key AS trigger_id,
            o.seq AS trigger_seq, g.explanation, k.endpoint, k.model, g.elapsed_ms, g.created_at
        FROM messages g JOIN threads t ON t.id = g.thread_id JOIN cohorts c ON c.id = t.cohort_id
            LEFT JOIN members m ON m.id = g.member_id LEFT JOIN messages q ON q.id = g.reply_to
            LEFT JOIN members w ON w.id = q.member_id LEFT JOIN drafts d ON d.message_id = g.id
            LEFT JOIN messages o ON o.id
                = CASE WHEN g.trigger_key LIKE 'message:%' THEN CAST(substr(g.trigger_key, 9) AS uuid) END
            LEFT JOIN LATERAL (
                SELECT k.endpoint, {_ANSWERED} AS model FROM model_calls k WHERE k.draft_id = d.id
                ORDER BY k.attempt DESC LIMIT 1
            ) AS k ON true
        WHERE c.experiment_id = :experiment_id ORDER BY {_by("t.path")}, g.seq
    """,
    "reactions": f"""
        SELECT t.path AS thread_path, g.seq AS message_seq, m.path AS member_path, x.reaction, x.message_id,
            x.reacted_at
        FROM reactions x JOIN messages g ON g.id = x.message_id JOIN threads t ON t.id = g.thread_id
            JOIN cohorts c ON c.id = t.cohort_id JOIN members m ON m.id = x.member_id
        WHERE c.experiment_id = :experiment_id ORDER BY {_by("t.path")}, g.seq, {_by("m.path")}, x.reaction
    """,
    "drafts": f"""
        SELECT x.path, x.id AS draft_id, c.path AS cohort_path, m.path AS member_path, x.stage_id AS stage,
            t.path AS thread_path, a.path AS ask_path, x.trigger_key AS trigger_id, x.wave, x.as_of_seq, x.purpose,
            x.provider, x.state, x.reason, x.reply, x.ready_to_end, x.message_id, x.finish_ms, x.attempts,
            x.not_before AS not_before_at, x.due_at, x.created_at, x.closed_at
        FROM drafts x JOIN members m ON m.id = x.member_id
            LEFT JOIN threads t ON t.id = x.thread_id LEFT JOIN asks a ON a.id = x.ask_id
        {_OF_COHORT} ORDER BY {_by("x.path")}
    """,
    "trigger_log": f"""
        SELECT t.path AS thread_path, g.seq AS message_seq, x.trigger_key AS trigger_id, m.path AS member_path,
            d.path AS draft_path, x.message_id, x.claimed_at
        FROM trigger_log x JOIN threads t ON t.id = x.thread_id JOIN cohorts c ON c.id = t.cohort_id
            JOIN members m ON m.id = x.member_id JOIN drafts d ON d.id = x.draft_id
            JOIN messages g ON g.id = x.message_id
        WHERE c.experiment_id = :experiment_id ORDER BY {_by("t.path")}, g.seq
    """,
    "model_calls": f"""
        SELECT k.path, d.path AS draft_path, c.path AS cohort_path, m.path AS member_path, d.stage_id AS stage,
            d.purpose, k.id AS call_id, k.draft_id, k.part, k.attempt, k.provider, k.endpoint, {_ANSWERED} AS model,
            k.model_asked, k.model_returned, k.model_mode, k.status, k.error, k.tokens_in, k.tokens_out, k.cost,
            k.settings, k.prompt_hash, k.prompt, k.raw, k.parsed, k.started_at, k.finished_at
        FROM model_calls k JOIN drafts d ON d.id = k.draft_id JOIN cohorts c ON c.id = d.cohort_id
            JOIN members m ON m.id = d.member_id
        WHERE c.experiment_id = :experiment_id ORDER BY {_by("d.path", "k.part")}, k.attempt
    """,
    "timers": f"""
        SELECT x.path, x.id AS timer_id, c.path AS cohort_path, x.purpose, x.generation, x.state, x.remaining_ms,
            x.due_at, x.fired_at
        FROM timers x {_OF_COHORT} ORDER BY {_by("x.path")}, x.generation
    """,
    "alerts": f"""
        SELECT x.path, x.id AS alert_id, x.type, x.text, x.created_at, x.resolved_at
        FROM alerts x WHERE x.experiment_id = :experiment_id ORDER BY {_by("x.path")}
    """,
    "events": f"""
        SELECT c.path AS cohort_path, x.subject, x.type, x.actor, x.cause, x.subject_id, x.payload,
            x.audience AS audience_ids, x.public IS NOT NULL AS is_public, x.stream_seq, x.at
        FROM events x {_OF_COHORT} ORDER BY {_by("c.path", "x.subject")}, x.stream_seq
    """,
}
"""The tables of the data, in the order of `data.json`, each with its statement."""

_CONVERSATIONS: Final = f"""
    WITH held AS (
        SELECT x.id, x.stage_id, c.treatment_id FROM threads x {_OF_COHORT}
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
    GROUP BY 1, 2 ORDER BY {_by("h.treatment_id", "h.stage_id")}
"""

_MODELS_CALLED: Final = f"""
    SELECT k.endpoint, {_ANSWERED} AS model, count(*) AS calls FROM {_CALLS} GROUP BY 1, 2
    ORDER BY k.endpoint COLLATE "C", {_ANSWERED} COLLATE "C"
"""

_PARTICIPANTS: Final = f"""
    WITH called AS (SELECT d.member_id, {_CALLED} FROM {_CALLS} GROUP BY 1)
    SELECT x.id AS member_id, x.path, c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort,
        c.treatment_id AS treatment, x.player, x.profile, x.agent_config AS agent, x.status, x.status_reason,
        x.stage_ids AS stages, x.position, x.is_test, x.joining, x.created_at, x.joined_at, x.ended_at,
        k.endpoint, k.model,
        (SELECT jsonb_object_agg(a.stage_id, a.value) FROM answers a
            WHERE a.member_id = x.id AND a.key = '' AND a.valid AND a.completed_at IS NOT NULL) AS pages
    FROM members x LEFT JOIN called k ON k.member_id = x.id
    {_OF_COHORT} AND x.kind = 'participant' ORDER BY {_by("x.path")}
"""

_ANSWERS: Final = f"""
    WITH called AS (SELECT d.member_id, d.stage_id, {_CALLED} FROM {_CALLS} GROUP BY 1, 2),
    counted AS (
        SELECT a.member_id, a.stage_id, jsonb_object_agg(a.key, a.calls) AS attempts
        FROM (
            SELECT a.member_id, a.stage_id, a.key, count(*) AS calls
            FROM asks a JOIN drafts d ON d.ask_id = a.id JOIN model_calls k ON k.draft_id = d.id
                JOIN cohorts c ON c.id = a.cohort_id
            WHERE c.experiment_id = :experiment_id GROUP BY 1, 2, 3
        ) AS a GROUP BY 1, 2
    )
    SELECT x.member_id, m.path, c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort,
        c.treatment_id AS treatment, m.player, x.stage_id AS stage, x.key, x.value, x.invalid, x.revision,
        k.endpoint, k.model, n.attempts, x.completed_at, x.written_at,
        EXISTS (SELECT FROM answers p WHERE p.member_id = x.member_id AND p.stage_id = x.stage_id AND p.key = '{PAGE}'
            AND p.completed_at IS NOT NULL) AS has_page
    FROM answers x JOIN members m ON m.id = x.member_id
        LEFT JOIN counted n ON n.member_id = x.member_id AND n.stage_id = x.stage_id
        LEFT JOIN called k ON k.member_id = x.member_id AND k.stage_id = x.stage_id
    {_OF_COHORT} AND (x.valid OR x.invalid IS NOT NULL)
    ORDER BY {_by("m.path")}, array_position(m.stage_ids, x.stage_id), {_by("x.key")}
"""


# Every answer stands here, also what was stored for want of a valid one: a kind knows which is which. The kept state is
# missing where settling has not seen all that it is made of: an answer that is not counted yet, or somebody who was out
# when nobody was left on the stage for whom it is settled. A page is made of the state, and is not counted.
_COHORT_STAGES: Final = f"""
    SELECT c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort, c.treatment_id AS treatment, x.stage_id AS stage,
        x.draws,
        CASE WHEN NOT EXISTS (SELECT FROM answers a WHERE a.cohort_id = c.id AND a.stage_id = x.stage_id
                AND a.key <> '{PAGE}' AND a.counted_at IS NULL)
            AND NOT EXISTS (SELECT FROM members m WHERE m.cohort_id = c.id AND m.kind = 'participant'
                AND m.status IN ('left', 'removed', 'failed') AND m.stage_ids[m.position + 1] = x.stage_id)
        THEN x.state END AS state,
        (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'path', m.path, 'kind', m.kind, 'player', m.player,
            'profile', m.profile, 'persona', m.agent_config ->> 'persona_id', 'status', m.status,
            'stage_ids', m.stage_ids, 'position', m.position) ORDER BY m.path)
        FROM members m WHERE m.cohort_id = c.id AND m.kind = 'participant') AS members,
        (SELECT jsonb_agg(jsonb_build_array(a.member_id, a.key, a.value))
        FROM answers a WHERE a.cohort_id = c.id AND a.stage_id = x.stage_id) AS answers
    FROM cohort_stages x {_OF_COHORT} AND x.stage_id = ANY(:stage_ids) ORDER BY {_by("c.path", "x.stage_id")}
"""


async def experiment(session: Session, experiment_id: UUID) -> Row:
    """The experiment's row, its document included.

    Raises:
        NotFound: there is none.
    """
    return await find(session, experiment_id)


async def models_called(session: Session, experiment_id: UUID) -> list[dict[str, Any]]:
    """Where models were called, which answered there, and how many calls that were; the mock has no endpoint."""
    rows = await session.all(_as_text(_MODELS_CALLED), {"experiment_id": experiment_id})
    return [row._asdict() for row in rows]


async def section(session: Session, name: str, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """The rows of one of `SECTIONS`; few of them are in memory at a time."""
    async for row in _stream(session, SECTIONS[name], experiment_id):
        yield row


async def conversations(session: Session, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """What was said in the conversations of each treatment and stage, and how many calls of models were paid for it.

    `drafts` counts the replies that agents were to make, by what became of them.
    """
    async for row in _stream(session, _CONVERSATIONS, experiment_id):
        yield row


async def participants(session: Session, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """Participants with `pages`, their completed page answers by stage."""
    async for row in _stream(session, _PARTICIPANTS, experiment_id):
        yield row


async def answers(session: Session, experiment_id: UUID) -> AsyncIterator[Mapping[str, Any]]:
    """Valid answers and missing ones, in the order in which each participant went through the stages."""
    async for row in _stream(session, _ANSWERS, experiment_id):
        yield row


async def cohort_stages(
    session: Session, experiment_id: UUID, stage_ids: Sequence[str]
) -> AsyncIterator[Mapping[str, Any]]:
    """Each of these stages in each cohort that has opened it: draws, kept state, participants and all answers.

    The state is None where it does not say all that the answers do.
    """
    async for row in _stream(session, _COHORT_STAGES, experiment_id, stage_ids=list(stage_ids)):
        yield row


# What was compiled of a statement is kept for good, by its object and not by its text.
_as_text = cache(text)


async def _stream(
    session: Session, statement: str, experiment_id: UUID, **params: Any
) -> AsyncIterator[Mapping[str, Any]]:
    async for row in session.stream(_as_text(statement), {"experiment_id": experiment_id, **params}, at_once=BATCH):
        yield row._asdict()
