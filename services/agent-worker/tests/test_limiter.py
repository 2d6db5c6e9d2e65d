"""Several limiters on one database keep to one limit; a draft that finds no room waits without harm."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from parley_lab.agent_worker.models import Closed, Limiter
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.base.clock import Clock, SystemClock
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.contracts.limits import LEASE_SECONDS, RETURN_SECONDS, Demand, Grant, Limit
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings
from parley_lab.drafts import limits as rows
from parley_lab.store.session import Database, Session
from parley_lab.testing.fake_clock import FakeClock
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

pytestmark = pytest.mark.postgres

MakeLimiters = Callable[..., list[Limiter]]


def a_request(text: str = "Hello", **settings: Any) -> ModelRequest:
    return ModelRequest(
        path="c1/m1/talk/call:1",
        seed=1,
        settings=ModelSettings(**settings),
        messages=(ChatMessage(role="user", content=text),),
        reply_schema={"type": "object", "properties": {}},
    )


@pytest.fixture
async def limiters(database: Database) -> AsyncIterator[MakeLimiters]:
    """Makes limiters as so many processes would have them, each with its own lease."""
    async with AsyncExitStack() as stack:

        def make(count: int, clock: Clock, **limits: Any) -> list[Limiter]:
            made = [Limiter(database, clock, {"openai": Limit(**limits)}) for _ in range(count)]
            for limiter in made:
                stack.push_async_callback(limiter.aclose)
            return made

        yield make


@dataclass
class Provider:
    """Counts the calls that are in flight."""

    in_flight: int = 0
    peak: int = 0
    made: int = 0

    async def call(self, limiter: Limiter) -> None:
        permit = await limiter.admit("openai", a_request(), patience_seconds=60)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        self.made += 1
        for _ in range(20):
            await asyncio.sleep(0)
        self.in_flight -= 1
        permit.give_back(ModelReply(status="ok", tokens_in=5, tokens_out=5))


async def test_all_workers_together_have_no_more_calls_in_flight_than_allowed(limiters: MakeLimiters) -> None:
    provider = Provider()
    made = limiters(4, SystemClock(), concurrent_calls=6)

    await asyncio.gather(*(provider.call(limiter) for limiter in made for _ in range(100)))

    assert provider.made == 400
    assert provider.peak == 6
    assert sum(limiter.exchanges for limiter in made) < 200


async def admitted(limiter: Limiter, count: int, request: ModelRequest) -> int:
    """How many of so many calls find room at once; each uses what was estimated."""
    results = await asyncio.gather(
        *(limiter.admit("openai", request, patience_seconds=0) for _ in range(count)), return_exceptions=True
    )
    assert all(isinstance(each, Closed) for each in results if isinstance(each, BaseException))
    permits = [each for each in results if not isinstance(each, BaseException)]
    for permit in permits:
        permit.give_back(None)
    return len(permits)


async def test_all_workers_together_make_no_more_requests_in_a_minute_than_allowed(
    limiters: MakeLimiters, fake_clock: FakeClock
) -> None:
    made = limiters(3, fake_clock, requests_per_minute=60)

    async def everybody() -> int:
        return sum(await asyncio.gather(*(admitted(limiter, 50, a_request()) for limiter in made)))

    first = await everybody()
    fake_clock.advance(45)
    second = await everybody()
    fake_clock.advance(20)
    third = await everybody()

    # What one of them took in advance and did not use comes back; until then it belongs to no worker.
    assert 54 <= first <= 60
    assert first + second <= 60
    assert 54 <= third <= 60


async def test_all_workers_together_use_no_more_tokens_in_a_minute_than_allowed(
    limiters: MakeLimiters, fake_clock: FakeClock
) -> None:
    made = limiters(3, fake_clock, tokens_per_minute=10_000)
    request = a_request("x" * 400, max_tokens=100)

    first = sum(await asyncio.gather(*(admitted(limiter, 40, request) for limiter in made)))
    fake_clock.advance(65)
    second = sum(await asyncio.gather(*(admitted(limiter, 40, request) for limiter in made)))

    assert 40 <= first <= 50
    assert 40 <= second <= 50


async def test_tokens_that_a_call_did_not_use_are_there_for_the_next(
    limiters: MakeLimiters, fake_clock: FakeClock
) -> None:
    (limiter,) = limiters(1, fake_clock, tokens_per_minute=1_000)
    request = a_request("x" * 40, max_tokens=990)
    permit = await limiter.admit("openai", request, patience_seconds=0)
    with pytest.raises(Closed) as closed:
        await limiter.admit("openai", request, patience_seconds=5)

    permit.give_back(ModelReply(status="ok", tokens_in=10, tokens_out=10))
    smaller = a_request("x" * 40, max_tokens=900)
    await limiter.admit("openai", smaller, patience_seconds=0)

    assert closed.value.wait_seconds > 50


def request_of(tokens: int, path: str) -> ModelRequest:
    """A call that is estimated at so many tokens."""
    return a_request("", max_tokens=tokens).model_copy(update={"path": path})


async def test_small_calls_go_on_behind_a_big_one_which_gets_in_after_a_minute(
    limiters: MakeLimiters, fake_clock: FakeClock
) -> None:
    ours, theirs = limiters(2, fake_clock, tokens_per_minute=1_000)
    permit = await ours.admit("openai", request_of(500, "first"), patience_seconds=0)
    permit.give_back(None)
    big = asyncio.create_task(ours.admit("openai", request_of(800, "big"), patience_seconds=300))
    await asyncio.sleep(0)

    small = 0
    for second in range(63):
        small += await admitted(ours, 1, request_of(10, f"ours/{second}")) + await admitted(
            theirs, 1, request_of(10, "theirs")
        )
        assert ours.closed_seconds("openai", "any") == 0 or small >= 18
        fake_clock.advance(1)
    fake_clock.advance(1)
    await admitted(ours, 1, request_of(1, "last"))

    assert 10 <= small <= 20
    async with asyncio.timeout(5):
        (await big).give_back(None)


async def test_a_big_call_that_was_sent_away_finds_its_room_kept(limiters: MakeLimiters, fake_clock: FakeClock) -> None:
    (limiter,) = limiters(1, fake_clock, tokens_per_minute=1_000)
    permit = await limiter.admit("openai", request_of(500, "first"), patience_seconds=0)
    permit.give_back(None)
    with pytest.raises(Closed) as closed:
        await limiter.admit("openai", request_of(800, "big"), patience_seconds=5)
    small = await admitted(limiter, 40, request_of(10, "small"))
    shut = limiter.closed_seconds("openai", "any"), limiter.closed_seconds("openai", "any", "big")
    fake_clock.advance(closed.value.wait_seconds)
    later = await admitted(limiter, 40, request_of(10, "small"))

    permit = await limiter.admit("openai", request_of(800, "big"), patience_seconds=5)
    permit.give_back(None)

    assert closed.value.has_room_then
    assert (small, later) == (20, 20)
    assert shut[0] > 50
    assert shut[1] == 0


async def test_room_is_kept_no_longer_than_a_call_takes_to_come_again(
    limiters: MakeLimiters, fake_clock: FakeClock
) -> None:
    ours, theirs = limiters(2, fake_clock, tokens_per_minute=1_000)
    permit = await ours.admit("openai", request_of(500, "first"), patience_seconds=0)
    permit.give_back(None)
    with pytest.raises(Closed) as closed:
        await ours.admit("openai", request_of(1_000, "big"), patience_seconds=5)
    kept = await admitted(theirs, 10, request_of(10, "small"))
    fake_clock.advance(closed.value.wait_seconds + RETURN_SECONDS + 1)

    assert kept == 0
    assert await admitted(theirs, 100, request_of(10, "small")) > 80


async def test_places_of_a_worker_that_died_come_back_when_its_lease_ends(
    database: Database, limiters: MakeLimiters, fake_clock: FakeClock
) -> None:
    dead, alive = limiters(2, fake_clock, concurrent_calls=3)
    for _ in range(3):
        await dead.admit("openai", a_request(), patience_seconds=0)

    before = await admitted(alive, 3, a_request())
    fake_clock.advance(LEASE_SECONDS)
    after = await admitted(alive, 3, a_request())

    assert (before, after) == (0, 3)
    async with database.transaction() as session:
        ((name, state),) = await rows.states(session)
    assert name == "openai"
    assert isinstance(state, dict)


async def test_a_limit_of_a_model_holds_beside_that_of_its_key(database: Database, fake_clock: FakeClock) -> None:
    limits = {"openai": Limit(concurrent_calls=3), "openai/small": Limit(concurrent_calls=1)}
    limiter = Limiter(database, fake_clock, limits)

    await limiter.admit("openai", a_request(model="small"), patience_seconds=0)
    with pytest.raises(Closed, match="openai/small"):
        await limiter.admit("openai", a_request(model="small"), patience_seconds=0)
    await limiter.admit("openai", a_request(model="large"), patience_seconds=0)
    await limiter.admit("openai", a_request(model="large"), patience_seconds=0)
    with pytest.raises(Closed, match="'openai'"):
        await limiter.admit("openai", a_request(model="large"), patience_seconds=0)
    await limiter.admit("anthropic", a_request(model="anthropic/any"), patience_seconds=0)
    await limiter.aclose()


async def test_a_call_that_was_broken_off_while_it_waited_leaves_no_trace(limiters: MakeLimiters) -> None:
    (limiter,) = limiters(1, SystemClock(), concurrent_calls=1)
    permit = await limiter.admit("openai", a_request(), patience_seconds=60)
    waiting = asyncio.create_task(limiter.admit("openai", a_request(), patience_seconds=60))
    await asyncio.sleep(0)

    waiting.cancel()
    permit.give_back(None)

    assert (await limiter.admit("openai", a_request(), patience_seconds=60)) is not None


async def test_those_who_can_wait_keep_their_place_while_the_line_moves(limiters: MakeLimiters) -> None:
    clock = FakeClock(SystemClock().now())
    (limiter,) = limiters(1, clock, concurrent_calls=1)
    permit = await limiter.admit("openai", a_request(), patience_seconds=0)
    patient = [
        asyncio.create_task(limiter.admit("openai", a_request(), patience_seconds=0, longest_seconds=300))
        for _ in range(3)
    ]
    impatient = await asyncio.gather(limiter.admit("openai", a_request(), patience_seconds=0), return_exceptions=True)

    for each in patient:
        permit.give_back(None)
        permit = await each

    assert isinstance(impatient[0], Closed)


async def test_a_call_for_which_a_person_waits_goes_before_all_for_which_no_one_does(limiters: MakeLimiters) -> None:
    (limiter,) = limiters(1, SystemClock(), concurrent_calls=1)
    permit = await limiter.admit("openai", a_request(), patience_seconds=0)
    order: list[str] = []

    async def call(name: str, how_urgent: Urgency) -> None:
        urgency.set(how_urgent)
        granted = await limiter.admit("openai", a_request(), patience_seconds=60)
        order.append(name)
        granted.give_back(None)

    calls = []
    for name, how_urgent in (
        ("bulk 1", Urgency.BACKGROUND),
        ("bulk 2", Urgency.BACKGROUND),
        ("chat 1", Urgency.PERSON),
        ("chat 2", Urgency.PERSON),
    ):
        calls.append(asyncio.create_task(call(name, how_urgent)))
        await asyncio.sleep(0)
    permit.give_back(None)
    await asyncio.gather(*calls)

    assert order == ["chat 1", "chat 2", "bulk 1", "bulk 2"]


async def test_what_is_taken_under_a_limit_is_behind_no_work_in_the_background(
    limiters: MakeLimiters, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Urgency] = []
    take = rows.take

    async def noting(session: Session, name: str, limit: Limit, demand: Demand, now: float) -> Grant:
        found.append(urgency.get())
        return await take(session, name, limit, demand, now)

    monkeypatch.setattr(rows, "take", noting)
    (limiter,) = limiters(1, SystemClock(), concurrent_calls=1)

    await limiter.admit("openai", a_request(), patience_seconds=0)

    assert set(found) == {Urgency.PERSON}
    assert urgency.get() is Urgency.BACKGROUND


async def test_no_one_waits_for_room_when_the_process_stops(limiters: MakeLimiters) -> None:
    (limiter,) = limiters(1, SystemClock(), concurrent_calls=1)
    held = await limiter.admit("openai", a_request(), patience_seconds=0)
    waiting = asyncio.create_task(limiter.admit("openai", a_request(), patience_seconds=60, longest_seconds=300))
    await asyncio.sleep(0)

    limiter.let_no_one_wait()

    with pytest.raises(Closed):
        await waiting
    with pytest.raises(Closed):
        await limiter.admit("openai", a_request(), patience_seconds=60)
    held.give_back(None)


SURVEY = """
parley: 1
name: Questions
seed: 0
model_mode: real
personas:
  - {id: ada, model: {provider: openai, model: gpt-4.1-mini}}
  - {id: bob, model: {provider: hf-inference, model: free}}
stages:
  - {id: q, kind: survey, questions: [{id: view, kind: scale, title: Your view, lower: 1, upper: 7}]}
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""


class Answers:
    """A model that always answers, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        return ModelReply(status="ok", parsed={"view": 4}, raw="{}", tokens_in=5, tokens_out=5)

    async def aclose(self) -> None:
        pass


async def test_a_draft_without_room_is_put_back_uncounted_and_others_go_on(database: Database) -> None:
    lab = DrainLab(database)
    model = Answers()
    limits = {"openai": Limit(concurrent_calls=1)}
    ours, theirs = Limiter(database, lab.clock, limits), Limiter(database, lab.clock, limits)
    lab.thinker = Thinker(
        database=database,
        models={"openai": model, "hf-inference": model},
        prompts=lab.prompts,
        clock=lab.clock,
        settings=WorkerSettings(limit_patience_seconds=0),
        later=lambda delay, work: lab.later.append((delay, work)),
        limiter=ours,
    )
    await lab.start(SURVEY)
    await only_steps(lab)
    held = await theirs.admit("openai", a_request(), patience_seconds=0)

    for draft in await lab.rows("SELECT id FROM drafts"):
        await lab.thinker.work_on(draft.id)
    waiting = await lab.rows("SELECT provider, state, attempts, lease_owner, reason FROM drafts ORDER BY provider")
    calls_before = model.calls
    held.give_back(None)
    await theirs.aclose()
    await lab.drain()

    assert [(draft.provider, draft.state) for draft in waiting] == [("hf-inference", "answered"), ("openai", "wanted")]
    assert (waiting[1].attempts, waiting[1].lease_owner, calls_before) == (0, None, 1)
    assert "limit 'openai'" in waiting[1].reason
    assert [row.state for row in await lab.rows("SELECT state FROM drafts")] == ["answered", "answered"]
    assert [row.attempt for row in await lab.rows("SELECT attempt FROM model_calls")] == [1, 1]
    await ours.aclose()
