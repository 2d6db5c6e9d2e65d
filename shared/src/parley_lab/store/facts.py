"""The events and hints of a transaction, and the one statement that writes them, the last before the commit.

This makes a cohort's `stream_seq` gapless and in commit order, and keeps the lock on its counter short.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.logs import correlation
from parley_lab.base.urgency import is_urgent
from parley_lab.contracts.hints import Hint

FACTS_CHANNEL = "parley_facts"
"""The channel on which FLUSH notifies listeners of facts; the payload is the id of the cohort."""


@dataclass(frozen=True, slots=True)
class Event:
    """A fact, in the past tense. `subject` is the path of the thing that it is about.

    `payload` is the new value, private parts included; `public` is what the audience sees, None when it has no readers;
    `audience` None means all members of the cohort. `unsettles` asks for the cohort to be settled.
    """

    experiment_id: UUID
    cohort_id: UUID
    type: str
    actor: str
    cause: str
    subject: str
    at: datetime
    subject_id: UUID | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    public: Mapping[str, Any] | None = None
    audience: Sequence[UUID] | None = None
    unsettles: bool = False


def ranked(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The events as rows, each with its rank among those of its cohort."""
    ranks: dict[UUID, int] = {}
    rows = []
    for event in events:
        ranks[event.cohort_id] = ranks.get(event.cohort_id, 0) + 1
        rows.append(
            {
                "rank": ranks[event.cohort_id],
                "experiment_id": event.experiment_id,
                "cohort_id": event.cohort_id,
                "type": event.type,
                "actor": event.actor,
                "cause": event.cause,
                "subject": event.subject,
                "subject_id": event.subject_id,
                "payload": event.payload,
                "public": event.public,
                "audience": event.audience,
                "at": event.at,
                "unsettles": event.unsettles,
            }
        )
    return rows


def hint_rows(hints: Iterable[Hint]) -> list[dict[str, Any]]:
    """The hints as rows of the outbox, with the correlation and the urgency of the current context."""
    return [
        {
            "queue": hint.queue,
            "type": hint.type,
            "subject_id": hint.id,
            "correlation": hint.correlation or correlation.get(),
            "urgent": hint.urgent or is_urgent(),
        }
        for hint in hints
    ]


# FLUSH takes the counters in the order in which it finds their rows, which is another one after each change. So this
# goes before it where there are several.
LOCK_COUNTERS: Final = text(
    "SELECT cohort_id FROM streams WHERE cohort_id = ANY(:cohort_ids) ORDER BY cohort_id FOR NO KEY UPDATE"
)

# The counters of events are locked last: `passed` comes after all locks of the change. The events are of one cohort,
# which is named once more: Postgres guesses that the JSON has a hundred rows, and would read the counters of all
# cohorts to join them.
FLUSH_WITH: Final = """
    given AS (
        SELECT e.* FROM passed, jsonb_to_recordset(CAST(:events AS jsonb)) AS e(
            rank int, experiment_id uuid, cohort_id uuid, type text, actor text, cause text, subject text,
            subject_id uuid, payload jsonb, public jsonb, audience uuid[], at timestamptz, unsettles bool,
            settled bigint)
    ), counted AS (
        UPDATE streams s
        SET last = s.last + g.n, unsettled = CASE WHEN g.unsettles THEN s.last + g.n ELSE s.unsettled END,
            settled = greatest(s.settled, g.settled)
        FROM (
            SELECT cohort_id, count(rank) AS n, bool_or(unsettles) AS unsettles, max(settled) AS settled
            FROM given GROUP BY cohort_id ORDER BY cohort_id
        ) g
        WHERE s.cohort_id = g.cohort_id AND s.cohort_id = :counter_id
        RETURNING s.cohort_id, s.last - g.n AS before, s.last
    ), recorded AS (
        INSERT INTO events (experiment_id, cohort_id, stream_seq, type, actor, cause, subject, subject_id, payload,
            public, audience, at)
        SELECT g.experiment_id, g.cohort_id, c.before + g.rank, g.type, g.actor, g.cause, g.subject, g.subject_id,
            g.payload, CASE WHEN g.public = 'null'::jsonb THEN NULL ELSE g.public END, g.audience, g.at
        FROM given g JOIN counted c USING (cohort_id)
        WHERE g.rank IS NOT NULL
        ORDER BY g.cohort_id, g.rank
        RETURNING 1
    ), announced AS (
        INSERT INTO outbox (queue, type, subject_id, correlation, urgent, created_at)
        SELECT h.queue, h.type, h.subject_id, h.correlation, h.urgent, statement_timestamp()
        FROM passed, jsonb_to_recordset(CAST(:hints AS jsonb))
            AS h(queue text, type text, subject_id text, correlation text, urgent bool)
        RETURNING id, queue, type, subject_id, correlation, urgent
    ), told AS (
        SELECT pg_notify('parley_facts', f.id) FROM passed, unnest(CAST(:facts AS text[])) AS f(id)
    )
    SELECT CASE WHEN (SELECT count(*) FROM recorded) < (SELECT count(rank) FROM given)
            THEN CAST('an event names a cohort that has no stream, of ' || (SELECT count(rank) FROM given) AS int)
        END AS problem,
        (SELECT jsonb_agg(jsonb_build_array(id, queue, type, subject_id, correlation, urgent)) FROM announced)
            AS announced,
        (SELECT count(*) FROM told) AS told,
        (SELECT jsonb_agg(jsonb_build_array(cohort_id, before, last)) FROM counted) AS counted,
        EXISTS (SELECT FROM passed) AS passed
"""
"""The last part of a statement that writes a change together with the pending events (`Session.flush_with`).

The statement has `passed` before it: one row when the change was made.
"""
FLUSH: Final = text(f"WITH passed AS (SELECT 1), {FLUSH_WITH}")
FLUSH_MANY: Final = text(FLUSH.text.replace(" AND s.cohort_id = :counter_id", ""))
"""The same for events of several cohorts."""

# What precedes has `passed`: a row for each change that is made, after the locks of all of them and of their counters.
EVENTS_OF_MANY: Final = f"""
    given AS (
        SELECT p.place, p.cohort_id, e.*,
            row_number() OVER (PARTITION BY p.cohort_id ORDER BY p.place, e.rank) AS number
        FROM passed p CROSS JOIN LATERAL jsonb_to_recordset(p.events) AS e(
            rank int, experiment_id uuid, type text, actor text, cause text, subject text, subject_id uuid,
            payload jsonb, public jsonb, audience uuid[], at timestamptz, unsettles bool)
    ), counted AS (
        UPDATE streams s
        SET last = s.last + g.n, unsettled = CASE WHEN g.unsettles THEN s.last + g.n ELSE s.unsettled END
        FROM (
            SELECT cohort_id, sum(jsonb_array_length(p.events)) AS n,
                bool_or(p.events @> '[{{"unsettles": true}}]') AS unsettles
            FROM passed p GROUP BY cohort_id
        ) g
        WHERE s.cohort_id = g.cohort_id
        RETURNING s.cohort_id, s.last - g.n AS before
    ), recorded AS (
        INSERT INTO events (experiment_id, cohort_id, stream_seq, type, actor, cause, subject, subject_id, payload,
            public, audience, at)
        SELECT g.experiment_id, g.cohort_id, c.before + g.number, g.type, g.actor, g.cause, g.subject, g.subject_id,
            g.payload, CASE WHEN g.public = 'null'::jsonb THEN NULL ELSE g.public END, g.audience, g.at
        FROM given g JOIN counted c USING (cohort_id)
        ORDER BY g.cohort_id, g.number
    ), told AS (
        SELECT pg_notify('{FACTS_CHANNEL}', CAST(cohort_id AS text)) FROM counted
    )
    SELECT g.place, c.before + min(g.number) - 1 AS before, c.before + max(g.number) AS last,
        c.before AS before_all, (SELECT count(*) FROM told) AS told
    FROM given g JOIN counted c USING (cohort_id) GROUP BY g.place, c.before
"""  # noqa: S608 - put together from constants
"""The last part of a statement that makes several changes, each with events of its cohort (`Session.flush_for_many`).

A row for each: the number of the cohort's events before and after those of this change, and before all changes of the
statement.
"""
COUNTERS_OF_MANY: Final = """
    counter AS (
        SELECT c.cohort_id, s.last
        FROM (SELECT DISTINCT cohort_id FROM free) c CROSS JOIN LATERAL (
            SELECT last FROM streams WHERE streams.cohort_id = c.cohort_id FOR NO KEY UPDATE SKIP LOCKED
        ) s
    )
"""
"""The counters of the cohorts of `free`, locked; without those that another transaction holds."""
NOTHING_PENDING: Final = {"events": "[]", "hints": "[]", "facts": list[str](), "counter_id": None}
"""The parameters of such a statement when the pending events are written later."""


Counted = tuple[str, int, int]
"""A cohort, and the last number of its events before and after a write."""


def position_after(counted: Sequence[Counted], cohort_id: UUID, position: int) -> int:
    """Up to where a reader has seen the cohort's events who read up to `position` and then wrote these.

    It stays at `position` where an event of others, which the reader has not seen, came before their own.
    """
    for cohort, before, last in counted:
        if cohort == str(cohort_id) and before == position:
            position = last
    return position
