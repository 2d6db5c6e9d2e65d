"""The checker finds what it looks for: each invariant is broken by hand in the data of a small run."""

from functools import partial

import pytest

from shared.db.session import Database
from tests.flows.drain import DrainLab
from tests.storms.checker import DOUBLED, LOST, STUCK, Findings, check, unrecorded
from tests.storms.ledger import Given, Heard, Ledger, Post
from tests.storms.listening import note
from tests.storms.models import Call
from tests.storms.servers import Rows, rows_of

SMALL = """
parley: 1
name: Small
seed: 0
personas: [{id: ada, profile: {name: Ada}}, {id: bob, profile: {name: Bob}}]
stages:
  - {id: talk, kind: group_chat, max_agent_run: 4, time_limit_seconds: 600}
  - {id: page, kind: survey, questions: [{id: why, kind: text, title: Why}]}
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""

BREAKS = {
    "a trigger was answered more than once": """
        UPDATE messages SET trigger_key = (SELECT trigger_key FROM messages WHERE seq = 1) WHERE seq = 2""",
    "a message has not exactly one event": """
        UPDATE events SET payload = payload || '{"id": "other"}' WHERE type = 'message.created'""",
    "a reply was published without its claim": "DELETE FROM trigger_log",
    "a draft's call was recorded as good more than once": """
        INSERT INTO model_calls SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(),
            'attempt', c.attempt + 100))).* FROM model_calls c LIMIT 1""",
    "messages of a conversation have a gap": """
        UPDATE messages SET seq = seq + 100 WHERE seq = (SELECT max(seq) FROM messages)""",
    "a conversation has other messages than it counted": "UPDATE threads SET last_seq = last_seq + 1",
    "a stream has a gap": "DELETE FROM events WHERE stream_seq = 2",
    "a claim has no message": "UPDATE trigger_log SET message_id = gen_random_uuid()",
    "an answered ask has no answer": "DELETE FROM answers",
    "a draft is open": "UPDATE drafts SET state = 'wanted', message_id = NULL",
    "an ask is open": "UPDATE asks SET state = 'open'",
    "a timer is armed or held": """
        INSERT INTO timers (id, path, cohort_id, purpose, due_at)
        SELECT gen_random_uuid(), 'timer', id, 'conversation', now() FROM cohorts""",
    "a conversation is open": "UPDATE threads SET ended_at = NULL",
    "a hint waits": """
        INSERT INTO outbox (queue, type, subject_id, correlation, created_at) VALUES ('q', 't', 's', '', now())""",
    "a cohort is not settled": "UPDATE streams SET unsettled = settled + 1",
    "a member is neither at an end nor out": "UPDATE members SET status = 'in_progress'",
    "an experiment goes on": "UPDATE experiments SET status = 'running'",
}


@pytest.fixture
async def rows(database: Database, database_url: str) -> Rows:
    """The data of a small run that has ended well."""
    lab = DrainLab(database)
    await lab.start(SMALL)
    await lab.drain()
    await lab.rows("DELETE FROM outbox RETURNING id")
    return partial(rows_of, database_url)


def names(found: Findings) -> set[str]:
    return {*found.lost, *found.doubled, *found.stuck}


def test_every_invariant_is_broken_by_hand() -> None:
    assert set(BREAKS) == {*DOUBLED, *LOST, *STUCK}


async def test_a_run_that_has_ended_well_has_no_findings(rows: Rows) -> None:
    assert not await check(rows, Ledger())


@pytest.mark.parametrize("name", BREAKS)
async def test_what_is_broken_is_found(rows: Rows, name: str) -> None:
    await rows(BREAKS[name])

    assert name in names(await check(rows, Ledger()))


async def test_what_clients_were_told_and_is_not_there_is_lost(rows: Rows) -> None:
    (first,) = await rows(
        "SELECT cohort_id, min(stream_seq) AS seq FROM events WHERE type = 'message.created' GROUP BY 1"
    )
    cohort_id, seq = str(first["cohort_id"]), first["seq"]
    ledger = Ledger(
        posts=[Post("no-id", "no-one", "1", "Hello?")],
        answers=[Given("no-one", "page", "")],
        streams=[Heard("no-one", cohort_id, seq - 1, seq)],
    )

    assert set((await check(rows, ledger)).lost) == {
        "an accepted message is lost",
        "an accepted answer is lost",
        "a message is missing on a live stream",
    }


async def test_a_stream_that_tells_a_message_again_has_doubled_it(rows: Rows) -> None:
    ledger = Ledger(streams=[Heard("no-one", "no-cohort", 0, 3, [3, 3])])

    assert set((await check(rows, ledger)).doubled) == {"a live stream told a message twice, or out of order"}


async def test_a_call_of_which_no_row_tells_is_unrecorded(rows: Rows) -> None:
    recorded, *_ = await rows("SELECT prompt_hash, count(*) FROM model_calls GROUP BY 1")
    calls = [Call(recorded["prompt_hash"]) for _ in range(recorded["count"])]

    assert await unrecorded(rows, calls) == []
    assert len(await unrecorded(rows, [*calls, calls[0]])) == 1


def test_what_was_said_in_a_cohort_while_a_member_was_in_another_one_is_not_missing_on_its_streams() -> None:
    ledger = Ledger()
    heard: list[Heard] = []
    told = (("a:3", ""), ("a:5", "message.created"), ("b:1", ""), ("a:9", ""), ("a:11", "message.created"))

    for place, kind in told:
        note(ledger, heard, "ada", place, kind)

    stays = [(one.cohort_id, one.after, one.until, one.messages) for one in ledger.streams]
    assert stays == [("a", 3, 5, [5]), ("b", 1, 1, []), ("a", 9, 11, [11])]
