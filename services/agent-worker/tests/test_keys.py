"""A refused key costs time but no member: it is paused and tried by one call at a time; a first call goes alone."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.drafts.called_keys import forget, waiting_for_keys
from parley_lab.experiments.reviving import retry_failed
from parley_lab.members.alerts import raise_alert
from parley_lab.store.session import Database, Session
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply
from tests.flows.drain import DrainLab, all_but_one
from tests.flows.test_statements import only_steps

pytestmark = pytest.mark.postgres

Data = dict[str, Any]

SURVEY = """
parley: 1
name: A question
seed: 0
model_mode: real
personas:
  - {{id: ada, profile: {{name: Ada}}, model: {{provider: openai, model: gpt-4.1-mini}}}}
  - {{id: bad, profile: {{name: Bad}}, model: {{provider: openai, model: gpt-4.1-mini}}, text: refuse me}}
  - {{id: other, profile: {{name: Other}}, model: {{provider: openai, model: gpt-4.1}}}}
stages:
  - {{id: q, kind: survey, questions: [{{id: view, kind: scale, title: Your view, lower: 1, upper: 7}}]}}
cohorts: [{{seats: [{seats}]}}]
"""
ANSWER = {"view": 4}
REFUSED = {
    401: FakeReply(401, {"error": {"message": "Incorrect API key.", "code": "invalid_api_key"}}),
    403: FakeReply(403, {"error": {"message": "Not for you.", "code": "x"}}),
    429: FakeReply(429, {"error": {"message": "You have no money left.", "code": "insufficient_quota"}}),
}


def seats(**counts: int) -> str:
    return ", ".join(f"{{persona: {persona}, count: {count}}}" for persona, count in counts.items())


class Rehearsed:
    """A lab whose endpoint answers what a test says."""

    def __init__(self, database: Database, endpoint: FakeEndpoint) -> None:
        self.lab = DrainLab(database)
        self.endpoint = endpoint
        self.model = OpenAIModel(NO_KEYS, base_url=endpoint.base_url)
        self.lab.thinker = self.worker()
        self.experiment_id: Any = None

    def worker(self, **settings: Any) -> Thinker:
        return Thinker(
            database=self.lab.database,
            models={"openai": self.model},
            prompts=self.lab.prompts,
            clock=self.lab.clock,
            settings=WorkerSettings(**settings),
            later=lambda delay, work: self.lab.later.append((delay, work)),
        )

    async def start(self, document: str) -> None:
        self.experiment_id = await self.lab.start(document)
        await self.lab.drain()

    async def wait(self, seconds: int) -> None:
        """Let so much time pass, in which the worker looks after its keys each second, every five, each minute."""
        looks = {*range(5), *range(5, 120, 5), *range(120, seconds, 60), seconds}
        for before, after in pairwise(sorted(look for look in looks if look <= seconds)):
            self.lab.clock.advance(after - before)
            await self.lab.thinker.try_keys()
            await self.lab.drain()

    async def column(self, query: str) -> list[Any]:
        return [row[0] for row in await self.lab.rows(query)]

    async def statuses(self) -> list[str]:
        return await self.column("SELECT status FROM members ORDER BY path")

    async def calls(self) -> int:
        return int((await self.column("SELECT count(*) FROM model_calls"))[0])


@pytest.fixture
async def rehearsed(database: Database) -> AsyncIterator[Rehearsed]:
    async with FakeEndpoint() as endpoint:
        rehearsed = Rehearsed(database, endpoint)
        yield rehearsed
        await rehearsed.model.aclose()


@pytest.mark.parametrize("status", REFUSED)
async def test_three_refusals_in_a_row_pause_the_key_and_no_one_is_lost(rehearsed: Rehearsed, status: int) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[status]
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))

    assert await rehearsed.calls() == 3
    assert await rehearsed.statuses() == ["in_progress"] * 8
    assert await rehearsed.column("SELECT count(*) FROM drafts WHERE waits_for = 'openai'") == [8]
    await rehearsed.wait(95)
    assert await rehearsed.calls() == 6
    rehearsed.endpoint.replies = lambda _body: ANSWER
    await rehearsed.wait(31)

    assert await rehearsed.statuses() == ["completed"] * 8
    assert await rehearsed.calls() == 6 + 8
    assert {row.state for row in await rehearsed.lab.rows("SELECT state FROM drafts")} == {"answered"}


async def test_the_alert_of_a_paused_key_is_raised_again_after_a_commit_that_failed(
    rehearsed: Rehearsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    commit = Session.commit
    raised: list[str] = []

    async def raise_it(session: Session, **alert: Any) -> None:
        raised.append(alert["path"])
        await raise_alert(session, **alert)

    async def fail_once(session: Session) -> Any:
        if raised == raised[:1] != []:
            raised.append("failed")
            raise ConnectionResetError
        return await commit(session)

    monkeypatch.setattr("parley_lab.agent_worker.keys.raise_alert", raise_it)
    monkeypatch.setattr(Session, "commit", fail_once)
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))

    assert "failed" in raised
    assert await rehearsed.column("SELECT count(*) FROM alerts WHERE type = 'key_paused'") == [1]


async def test_what_was_asked_in_vain_before_a_key_was_paused_is_no_repetition_after_it(rehearsed: Rehearsed) -> None:
    rehearsed.lab.thinker = rehearsed.worker(retries_per_minute=0, retry_share=0.0)
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))
    await rehearsed.wait(3)
    rehearsed.endpoint.replies = lambda _body: ANSWER
    await rehearsed.wait(31)

    assert await rehearsed.statuses() == ["completed"] * 8


async def test_who_failed_and_is_asked_again_is_not_held_back_by_what_they_were_asked_before(
    rehearsed: Rehearsed,
) -> None:
    rehearsed.lab.thinker = rehearsed.worker(retries_per_minute=0, retry_share=0.0)
    rehearsed.endpoint.replies = lambda _body: FakeReply(422, {"error": {"message": "no"}})
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))
    failed = await rehearsed.statuses()
    rehearsed.endpoint.replies = lambda _body: ANSWER
    async with rehearsed.lab.database.transaction() as session:
        await retry_failed(session, rehearsed.experiment_id, rehearsed.lab.clock.now())
    await rehearsed.lab.drain()

    assert failed == ["failed"] * 8
    assert await rehearsed.statuses() == ["completed"] * 8


async def test_a_lab_that_begins_anew_ends_the_alerts_of_keys_of_which_it_knows_nothing(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(SURVEY.format(seats=seats(ada=4)))
    async with rehearsed.lab.database.transaction() as session:
        await forget(session, rehearsed.lab.clock.now())

    assert None not in await rehearsed.column("SELECT resolved_at FROM alerts WHERE type = 'key_paused'")


async def test_an_alert_says_which_key_is_paused_why_and_since_when_and_when_it_is_over(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(SURVEY.format(seats=seats(ada=4)))

    ((text, resolved_at),) = await rehearsed.lab.rows("SELECT text, resolved_at FROM alerts")
    assert "openai is paused since 00:00:0" in text
    assert "HTTP 401: " in text
    assert resolved_at is None
    rehearsed.endpoint.replies = lambda _body: ANSWER
    await rehearsed.wait(31)

    assert None not in await rehearsed.column("SELECT resolved_at FROM alerts")


async def test_one_refusal_beside_calls_that_are_accepted_is_that_agents_failure(rehearsed: Rehearsed) -> None:
    def reply(body: Data) -> FakeReply | Data:
        return REFUSED[403] if "refuse me" in str(body["messages"]) else ANSWER

    rehearsed.endpoint.replies = reply
    await rehearsed.start(SURVEY.format(seats=seats(ada=3, bad=1)).replace("count: 1}", "count: 1}, {persona: ada}"))
    await rehearsed.wait(3)

    assert sorted(await rehearsed.statuses()) == ["completed"] * 4 + ["failed"]
    assert await rehearsed.calls() == 5
    ((text,),) = await rehearsed.lab.rows("SELECT text FROM alerts")
    assert "HTTP 403" in text


async def test_a_burst_of_refusals_loses_no_one(rehearsed: Rehearsed) -> None:
    asked: list[int] = []

    def reply(body: Data) -> FakeReply | Data:
        asked.append(len(asked))
        return REFUSED[429] if asked[-1] in (3, 4, 7, 8) else ANSWER

    rehearsed.endpoint.replies = reply
    await rehearsed.start(SURVEY.format(seats=seats(ada=10)))
    await rehearsed.wait(3)

    assert await rehearsed.statuses() == ["completed"] * 10
    assert await rehearsed.calls() == 14


async def test_agents_who_are_refused_twice_while_others_are_accepted_fail(rehearsed: Rehearsed) -> None:
    def reply(body: Data) -> FakeReply | Data:
        return REFUSED[403] if "refuse me" in str(body["messages"]) else ANSWER

    rehearsed.endpoint.replies = reply
    await rehearsed.lab.start(SURVEY.format(seats=seats(bad=2)))
    await only_steps(rehearsed.lab)
    await rehearsed.lab.deliver(rehearsed.lab.hints)
    rehearsed.lab.hints = []
    rehearsed.lab.clock.advance(1)
    await rehearsed.start(SURVEY.format(seats=seats(ada=2)))
    await rehearsed.wait(5)

    assert sorted(await rehearsed.statuses()) == ["completed", "completed", "failed", "failed"]
    assert await rehearsed.calls() == 6


async def test_no_one_at_the_address_pauses_the_key_too(rehearsed: Rehearsed) -> None:
    await rehearsed.endpoint.stop()
    await rehearsed.start(SURVEY.format(seats=seats(ada=5)))
    await rehearsed.wait(65)

    assert await rehearsed.statuses() == ["in_progress"] * 5
    assert set(await rehearsed.column("SELECT status FROM model_calls")) == {"unreachable"}
    assert await rehearsed.calls() == 5


TALK = """
parley: 1
name: A talk
seed: 0
model_mode: real
personas:
  - {id: ada, profile: {name: Ada}, model: {provider: openai, max_attempts: 2}}
  - {id: ben, profile: {name: Ben}, model: {provider: openai, max_attempts: 2}}
stages:
  - {id: talk, kind: group_chat, turn_taking: round}
cohorts: [{seats: [{persona: ada}, {persona: ben}]}]
"""


async def test_in_a_conversation_no_one_waits_for_a_paused_key(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(SURVEY.format(seats=seats(ada=3)))
    await rehearsed.start(TALK)

    drafts = await rehearsed.lab.rows("SELECT state, waits_for FROM drafts WHERE thread_id IS NOT NULL")
    assert drafts
    assert {tuple(row) for row in drafts} == {("failed", None)}


WITH_A_PERSON = """
parley: 1
name: Together
seed: 0
model_mode: real
personas: [{id: ada, profile: {name: Ada}, model: {provider: openai}}]
stages:
  - {id: q, kind: survey, questions: [{id: view, kind: scale, title: Your view, lower: 1, upper: 7}]}
  - {id: later, kind: info, lines: [Later], progress: {wait_for_all: true}}
cohorts: [{seats: [{persona: ada, count: 4}, {open: true}]}]
"""


async def test_a_person_who_waits_for_agents_does_not_wait_for_their_key(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(WITH_A_PERSON)
    assert (await rehearsed.statuses())[:4] == ["in_progress"] * 4
    person, _ = await rehearsed.lab.join(rehearsed.experiment_id)
    await rehearsed.lab.rows(
        "UPDATE members SET position = 1, version = version + 1 WHERE id = :id RETURNING id", id=person
    )
    await rehearsed.wait(31)

    assert "failed" in await rehearsed.statuses()


class Held:
    """Answers that wait until the test lets them go."""

    def __init__(self, answer: FakeReply | Data = ANSWER) -> None:
        self.answer = answer
        self.is_asked = asyncio.Event()
        self.go = asyncio.Event()
        self.asked: list[str] = []

    async def __call__(self, body: Data) -> FakeReply | Data:
        self.asked.append(body["model"])
        self.is_asked.set()
        await self.go.wait()
        return self.answer


async def at_once(workers: list[Thinker], drafts: list[Any], held: Held) -> list[str]:
    """Hand every draft to every worker at the same time; returns what was asked while the first call was held."""
    works = [asyncio.create_task(worker.work_on(draft)) for worker in workers for draft in drafts]
    try:
        async with asyncio.timeout(60):
            await held.is_asked.wait()
            await all_but_one(works)
        return list(held.asked)
    finally:
        # However the test ends, no work goes on with its connection when the next one begins.
        held.go.set()
        await asyncio.gather(*works)


async def wanted(rehearsed: Rehearsed) -> list[Any]:
    """The drafts that a worker may take now."""
    return await rehearsed.column("SELECT id FROM drafts WHERE state = 'wanted' AND waits_for IS NULL")


@pytest.mark.race
async def test_the_first_call_with_a_key_is_alone_no_matter_who_asks(rehearsed: Rehearsed) -> None:
    held = Held()
    rehearsed.endpoint.replies = held
    workers = [rehearsed.worker(first_calls_alone=True) for _ in range(3)]
    rehearsed.lab.thinker = workers[0]
    rehearsed.experiment_id = await rehearsed.lab.start(SURVEY.format(seats=seats(ada=8, other=8)))
    await only_steps(rehearsed.lab)

    asked_alone = await at_once(workers, await wanted(rehearsed), held)
    await rehearsed.lab.drain()

    assert len(asked_alone) == 1
    assert await rehearsed.statuses() == ["completed"] * 16
    assert await rehearsed.calls() == len(held.asked) == 16


@pytest.mark.race
async def test_when_the_first_call_is_refused_nothing_else_is_asked(rehearsed: Rehearsed) -> None:
    held = Held(REFUSED[401])
    rehearsed.endpoint.replies = held
    workers = [rehearsed.worker(first_calls_alone=True) for _ in range(3)]
    rehearsed.lab.thinker = workers[0]
    rehearsed.experiment_id = await rehearsed.lab.start(SURVEY.format(seats=seats(ada=8, other=8)))
    await only_steps(rehearsed.lab)

    await at_once(workers, await wanted(rehearsed), held)
    await rehearsed.lab.drain()

    assert len(held.asked) == 1
    assert await rehearsed.statuses() == ["in_progress"] * 16
    assert await rehearsed.column("SELECT status FROM model_calls") == ["auth_error"]
    async with rehearsed.lab.database.transaction() as session:
        (waiting,) = await waiting_for_keys(session, rehearsed.experiment_id)
    assert waiting.gate.is_tried is False
    assert waiting.gate.asked.startswith("c1/m")


@pytest.mark.race
async def test_a_paused_key_is_tried_by_exactly_one_call(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))
    held = Held()
    rehearsed.endpoint.replies = held
    workers = [rehearsed.lab.thinker, *(rehearsed.worker() for _ in range(3))]
    rehearsed.lab.clock.advance(31)

    await asyncio.gather(*(worker.try_keys() for worker in workers))
    drafts = await wanted(rehearsed)
    assert len(drafts) > 1
    asked_alone = await at_once(workers, drafts, held)
    await rehearsed.lab.drain()

    assert len(asked_alone) == 1
    assert await rehearsed.statuses() == ["completed"] * 8


def wait_for(seconds: int, status: int = 429) -> FakeReply:
    error = {"error": {"message": "Enough for today.", "code": "rate_limit_exceeded"}}
    return FakeReply(status, error, {"retry-after": str(seconds)})


@pytest.mark.parametrize("first_calls_alone", [False, True])
@pytest.mark.parametrize("asked_for", [wait_for(1800), wait_for(1800, 503)])
async def test_a_long_wait_pauses_the_key_with_an_alert_and_no_one_is_lost(
    rehearsed: Rehearsed, first_calls_alone: bool, asked_for: FakeReply
) -> None:
    rehearsed.lab.thinker = rehearsed.worker(first_calls_alone=first_calls_alone)
    rehearsed.endpoint.replies = lambda _body: ANSWER if len(rehearsed.endpoint.calls) == 1 else asked_for
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))
    await rehearsed.wait(20)

    calls = await rehearsed.calls()
    assert sorted(set(await rehearsed.statuses())) == ["completed", "in_progress"]
    (alert,) = await rehearsed.column("SELECT text FROM alerts")
    until = rehearsed.lab.clock.now() + timedelta(seconds=1780)
    assert alert.startswith(f"openai is waiting until {until:%H:%M} UTC, as its provider asks: HTTP")
    assert "Enough for today." in alert

    await rehearsed.wait(1700)
    assert await rehearsed.calls() == calls
    rehearsed.endpoint.replies = lambda _body: wait_for(1) if len(rehearsed.endpoint.calls) == calls + 1 else ANSWER
    await rehearsed.wait(115)

    assert await rehearsed.statuses() == ["completed"] * 8
    assert await rehearsed.column("SELECT resolved_at IS NOT NULL FROM alerts") == [True]


async def test_a_wait_of_seconds_is_its_drafts_own(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: wait_for(20) if len(rehearsed.endpoint.calls) == 1 else ANSWER
    await rehearsed.start(SURVEY.format(seats=seats(ada=2)))

    assert await rehearsed.statuses() == ["completed"] * 2
    assert await rehearsed.column("SELECT text FROM alerts") == []


def about(body: Data, name: str) -> bool:
    return name in str(body["messages"])


async def test_drafts_take_turns_in_trying_a_paused_key(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[403]
    await rehearsed.start(SURVEY.format(seats=seats(bad=3, ada=2)))
    rehearsed.endpoint.replies = lambda body: REFUSED[403] if about(body, "refuse me") else ANSWER

    await rehearsed.wait(125)

    assert (await rehearsed.statuses()).count("completed") == 2


async def test_a_model_that_is_not_for_this_project_pauses_no_key(rehearsed: Rehearsed) -> None:
    told = {"message": "Project `proj_x` does not have access to model `gpt-4.1`", "code": "model_not_found"}
    refused = FakeReply(403, {"error": told})
    rehearsed.endpoint.replies = lambda body: refused if body["model"] == "gpt-4.1" else ANSWER

    await rehearsed.start(SURVEY.format(seats=seats(other=4, ada=2)))

    assert await rehearsed.column("SELECT count(*) FROM alerts WHERE type = 'key_paused'") == [0]
    assert sorted(await rehearsed.statuses()) == ["completed"] * 2 + ["failed"] * 4


async def test_first_calls_with_models_that_are_refused_do_not_pause_the_key_of_the_others(
    rehearsed: Rehearsed,
) -> None:
    rehearsed.lab.thinker = rehearsed.worker(first_calls_alone=True)
    rehearsed.endpoint.replies = lambda _body: ANSWER
    await rehearsed.start(SURVEY.format(seats=seats(ada=1)))
    refused = FakeReply(400, {"error": {"message": "There is a fault."}})
    rehearsed.endpoint.replies = lambda body: ANSWER if body["model"] == "gpt-4.1-mini" else refused
    for number in range(3):
        await rehearsed.start(SURVEY.format(seats=seats(other=1)).replace("gpt-4.1}", f"gpt-4.1-{number}}}"))

    assert await rehearsed.column("SELECT name FROM gates WHERE paused_at IS NOT NULL ORDER BY 1") == [
        f"openai/gpt-4.1-{number}" for number in range(3)
    ]


@pytest.mark.parametrize("unclear", [None, FakeReply(429, {"error": {"message": "Slower."}}), FakeReply(503, "Later.")])
async def test_a_call_of_a_conversation_that_proves_nothing_leaves_a_paused_key_paused(
    rehearsed: Rehearsed, unclear: FakeReply | None
) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))
    talk = TALK.replace("max_attempts: 2", "max_attempts: 1, timeout_seconds: 0.2")
    rehearsed.endpoint.replies = Held() if unclear is None else lambda _body: unclear
    await rehearsed.start(talk)

    assert await rehearsed.column("SELECT name FROM gates WHERE paused_at IS NOT NULL") == ["openai"]
    assert await rehearsed.column("SELECT count(*) FROM drafts WHERE waits_for = 'openai'") == [8]


@pytest.mark.parametrize("unclear", [FakeReply(429, {"error": {"message": "Slower."}}), FakeReply(503, "Later.")])
async def test_a_try_that_proves_nothing_is_followed_by_one_other_after_half_a_minute(
    rehearsed: Rehearsed, unclear: FakeReply
) -> None:
    rehearsed.endpoint.replies = lambda _body: REFUSED[401]
    await rehearsed.start(SURVEY.format(seats=seats(ada=8)))
    rehearsed.endpoint.replies = lambda _body: unclear
    await rehearsed.wait(65)

    assert await rehearsed.calls() == 3 + 2
    rehearsed.endpoint.replies = lambda _body: ANSWER
    await rehearsed.wait(31)

    assert await rehearsed.statuses() == ["completed"] * 8
