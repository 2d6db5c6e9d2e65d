"""Five agents answer one message at the same instant, from two processes: the unique claim lets one through."""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.cli import forked
from parley_lab.store.session import Database
from parley_lab.talk.posting import post_message
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.races.claiming import main

SHARES = ((0, 3), (3, 5))

DOCUMENT = """
parley: 1
name: A race
seed: 0
pace: live
personas: [{{id: a}}, {{id: b}}, {{id: c}}, {{id: d}}, {{id: e}}]
stages: [{{id: talk, kind: group_chat, max_agent_run: 1}}]
cohorts:
  - count: {rounds}
    seats: [{{open: true}}, {{persona: a}}, {{persona: b}}, {{persona: c}}, {{persona: d}}, {{persona: e}}]
"""


@contextmanager
def workers(url: str) -> Iterator[list[Connection]]:
    """Two worker processes with connections of their own."""
    context = forked.context()
    pipes, processes = [], []
    for _ in SHARES:
        ours, theirs = context.Pipe()
        process = context.Process(target=main, args=(url, theirs), daemon=True)
        process.start()
        pipes.append(ours)
        processes.append(process)
    yield pipes
    for pipe in pipes:
        pipe.send(None)
    for process in processes:
        process.join(10)


def race(pipes: list[Connection], draft_ids: list[str]) -> None:
    """All five think, wait for each other between the moved-on check and the claim, and then go at once."""
    for pipe, (first, last) in zip(pipes, SHARES, strict=True):
        pipe.send(draft_ids[first:last])
    for word in ("here", "done"):
        for pipe in pipes:
            assert pipe.poll(30), "a worker did not come to the barrier"
            assert pipe.recv() == word
        if word == "here":
            for pipe in pipes:
                pipe.send("go")


async def rooms_with_a_question(lab: DrainLab, rounds: int) -> list[tuple[UUID, list[str]]]:
    """`rounds` conversations in which a person has just asked something, with the drafts of the five agents."""
    experiment_id = await lab.start(DOCUMENT.format(rounds=rounds))
    for _ in range(rounds):
        await lab.join(experiment_id)
    while lab.hints:
        # Settle and step only: what the room would say by itself is not part of this race.
        await lab.deliver([hint for hint in lab.next_hints() if hint.type != "draft.wanted"])
    people = await lab.rows(
        "SELECT m.id, t.id AS thread_id FROM members m JOIN threads t USING (cohort_id) WHERE m.player = 'person'"
    )
    rooms = []
    for person in people:
        async with lab.database.transaction() as session:
            await post_message(session, person.thread_id, person.id, "Well?", lab.clock.now(), client_key="question")
        drafts = await lab.rows(
            "SELECT id FROM drafts WHERE thread_id = :id AND state = 'wanted' AND trigger_key LIKE 'message:%'",
            id=person.thread_id,
        )
        rooms.append((person.thread_id, [str(draft.id) for draft in drafts]))
    return rooms


async def replies(lab: DrainLab, thread_id: UUID) -> int:
    (row,) = await lab.rows(
        "SELECT count(*) AS n FROM messages WHERE thread_id = :id AND author_kind = 'agent'", id=thread_id
    )
    return int(row.n)


@pytest.mark.race
@pytest.mark.parametrize("rounds", quick_first([8, 100], 1))
async def test_five_agents_at_once_give_exactly_one_reply_each_time(
    database: Database, database_url: str, rounds: int
) -> None:
    lab = DrainLab(database)
    rooms = await rooms_with_a_question(lab, rounds)
    counts = []

    with workers(database_url) as pipes:
        for thread_id, draft_ids in rooms:
            assert len(draft_ids) == 5
            race(pipes, draft_ids)
            counts.append(await replies(lab, thread_id))

    assert counts == [1] * rounds
    states = await lab.rows(
        "SELECT state, count(*) AS n FROM drafts WHERE trigger_key LIKE 'message:%' GROUP BY state ORDER BY state"
    )
    assert [(row.state, row.n) for row in states] == [("lost_claim", 4 * rounds), ("published", rounds)]


@pytest.mark.race
async def test_without_the_unique_claim_more_than_one_would_reply(database: Database, database_url: str) -> None:
    lab = DrainLab(database)
    ((thread_id, draft_ids),) = await rooms_with_a_question(lab, 1)
    async with database.transaction() as session:
        await session.run(text("ALTER TABLE trigger_log DROP CONSTRAINT pk_trigger_log"))

    with workers(database_url) as pipes:
        race(pipes, draft_ids)

    assert await replies(lab, thread_id) == 5
