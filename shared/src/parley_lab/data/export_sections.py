# ruff: noqa: S608 - statements are put together from constants of this module only
"""The rows of an experiment as the data have them, a statement for each section of `data.json`."""

from collections.abc import Mapping
from typing import Final

from parley_lab.drafts.prompts import PROMPT
from parley_lab.talk.messages import EXCERPT


def by(*columns: str) -> str:
    """The terms of an ORDER BY in which `c2` comes before `c10`."""
    return ", ".join(map(_natural, columns))


def _natural(column: str) -> str:
    """Sorts c2 before c10: every number is padded to nine digits. The column itself breaks ties."""
    filled = rf"regexp_replace({column}, '\d+', '00000000\&', 'g')"
    # A captured group would take half as long again.
    return rf"""regexp_replace({filled}, '\d(?=\d{{9}})', '', 'g') COLLATE "C", {column} COLLATE "C" """


OF_COHORT: Final = "JOIN cohorts c ON c.id = x.cohort_id WHERE c.experiment_id = :experiment_id"

_REACTED: Final = f"""(
    SELECT jsonb_object_agg(o.reaction, o.paths) FROM (
        SELECT x.reaction, jsonb_agg(a.path ORDER BY {by("a.path")}) AS paths
        FROM reactions x JOIN members a ON a.id = x.member_id WHERE x.message_id = g.id GROUP BY x.reaction
    ) AS o
)"""

OF_MESSAGE: Final = "message:"
"""Before the key of a message among the keys of answers, for how it came about."""

# The model's name is the one that the endpoint reports, if it does; a call without a reply was answered by no model.
ANSWERED: Final = "coalesce(k.model_returned, CASE WHEN k.raw <> '' THEN k.model_asked END)"
_LISTED: Final = """string_agg(DISTINCT {0} COLLATE "C", '; ' ORDER BY {0} COLLATE "C")"""
CALLED: Final = f"{_LISTED.format('k.endpoint')} AS endpoint, {_LISTED.format(ANSWERED)} AS model"
CALLS: Final = """
    model_calls k JOIN drafts d ON d.id = k.draft_id JOIN cohorts c ON c.id = d.cohort_id
    WHERE c.experiment_id = :experiment_id
"""

# A participant's own arm, or that of the cohort.
ARM: Final = "coalesce(m.treatment_id, c.treatment_id)"
# A thread in private has the arm of its participant, also for the lines of a mediator or of the lab.
ARM_OF_PRIVATE: Final = """(SELECT o.treatment_id FROM members o
    WHERE o.experiment_id = c.experiment_id AND o.path = substr({0}.scope, length('private:') + 1))"""

# A made-up person of a rehearsal is told apart from people.
REHEARSED: Final = "{0}.joining @> '{{\"rehearsed\": true}}'"
PLAYER: Final = f"CASE WHEN x.player = 'person' AND {REHEARSED.format('x')} THEN 'rehearsed' ELSE x.player END"
# Who played the seat when the answer was written: a row says so where that has changed.
_PLAYED: Final = """
    coalesce((SELECT s.player FROM sittings s WHERE s.member_id = x.member_id AND s.since <= x.written_at
        AND (s.until IS NULL OR x.written_at < s.until) ORDER BY s.number LIMIT 1), m.player)
"""
PLAYED: Final = f"""
    (SELECT CASE WHEN p.player = 'person' AND {REHEARSED.format("m")} THEN 'rehearsed' ELSE p.player END
    FROM (SELECT {_PLAYED} AS player) p)
"""
# The cohort of the member when the answer was written: an answer goes along when its author moves.
OF_MOMENT: Final = """
    JOIN cohorts c ON c.id = coalesce((SELECT s.cohort_id FROM stays s WHERE s.member_id = x.member_id
        AND s.entered_at <= x.written_at AND (s.left_at IS NULL OR x.written_at <= s.left_at)
        ORDER BY s.number LIMIT 1), x.cohort_id)
    WHERE c.experiment_id = :experiment_id
"""

ONLY_WHERE_GIVEN: Final[Mapping[str, tuple[str, ...]]] = {"matches": ("kind",), "messages": ("process",)}
"""Columns of sections that a row has only with a value."""
SECTIONS: Final[Mapping[str, str]] = {
    "treatments": f"""
        SELECT x.id AS treatment, x.levels, x.resolved FROM treatments x
        WHERE x.experiment_id = :experiment_id ORDER BY {by("x.id")}
    """,
    "cohorts": f"""
        SELECT x.id AS cohort_id, x.path AS cohort_path, x.name AS cohort, x.treatment_id AS treatment, x.allocated,
            x.variables, x.status, x.locked, x.alone, x.created_at, x.ended_at
        FROM cohorts x WHERE x.experiment_id = :experiment_id ORDER BY {by("x.path")}
    """,
    "variables": f"""
        SELECT c.path AS cohort_path, c.name AS cohort, {ARM} AS treatment, m.path AS member_path,
            CASE WHEN m.id IS NOT NULL THEN 'participant' WHEN v.value ->> 'draw' LIKE c.path || '/%' THEN 'cohort'
                ELSE 'experiment' END AS scope,
            v.key AS name, v.value -> 'value' AS value, v.value ->> 'draw' AS draw
        FROM (
            SELECT c.id AS cohort_id, CAST(NULL AS uuid) AS member_id, c.assigned FROM cohorts c
            WHERE c.experiment_id = :experiment_id
            UNION ALL SELECT m.cohort_id, m.id, m.assigned FROM members m WHERE m.experiment_id = :experiment_id
        ) x JOIN cohorts c ON c.id = x.cohort_id LEFT JOIN members m ON m.id = x.member_id
            CROSS JOIN LATERAL jsonb_each(x.assigned) v
        ORDER BY {by("c.path")}, m.path IS NOT NULL, {by("m.path", "v.key")}
    """,
    "members": f"""
        SELECT x.id AS member_id, x.path, c.id AS cohort_id, c.path AS cohort_path, c.name AS cohort,
            coalesce(x.treatment_id, c.treatment_id) AS treatment, x.allocated, x.kind, {PLAYER} AS player, x.profile,
            x.own_name,
            x.agent_config AS agent, x.status,
            x.status_reason, x.stage_ids AS stages, x.position, x.seat, x.is_test, x.joining, x.added_by, x.created_at,
            x.joined_at, x.arrived_at, x.ended_at
        FROM members x {OF_COHORT} ORDER BY {by("x.path")}
    """,
    "stages": f"""
        SELECT c.path AS cohort_path, x.stage_id AS stage, x.audience, x.draws, x.result, x.unlocked_at, x.ended_at
        FROM cohort_stages x {OF_COHORT} ORDER BY {by("c.path", "x.stage_id")}
    """,
    "waits": f"""
        SELECT c.path AS cohort_path, x.stage_id AS stage, x.over_at, x.outcome
        FROM waits x {OF_COHORT} ORDER BY {by("c.path", "x.stage_id")}
    """,
    "matches": """
        SELECT c.path AS cohort_path, r.stage_id AS stage, x.number, c.treatment_id AS treatment, c.allocated,
            ARRAY(SELECT m.path FROM unnest(x.people) WITH ORDINALITY AS p(id, place) JOIN members m ON m.id = p.id
                ORDER BY p.place) AS people,
            x.kind, x.made_at, x.began_at, x.given_back_at
        FROM matches x JOIN rooms r ON r.id = x.room_id JOIN cohorts c ON c.id = x.cohort_id
        WHERE c.experiment_id = :experiment_id ORDER BY r.stage_id, x.number
    """,
    "stays": f"""
        SELECT m.path AS member_path, x.number, s.path AS cohort_path, x.entered_at, x.left_at
        FROM stays x JOIN members m ON m.id = x.member_id JOIN cohorts s ON s.id = x.cohort_id
        WHERE m.experiment_id = :experiment_id ORDER BY {by("m.path")}, x.number
    """,
    "sittings": f"""
        SELECT m.path AS member_path, x.number, x.player, x.persona, x.since, x.until
        FROM sittings x JOIN members m ON m.id = x.member_id JOIN cohorts c ON c.id = m.cohort_id
        WHERE c.experiment_id = :experiment_id ORDER BY {by("m.path")}, x.number
    """,
    "views": f"""
        SELECT m.path AS member_path, x.opened_by, x.created_at, x.expires_at, x.uses, x.used_at
        FROM view_tokens x JOIN members m ON m.id = x.member_id
        WHERE m.experiment_id = :experiment_id ORDER BY {by("m.path")}, x.created_at, x.token_hash
    """,
    "attention_checks": f"""
        SELECT m.path AS member_path, x.number, x.sent_by, x.text, x.outcome, x.opened_at, x.closed_at
        FROM attention_checks x JOIN members m ON m.id = x.member_id JOIN cohorts c ON c.id = m.cohort_id
        WHERE c.experiment_id = :experiment_id ORDER BY {by("m.path")}, x.number
    """,
    "answers": f"""
        SELECT m.path AS member_path, x.member_id, {PLAYED} AS player, c.path AS cohort_path, x.stage_id AS stage,
            x.key, x.value, x.valid,
            x.invalid, x.marks, x.revision, x.completed_at, x.written_at
        FROM answers x JOIN members m ON m.id = x.member_id {OF_MOMENT} ORDER BY {by("m.path", "x.stage_id", "x.key")}
    """,
    "unsent_answers": f"""
        SELECT m.path AS member_path, c.path AS cohort_path, x.stage_id AS stage, x.key, x.value, x.outcome, x.saved_at
        FROM partial_answers x JOIN members m ON m.id = x.member_id JOIN cohorts c ON c.id = m.cohort_id
        WHERE c.experiment_id = :experiment_id AND x.outcome IS NOT NULL
        ORDER BY {by("m.path", "x.stage_id", "x.key")}
    """,
    "answer_processes": f"""
        SELECT m.path AS member_path, x.stage_id AS stage, x.key, x.questions, x.recorded_at
        FROM answer_processes x JOIN members m ON m.id = x.member_id
        WHERE m.experiment_id = :experiment_id AND x.key NOT LIKE '{OF_MESSAGE}%'
        ORDER BY {by("m.path", "x.stage_id", "x.key")}
    """,
    "payments": f"""
        SELECT m.path AS member_path, c.path AS cohort_path, x.stage_id AS stage, x.currency, CAST(x.amount AS text) AS
            amount, x.parts, x.paid_at
        FROM payments x JOIN members m ON m.id = x.member_id JOIN cohorts c ON c.id = m.cohort_id
        WHERE c.experiment_id = :experiment_id ORDER BY {by("m.path", "x.stage_id")}
    """,
    "asks": f"""
        SELECT x.path, x.id AS ask_id, c.path AS cohort_path, m.path AS member_path, x.stage_id AS stage, x.key,
            x.generation, x.purpose, x.state, x.reason, x.opened_at, x.closed_at
        FROM asks x JOIN members m ON m.id = x.member_id {OF_COHORT} ORDER BY {by("x.path")}, x.generation
    """,
    "threads": f"""
        SELECT x.path, x.id AS thread_id, c.path AS cohort_path, x.stage_id AS stage, x.scope, x.last_seq,
            x.agent_run, x.clock_ms, x.turn_state, x.held, x.end_reason, x.opened_at, x.ended_at
        FROM threads x {OF_COHORT} ORDER BY {by("x.path")}
    """,
    "messages": f"""
        SELECT t.path AS thread_path, g.seq, g.id AS message_id, t.id AS thread_id, c.path AS cohort_path,
            c.name AS cohort, coalesce({ARM_OF_PRIVATE.format("t")}, {ARM}) AS treatment, t.stage_id AS stage,
            m.path AS author_path, g.member_id AS author_id,
            CASE WHEN g.author_kind = 'person' AND {REHEARSED.format("m")} THEN 'rehearsed' ELSE g.author_kind END
                AS author_kind, m.kind AS author_role,
            coalesce(g.author_name, g.known_as, m.profile ->> 'name') AS author_name, g.text, g.topic,
            q.seq AS reply_to_seq, w.path AS reply_to_author_path, {EXCERPT} AS reply_to_text,
            g.reply_to AS reply_to_id, coalesce({_REACTED}, '{{}}') AS reactions, g.audience AS audience_ids,
            g.trigger_key AS trigger_id,
            o.seq AS trigger_seq, g.explanation, k.endpoint, k.model, g.elapsed_ms, g.created_at,
            h.questions -> '' AS process
        FROM messages g JOIN threads t ON t.id = g.thread_id JOIN cohorts c ON c.id = t.cohort_id
            LEFT JOIN members m ON m.id = g.member_id LEFT JOIN messages q ON q.id = g.reply_to
            LEFT JOIN members w ON w.id = q.member_id LEFT JOIN drafts d ON d.message_id = g.id
            LEFT JOIN answer_processes h ON h.member_id = g.member_id AND h.stage_id = t.stage_id
                AND h.key = '{OF_MESSAGE}' || g.client_key
            LEFT JOIN messages o ON o.id
                = CASE WHEN g.trigger_key LIKE 'message:%' THEN CAST(substr(g.trigger_key, 9) AS uuid) END
            LEFT JOIN LATERAL (
                SELECT k.endpoint, {ANSWERED} AS model FROM model_calls k WHERE k.draft_id = d.id
                    AND k.part = ''
                ORDER BY k.attempt DESC LIMIT 1
            ) AS k ON true
        WHERE c.experiment_id = :experiment_id ORDER BY {by("t.path")}, g.seq
    """,
    "reactions": f"""
        SELECT t.path AS thread_path, g.seq AS message_seq, m.path AS member_path, x.reaction, x.message_id,
            x.reacted_at
        FROM reactions x JOIN messages g ON g.id = x.message_id JOIN threads t ON t.id = g.thread_id
            JOIN cohorts c ON c.id = t.cohort_id JOIN members m ON m.id = x.member_id
        WHERE c.experiment_id = :experiment_id ORDER BY {by("t.path")}, g.seq, {by("m.path")}, x.reaction
    """,
    "drafts": f"""
        SELECT x.path, x.id AS draft_id, c.path AS cohort_path, m.path AS member_path, x.stage_id AS stage,
            t.path AS thread_path, a.path AS ask_path, x.trigger_key AS trigger_id, x.wave, x.as_of_seq, x.purpose,
            x.provider, x.state, x.reason, x.reply, x.ready_to_end, x.message_id, x.finish_ms,
            (SELECT count(*) FROM model_calls k WHERE k.draft_id = x.id) AS attempts,
            x.not_before AS not_before_at, x.due_at, x.created_at, x.closed_at
        FROM drafts x JOIN members m ON m.id = x.member_id
            LEFT JOIN threads t ON t.id = x.thread_id LEFT JOIN asks a ON a.id = x.ask_id
        {OF_COHORT} ORDER BY {by("x.path")}
    """,
    "trigger_log": f"""
        SELECT t.path AS thread_path, g.seq AS message_seq, x.trigger_key AS trigger_id, m.path AS member_path,
            d.path AS draft_path, x.message_id, x.claimed_at
        FROM trigger_log x JOIN threads t ON t.id = x.thread_id JOIN cohorts c ON c.id = t.cohort_id
            JOIN members m ON m.id = x.member_id JOIN drafts d ON d.id = x.draft_id
            JOIN messages g ON g.id = x.message_id
        WHERE c.experiment_id = :experiment_id ORDER BY {by("t.path")}, g.seq
    """,
    # The prompts are put together after the rows are sorted, which would carry them otherwise.
    "model_calls": f"""
        SELECT k.path, k.draft_path, k.cohort_path, k.member_path, k.stage, k.purpose, k.id AS call_id, k.draft_id,
            k.part, k.attempt, k.provider, k.endpoint, {ANSWERED} AS model, k.model_asked, k.model_returned,
            k.model_mode, k.status, k.error, k.tokens_in, k.tokens_out, k.cost, k.settings, k.prompt_hash,
            {PROMPT} AS prompt, k.raw, k.parsed, k.read_as, k.details, k.started_at, k.finished_at
        FROM (
            SELECT k.*, d.path AS draft_path, c.path AS cohort_path, m.path AS member_path, d.stage_id AS stage,
                d.purpose
            FROM model_calls k JOIN drafts d ON d.id = k.draft_id JOIN cohorts c ON c.id = d.cohort_id
                JOIN members m ON m.id = d.member_id
            WHERE c.experiment_id = :experiment_id ORDER BY {by("d.path", "k.part")}, k.attempt
        ) k
    """,
    "timers": f"""
        SELECT x.path, x.id AS timer_id, c.path AS cohort_path, x.purpose, x.generation, x.state, x.remaining_ms,
            x.due_at, x.fired_at
        FROM timers x {OF_COHORT} ORDER BY {by("x.path")}, x.generation
    """,
    "alerts": f"""
        SELECT x.path, x.id AS alert_id, x.type, x.text, x.created_at, x.resolved_at
        FROM alerts x WHERE x.experiment_id = :experiment_id ORDER BY {by("x.path")}
    """,
    "events": f"""
        SELECT c.path AS cohort_path, x.subject, x.type, x.actor, x.cause, x.subject_id, x.payload,
            x.audience AS audience_ids, x.public IS NOT NULL AS is_public, x.stream_seq, x.at
        FROM events x {OF_COHORT} ORDER BY {by("c.path", "x.subject")}, x.stream_seq
    """,
}
"""The tables of the data, in the order of `data.json`, each with its statement."""
