"""A page of questions asked by one call per question: in a sequence, or all at the same time."""

import asyncio
import csv
import json
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.formats.exports import export
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.test_deliberation import the_data

pytestmark = pytest.mark.postgres

PAGE = """
parley: 1
name: A page
seed: 3
personas: [{{id: ada, model: {{max_attempts: 3}}}}, {{id: bob}}]
stages:
  - id: page
    kind: survey
    ask: {ask}
    questions:
      - {{id: rides, kind: choice, title: "Do you ride?", options: [{{id: "yes", text: A}}, {{id: "no", text: B}}]}}
      - {{id: why, kind: text, title: "Why do you ride?", show_if: {{question: rides, value: "yes"}}}}
      - {{id: walks, kind: text, title: "Where do you walk?", show_if: {{question: rides, value: "no"}}}}
      - {{id: age, kind: number, title: "How old are you?", minimum: 18, maximum: 99, integer: true}}
  - {{id: after, kind: survey, questions: [{{id: q, kind: text, title: "Well?"}}]}}
cohorts: [{{seats: [{{persona: ada}}, {{persona: bob}}]}}]
"""
MODES = ["sequential", "independent"]


class Answering:
    """A model that rides, is 40 and has reasons; `wrong` first replies to a question cannot be used.

    With `at_once` an agent's first questions are answered when so many of them are asked at the same time.
    """

    def __init__(self, wrong: int = 0, at_once: int = 1) -> None:
        self.prompts: list[tuple[str, str]] = []
        self._wrong = wrong
        self._barriers: defaultdict[str, asyncio.Barrier] = defaultdict(lambda: asyncio.Barrier(at_once))

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.prompts.append((request.path, "\n".join(message.content for message in request.messages)))
        (name,) = request.reply_schema["properties"]
        if name in ("rides", "age"):
            await self._barriers[request.path.partition("/page/")[0]].wait()
        values: dict[str, Any] = {"rides": "yes", "why": "It is late.", "age": 40, "q": "Well."}
        number = int(request.path.rpartition(":")[2])
        value = 7 if name == "age" and number <= self._wrong else values[name]
        return ModelReply(status="ok", parsed={name: value}, raw=json.dumps({name: value}))

    async def aclose(self) -> None:
        """Nothing is open."""


class WholePages(Answering):
    """The same, of questions and of whole pages."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        if len(request.reply_schema["properties"]) == 1:
            return await super().reply(request)
        self.prompts.append((request.path, ""))
        is_wrong = int(request.path.rpartition(":")[2]) <= self._wrong
        page = {"rides": "yes", "why": "It is late.", "walks": None, "age": 7 if is_wrong else 40}
        return ModelReply(status="ok", parsed=page, raw=json.dumps(page))


@pytest.mark.parametrize("ask", MODES)
async def test_a_page_asked_by_question_is_the_page_that_its_answers_come_to(database: Database, ask: str) -> None:
    model = Answering()
    lab = DrainLab(database, models={"mock": model}, together=20)
    await lab.start(PAGE.format(ask=ask))

    await lab.drain()

    pages = await lab.rows("SELECT value FROM answers WHERE stage_id = 'page' AND key = ''")
    assert [row.value for row in pages] == [{"rides": "yes", "why": "It is late.", "age": 40}] * 2
    assert not any("Where do you walk?" in prompt for path, prompt in model.prompts if "/page/" in path)
    assert len(await lab.rows("SELECT 1 FROM drafts WHERE stage_id = 'page' AND state = 'answered'")) == 6
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}


async def test_in_a_sequence_an_agent_sees_its_earlier_answers_of_the_page(database: Database) -> None:
    model = Answering()
    lab = DrainLab(database, models={"mock": model})
    await lab.start(PAGE.format(ask="sequential"))

    await lab.drain()

    for path, prompt in model.prompts:
        if "question:age" in path:
            assert "Why do you ride? It is late." in prompt
        if "question:rides" in path:
            assert "How old are you?" not in prompt


async def test_independent_questions_know_nothing_of_each_other(database: Database) -> None:
    model = Answering(at_once=2)
    lab = DrainLab(database, models={"mock": model}, together=20)
    await lab.start(PAGE.format(ask="independent"))

    async with asyncio.timeout(20):
        await lab.drain()

    asked = {path: prompt for path, prompt in model.prompts if "/page/question:" in path}
    assert not any("It is late." in prompt for prompt in asked.values())
    assert not any("How old are you?" in prompt for path, prompt in asked.items() if "question:age" not in path)
    assert len(asked) == 6


@pytest.mark.parametrize("ask", MODES)
async def test_an_answer_that_does_not_fit_is_asked_again_with_the_reason(database: Database, ask: str) -> None:
    model = Answering(wrong=2)
    lab = DrainLab(database, models={"mock": model})
    await lab.start(PAGE.format(ask=ask))

    await lab.drain()

    calls = await lab.rows("SELECT status, error FROM model_calls WHERE path LIKE 'c1/m1%question:age%' ORDER BY path")
    assert [call.status for call in calls] == ["invalid", "invalid", "ok"]
    told = [prompt for path, prompt in model.prompts if "question:age" in path]
    assert len([prompt for prompt in told if "That reply cannot be used" in prompt and calls[0].error in prompt]) == 2


@pytest.mark.parametrize("ask", MODES)
async def test_a_question_without_a_usable_answer_is_missing_on_the_page(database: Database, ask: str) -> None:
    lab = DrainLab(database, models={"mock": Answering(wrong=99)}, together=20)
    await lab.start(PAGE.format(ask=ask))

    await lab.drain()

    pages = await lab.rows("SELECT value, valid, invalid FROM answers WHERE stage_id = 'page' AND key = ''")
    assert [page.value for page in pages] == [{"rides": "yes", "why": "It is late.", "age": None}] * 2
    assert all(page.valid and set(page.invalid) == {"age"} for page in pages)
    entries = await lab.rows("SELECT value, valid FROM answers WHERE key = 'question:age'")
    assert [(entry.value, entry.valid) for entry in entries] == [(None, False)] * 2
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}


@pytest.mark.parametrize("ask", MODES)
async def test_with_on_invalid_fail_a_missing_answer_takes_the_agent_out_and_cancels_the_others(
    database: Database, ask: str
) -> None:
    lab = DrainLab(database, models={"mock": Answering(wrong=99)}, together=20)
    await lab.start(PAGE.replace("kind: survey\n", "kind: survey\n    on_invalid: fail\n").format(ask=ask))

    await lab.drain()

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"failed"}
    assert not await lab.rows("SELECT 1 FROM asks WHERE state = 'open'")
    assert not await lab.rows("SELECT 1 FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')")


@pytest.mark.parametrize("ask", MODES)
@pytest.mark.parametrize("seed", quick_first(range(2), 1))
async def test_shuffled_and_doubled_hints_change_nothing_in_the_data(database: Database, ask: str, seed: int) -> None:
    plain = DrainLab(database)
    await plain.start(PAGE.format(ask=ask))
    await plain.drain()
    expected = await the_data(plain)
    await empty(database)
    wild = DrainLab(database, deliveries=2, together=8, rng=Random(seed))

    await wild.start(PAGE.format(ask=ask))
    await wild.drain()

    assert await the_data(wild) == expected
    calls = await wild.rows("SELECT draft_id FROM model_calls")
    assert len(calls) == len({call.draft_id for call in calls})


@pytest.mark.parametrize("ask", [*MODES, "all_at_once"])
async def test_the_long_table_has_a_line_for_each_question_and_member_with_its_attempts(
    database: Database, tmp_path: Path, ask: str
) -> None:
    lab = DrainLab(database, models={"mock": WholePages(wrong=1)}, together=20)
    experiment_id = await lab.start(PAGE.format(ask=ask))
    await lab.drain()

    await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])

    with (tmp_path / "answers.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] == "page" and row["path"] == "c1/m1"]
    once = "2" if ask == "all_at_once" else "1"
    assert [(row["field"], row["value"], row["text"], row["type"], row["attempts"]) for row in rows] == [
        ("rides", "yes", "A", "text", once),
        ("why", "It is late.", "", "text", once),
        ("age", "40", "", "integer", "2"),
    ]
    assert {(row["key"], row["status"]) for row in rows} == {("", "valid")}


async def test_questions_of_a_page_that_never_came_to_its_end_have_a_line_each(
    database: Database, tmp_path: Path
) -> None:
    lab = DrainLab(database, models={"mock": Answering(wrong=9)}, together=20)
    experiment_id = await lab.start(PAGE.format(ask="sequential").replace("ask: seq", "on_invalid: fail\n    ask: seq"))
    await lab.drain()

    await export(database, experiment_id, tmp_path, lab.clock.now(), formats=["csv"])

    with (tmp_path / "answers.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.DictReader(file) if row["path"] == "c1/m1"]
    assert [(row["key"], row["field"], row["value"], row["attempts"]) for row in rows] == [
        ("question:rides", "rides", "yes", "1"),
        ("question:why", "why", "It is late.", "1"),
    ]


class TooSlow:
    """Refuses the first question of each agent after its time on the page is up, and answers all others."""

    def __init__(self) -> None:
        self.lab: DrainLab | None = None

    async def reply(self, request: ModelRequest) -> ModelReply:
        assert self.lab is not None
        if "/after/" in request.path:
            return ModelReply(status="ok", parsed={"q": "Well."}, raw="{}")
        self.lab.clock.advance(61)
        await fire_due_timers(self.lab.database, self.lab.clock.now())
        return ModelReply(status="bad_request", error="HTTP 400: no such thing")

    async def aclose(self) -> None:
        pass


async def test_a_call_that_fails_after_the_time_of_the_page_ends_no_part(database: Database) -> None:
    model = TooSlow()
    lab = model.lab = DrainLab(database, models={"mock": model})
    limited = PAGE.replace("kind: survey\n", "kind: survey\n    stay: {{at_most_seconds: 60, then: go_on}}\n", 1)
    await lab.start(limited.format(ask="sequential").replace("parley: 1\n", "parley: 1\npace: live\n"))

    await lab.drain()
    # A timer moves an agent on without a hint for its next step, which the watchdog finds.
    lab.hints += await lab.overlooked()
    await lab.drain()

    members = await lab.rows("SELECT status, status_reason FROM members ORDER BY path")
    assert [tuple(row) for row in members] == [("completed", None)] * 2
    asks = await lab.rows("SELECT state FROM asks WHERE stage_id = 'page'")
    assert {row.state for row in asks} == {"cancelled"}
    assert await lab.rows("SELECT 1 FROM alerts") == []
