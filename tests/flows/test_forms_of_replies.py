"""Replies in the forms that models write, on a page, in an interview and in a game: a plain meaning counts."""

import json
from typing import Any

import pytest

from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.kinds import PAGE as PAGE_KEY
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import FakeEndpoint
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

PAGE = """
parley: 1
name: Night trams
seed: 5
model_mode: real
stages:
  - id: page
    kind: survey
    questions:
      - { id: trams, kind: scale, title: "How many trams should run at night?", lower: 0, upper: 10 }
      - { id: why, kind: text, title: "Why so many?" }
personas: [{ id: p, model: { max_attempts: 2 } }]
cohorts: [{ seats: [{ persona: p }] }]
"""
INTERVIEW = """
parley: 1
name: Coins
seed: 5
model_mode: real
stages:
  - id: ask
    kind: group_interview
    context: Each of you has ten coins.
    roles: [{ label: Ann, description: You save. }, { label: Bea, description: You spend. }]
    tasks:
      - id: give
        type: private_question
        variable: give
        variable_type: integer
        check: true
        plain_text: true
        questions:
          - { role: Ann, text: "How many coins do you give?", options: { type: range, low: 0, high: 10 } }
          - { role: Bea, text: "How many coins do you give?", options: { type: range, low: 0, high: 10 } }
personas: [{ id: p, model: { max_attempts: 2 } }]
cohorts: [{ seats: [{ persona: p, count: 2 }] }]
"""
GAME = """
parley: 1
name: A game
seed: 5
model_mode: real
stages:
  - { id: game, kind: matrix_game, horizon: { type: fixed, rounds: 1 } }
personas: [{ id: p, model: { max_attempts: 2 } }]
cohorts: [{ seats: [{ persona: p, count: 2 }] }]
"""
PLAIN = {"trams": 8, "why": "Nurses."}
DRAFT = {"trams": 2, "why": "They will never know."}


async def answers(database: Database, study: str, written: str) -> tuple[list[Any], list[Any]]:
    """The stored answers and the calls when all models write this."""
    async with FakeEndpoint(replies=lambda _body: written) as endpoint:
        model = OpenAIModel(NO_KEYS, base_url=endpoint.base_url)
        lab = DrainLab(database, models={"openai": model})
        await lab.start(study)
        await lab.drain()
        await model.aclose()
    stored = await lab.rows("SELECT key, value FROM answers ORDER BY key, member_id")
    return list(stored), list(await lab.rows("SELECT * FROM model_calls ORDER BY path"))


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (json.dumps(PLAIN), None),
        (json.dumps(PLAIN | {"trams": "8"}), PLAIN),
        (json.dumps(PLAIN | {"trams": "**8/10**", "mood": "calm"}), PLAIN),
        (json.dumps(PLAIN | {"why": "<think>They will never know.</think>Nurses."}), PLAIN),
        (json.dumps({"Night trams": {}, "page": PLAIN}), PLAIN),
        (f"<think>A draft: {json.dumps(DRAFT)}. No, better not.</think>\n{json.dumps(PLAIN)}", None),
        (f"A draft: {json.dumps(DRAFT)}.\n</think>\n{json.dumps(PLAIN)}", None),
        (f"First I thought of {json.dumps(DRAFT)}\n\nMy reply:\n{json.dumps(PLAIN)}", None),
    ],
)
async def test_a_page_takes_an_answer_with_one_call(
    database: Database, written: str, read_as: dict[str, Any] | None
) -> None:
    stored, calls = await answers(database, PAGE, written)

    assert [answer.value for answer in stored if answer.key == PAGE_KEY] == [PLAIN]
    assert [call.status for call in calls] == ["ok"]
    assert calls[0].read_as == read_as


@pytest.mark.parametrize(
    "written",
    [
        f"<think>A draft: {json.dumps(DRAFT)}. Let me see whether",
        json.dumps(PLAIN | {"answer": DRAFT}),
        json.dumps(PLAIN | {"trams": "7 or 8"}),
    ],
)
async def test_a_page_takes_no_answer_that_may_be_another(database: Database, written: str) -> None:
    stored, calls = await answers(database, PAGE, written)

    assert [answer.value["trams"] for answer in stored if answer.key == PAGE_KEY] == [None]
    assert [call.status for call in calls] == ["invalid", "invalid"]


@pytest.mark.parametrize(
    "written", quick_first(["8", "Answer: 8", "<think>2?</think>8", "**8**", "\\boxed{8}", "8 coins", "8/10"], 3)
)
async def test_an_interview_takes_a_plain_answer_with_one_call(database: Database, written: str) -> None:
    stored, calls = await answers(database, INTERVIEW, written)

    assert [answer.value["value"] for answer in stored if "give" in answer.key] == [8, 8]
    assert [call.status for call in calls] == ["ok", "ok"]
    assert all(call.read_as is not None and call.read_as == call.parsed for call in calls)


async def test_an_interview_takes_the_own_label_off_and_no_words_of_others(database: Database) -> None:
    stored, calls = await answers(database, INTERVIEW, "Ann: 8")

    valid = [answer.value["valid"] for answer in stored if "give" in answer.key]
    assert sorted(valid) == [False, True]
    assert sorted(call.status for call in calls) == ["invalid", "invalid", "ok"]
    assert {call.error for call in calls if call.status == "invalid"} == {
        "it speaks for Ann: say nothing but your own words, without a name"
    }


async def test_a_game_plays_the_last_object_and_not_the_draft(database: Database) -> None:
    written = '{"action": "D", "reasoning": "A draft."}\nNo.\n{"action": "**C**"}'
    stored, calls = await answers(database, GAME, written)

    assert {answer.value["action"] for answer in stored if "move" in answer.key} == {"C"}
    assert [call.status for call in calls] == ["ok", "ok"]
