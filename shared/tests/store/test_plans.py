"""Statements that run for every message and page reach their rows by an index, however Postgres guesses.

A connection keeps its plan. One that was made while a lab was new is still used when there are thousands of cohorts.
"""

import pytest
from psycopg import AsyncConnection
from sqlalchemy import TextClause

from parley_lab.answers import answering, going_on, partial_answers
from parley_lab.members import standings
from parley_lab.store.facts import FLUSH
from parley_lab.store.statements import compiled
from parley_lab.talk import posting, said, streams
from parley_lab.talk import stored_changes as changes

FILL = b"""
    SET session_replication_role = replica;
    INSERT INTO streams (cohort_id) SELECT gen_random_uuid() FROM generate_series(1, 400);
    INSERT INTO threads (id, cohort_id, stage_id, scope, path, opened_at)
        SELECT gen_random_uuid(), cohort_id, 'talk', 'group', 'talk', now() FROM streams;
    INSERT INTO members (id, experiment_id, cohort_id, path, kind, player, status, stage_ids, created_at)
        SELECT gen_random_uuid(), gen_random_uuid(), cohort_id, 'm1', 'participant', 'person', 'in_progress', '{}',
            now() FROM streams;
    ANALYZE streams, threads, members;
"""
"""Counters, threads and members without their cohorts: only how many there are matters."""


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        (FLUSH, "streams"),
        (changes._CHANGE, "streams"),
        (answering._ANSWER_SHARED_ASK, "streams"),
        (said._SAID, "streams"),
        (said._SAID, "threads"),
        (said._SAID, "members"),
        (posting._POSTING_UNLOCKED.many, "streams"),
        (posting._POSTING_UNLOCKED.many, "threads"),
        (going_on._GO_ON_QUIETLY, "streams"),
        (going_on._GO_ON_QUIETLY, "members"),
        (partial_answers._SAVE_PAGES, "members"),
        (standings._STANDING_BY_TOKEN.many, "members"),
        (standings._STANDING_BY_TOKEN.many, "streams"),
        (streams._AFTER, "threads"),
    ],
)
async def test_a_hot_statement_reads_no_table_from_end_to_end(
    database_url: str, statement: TextClause, table: str
) -> None:
    query, names = compiled(statement)
    async with await AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(FILL)
        await connection.execute(b"SET plan_cache_mode = force_generic_plan")
        await connection.execute(b"PREPARE one AS " + query)
        found = await connection.execute(b"EXPLAIN EXECUTE one(" + b", ".join([b"NULL"] * len(names)) + b")")
        plan = "\n".join(line for (line,) in await found.fetchall())

    assert f"on {table}" in plan
    assert f"Seq Scan on {table}" not in plan, plan


async def test_a_move_writes_no_index(database_url: str) -> None:
    async with await AsyncConnection.connect(database_url) as connection:
        await connection.execute(
            b"""
            SET LOCAL session_replication_role = replica;
            INSERT INTO members (id, experiment_id, cohort_id, path, kind, player, status, stage_ids, agent_config,
                created_at)
            SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'm1', 'participant', 'agent', 'in_progress',
                ARRAY['a', 'b'], '{}', now()
            """
        )
        for change in (
            b"position = position + 1, version = version + 1, arrived_at = now()",
            b"stepped_version = version",
        ):
            await connection.execute(b"UPDATE members SET " + change)
        found = await connection.execute(b"SELECT pg_stat_get_xact_tuples_hot_updated('members'::regclass)")
        row = await found.fetchone()

    assert row == (2,)
