"""An endpoint is given as many calls at a time as it has shown to carry, and a call that it had no room for is free."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.agent_worker.calling import Calling
from parley_lab.agent_worker.models import Closed, Limiter, Pacer, Place
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.contracts.models import ModelReply, ModelRequest, ModelStatus
from parley_lab.drafts import drafts
from parley_lab.kinds import OwnView
from parley_lab.store.session import Database
from parley_lab.testing.fake_clock import FakeClock
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

HERE = "http://here/v1"


class Calls:
    """Calls of one process to one endpoint, begun and ended by hand."""

    def __init__(self, most: int = 256) -> None:
        self.clock = FakeClock()
        self.pacer = Pacer(self.clock, most=most)
        self._open: list[tuple[AsyncExitStack, Place]] = []

    async def begin(self, number: int = 1) -> None:
        for _ in range(number):
            stack = AsyncExitStack()
            place = await stack.enter_async_context(self.pacer.place(HERE, rank=0, patience_seconds=0))
            self._open.append((stack, place))

    async def end(self, status: ModelStatus) -> bool:
        """End the oldest call so; whether it was crowded."""
        stack, place = self._open.pop(0)
        was_crowded = place.note(ModelReply(status=status), timeout_seconds=120)
        await stack.aclose()
        return was_crowded

    @property
    def in_flight(self) -> int:
        return len(self._open)

    @property
    def allowed(self) -> int:
        return self.pacer._endpoint(HERE).allowed


async def test_quick_replies_raise_the_number_and_slow_ones_do_not() -> None:
    quick, slow = Calls(), Calls()

    for calls, seconds in ((quick, 5), (slow, 61)):
        await calls.begin(calls.allowed)
        calls.clock.advance(seconds)
        await calls.end("ok")

    assert (quick.allowed, slow.allowed) == (10, 8)


async def test_an_endpoint_that_is_not_used_to_the_full_is_not_given_more() -> None:
    calls = Calls()

    for _ in range(20):
        await calls.begin()
        await calls.end("ok")

    assert calls.allowed == 8


async def test_calls_that_time_out_together_halve_the_number_once_and_are_all_free() -> None:
    calls = Calls()
    await calls.begin(8)
    calls.clock.advance(120)

    crowded = [await calls.end("timeout") for _ in range(8)]

    assert crowded == [True] * 8
    assert calls.allowed == 4


async def test_a_call_that_times_out_alone_is_an_attempt_and_changes_nothing() -> None:
    calls = Calls()
    await calls.begin()
    calls.clock.advance(120)

    assert not await calls.end("timeout")
    assert calls.allowed == 8


async def test_after_trouble_the_number_rises_by_one_for_each_round_of_calls() -> None:
    calls = Calls()
    await calls.begin(8)
    await calls.end("rate_limited")
    assert calls.allowed == 4
    while calls.in_flight:
        await calls.end("unavailable")
    calls.clock.advance(1)

    await calls.begin(4)
    for _ in range(5):
        await calls.end("ok")
        await calls.begin()

    assert calls.allowed == 5


async def test_who_waits_goes_in_by_rank_and_is_sent_away_after_its_patience_or_at_the_stop() -> None:
    pacer, entered = Pacer(FakeClock(), most=1), []

    async def wait(name: str, rank: int, patience_seconds: float = 60) -> None:
        async with pacer.place(HERE, rank=rank, patience_seconds=patience_seconds):
            entered.append(name)

    async with pacer.place(HERE, rank=0, patience_seconds=0):
        with pytest.raises(Closed):
            await wait("impatient", 0, patience_seconds=0.01)
        waiting = [asyncio.create_task(wait(name, rank)) for name, rank in (("new", 2), ("talk", 0), ("again", 1))]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    async with pacer.place(HERE, rank=0, patience_seconds=0):
        late = asyncio.create_task(wait("late", 0))
        await asyncio.sleep(0)
        pacer.stop()
        with pytest.raises(Closed):
            await late
    with pytest.raises(Closed):
        await wait("too late", 0)

    assert entered == ["talk", "again", "new"]


@given(st.lists(st.sampled_from(["begin", "ok", "invalid", "timeout", "rate_limited", "break off"]), max_size=200))
def test_whatever_happens_there_is_room_for_one_and_never_for_more_than_the_most(steps: list[Any]) -> None:
    async def run() -> None:
        calls = Calls(most=16)
        for step in steps:
            calls.clock.advance(1)
            if step == "begin":
                try:
                    await calls.begin()
                except Closed:
                    assert calls.in_flight >= calls.allowed
            elif calls.in_flight:
                await calls.end("error" if step == "break off" else step)
            assert 1 <= calls.allowed <= 16
        while calls.in_flight:
            await calls.end("ok")
        await calls.begin()

    asyncio.run(run())


SURVEY = """
parley: 1
name: Questions
seed: 0
model_mode: real
personas: [{{id: ada, model: {{max_attempts: 1}}}}]
stages:
  - id: q
    kind: survey
    ask: independent
    questions: [{questions}]
cohorts: [{{seats: [{{persona: ada}}{people}]}}]
"""


class SlowAtFirst:
    """A model whose first calls time out, all of them in flight together, and the lab that asks it."""

    def __init__(self, database: Database) -> None:
        self.lab = DrainLab(database, models={"openai": self}, together=50)
        self._slow = self._asked = 0
        self._are_all_in = asyncio.Event()

    async def reply(self, request: ModelRequest) -> ModelReply:
        self._asked += 1
        if self._asked > self._slow:
            assert request.reply_schema is not None
            (name,) = request.reply_schema["properties"]
            return ModelReply(status="ok", parsed={name: 4})
        if self._asked == self._slow:
            self._are_all_in.set()
        await self._are_all_in.wait()
        return ModelReply(status="timeout", error="no reply")

    async def aclose(self) -> None:
        """Nothing is open."""

    async def run(self, *, questions: int, slow: int, with_a_person: bool = False) -> list[Any]:
        """The answers, after the first `slow` calls have timed out."""
        self._slow = slow
        written = ", ".join(f"{{id: q{number}, kind: scale, title: Well}}" for number in range(questions))
        people = ", {open: true}" if with_a_person else ""
        experiment_id = await self.lab.start(SURVEY.format(questions=written, people=people))
        if with_a_person:
            await self.lab.join(experiment_id)
        await self.lab.drain()
        return await self.lab.rows("SELECT value FROM answers WHERE key = ''")


@pytest.fixture
def slow(database: Database) -> SlowAtFirst:
    return SlowAtFirst(database)


@pytest.mark.postgres
async def test_calls_that_an_endpoint_had_no_room_for_use_up_no_attempt(slow: SlowAtFirst) -> None:
    pages = await slow.run(questions=8, slow=8)

    assert [page.value for page in pages] == [{f"q{number}": 4 for number in range(8)}]
    calls = await slow.lab.rows("SELECT status, count(*) AS n FROM model_calls GROUP BY 1 ORDER BY 1")
    assert [(call.status, call.n) for call in calls] == [("ok", 8), ("timeout", 8)]


@pytest.mark.postgres
async def test_a_call_that_timed_out_alone_is_an_attempt(slow: SlowAtFirst) -> None:
    await slow.run(questions=1, slow=1)

    assert [row.status for row in await slow.lab.rows("SELECT status FROM members")] == ["failed"]


@pytest.mark.postgres
async def test_where_a_person_waits_every_time_out_is_an_attempt(slow: SlowAtFirst) -> None:
    await slow.run(questions=8, slow=8, with_a_person=True)

    rows = await slow.lab.rows("SELECT player, status FROM members ORDER BY player")
    assert [(row.player, row.status) for row in rows] == [("agent", "failed"), ("person", "in_progress")]


class OneAtATime:
    """A model that notes who asked, and answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request.path)
        await self.may_answer.wait()
        return ModelReply(status="ok", parsed={})

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.mark.postgres
async def test_a_call_for_which_a_person_waits_has_the_next_place_at_the_endpoint(database: Database) -> None:
    lab, model = DrainLab(database), OneAtATime()
    questions = ", ".join(f"{{id: q{number}, kind: text, title: Q}}" for number in range(4))
    await lab.start(SURVEY.format(questions=questions, people=""))
    await only_steps(lab)
    now = lab.clock.now()
    calling = Calling(
        models={"openai": model},
        limiter=Limiter(database, lab.clock, {}),
        clock=lab.clock,
        settings=WorkerSettings(prefetch=1),
        look=no_one_looks,
        goes_on=yes,
        take_call=yes,
        note_alone=yes_for_both,
    )
    leased = []
    for row in await lab.rows("SELECT id FROM drafts ORDER BY path"):
        async with database.transaction() as session:
            lease = await drafts.lease(session, row.id, uuid4(), now, now + timedelta(minutes=1))
        assert lease is not None
        leased.append((lease, await lab.prompts.build(row.id)))

    async def call(number: int, how_urgent: Urgency) -> None:
        lease, prompt = leased[number]
        urgency.set(how_urgent)
        await calling.attempt(lease, prompt, prompt.messages, 1, looked_at=monotonic())

    calls = []
    for number in range(4):
        calls.append(asyncio.create_task(call(number, Urgency.PERSON if number == 3 else Urgency.BACKGROUND)))
        await asyncio.sleep(0)
    model.may_answer.set()
    await asyncio.gather(*calls)

    called = [path.rpartition("/")[0] for path in model.asked]
    assert called == [leased[number][0].path for number in (0, 3, 1, 2)]


async def no_one_looks(_: drafts.Lease) -> OwnView:
    raise AssertionError("answers to questions of a page are checked against nothing")


async def yes(_: object) -> bool:
    return True


async def yes_for_both(_: object, __: object) -> bool:
    return True


def test_the_most_calls_of_an_endpoint_are_those_that_the_worker_takes() -> None:
    assert Pacer(FakeClock(), most=WorkerSettings(prefetch=2).prefetch)._endpoint(HERE).allowed == 2
