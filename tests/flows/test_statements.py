"""How many statements the hot paths send: a number that only grows on purpose."""

from typing import Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.agent_worker.keys import Pass
from parley_lab.agent_worker.steps import take_step
from parley_lab.store.session import Database
from parley_lab.talk.posting import post_message
from parley_lab.testing.statements import counted
from tests.flows.drain import DrainLab

CHAT_REPLY = 9
AGENT_PAGE = 11
TRANSITION = 7

ROOM = """
parley: 1
name: A room
seed: 0
pace: live
personas: [{id: ada}, {id: bob}]
stages: [{id: talk, kind: group_chat, max_agent_run: 1}]
cohorts: [{seats: [{open: true}, {persona: ada}, {persona: bob}]}]
"""

PAGES = """
parley: 1
name: Pages
seed: 0
personas: [{id: ada}]
stages:
  - {id: one, kind: info, lines: [One.]}
  - {id: two, kind: survey, questions: [{id: q, kind: text, title: Q}]}
  - {id: three, kind: survey, questions: [{id: q, kind: text, title: Q}]}
cohorts: [{seats: [{persona: ada}]}]
"""


_MANY: Final = text(
    """
    WITH said AS (
        INSERT INTO messages (id, thread_id, seq, member_id, author_kind, text, elapsed_ms, created_at)
        SELECT gen_random_uuid(), m.thread_id, n, CASE n % 2 WHEN 0 THEN m.member_id ELSE :person_id END, 'person',
            'Message ' || n, 0, m.created_at - interval '1 day'
        FROM messages m, generate_series(2, 5000) AS n WHERE m.thread_id = :thread_id AND m.seq = 1
    )
    UPDATE threads SET last_seq = 5000 WHERE id = :thread_id
    """
)
_READ: Final = text(
    "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int AS count FROM pg_stat_xact_user_tables"
    " WHERE relname IN ('messages', 'threads', 'events')"
)


async def only_steps(lab: DrainLab) -> None:
    """Handle what is announced, but leave the thinking to the test."""
    drafts = []
    while lab.hints:
        hints = lab.next_hints()
        drafts += [hint for hint in hints if hint.type == "draft.wanted"]
        await lab.deliver([hint for hint in hints if hint.type != "draft.wanted"])
    lab.hints = drafts


async def test_a_chat_reply_takes_few_statements(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(ROOM)
    person_id, _ = await lab.join(experiment_id)
    await only_steps(lab)
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")
    async with database.transaction() as session:
        await post_message(session, thread_id, person_id, "Hello.", lab.clock.now(), client_key="warm")
    await lab.drain()
    async with database.transaction() as session:
        await post_message(session, thread_id, person_id, "Well?", lab.clock.now(), client_key="counted")
    draft = next(hint for hint in lab.hints if hint.type == "draft.wanted")

    with counted() as sent:
        await lab.thinker.work_on(UUID(draft.id))

    replies = await lab.rows("SELECT text FROM messages WHERE author_kind = 'agent'")
    assert len(replies) == 2
    # One more removes the outbox rows, for many replies at once.
    assert len(sent) + 1 <= CHAT_REPLY, sent


@pytest.mark.parametrize("turn_taking", ["race", "select", "round"])
async def test_a_chat_reply_takes_few_statements_no_matter_who_is_asked(database: Database, turn_taking: str) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(ROOM.replace("max_agent_run: 1", f"turn_taking: {turn_taking}"))
    person_id, _ = await lab.join(experiment_id)
    await lab.drain()
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")
    for words in ("Warm.", "Counted."):
        await lab.drain()
        async with database.transaction() as session:
            await post_message(session, thread_id, person_id, words, lab.clock.now(), client_key=words)
    before = await lab.rows("SELECT 1 FROM messages")
    draft = next(hint for hint in lab.hints if hint.type == "draft.wanted")

    with counted() as sent:
        await lab.thinker.work_on(UUID(draft.id))

    assert len(await lab.rows("SELECT 1 FROM messages")) == len(before) + 1
    # One more removes the outbox rows, for many replies at once.
    assert len(sent) + 1 <= CHAT_REPLY, sent


async def test_an_agents_page_and_its_move_take_few_statements(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    ((member_id,),) = await lab.rows("SELECT id FROM members")
    await only_steps(lab)
    first = next(hint for hint in lab.hints if hint.type == "draft.wanted")
    await lab.thinker.work_on(UUID(first.id))
    lab.hints = [hint for hint in lab.hints if hint.id != first.id]
    await only_steps(lab)
    page = next(hint for hint in lab.hints if hint.type == "draft.wanted")
    lab.hints = []

    with counted() as lease_and_prompt:
        lease = await lab.thinker._leases.take(UUID(page.id))
        assert lease is not None
        prompt = await lab.prompts.build(UUID(page.id))
    with counted() as answer:
        await lab.thinker._think(lease, prompt, Pass())

    assert await lab.rows("SELECT 1 FROM members WHERE status = 'completed'")
    assert len(lease_and_prompt) + len(answer) <= AGENT_PAGE, answer
    with counted() as nothing_to_do:
        async with database.transaction() as session:
            await take_step(session, member_id, lab.clock.now())
    assert len(nothing_to_do) <= 3


async def test_a_transition_takes_few_statements(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    ((member_id,),) = await lab.rows("SELECT id FROM members")
    settle = [hint for hint in lab.hints if hint.queue == "orchestrator"]
    await lab.deliver(settle)

    with counted() as sent:
        async with database.transaction() as session:
            await take_step(session, member_id, lab.clock.now())

    assert [row.position for row in await lab.rows("SELECT position FROM members")] == [1]
    assert len(sent) <= TRANSITION, sent


async def _posted(
    database: Database, lab: DrainLab, thread_id: UUID, author: UUID, words: str
) -> tuple[list[str], int]:
    """The statements of a post, and how many rows of conversations they have read."""
    async with database.transaction() as session:
        # The connection may still count what it read before this transaction.
        (before,) = await session.all(_READ, {})
        with counted() as sent:
            await post_message(session, thread_id, author, words, lab.clock.now(), client_key=words)
        (after,) = await session.all(_READ, {})
    return sent, after.count - before.count


async def test_a_post_in_a_thread_of_5000_takes_what_it_takes_in_a_new_one(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(ROOM)
    person_id, _ = await lab.join(experiment_id)
    await lab.drain()
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")
    await _posted(database, lab, thread_id, person_id, "The first.")
    in_a_new_one, few = await _posted(database, lab, thread_id, person_id, "In a new one.")
    async with database.transaction() as session:
        await session.run(text("DELETE FROM messages WHERE seq > 1"), {})
        await session.run(_MANY, {"thread_id": thread_id, "person_id": person_id})
        await session.run(text("ANALYZE messages, threads, events"), {})

    in_a_long_one, many = await _posted(database, lab, thread_id, person_id, "In a long one.")

    assert in_a_long_one == in_a_new_one
    assert few > 0
    # For the limit of posts it looks at the last twenty of its author.
    assert many <= few + 50, "the rows that a post reads do not grow with the thread"
