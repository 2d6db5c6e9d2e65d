"""Turn-taking when everything happens at the same moment: timers and posts, posts and replies, hints in any order."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from random import Random
from uuid import UUID

import pytest

from parley_lab.base.errors import Conflict
from parley_lab.store.session import Database
from parley_lab.talk.posting import post_message
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.test_deliberation import the_data
from tests.flows.test_same_data import TALK, TALKS

SILENT_ROOM = """
parley: 1
name: Silence
seed: 0
pace: live
personas: [{id: ada, mock: {silence: 1}}, {id: bob, mock: {silence: 1}}]
stages: [{id: talk, kind: group_chat, wake_up_after_seconds: 10, minimum_seconds: 100000}]
cohorts: [{seats: [{open: true}, {persona: ada}, {persona: bob}]}]
"""
TURNS = """
parley: 1
name: Turns
seed: 0
pace: live
personas: [{id: ada}, {id: bob}, {id: med}]
stages: [{id: talk, kind: group_chat, turn_taking: round, ready_check_every: 1000, post_limit: null}]
cohorts: [{seats: [{open: true, count: 3}, {persona: ada}, {persona: bob}], mediators: [med]}]
"""
REPETITIONS = 40
IN_ORDER = {name: TALKS[name] for name in sorted(TALKS, key=lambda name: name not in ("race", "round"))}
"""Those for every run come first: who speaks is a race, or goes by turns."""


async def after_a_while(turns_of_the_loop: int, job: Awaitable[object]) -> None:
    for _ in range(turns_of_the_loop):
        await asyncio.sleep(0)
    await job


async def say(lab: DrainLab, thread_id: UUID, person_id: UUID, words: str) -> bool:
    """Whether it could be said."""
    with suppress(Conflict):
        async with lab.database.transaction() as session:
            await post_message(session, thread_id, person_id, words, lab.clock.now(), client_key=words)
        return True
    return False


@pytest.mark.race
async def test_a_wake_up_that_meets_a_message_asks_about_one_of_them_and_each_silence_is_broken_once(
    database: Database,
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(SILENT_ROOM)
    person_id, _ = await lab.join(experiment_id)
    await lab.drain()
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")

    rng = Random(11)
    for number in range(REPETITIONS):
        lab.clock.advance(10)
        before = len(await lab.rows("SELECT 1 FROM timers"))
        await asyncio.gather(
            after_a_while(rng.randrange(40), lab.fire_timers()),
            after_a_while(rng.randrange(40), say(lab, thread_id, person_id, f"Words {number}")),
            after_a_while(rng.randrange(40), lab.fire_timers()),
        )
        await lab.drain()
        # The message began a silence of its own, whichever came first.
        assert len(await lab.rows("SELECT 1 FROM timers")) == before + 1
        assert len(await lab.rows("SELECT 1 FROM timers WHERE state = 'armed'")) == 1

    asked = Counter(row.trigger_key for row in await lab.rows("SELECT trigger_key FROM drafts"))
    assert set(asked.values()) == {2}
    assert len([key for key in asked if key.startswith("message:")]) == REPETITIONS
    assert 0 < len([key for key in asked if key.startswith("idle:")]) < REPETITIONS
    assert {row.state for row in await lab.rows("SELECT state FROM drafts")} <= {"declined", "moved_on"}
    for _ in range(3):
        lab.clock.advance(100)
        await lab.fire_timers()
        await lab.drain()
    assert not await lab.rows("SELECT 1 FROM timers WHERE state = 'armed'")
    assert len(await lab.rows("SELECT 1 FROM timers")) == REPETITIONS + 1


@pytest.mark.race
async def test_in_turns_every_turn_has_one_message_though_all_speak_at_once_all_the_time(database: Database) -> None:
    lab = DrainLab(database, deliveries=2, together=4, rng=Random(7))
    experiment_id = await lab.start(TURNS)
    people = [(await lab.join(experiment_id))[0] for _ in range(3)]
    while not await lab.rows("SELECT 1 FROM threads"):
        await lab.deliver(lab.next_hints())
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")

    said = 0
    for number in range(REPETITIONS):
        attempts = [say(lab, thread_id, person, f"{number}/{person}/{copy}") for person in people for copy in range(2)]
        *spoken, _ = await asyncio.gather(*attempts, lab.deliver(lab.next_hints()))
        said += sum(bool(one) for one in spoken)
    await lab.drain()

    messages = await lab.rows(
        "SELECT g.seq, g.member_id, m.player FROM messages g LEFT JOIN members m ON m.id = g.member_id ORDER BY g.seq"
    )
    turns = await lab.rows(
        "SELECT payload ->> 'whose_turn' AS holder FROM events WHERE type = 'thread.updated' ORDER BY stream_seq"
    )
    spoke = [row for row in messages if row.player is not None]
    assert [row.seq for row in messages] == list(range(1, len(messages) + 1))
    assert len([row for row in spoke if row.player == "person"]) == said > REPETITIONS / 4
    speakers = [str(row.member_id) for row in spoke]
    assert [turn.holder for turn in turns][: len(speakers)] == speakers
    states = Counter(row.state for row in await lab.rows("SELECT state FROM drafts"))
    assert set(states) <= {"published", "declined"}
    calls = await lab.rows("SELECT draft_id FROM model_calls")
    assert len(calls) == len({call.draft_id for call in calls})


@pytest.mark.parametrize("seed", quick_first(range(2), 1))
@pytest.mark.parametrize("talk", quick_first(IN_ORDER.values(), 2), ids=IN_ORDER)
async def test_shuffled_and_doubled_hints_change_nothing_no_matter_who_speaks_when(
    database: Database, talk: str, seed: int
) -> None:
    plain = DrainLab(database)
    await plain.start(TALK.format(talk=talk))
    await plain.drain()
    expected = await the_data(plain)
    await empty(database)
    wild = DrainLab(database, deliveries=2, together=6, rng=Random(seed))
    await wild.start(TALK.format(talk=talk))

    await wild.drain()

    assert await the_data(wild) == expected
    assert [row.status for row in await wild.rows("SELECT status FROM experiments")] == ["ended"]
    assert len(expected["messages"]) > 5
    paid = await wild.rows("SELECT path FROM model_calls")
    assert len(paid) == len({call.path for call in paid})


@pytest.mark.parametrize("talk", quick_first(IN_ORDER.values(), 1), ids=IN_ORDER)
async def test_late_replies_and_quiet_time_change_nothing_among_agents_in_pace_fast(
    database: Database, talk: str
) -> None:
    lab = DrainLab(database)
    await lab.start(TALK.format(talk=talk))
    await lab.drain()
    expected = await the_data(lab)
    await empty(database)
    as_before = DrainLab(database, deliveries=2, together=6, rng=Random(3))
    await as_before.start(TALK.format(talk=f"{talk}, late_replies: dropped, quiet_seconds: 0"))

    await as_before.drain()

    assert await the_data(as_before) == expected
