"""Failed calls are repeated after 1, 2 and 4 seconds and as providers ask, aloud, and never so that they add up."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import Any

import pytest

from parley_lab.agent_worker.models import Limiter, RetryBudget
from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.contracts.limits import Limit
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.contracts.models import ChatMessage, ModelRequest, ModelSettings
from parley_lab.store.session import Database
from parley_lab.testing.fake_clock import START
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

pytestmark = pytest.mark.postgres

SURVEY = """
parley: 1
name: A question
seed: 0
model_mode: real
personas: [{{id: ada, model: {{provider: openai, model: gpt-4.1-mini, max_attempts: 4}}}}]
stages:
  - {{id: q, kind: survey, questions: [{{id: view, kind: scale, title: Your view, lower: 1, upper: 7}}]}}
cohorts: [{{seats: [{{persona: ada, count: {seats}}}]}}]
"""
ANSWER = {"view": 4}
REQUEST = ModelRequest(
    path="c1/m9/q/call:1",
    seed=1,
    settings=ModelSettings(),
    messages=(ChatMessage(role="user", content="Hello"),),
    reply_schema={"type": "object", "properties": {}},
)


class Rehearsed:
    """A lab whose endpoint answers what a test says, and whose clock says when it was asked."""

    def __init__(self, database: Database, endpoint: FakeEndpoint, **settings: Any) -> None:
        self.lab = DrainLab(database)
        self.endpoint = endpoint
        self.model = OpenAIModel(NO_KEYS, base_url=endpoint.base_url)
        self.asked_at: list[datetime] = []
        self.lab.thinker = Thinker(
            database=database,
            models={"openai": self.model},
            prompts=self.lab.prompts,
            clock=self.lab.clock,
            settings=WorkerSettings(**settings),
            later=lambda delay, work: self.lab.later.append((delay, work)),
        )

    async def run(self, *answers: FakeReply | dict[str, Any], seats: int = 1, for_ever: bool = False) -> None:
        """Answer so, one after another; `for_ever`: the last one again and again."""
        remaining = list(answers)

        def reply(_body: dict[str, Any]) -> FakeReply | dict[str, Any]:
            self.asked_at.append(self.lab.clock.now())
            return remaining[0] if for_ever and len(remaining) == 1 else remaining.pop(0)

        self.endpoint.replies = reply
        await self.lab.start(SURVEY.format(seats=seats))
        await self.lab.drain()

    @property
    def delays(self) -> list[float]:
        return [
            (later - earlier).total_seconds() for earlier, later in zip(self.asked_at, self.asked_at[1:], strict=False)
        ]

    async def statuses(self) -> list[tuple[int, str]]:
        rows = await self.lab.rows("SELECT attempt, status FROM model_calls ORDER BY attempt")
        return [(row.attempt, row.status) for row in rows]

    async def draft(self) -> Any:
        (row,) = await self.lab.rows("SELECT * FROM drafts")
        return row


@pytest.fixture
async def rehearsed(database: Database) -> AsyncIterator[Rehearsed]:
    async with FakeEndpoint() as endpoint:
        rehearsed = Rehearsed(database, endpoint)
        yield rehearsed
        await rehearsed.model.aclose()


def refused(status: int, **headers: str) -> FakeReply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return FakeReply(status, {"error": {"message": "refused", "code": "x"}}, named)


async def test_a_provider_that_is_away_is_asked_again_after_1_2_and_4_seconds(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(503), refused(503), refused(503), ANSWER)

    for delay, expected in zip(rehearsed.delays, (1, 2, 4), strict=True):
        assert 0.75 * expected <= delay <= 1.25 * expected + 0.02
    assert await rehearsed.statuses() == [(1, "unavailable"), (2, "unavailable"), (3, "unavailable"), (4, "ok")]
    assert (await rehearsed.draft()).state == "answered"


async def test_after_three_repetitions_the_call_has_failed_aloud(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(503), for_ever=True)

    assert len(rehearsed.asked_at) == 4
    assert [number for number, _ in await rehearsed.statuses()] == [1, 2, 3, 4]
    assert (await rehearsed.draft()).state == "failed"
    assert len(await rehearsed.lab.rows("SELECT 1 FROM alerts")) == 1


async def test_too_many_requests_are_repeated_with_back_off(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(429), refused(429), ANSWER)

    assert 0.75 <= rehearsed.delays[0] <= 1.25
    assert 1.5 <= rehearsed.delays[1] <= 2.5
    assert await rehearsed.statuses() == [(1, "rate_limited"), (2, "rate_limited"), (3, "ok")]


async def test_a_run_of_too_many_requests_costs_a_page_time_and_no_attempts(rehearsed: Rehearsed) -> None:
    await rehearsed.run(*[refused(429)] * 8, refused(503), refused(503), refused(503), ANSWER)

    assert [status for _, status in await rehearsed.statuses()] == ["rate_limited"] * 8 + ["unavailable"] * 3 + ["ok"]
    draft = await rehearsed.draft()
    assert (draft.state, draft.free_calls) == ("answered", 8)


async def test_too_many_requests_for_a_quarter_of_an_hour_are_given_up(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(429), for_ever=True)

    assert len(rehearsed.asked_at) > 10
    assert sum(rehearsed.delays) <= 900
    draft = await rehearsed.draft()
    assert draft.state == "failed"
    assert "429" in draft.reason


async def test_too_many_requests_are_repeated_no_earlier_than_the_provider_asks(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(429, retry_after="20"), ANSWER)

    (delay,) = rehearsed.delays
    assert 20 < delay <= 20 + 0.25 * 1.25 + 0.02


async def test_a_provider_may_ask_with_a_date(rehearsed: Rehearsed) -> None:
    at = datetime.now(UTC) + timedelta(seconds=50)
    await rehearsed.run(refused(429, retry_after=format_datetime(at, usegmt=True)), ANSWER)

    (delay,) = rehearsed.delays
    assert 40 < delay <= 51


async def test_a_reply_that_came_in_the_end_does_not_say_what_had_failed_before(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(503), ANSWER)

    draft = await rehearsed.draft()
    assert (draft.state, draft.reason) == ("answered", None)


async def test_a_wrong_key_is_three_calls_and_an_alert(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(401), for_ever=True)

    assert await rehearsed.statuses() == [(1, "auth_error"), (2, "auth_error"), (3, "auth_error")]
    assert (await rehearsed.draft()).state == "wanted"
    ((alert,),) = await rehearsed.lab.rows("SELECT text FROM alerts")
    assert "401" in alert


async def test_a_wait_beyond_the_time_for_one_draft_is_waited_for_by_the_key(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(429, retry_after="86400"), for_ever=True)

    assert len(rehearsed.asked_at) == 1
    draft = await rehearsed.draft()
    assert (draft.state, draft.waits_for, draft.free_calls) == ("wanted", "openai", 1)
    assert "429" in draft.reason


async def test_an_outage_adds_no_more_calls_than_the_budget_and_fails_no_one_who_waits(database: Database) -> None:
    """60 agents meet an outage of a minute: without a budget they would make 240 calls and all fail within 9 s."""
    async with FakeEndpoint() as endpoint:
        rehearsed = Rehearsed(database, endpoint, retries_per_minute=10, retry_share=0.2)
        ends_at = rehearsed.lab.clock.now() + timedelta(seconds=60)

        def reply(_body: dict[str, Any]) -> FakeReply | dict[str, Any]:
            now = rehearsed.lab.clock.now()
            rehearsed.asked_at.append(now)
            return ANSWER if now >= ends_at else refused(503)

        endpoint.replies = reply
        await rehearsed.lab.start(SURVEY.format(seats=60))
        await rehearsed.lab.drain()
        await rehearsed.model.aclose()

    during = sum(at < ends_at for at in rehearsed.asked_at)
    states = [row.state for row in await rehearsed.lab.rows("SELECT state FROM drafts")]
    assert 60 < during <= 60 + 10 + 12
    assert states.count("answered") >= 50
    attempts = await rehearsed.lab.rows("SELECT count(*) AS n FROM model_calls")
    assert attempts[0].n == len(rehearsed.asked_at)


async def test_a_draft_that_waits_for_the_budget_is_wanted_and_says_why(rehearsed: Rehearsed) -> None:
    rehearsed.lab.thinker = Thinker(
        database=rehearsed.lab.database,
        models={"openai": rehearsed.model},
        prompts=rehearsed.lab.prompts,
        clock=rehearsed.lab.clock,
        settings=WorkerSettings(retries_per_minute=0, retry_share=0.0),
        later=lambda delay, work: None,
    )
    rehearsed.endpoint.replies = lambda _body: refused(503)
    await rehearsed.lab.start(SURVEY.format(seats=1))
    await only_steps(rehearsed.lab)
    draft_id = (await rehearsed.draft()).id
    await rehearsed.lab.thinker.work_on(draft_id)
    rehearsed.lab.clock.advance(10)

    await rehearsed.lab.thinker.work_on(draft_id)

    draft = await rehearsed.draft()
    assert (draft.state, draft.attempts, len(rehearsed.endpoint.calls)) == ("wanted", 1, 1)
    assert "'openai' failed" in draft.reason
    assert 15 <= (draft.not_before - rehearsed.lab.clock.now()).total_seconds() <= 90


async def test_a_repetition_that_finds_no_room_uses_up_no_budget(rehearsed: Rehearsed) -> None:
    lab = rehearsed.lab
    limits = {"openai": Limit(concurrent_calls=1)}
    ours, theirs = (Limiter(lab.database, lab.clock, limits) for _ in range(2))
    lab.thinker = Thinker(
        database=lab.database,
        models={"openai": rehearsed.model},
        prompts=lab.prompts,
        clock=lab.clock,
        settings=WorkerSettings(retries_per_minute=1, retry_share=0.0, limit_patience_seconds=0),
        later=lambda delay, work: None,
        limiter=ours,
    )
    rehearsed.endpoint.replies = lambda _body: refused(503)
    await lab.start(SURVEY.format(seats=1))
    await only_steps(lab)
    draft_id = (await rehearsed.draft()).id
    await lab.thinker.work_on(draft_id)
    await ours.aclose()
    held = await theirs.admit("openai", REQUEST, patience_seconds=0)
    for _ in range(2):
        lab.clock.advance(5)
        await lab.thinker.work_on(draft_id)
    reason = (await rehearsed.draft()).reason
    held.give_back(None)
    await theirs.aclose()
    lab.clock.advance(5)

    await lab.thinker.work_on(draft_id)
    await ours.aclose()

    assert "limit 'openai'" in reason
    assert len(rehearsed.endpoint.calls) == 2


def test_the_budget_is_a_share_of_the_calls_of_the_last_minute_and_a_least_number() -> None:
    budget = RetryBudget(share=0.2, least_per_minute=3)
    for _ in range(50):
        budget.note_call("openai", START)

    granted = sum(budget.take("openai", START) for _ in range(100))
    other_key = sum(budget.take("anthropic", START) for _ in range(100))
    later = sum(budget.take("openai", START + timedelta(seconds=60)) for _ in range(100))

    assert (granted, other_key, later) == (13, 3, 3)
    assert all(15 <= budget.wait_seconds(Random(seed)) <= 45 for seed in range(50))


def full_context(tokens_out: int = 1) -> FakeReply:
    choice = {"message": {"content": ""}, "finish_reason": "length"}
    return FakeReply(body={"choices": [choice], "usage": {"prompt_tokens": 4095, "completion_tokens": tokens_out}})


async def test_a_prompt_that_leaves_no_room_is_not_asked_again_and_the_answer_is_missing(rehearsed: Rehearsed) -> None:
    await rehearsed.run(full_context(), for_ever=True)

    assert await rehearsed.statuses() == [(1, "too_long")]
    assert (await rehearsed.draft()).state == "invalid"
    (member,) = await rehearsed.lab.rows("SELECT status FROM members")
    assert member.status == "completed"


async def test_a_prompt_that_is_too_long_for_the_endpoint_is_not_asked_again_either(rehearsed: Rehearsed) -> None:
    too_long = FakeReply(400, {"detail": "the maximum context length is 2048 tokens, and 3000 were asked for"})
    await rehearsed.run(too_long, for_ever=True)

    assert await rehearsed.statuses() == [(1, "too_long")]
    (member,) = await rehearsed.lab.rows("SELECT status FROM members")
    assert member.status == "completed"


async def test_the_reason_of_an_unusable_reply_outlasts_a_wait(rehearsed: Rehearsed) -> None:
    await rehearsed.run({"view": 99}, refused(503), refused(429), ANSWER)

    told = [[message["content"] for message in call["messages"]] for call in rehearsed.endpoint.calls]
    assert all("cannot be used" in prompt[-1] for prompt in told[1:])
    assert told[1] == told[2] == told[3]


async def test_a_reply_that_is_lost_in_another_field_is_paid_once(rehearsed: Rehearsed) -> None:
    message = {"content": None, "reasoning_content": "I think that 4 is right."}
    await rehearsed.run(FakeReply(body={"choices": [{"message": message, "finish_reason": "stop"}]}), for_ever=True)

    (call,) = await rehearsed.lab.rows("SELECT status, error, raw, details FROM model_calls")
    assert call.status == "invalid"
    assert "reasoning_content" in call.error
    assert "I think that 4 is right." in call.raw
    assert call.details == {"text": ""}
    assert (await rehearsed.draft()).state == "invalid"


@pytest.mark.parametrize(("seats", "count"), [(2, 0), (3, 1), (5, 1)])
async def test_the_same_refusal_by_several_agents_is_one_alert(rehearsed: Rehearsed, seats: int, count: int) -> None:
    said = {"choices": [{"message": {"content": None, "refusal": "I would rather not."}, "finish_reason": "stop"}]}

    await rehearsed.run(FakeReply(200, said), seats=seats, for_ever=True)

    alerts = await rehearsed.lab.rows("SELECT path, text FROM alerts WHERE type = 'same_refusals'")
    assert [alert.path for alert in alerts] == ["refused:q"] * count
    for alert in alerts:
        assert "3 agents were refused alike on q by gpt-4.1-mini: I would rather not." in alert.text


async def test_members_that_fail_for_other_reasons_are_not_refused_alike(rehearsed: Rehearsed) -> None:
    await rehearsed.run(refused(503), seats=3, for_ever=True)

    assert not await rehearsed.lab.rows("SELECT 1 FROM alerts WHERE type = 'same_refusals'")
