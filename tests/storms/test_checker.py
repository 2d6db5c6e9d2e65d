"""The checker finds what it looks for: each invariant is broken by hand in the data of a small run."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.storms.checker import DOUBLED, LOST, STUCK, Findings, check, keeps, made_again, stays, was_there
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
        answers=[Given("no-one", "page", "", {})],
        streams=[Heard("no-one", cohort_id, seq - 1, seq)],
    )

    assert set((await check(rows, ledger)).lost) == {
        "an accepted message is lost",
        "an accepted answer is lost",
        "a message is missing on a live stream",
    }


@pytest.fixture
async def ada(rows: Rows) -> Heard:
    """What the stream of a member who has gone through the run has told, when nothing came after it was opened."""
    (row,) = await rows("SELECT id, cohort_id FROM members WHERE path = 'c1/m1'")
    return Heard(str(row["id"]), str(row["cohort_id"]), after=0, until=0)


async def test_what_a_stream_that_stops_has_not_told_is_missing(rows: Rows, ada: Heard) -> None:
    told = await rows("SELECT stream_seq FROM events WHERE type = 'message.created' ORDER BY 1")
    seqs = [row["stream_seq"] for row in told]
    ada.messages, ada.until = seqs[:-1], seqs[-2]

    found = await check(rows, Ledger(streams=[ada]))

    assert len(seqs) > 1
    assert found.lost == {"a message is missing on a live stream": [(ada.member_id, seqs[-1])]}


async def test_a_stream_that_never_told_anything_misses_everything(rows: Rows, ada: Heard) -> None:
    found = await check(rows, Ledger(streams=[ada]))

    assert set(found.lost) == {"a message is missing on a live stream"}


async def test_a_stream_that_was_refused_or_left_has_told_what_it_had_to(rows: Rows, ada: Heard) -> None:
    ada.is_open = False

    assert not await check(rows, Ledger(streams=[ada]))


async def test_a_stream_goes_on_in_the_cohort_in_which_its_member_ends(rows: Rows, ada: Heard) -> None:
    ada.cohort_id = "another"

    found = await check(rows, Ledger(streams=[ada]))

    assert found.lost == {"a live stream stayed behind in another cohort": [ada.member_id]}


async def test_an_answer_that_is_stored_otherwise_is_lost(rows: Rows) -> None:
    (row,) = await rows("SELECT member_id, stage_id, key, value FROM answers LIMIT 1")
    kept = Given(str(row["member_id"]), row["stage_id"], row["key"], row["value"])
    changed = replace(kept, value={**row["value"], "why": "I said something else."})

    assert (await check(rows, Ledger(answers=[kept, changed]))).lost == {"an accepted answer is lost": [changed]}


@pytest.mark.parametrize(
    ("stored", "is_kept"),
    [({"a": 1}, True), ({"a": 1, "valid": True}, True), ({"a": 2}, False), ({"valid": True}, False), (None, False)],
)
def test_a_stage_may_store_more_than_was_given_and_nothing_else(stored: object, is_kept: bool) -> None:
    assert keeps(stored, {"a": 1}) is is_kept


async def test_a_stream_that_tells_a_message_again_has_doubled_it(rows: Rows) -> None:
    ledger = Ledger(streams=[Heard("no-one", "no-cohort", 0, 3, [3, 3])])

    assert set((await check(rows, ledger)).doubled) == {"a live stream told a message twice, or out of order"}


@pytest.fixture
async def calls(rows: Rows) -> list[Call]:
    """The calls of all rows with one prompt, as the endpoint saw them."""
    found = await rows("SELECT prompt_hash, started_at FROM model_calls ORDER BY prompt_hash, started_at")
    return [Call(row["prompt_hash"], at=row["started_at"]) for row in found]


async def test_a_call_of_which_no_row_tells_was_made_again(rows: Rows, calls: list[Call]) -> None:
    lost = Call(calls[0].prompt_hash, at=calls[0].at + timedelta(seconds=5))

    assert await made_again(rows, calls) == []
    assert await made_again(rows, [*calls, lost]) == [lost]


async def test_a_call_recorded_by_a_clock_that_is_an_hour_back_was_made_once(rows: Rows, calls: list[Call]) -> None:
    lost = Call(calls[0].prompt_hash, at=calls[0].at + timedelta(seconds=5))
    await rows("UPDATE model_calls SET started_at = started_at - interval '1 hour'")

    assert await made_again(rows, [*calls, lost]) == [lost]


async def test_a_good_call_whose_draft_got_another_good_one_was_made_again(rows: Rows, calls: list[Call]) -> None:
    await rows(
        """INSERT INTO model_calls SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(),
            'attempt', c.attempt + 100, 'started_at', c.started_at + interval '5 seconds'))).*
        FROM model_calls c ORDER BY prompt_hash, started_at LIMIT 1"""
    )
    later = Call(calls[0].prompt_hash, at=calls[0].at + timedelta(seconds=5))

    assert await made_again(rows, [*calls, later]) == [calls[0]]


A_AND_B = [
    ("member.moved", "a", 3, "talk"),
    ("member.arrived", "b", 2, None),
    ("member.transferred", "a", 6, None),
    ("member.moved", "b", 5, "page"),
    ("member.arrived", "a", 9, None),
    ("member.transferred", "b", 7, None),
]


@pytest.mark.parametrize(
    ("stage_id", "seq", "is_told"),
    [
        ("talk", 2, False),
        ("talk", 4, True),
        ("talk", 8, False),
        ("talk", 10, False),
        ("page", 5, False),
        ("page", 10, True),
    ],
)
def test_who_comes_back_to_a_cohort_is_told_of_the_stage_that_they_are_on(
    stage_id: str, seq: int, is_told: bool
) -> None:
    names = ("type", "cohort_id", "stream_seq", "stage_id")
    moves = [{"member_id": "ada", **dict(zip(names, one, strict=True))} for one in A_AND_B]

    there = stays(moves, {"before"})["ada"]

    assert was_there(there, {"cohort_id": "a", "stage_id": stage_id, "stream_seq": seq}) is is_told


def test_who_is_moved_from_the_first_stage_is_on_it_in_the_other_cohort() -> None:
    moves = [
        {"member_id": "ada", "type": "member.arrived", "cohort_id": "b", "stream_seq": 8, "stage_id": None},
        {"member_id": "ada", "type": "member.transferred", "cohort_id": "a", "stream_seq": 9, "stage_id": None},
    ]

    there = stays(moves, {"talk"})["ada"]

    places = [("a", 5), ("a", 10), ("b", 7), ("b", 9)]
    told = [was_there(there, {"cohort_id": name, "stage_id": "talk", "stream_seq": seq}) for name, seq in places]
    assert told == [True, False, False, True]


def test_what_was_said_in_a_cohort_while_a_member_was_in_another_one_is_not_missing_on_its_streams() -> None:
    ledger = Ledger()
    heard: list[Heard] = []
    told = (("a:3", ""), ("a:5", "message.created"), ("b:1", ""), ("a:9", ""), ("a:11", "message.created"))

    for place, kind in told:
        note(ledger, heard, "ada", place, kind)

    stays = [(one.cohort_id, one.after, one.until, one.messages) for one in ledger.streams]
    assert stays == [("a", 3, 5, [5]), ("b", 1, 1, []), ("a", 9, 11, [11])]
