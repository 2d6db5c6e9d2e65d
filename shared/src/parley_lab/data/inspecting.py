# ruff: noqa: S608 - statements are put together from constants of this module only
"""What an experimenter reads to understand a run: members, conversations, drafts, calls, and how much happened when."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.store.places import Place, parameters
from parley_lab.store.session import ReadSession
from parley_lab.store.statements import Row

_EVENTS: Final = text(
    """
    SELECT e.seq, e.cohort_id, e.at, e.type, e.actor, e.cause, e.subject, e.subject_id, e.payload AS data
    FROM members m JOIN events e ON e.cohort_id = m.cohort_id
        OR e.cohort_id IN (SELECT s.cohort_id FROM stays s WHERE s.member_id = m.id)
    WHERE m.id = :member_id AND (e.subject_id = m.id OR e.actor = m.path)
        AND (CAST(:before AS bigint) IS NULL OR e.seq < :before)
    ORDER BY e.seq DESC LIMIT :most
    """
)
_ANSWERS: Final = text(
    """
    SELECT a.stage_id, a.key, a.cohort_id, a.value, a.valid AS is_valid, a.passed AS is_passed, a.invalid, a.revision,
        a.completed_at, a.written_at
    FROM answers a WHERE a.member_id = :member_id ORDER BY a.written_at, a.stage_id, a.key
    """
)


async def events_of(session: ReadSession, member_id: UUID, *, before: int | None, most: int) -> Sequence[Row]:
    """What this member did or what happened to them, the latest first; `before`: only events with a smaller `seq`."""
    return await session.all(_EVENTS, {"member_id": member_id, "before": before, "most": most})


async def answers_of(session: ReadSession, member_id: UUID) -> Sequence[Row]:
    """All answers of this member, the oldest first; the answer to a page has an empty key."""
    return await session.all(_ANSWERS, {"member_id": member_id})


_DRAFT: Final = """
    SELECT d.id, d.path, d.member_id, m.path AS member, m.profile ->> 'name' AS name, d.cohort_id, d.stage_id,
        d.thread_id, d.ask_id, a.key AS ask, d.trigger_key, d.wave, d.as_of_seq, d.purpose, d.state, d.reason,
        d.message_id, d.provider, d.created_at, d.not_before, d.due_at, d.closed_at, d.finish_ms, d.ready_to_end,
        k.calls, k.failed_calls, k.tokens_in, k.tokens_out, k.cost, k.model, k.began_at, k.finished_at, k.milliseconds
    FROM drafts d JOIN members m ON m.id = d.member_id LEFT JOIN asks a ON a.id = d.ask_id
        CROSS JOIN LATERAL (
            SELECT count(*) AS calls, count(*) FILTER (WHERE x.status <> 'ok') AS failed_calls,
                sum(x.tokens_in) AS tokens_in, sum(x.tokens_out) AS tokens_out, sum(x.cost) AS cost,
                max(coalesce(x.model_returned, x.model_asked)) AS model, min(x.started_at) AS began_at,
                max(x.finished_at) AS finished_at,
                round(sum(extract(epoch FROM x.finished_at - x.started_at)) * 1000) AS milliseconds
            FROM model_calls x WHERE x.draft_id = d.id
        ) k
"""
_DRAFTS_OF_MEMBER: Final = text(
    f"""
    {_DRAFT} WHERE d.member_id = :member_id
        AND (CAST(:at AS timestamptz) IS NULL OR (d.created_at, d.id) < (:at, CAST(:id AS uuid)))
    ORDER BY d.created_at DESC, d.id DESC LIMIT :most
    """
)
_DRAFTS_OF_THREAD: Final = text(
    f"""
    {_DRAFT} WHERE d.thread_id = :thread_id
        AND (CAST(:at AS timestamptz) IS NULL OR (d.created_at, d.id) > (:at, CAST(:id AS uuid)))
    ORDER BY d.created_at, d.id LIMIT :most
    """
)
_ONE_DRAFT: Final = text(f"{_DRAFT} WHERE d.id = :draft_id")
_REPLY: Final = text("SELECT reply FROM drafts WHERE id = :draft_id")
_ATTEMPTS: Final = text(
    """
    SELECT id, part, attempt, status, error, provider, model_asked, model_returned, endpoint, model_mode, settings,
        prompt_hash, raw, parsed, read_as, details, tokens_in, tokens_out, cost, started_at, finished_at,
        round(extract(epoch FROM finished_at - started_at) * 1000) AS milliseconds
    FROM model_calls WHERE draft_id = :draft_id ORDER BY part, attempt
    """
)


async def drafts_of_member(session: ReadSession, member_id: UUID, *, after: Place | None, most: int) -> Sequence[Row]:
    """The drafts of this member, the latest first, with their calls in figures."""
    return await session.all(_DRAFTS_OF_MEMBER, {"member_id": member_id, "most": most, **parameters(after)})


async def drafts_of_thread(session: ReadSession, thread_id: UUID, *, after: Place | None, most: int) -> Sequence[Row]:
    """The drafts of this conversation, the oldest first, with their calls in figures."""
    return await session.all(_DRAFTS_OF_THREAD, {"thread_id": thread_id, "most": most, **parameters(after)})


async def draft(session: ReadSession, draft_id: UUID) -> tuple[Row, Any, Sequence[Row]]:
    """One draft as in the lists, its reply, and each attempt; the draft must be there."""
    found = await session.one(_ONE_DRAFT, {"draft_id": draft_id})
    reply = (await session.one(_REPLY, {"draft_id": draft_id})).reply
    return found, reply, await session.all(_ATTEMPTS, {"draft_id": draft_id})


_THREADS: Final = text(
    """
    WITH page AS (
        SELECT t.*, c.path AS cohort, c.experiment_id FROM cohorts c JOIN threads t ON t.cohort_id = c.id
        WHERE c.experiment_id = :experiment_id AND (CAST(:stage_id AS text) IS NULL OR t.stage_id = :stage_id)
            AND (CAST(:cohort_id AS uuid) IS NULL OR c.id = :cohort_id)
            AND (CAST(:is_open AS bool) IS NULL OR (t.ended_at IS NULL) = :is_open)
            AND (CAST(:words AS text) IS NULL OR EXISTS (
                SELECT FROM messages g WHERE g.thread_id = t.id AND strpos(lower(g.text), lower(:words)) > 0))
            AND (CAST(:at AS timestamptz) IS NULL OR (t.opened_at, t.id) > (:at, CAST(:id AS uuid)))
        ORDER BY t.opened_at, t.id LIMIT :most
    )
    SELECT t.id, t.cohort_id, t.cohort, t.stage_id, t.scope, m.id AS member_id, t.last_seq AS messages, t.opened_at,
        t.ended_at, t.end_reason, s.of_people, s.of_agents, k.drafts, k.calls, k.cost, l.author, l.text AS last_words,
        l.created_at AS last_at,
        (SELECT coalesce(nullif(d.stage ->> 'name', ''), t.stage_id) FROM experiments e
            CROSS JOIN LATERAL jsonb_array_elements(e.document -> 'stages') d(stage)
            WHERE e.id = t.experiment_id AND d.stage ->> 'id' = t.stage_id LIMIT 1) AS stage
    FROM page t
        LEFT JOIN members m ON m.experiment_id = t.experiment_id AND m.path = substr(t.scope, length('private:') + 1)
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE g.author_kind = 'person') AS of_people,
                count(*) FILTER (WHERE g.author_kind IN ('agent', 'script')) AS of_agents
            FROM messages g WHERE g.thread_id = t.id
        ) s
        CROSS JOIN LATERAL (
            SELECT count(DISTINCT d.id) AS drafts, count(x.id) AS calls, sum(x.cost) AS cost
            FROM drafts d LEFT JOIN model_calls x ON x.draft_id = d.id WHERE d.thread_id = t.id
        ) k
        LEFT JOIN LATERAL (
            SELECT coalesce(g.author_name, a.profile ->> 'name') AS author, left(g.text, 200) AS text, g.created_at
            FROM messages g LEFT JOIN members a ON a.id = g.member_id WHERE g.thread_id = t.id
            ORDER BY g.seq DESC LIMIT 1
        ) l ON true
    ORDER BY t.opened_at, t.id
    """
)


async def threads(
    session: ReadSession,
    experiment_id: UUID,
    *,
    stage_id: str | None,
    cohort_id: UUID | None,
    is_open: bool | None,
    words: str | None,
    after: Place | None,
    most: int,
) -> Sequence[Row]:
    """The conversations of an experiment with their counts and last words, the oldest first.

    `words`: only those in which they were said, in capitals or not.
    """
    wanted = {"stage_id": stage_id, "cohort_id": cohort_id, "is_open": is_open, "words": words, "most": most}
    return await session.all(_THREADS, {"experiment_id": experiment_id, **wanted, **parameters(after)})


_MESSAGES: Final = text(
    """
    SELECT g.id, g.seq, g.member_id, m.path AS member, g.author_kind, coalesce(g.author_name, m.profile ->> 'name')
            AS author, g.text, g.line, g.topic, g.reply_to, g.audience, g.trigger_key, g.explanation, d.id AS draft_id,
        g.elapsed_ms, g.created_at,
        (SELECT jsonb_agg(jsonb_build_array(r.reaction, r.member_id) ORDER BY r.reacted_at) FROM reactions r
            WHERE r.message_id = g.id) AS reactions
    FROM messages g LEFT JOIN members m ON m.id = g.member_id LEFT JOIN drafts d ON d.message_id = g.id
    WHERE g.thread_id = :thread_id AND (CAST(:after_seq AS int) IS NULL OR g.seq > :after_seq)
        AND (CAST(:before_seq AS int) IS NULL OR g.seq < :before_seq)
    ORDER BY CASE WHEN :is_backwards THEN -g.seq ELSE g.seq END LIMIT :most
    """
)


async def messages(
    session: ReadSession, thread_id: UUID, *, after_seq: int | None, before_seq: int | None, most: int
) -> Sequence[Row]:
    """What was said, the oldest first: after a number or from the beginning, or the last ones before a number."""
    is_backwards = before_seq is not None and after_seq is None
    given = {"after_seq": after_seq, "before_seq": before_seq, "is_backwards": is_backwards, "most": most}
    rows = await session.all(_MESSAGES, {"thread_id": thread_id, **given})
    return rows[::-1] if is_backwards else rows


# The calls of the page are chosen by id and time alone: whole rows of all calls are too long to be sorted in memory.
_OF_CALLS: Final = """
    SELECT x.id, x.started_at FROM cohorts c JOIN drafts d ON d.cohort_id = c.id JOIN model_calls x ON x.draft_id = d.id
    WHERE c.experiment_id = :experiment_id AND (CAST(:cohort_id AS uuid) IS NULL OR c.id = :cohort_id)
        AND (CAST(:member_id AS uuid) IS NULL OR d.member_id = :member_id)
        AND (CAST(:stage_id AS text) IS NULL OR d.stage_id = :stage_id)
        AND (CAST(:status AS text) IS NULL OR x.status = :status OR (:status = 'failed' AND x.status <> 'ok'))
"""
_CALL: Final = """
    SELECT x.id, x.draft_id, d.member_id, m.path AS member, c.path AS cohort, d.stage_id, d.thread_id, d.purpose,
        d.state AS draft_state, x.part, x.attempt, x.status, x.error, x.provider,
        coalesce(x.model_returned, x.model_asked) AS model, x.endpoint, x.model_mode, x.tokens_in, x.tokens_out, x.cost,
        x.started_at, x.finished_at, round(extract(epoch FROM x.finished_at - x.started_at) * 1000) AS milliseconds
    FROM page JOIN model_calls x ON x.id = page.id JOIN drafts d ON d.id = x.draft_id
        JOIN cohorts c ON c.id = d.cohort_id JOIN members m ON m.id = d.member_id
"""
_NEWEST_CALLS: Final = text(
    f"""
    WITH page AS (
        {_OF_CALLS} AND (CAST(:at AS timestamptz) IS NULL OR (x.started_at, x.id) < (:at, CAST(:id AS uuid)))
        ORDER BY x.started_at DESC, x.id DESC LIMIT :most
    )
    {_CALL} ORDER BY x.started_at DESC, x.id DESC
    """
)
_OLDEST_CALLS: Final = text(
    f"""
    WITH page AS (
        {_OF_CALLS} AND (CAST(:at AS timestamptz) IS NULL OR (x.started_at, x.id) > (:at, CAST(:id AS uuid)))
        ORDER BY x.started_at, x.id LIMIT :most
    )
    {_CALL} ORDER BY x.started_at, x.id
    """
)


async def calls(
    session: ReadSession,
    experiment_id: UUID,
    *,
    cohort_id: UUID | None,
    member_id: UUID | None,
    stage_id: str | None,
    status: str | None,
    is_newest_first: bool,
    after: Place | None,
    most: int,
) -> Sequence[Row]:
    """The attempts at models, without prompts and replies. `status` `failed`: all that are not `ok`."""
    wanted = {"cohort_id": cohort_id, "member_id": member_id, "stage_id": stage_id, "status": status, "most": most}
    statement = _NEWEST_CALLS if is_newest_first else _OLDEST_CALLS
    return await session.all(statement, {"experiment_id": experiment_id, **wanted, **parameters(after)})


_SPAN: Final = text(
    """
    SELECT coalesce(e.started_at, e.created_at) AS began_at, coalesce(e.ended_at, :now) AS ended_at
    FROM experiments e WHERE e.id = :experiment_id
    """
)
_BUCKET: Final = "least(:buckets - 1, floor(extract(epoch FROM {at} - :since) / :seconds))"
_ACTIVITY: Final = text(
    f"""
    WITH happened AS (
        SELECT {_BUCKET.format(at="e.at")} AS bucket, count(*) AS events,
            count(*) FILTER (WHERE e.type = 'message.created') AS messages
        FROM events e WHERE e.experiment_id = :experiment_id AND e.at >= :since AND e.at <= :until GROUP BY 1
    ), called AS (
        SELECT {_BUCKET.format(at="x.started_at")} AS bucket, x.status, x.tokens_in, x.tokens_out, x.cost,
            extract(epoch FROM x.finished_at - x.started_at) * 1000 AS milliseconds
        FROM cohorts c JOIN drafts d ON d.cohort_id = c.id JOIN model_calls x ON x.draft_id = d.id
        WHERE c.experiment_id = :experiment_id AND x.started_at >= :since AND x.started_at <= :until
    ), by_status AS (
        SELECT bucket, jsonb_object_agg(status, n) AS calls
        FROM (SELECT bucket, status, count(*) AS n FROM called GROUP BY 1, 2) s GROUP BY 1
    ), summed AS (
        SELECT bucket, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(cost) AS cost,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY milliseconds) AS milliseconds
        FROM called GROUP BY 1
    )
    SELECT CAST(b AS int) AS bucket, coalesce(h.events, 0) AS events, coalesce(h.messages, 0) AS messages,
        coalesce(s.calls, '{{}}') AS calls, coalesce(u.tokens_in, 0) AS tokens_in,
        coalesce(u.tokens_out, 0) AS tokens_out, u.cost, round(CAST(u.milliseconds AS numeric)) AS milliseconds
    FROM generate_series(0, :buckets - 1) b LEFT JOIN happened h ON h.bucket = b LEFT JOIN by_status s ON s.bucket = b
        LEFT JOIN summed u ON u.bucket = b
    ORDER BY b
    """
)


async def span(session: ReadSession, experiment_id: UUID, now: datetime) -> tuple[datetime, datetime]:
    """From when until when the experiment ran."""
    row = await session.one(_SPAN, {"experiment_id": experiment_id, "now": now})
    return row.began_at, row.ended_at


async def activity(
    session: ReadSession, experiment_id: UUID, since: datetime, until: datetime, buckets: int
) -> Sequence[Row]:
    """How much happened in each of so many equal parts of this time."""
    seconds = max(1.0, (until - since).total_seconds()) / buckets
    params = {"since": since, "until": until, "seconds": seconds, "buckets": buckets}
    return await session.all(_ACTIVITY, {"experiment_id": experiment_id, **params})


def figures(row: Row) -> Mapping[str, Any]:
    """The fields of a row, with money and counts as numbers of JSON."""
    found: dict[str, Any] = row._asdict()
    for name in ("cost", "milliseconds", "tokens_in", "tokens_out"):
        if name in found and found[name] is not None:
            found[name] = float(found[name]) if name == "cost" else int(found[name])
    return found
