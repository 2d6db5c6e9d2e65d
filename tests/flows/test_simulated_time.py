"""Pace `fast` among agents: how long anything really took does not show in the data."""

from parley_lab.store.session import Database
from tests.flows.drain import DrainLab, empty

LONG_SECONDS = 3600

CHAT = """
parley: 1
name: Simulated
seed: 3
pace: fast
personas: [{id: ada}, {id: bob}, {id: cid}]
stages: [{id: talk, kind: group_chat, time_limit_seconds: 60}]
cohorts: [{seats: [{persona: ada}, {persona: bob}, {persona: cid}]}]
"""
PEOPLE = CHAT.replace("{persona: cid}]", "{open: true}]")


async def the_messages(lab: DrainLab) -> list[object]:
    return await lab.rows("SELECT seq, text, elapsed_ms FROM messages ORDER BY thread_id, seq")


async def test_a_worker_that_is_away_for_long_does_not_end_a_conversation_by_its_time_limit(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(CHAT)
    await lab.drain()
    expected = await the_messages(lab)
    await empty(database)
    slow = DrainLab(database)
    await slow.start(CHAT)

    while slow.hints:
        await slow.deliver(slow.next_hints())
        slow.clock.advance(LONG_SECONDS)
        await slow.fire_timers()

    assert len(expected) > 1
    assert await the_messages(slow) == expected


async def test_people_keep_the_time_limit_of_the_clock(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(PEOPLE)
    await lab.join(experiment_id)

    await lab.drain()

    assert len(await lab.rows("SELECT 1 FROM timers")) == 1
