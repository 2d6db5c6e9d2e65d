"""What becomes of replies that cannot be used: asked again with the reason, later, or given up aloud."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from shared.contracts.models import ModelReply, ModelRequest
from shared.db.session import Database
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

SURVEY = """
parley: 1
name: A question
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


async def a_lab(database: Database, model: Scripted) -> tuple[DrainLab, UUID]:
    lab = DrainLab(database, models={"mock": model})
    await lab.start(SURVEY)
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


async def test_an_agent_whose_model_never_answers_as_asked_fails_aloud(database: Database) -> None:
    lab, draft_id = await a_lab(database, Scripted(*[said(view=9)] * 4))

    await lab.thinker.work_on(draft_id)

    assert await calls(lab) == [(number, "invalid") for number in (1, 2, 3, 4)]
    assert await state_of_draft(lab) == "invalid"
    assert [row.status for row in await lab.rows("SELECT status FROM members")] == ["failed"]
    assert len(await lab.rows("SELECT 1 FROM alerts")) == 1
    assert not await lab.rows("SELECT 1 FROM answers")


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


TALK = """
parley: 1
name: A talk
personas: [{id: ada, prompt_token_budget: 1}, {id: bob}]
stages:
  - {id: talk, kind: group_chat, max_agent_run: 6}
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""


async def test_what_a_prompt_leaves_out_is_recorded_with_its_call(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(TALK)

    await lab.drain()

    rows = await lab.rows(
        "SELECT m.path, c.prompt, c.settings FROM model_calls c JOIN drafts d ON d.id = c.draft_id"
        " JOIN members m ON m.id = d.member_id"
    )
    assert {row.path for row in rows if "left_out" in row.settings} == {"c1/m1"}
    assert all("left_out" not in row.settings for row in rows if "left out" not in str(row.prompt))
    for row in rows:
        if "left_out" in row.settings:
            assert f"... {row.settings['left_out']} earlier message" in str(row.prompt)
