"""Lost and doubled hints, with people taking part: the rows alone lead to the end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from random import Random
from uuid import UUID

import pytest

from parley_lab.agent_worker.models import Model, build_models
from parley_lab.answers.advancing import end_member, move_on
from parley_lab.answers.page_times import due_members
from parley_lab.base.errors import Conflict, InvalidInput, NotFound, Unavailable
from parley_lab.contracts.hints import Hint
from parley_lab.contracts.lives import Outcome
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.drafts.due_drafts import due_threads
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import settle
from parley_lab.settle.settling import CohortBusy
from parley_lab.settle.watch import find_stuck
from parley_lab.store.session import Database, Session
from parley_lab.talk.conversation import call_off_in_thread, go_on_in_thread
from parley_lab.talk.posting import post_message
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab

CHAOS = """
parley: 1
name: Chaos
seed: {seed}
pace: {pace}
personas:
  - {{id: ada, profile: {{name: Ada}}}}
  - {{id: bob, profile: {{name: Bob}}, chat: {{words_per_minute: 200}}}}
  - id: cid
    profile: {{name: Cid}}
    chat: {{initial_message: Good morning., can_self_trigger: true, max_responses: 4}}
  - {{id: med, profile: {{name: Mia}}}}
stages:
  - {{id: welcome, kind: info, lines: [Welcome.]}}
  - id: before
    kind: survey
    questions: [{{id: view, kind: scale, title: Your view, lower: 1, upper: 7}}]
    progress: {{wait_for_all: {waits}}}
  - id: talk
    kind: group_chat
    time_limit_seconds: {limit}
    max_agent_run: 12
    progress: {{wait_for_all: {waits}}}
    {first}
  - {{id: between, kind: survey, questions: [{{id: why, kind: text, title: Why}}]}}
  - {{id: again, kind: {second}, max_agent_run: 5, progress: {{wait_for_all: {waits}}}}}
  - {{id: after, kind: info, lines: [Bye.]}}
cohorts:
  - count: 2
    seats: [{{persona: ada}}, {{persona: bob}}, {{persona: cid}}, {{open: true}}, {{open: true}}]
    mediators: [med]
"""
OWN_ARMS = """
treatments:
  - {id: warm, leave_out: [welcome], stages: {talk: {description: Warmly.}}, personas: {ada: {text: Be warm.}}}
  - {id: cold, leave_out: [between]}
allocation: {by: participant}
"""
"""Each participant has an own way around the talks."""

TOPICS = "topics: [{id: cost, name: Who pays}, {id: route, name: Where it goes}, {id: night, name: And at night}]"
WAKES = "wake_up_after_seconds: 15\n    max_wake_ups: 2"
FIRST_TALKS = (
    "",
    "turn_taking: race\n    " + WAKES,
    "turn_taking: select\n    ready_check_every: 2",
    "turn_taking: select\n    " + WAKES + "\n    " + TOPICS,
    "turn_taking: round",
    "turn_taking: round\n    minimum_seconds: 10\n    " + TOPICS,
    TOPICS,
)
SECOND_TALKS = (
    "group_chat",
    "group_chat, turn_taking: round",
    "group_chat, turn_taking: select",
    "private_chat",
    "private_chat, time_limit_seconds: 30, min_turns: 1, max_turns: 3",
    "private_chat, turn_based: false",
)

ROUNDS = 150
HINTS_PER_ROUND = 6
ENOUGH_ROUNDS = 3000
QUIET_ROUNDS = 20


class Unreliable:
    """A model that takes its time, and now and then refuses or says nothing of use."""

    def __init__(self, inner: Model, rng: Random) -> None:
        self.paths: list[str] = []
        self._inner = inner
        self._rng = rng

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.paths.append(request.path)
        for _ in range(self._rng.choice((0, 0, 5, 50))):
            await asyncio.sleep(0)
        luck = self._rng.random()
        if luck < 0.03:
            return ModelReply(status="auth_error", error="no")
        if luck < 0.08:
            return ModelReply(status="invalid", raw="zzz", error="no JSON")
        return await self._inner.reply(request)

    async def aclose(self) -> None:
        pass


class Chaos:
    """One experiment in which everything happens at once, in any order, and hints with it or not."""

    def __init__(self, lab: DrainLab, rng: Random, experiment_id: UUID) -> None:
        self._lab = lab
        self._rng = rng
        self._experiment_id = experiment_id
        self._share_lost = rng.choice((0.0, 0.2, 0.6))
        self._people: list[UUID] = []
        self._members: list[UUID] = []
        self._cohorts: list[UUID] = []

    async def let_people_in(self) -> None:
        for _ in range(self._rng.choice((2, 3, 4))):
            self._people.append((await self._lab.join(self._experiment_id))[0])
        self._members = [row.id for row in await self._lab.rows("SELECT id FROM members ORDER BY path")]
        self._cohorts = [row.id for row in await self._lab.rows("SELECT id FROM cohorts ORDER BY path")]

    async def rage(self, *, rounds: int = ROUNDS) -> None:
        for number in range(rounds):
            hints = self._some_hints() * self._rng.choice((1, 2))
            await asyncio.gather(*map(self._handle, hints), *(self._act() for _ in range(3)))
            if number % 20 == 0:
                self._lab.hints += await self._overlooked()

    async def send_people_home(self) -> None:
        for person_id in self._people:
            await _refused(partial(self._take_out, person_id, "left"))
        for seat in await self._lab.rows("SELECT id FROM members WHERE status = 'expected'"):
            await _refused(partial(self._take_out, seat.id, "removed"))

    async def calm_down(self) -> None:
        """Let all processes lose their memory: handle what the watchdog finds until it finds nothing."""
        self._lab.hints.clear()
        self._lab.later.clear()
        quiet = 0
        for _ in range(ENOUGH_ROUNDS):
            self._lab.hints += [hint for hint in await self._overlooked() if hint not in self._lab.hints]
            await self._lab.fire_timers()
            await self._publish_due()
            quiet = 0 if self._lab.hints else quiet + 1
            if quiet > QUIET_ROUNDS:
                return
            self._lab.clock.advance(50 if quiet else 1)
            hints, self._lab.hints = self._lab.hints[:10], self._lab.hints[10:]
            await asyncio.gather(*map(self._handle, hints))
            async with self._lab.database.transaction() as session:
                assert not await find_stuck(session, self._experiment_id)
        raise AssertionError("the lab never comes to rest")

    def _some_hints(self) -> list[Hint]:
        lab = self._lab
        self._rng.shuffle(lab.hints)
        chosen, lab.hints = lab.hints[:HINTS_PER_ROUND], lab.hints[HINTS_PER_ROUND:]
        if self._rng.random() < 0.5:
            # The process that kept this in mind has died.
            lab.later.clear()
        return [hint for hint in chosen if self._rng.random() >= self._share_lost]

    async def _handle(self, hint: Hint) -> None:
        await _refused(partial(self._lab.deliver, [hint]))

    async def _act(self) -> None:
        acts = self._acts()
        (act,) = self._rng.choices([act for _, act in acts], [weight for weight, _ in acts])
        await _refused(act)

    def _acts(self) -> list[tuple[int, Callable[[], Awaitable[object]]]]:
        """What may happen next, each with its weight."""
        return [
            (25, self._say_something),
            (8, self._go_on),
            (4, self._be_done_with_topic),
            (3, self._call_off),
            (2, partial(self._take_out, self._rng.choice(self._members), self._rng.choice(("left", "removed")))),
            (10, partial(self._step, self._rng.choice(self._members))),
            (10, partial(self._settle, self._rng.choice(self._cohorts))),
            (7, self._let_time_pass),
            (13, self._publish_due),
            (25, _nothing),
        ]

    async def _say_something(self) -> None:
        threads = await self._lab.rows("SELECT id FROM threads ORDER BY path")
        if not threads:
            return
        thread_id, person_id = self._rng.choice(threads).id, self._rng.choice(self._people)
        word = str(self._rng.random())
        async with self._lab.database.transaction() as session:
            await post_message(session, thread_id, person_id, word, self._lab.clock.now(), client_key=word)

    async def _go_on(self) -> None:
        async with self._lab.database.transaction() as session:
            standing = await lock_standing(session, self._rng.choice(self._people))
            if standing.is_in_progress and standing.stage is not None and not standing.is_locked:
                await move_on(session, standing, self._lab.clock.now(), cause="test")

    async def _be_done_with_topic(self) -> None:
        topic = self._rng.choice(("cost", "route", "night"))
        await self._in_some_thread(
            lambda session, thread_id, person_id, now: go_on_in_thread(session, thread_id, person_id, topic, now)
        )

    async def _call_off(self) -> None:
        await self._in_some_thread(call_off_in_thread)

    async def _in_some_thread(self, act: Callable[[Session, UUID, UUID, datetime], Awaitable[None]]) -> None:
        threads = await self._lab.rows("SELECT id FROM threads ORDER BY path")
        if not threads:
            return
        thread_id, person_id = self._rng.choice(threads).id, self._rng.choice(self._people)
        async with self._lab.database.transaction() as session:
            await act(session, thread_id, person_id, self._lab.clock.now())

    async def _take_out(self, member_id: UUID, status: Outcome) -> None:
        async with self._lab.database.transaction() as session:
            standing = await lock_standing(session, member_id)
            await end_member(session, standing, status, "for the test", self._lab.clock.now(), cause="test")

    async def _step(self, member_id: UUID) -> None:
        await self._lab.step(member_id)

    async def _settle(self, cohort_id: UUID) -> None:
        await settle(self._lab.database, cohort_id, self._lab.clock.now())

    async def _let_time_pass(self) -> None:
        self._lab.clock.advance(self._rng.choice((1, 5, 20)))
        await self._lab.fire_timers()

    async def _publish_due(self) -> None:
        async with self._lab.database.transaction() as session:
            threads = await due_threads(session, self._lab.clock.now())
            members = await due_members(session, self._lab.clock.now())
        for thread_id in threads:
            await self._lab.thinker.publish_due(thread_id)
        for member_id in members:
            await self._lab.thinker.give_due(member_id)

    async def _overlooked(self) -> list[Hint]:
        return await self._lab.overlooked()


async def _nothing() -> None:
    pass


async def _refused(act: Callable[[], Awaitable[object]]) -> None:
    """Do it, unless the lab says no: that is an answer."""
    with suppress(CohortBusy, Conflict, InvalidInput, NotFound, Unavailable):
        await act()


NOT_ITS_DRAFTS = """
    SELECT g.seq FROM messages g JOIN members m ON m.id = g.member_id JOIN threads t ON t.id = g.thread_id
    JOIN drafts d ON d.message_id = g.id
    WHERE d.state <> 'published' OR d.member_id <> g.member_id OR d.trigger_key <> g.trigger_key
"""


@pytest.mark.parametrize("seed", quick_first((2, 0, 1, 3, 4, 5), 1))
async def test_whatever_happens_every_run_ends_with_all_of_its_data_in_order(database: Database, seed: int) -> None:
    rng = Random(seed)
    model = Unreliable(build_models({})["mock"], rng)
    lab = DrainLab(database, models={"mock": model})
    document = CHAOS.format(
        seed=seed,
        pace=rng.choice(("live", "fast")),
        waits=rng.choice(("true", "false")),
        limit=rng.choice((60, 600)),
        first=FIRST_TALKS[seed % len(FIRST_TALKS)],
        second=SECOND_TALKS[seed // 2 % len(SECOND_TALKS)],
    )
    document += OWN_ARMS if seed % 3 == 0 else ""
    chaos = Chaos(lab, rng, await lab.start(document))
    await chaos.let_people_in()

    await chaos.rage()
    await chaos.send_people_home()
    await chaos.calm_down()

    assert [row.status for row in await lab.rows("SELECT status FROM experiments")] == ["ended"]
    for name, query in WRONG.items():
        assert not await lab.rows(query), name
    assert len(model.paths) == len(set(model.paths)) == len(await lab.rows("SELECT 1 FROM model_calls"))


GOODBYE = "g.author_kind = 'system' AND g.text LIKE '%has left the chat.'"
"""Whose goodbye a line is, its thread says: members may have one name. It keeps the last line of each."""

WRONG = {
    "a draft is open": "SELECT 1 FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')",
    "a conversation is open": "SELECT 1 FROM threads WHERE ended_at IS NULL",
    "a timer is armed": "SELECT 1 FROM timers WHERE state = 'armed'",
    "messages have gaps": "SELECT 1 FROM messages GROUP BY thread_id HAVING count(*) <> max(seq)",
    "events have gaps": "SELECT 1 FROM events GROUP BY cohort_id HAVING count(*) <> max(stream_seq)",
    "a message was answered twice": """
        SELECT 1 FROM messages WHERE trigger_key IS NOT NULL GROUP BY thread_id, trigger_key HAVING count(*) > 1
    """,
    "something was said after the end": """
        SELECT 1 FROM events o JOIN events e ON e.cohort_id = o.cohort_id AND e.stream_seq > o.stream_seq
        WHERE o.type = 'thread.ended' AND e.type = 'message.created' AND e.payload ->> 'thread_id' = o.subject_id::text
    """,
    "a reply is not its draft's": NOT_ITS_DRAFTS,
    "a topic was opened twice": """
        SELECT 1 FROM messages WHERE text LIKE 'The conversation goes on to:%' GROUP BY thread_id, text
        HAVING count(*) > 1
    """,
    "a goodbye was said twice": f"""
        SELECT 1 FROM messages g JOIN threads t ON t.id = g.thread_id WHERE {GOODBYE} AND NOT EXISTS (
            SELECT FROM jsonb_each_text(t.turn_state -> 'left') AS l(member, seq) WHERE CAST(l.seq AS int) = g.seq)
    """,  # noqa: S608 - put together from constants
}
