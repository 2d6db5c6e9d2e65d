"""What becomes of replies that cannot be used: asked again with the reason, later, or given up aloud."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.base.errors import Unavailable
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.contracts.prompts import Prompt
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

SURVEY = """
parley: 1
name: A question
seed: 0
personas: [{id: ada}, {id: bob}]
stages:
  - {id: q, kind: survey, questions: [{id: view, kind: scale, title: Your view, lower: 1, upper: 7}]}
cohorts: [{seats: [{persona: ada}]}]
"""


class Scripted:
    """A model that gives these replies, one after another, and keeps what it was asked."""

    def __init__(self, *replies: ModelReply) -> None:
        self._replies: Iterator[ModelReply] = iter(replies)
        self.requests: list[ModelRequest] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        return next(self._replies)

    async def aclose(self) -> None:
        pass


def said(**parsed: Any) -> ModelReply:
    return ModelReply(status="ok", parsed=parsed, raw=str(parsed), model_returned="scripted")


async def a_lab(database: Database, model: Scripted, survey: str = SURVEY) -> tuple[DrainLab, UUID]:
    lab = DrainLab(database, models={"mock": model})
    await lab.start(survey)
    await only_steps(lab)
    (draft,) = await lab.rows("SELECT id FROM drafts")
    return lab, draft.id


async def calls(lab: DrainLab) -> list[tuple[int, str]]:
    rows = await lab.rows("SELECT attempt, status FROM model_calls ORDER BY attempt")
    return [(row.attempt, row.status) for row in rows]


async def state_of_draft(lab: DrainLab) -> str:
    ((state,),) = await lab.rows("SELECT state FROM drafts")
    return str(state)


async def test_an_answer_out_of_range_is_asked_again_with_the_reason(database: Database) -> None:
    model = Scripted(said(view=9), said(view=4))
    lab, draft_id = await a_lab(database, model)

    await lab.thinker.work_on(draft_id)

    first, second = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert "view" in second.messages[-1].content
    assert await calls(lab) == [(1, "invalid"), (2, "ok")]
    assert [row.value for row in await lab.rows("SELECT value FROM answers")] == [{"view": 4}]


async def test_an_answer_that_stays_invalid_is_missing_and_told_and_the_agent_goes_on(database: Database) -> None:
    lab, draft_id = await a_lab(database, Scripted(*[said(view=9)] * 4))

    await lab.thinker.work_on(draft_id)

    assert await calls(lab) == [(number, "invalid") for number in (1, 2, 3, 4)]
    assert await state_of_draft(lab) == "invalid"
    assert [row.status for row in await lab.rows("SELECT status FROM members")] == ["completed"]
    ((value, invalid, valid),) = await lab.rows("SELECT value, invalid, valid FROM answers")
    assert (value, valid) == ({"view": None}, True)
    assert invalid == {"view": "expected was a whole number from 1 to 7; the last reply said 9"}
    ((alert,),) = await lab.rows("SELECT text FROM alerts")
    assert "view" in alert
    assert "the last reply said 9" in alert


async def test_with_on_invalid_fail_such_an_agent_leaves(database: Database) -> None:
    failing = SURVEY.replace("kind: survey,", "kind: survey, on_invalid: fail,")
    lab, draft_id = await a_lab(database, Scripted(*[said(view=9)] * 4), failing)

    await lab.thinker.work_on(draft_id)

    assert await calls(lab) == [(number, "invalid") for number in (1, 2, 3, 4)]
    assert await state_of_draft(lab) == "invalid"
    assert [row.status for row in await lab.rows("SELECT status FROM members")] == ["failed"]
    assert len(await lab.rows("SELECT 1 FROM alerts")) == 1
    assert not await lab.rows("SELECT 1 FROM answers")


AWAY = ModelReply(status="unavailable", error="HTTP 503", can_retry=False)


@pytest.mark.parametrize(
    ("replies", "status"),
    [
        ((AWAY,), "failed"),
        ((said(view=9), AWAY), "completed"),
        ((ModelReply(status="refused", raw="No.", error="the model refused to answer"),), "completed"),
    ],
    ids=["no reply came", "a reply came before", "a refusal is a reply"],
)
async def test_only_an_agent_of_whom_no_reply_came_at_all_fails(
    database: Database, replies: tuple[ModelReply, ...], status: str
) -> None:
    lab, draft_id = await a_lab(database, Scripted(*replies))

    await lab.thinker.work_on(draft_id)

    assert [row.status for row in await lab.rows("SELECT status FROM members")] == [status]
    assert len(await lab.rows("SELECT 1 FROM alerts")) == 1


async def test_a_refusal_for_too_many_requests_is_tried_again_when_the_provider_says(database: Database) -> None:
    busy = ModelReply(status="rate_limited", retry_after_seconds=7.0, error="HTTP 429")
    model = Scripted(busy, said(view=4))
    lab, draft_id = await a_lab(database, model)

    await lab.thinker.work_on(draft_id)

    ((state, not_before),) = await lab.rows("SELECT state, not_before FROM drafts")
    assert state == "wanted"
    assert (not_before - lab.clock.now()).total_seconds() >= 7.0
    assert len(model.requests) == 1
    await lab.drain()
    assert await calls(lab) == [(1, "rate_limited"), (2, "ok")]
    assert await state_of_draft(lab) == "answered"


async def test_a_wrong_key_is_not_tried_again(database: Database) -> None:
    model = Scripted(ModelReply(status="auth_error", error="HTTP 401"))
    lab, draft_id = await a_lab(database, model)

    await lab.thinker.work_on(draft_id)

    assert len(model.requests) == 1
    assert await state_of_draft(lab) == "failed"
    ((alert,),) = await lab.rows("SELECT text FROM alerts")
    assert "401" in alert


@pytest.mark.parametrize("status", ["unavailable", "timeout"])
async def test_a_provider_that_is_away_is_tried_as_often_as_allowed_and_then_given_up(
    database: Database, status: str
) -> None:
    away = ModelReply.model_validate({"status": status, "error": "away"})
    lab, _ = await a_lab(database, Scripted(*[away] * 4))
    lab.hints = []
    (draft,) = await lab.rows("SELECT id FROM drafts")

    await lab.thinker.work_on(draft.id)
    await lab.drain()

    assert [number for number, _ in await calls(lab)] == [1, 2, 3, 4]
    assert await state_of_draft(lab) == "failed"


LONG_TALK = """
parley: 1
name: A long talk
seed: 0
model_mode: real
personas: [{id: ada, model: {max_attempts: 1}, chat: {max_responses: 1}}]
stages:
  - {id: talk, kind: group_chat}
  - {id: after, kind: survey, questions: [{id: view, kind: scale, title: Your view, lower: 1, upper: 7}]}
cohorts: [{seats: [{persona: ada}]}]
"""


class Forgetful(Scripted):
    """A model that reads so many characters; in the talk it has one thing to say."""

    def __init__(self, longest: int) -> None:
        super().__init__()
        self._longest = longest

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        length = sum(len(message.content) for message in request.messages)
        if length > self._longest:
            return ModelReply(
                status="too_long",
                error=f"This model's maximum context length is {self._longest} tokens, {length} were requested.",
            )
        if "view" in request.reply_schema["properties"]:
            return said(view=4)
        return said(explanation="", shouldRespond=True, response="Good evening.", readyToEndChat=True)


async def long_talk(database: Database, model: Scripted, *, messages: int) -> DrainLab:
    """A talk that has so many messages when its agent is asked."""
    lab = DrainLab(database, models={"openai": model})
    await lab.start(LONG_TALK)
    await only_steps(lab)
    async with database.transaction() as session:
        await session.run(
            text(
                "INSERT INTO messages (id, thread_id, seq, author_kind, text, elapsed_ms, created_at)"
                " SELECT gen_random_uuid(), t.id, t.last_seq + n, 'system', repeat('so ', 40), n, '2026-01-01'"
                " FROM threads t, generate_series(1, :messages) n"
            ),
            {"messages": messages},
        )
        await session.run(text("UPDATE threads SET last_seq = last_seq + :messages"), {"messages": messages})
        await session.run(text("UPDATE drafts SET as_of_seq = as_of_seq + :messages"), {"messages": messages})
    await lab.drain()
    return lab


async def test_a_prompt_that_is_too_long_is_shortened_and_tried_again_without_losing_an_attempt(
    database: Database,
) -> None:
    lab = await long_talk(database, Forgetful(20_000), messages=500)

    calls = await lab.calls()
    by_stage = {name: [call.status for call in calls if call.stage_id == name] for name in ("talk", "after")}
    assert by_stage == {"talk": ["too_long", "ok"], "after": ["too_long", "ok"]}
    for call in calls:
        if call.status == "ok":
            assert call.settings["left_out"] > 300
            assert f"... {call.settings['left_out']} earlier messages left out" in str(call.prompt)
    assert [row.status for row in await lab.rows("SELECT status FROM members")] == ["completed"]
    assert not await lab.rows("SELECT 1 FROM alerts")


async def test_a_call_with_too_long_a_prompt_is_kept_though_no_one_is_there_to_shorten_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, draft_id = await a_lab(database, Forgetful(10))
    build = lab.prompts.build

    async def build_once(draft_id: UUID, token_budget: int | None = None) -> Prompt:
        if token_budget is not None:
            raise Unavailable("The prompt builder is away.")
        return await build(draft_id)

    monkeypatch.setattr(lab.prompts, "build", build_once)

    with pytest.raises(Unavailable):
        await lab.thinker.work_on(draft_id)

    assert await calls(lab) == [(1, "too_long")]
    ((state, free_calls),) = await lab.rows("SELECT state, free_calls FROM drafts")
    assert (state, free_calls) == ("wanted", 1)


async def test_a_prompt_that_nothing_can_shorten_is_given_up(database: Database) -> None:
    lab = await long_talk(database, Forgetful(10), messages=20)

    calls = await lab.rows("SELECT status FROM model_calls")
    assert {call.status for call in calls} == {"too_long"}
    assert len(calls) < 15
    assert await state_of_draft(lab) == "failed"
    ((alert,),) = await lab.rows("SELECT text FROM alerts")
    assert "maximum context length" in alert


TALK = """
parley: 1
name: A talk
seed: 0
personas: [{id: ada, prompt_token_budget: 1}, {id: bob}]
stages:
  - {id: talk, kind: group_chat, max_agent_run: 6}
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""


async def test_what_a_prompt_leaves_out_is_recorded_with_its_call(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(TALK)

    await lab.drain()

    rows = await lab.calls()
    assert {row.member_path for row in rows if "left_out" in row.settings} == {"c1/m1"}
    assert all("left_out" not in row.settings for row in rows if "left out" not in str(row.prompt))
    for row in rows:
        if "left_out" in row.settings:
            assert f"... {row.settings['left_out']} earlier message" in str(row.prompt)
