"""Replies as endpoints send them and files as researchers have them, in one lab: no member and no answer is lost."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.trying import try_providers
from parley_lab.base.errors import InvalidInput
from parley_lab.cli.experiment_file import read_file
from parley_lab.cli.workbook_file import read_workbook
from parley_lab.contracts.endpoints import OPEN
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.formats.testing.workbooks import base_values, task_row, with_tasks, xlsx_of
from parley_lab.formats.workbook import compile_workbook
from parley_lab.kinds import PAGE
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

LONGEST = 50_000
PAGE_STAGE = """
  - id: page
    kind: survey
    questions:
      - { id: trams, kind: scale, title: "How many night trams?", lower: 0, upper: 10 }
      - { id: why, kind: text, title: "Why so many?" }
"""
TALK_STAGE = """
  - { id: talk, kind: group_chat, turn_taking: TURNS, max_agent_run: 4, description: "Should trams run all night?" }
"""
COINS_STAGE = """
  - id: ask
    kind: group_interview
    roles: [{label: A, description: COINS-A}, {label: B, description: COINS-B}, {label: C, description: COINS-C}]
    tasks:
      - id: give
        type: private_question
        variable: give
        variable_type: integer
        check: true
        plain_text: true
        questions: [{role: A, text: "Coins?", options: {type: range, low: 0, high: 10}},
          {role: B, text: "Coins?", options: {type: range, low: 0, high: 10}},
          {role: C, text: "Coins?", options: {type: range, low: 0, high: 10}}]
"""
VALID = {"trams": 8, "why": "Nurses go home late."}
DRAFT = {"trams": 2, "why": "A secret draft."}
WHOLE, HALF = json.dumps(VALID), json.dumps(DRAFT)
Reply = str | dict[str, Any] | FakeReply | None
Script = Callable[[str, int, dict[str, Any]], Reply]


def message(content: Any, *, finish: str = "stop", usage: dict[str, int] | None = None, **more: Any) -> FakeReply:
    """A completion with this message; `more`: further fields of its choice, or of the message."""
    inside = {name: more.pop(name) for name in ("reasoning_content",) if name in more}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **inside},
        "finish_reason": finish,
        **more,
    }
    return FakeReply(200, {"model": "small", "choices": [choice], "usage": usage or {}})


def said(response: str | None, **more: Any) -> str:
    return json.dumps({"explanation": "x", "response": response, "readyToEndChat": False, **more})


@dataclass
class Case:
    """A study at an endpoint of its own: `script` answers by the prompt, how often it was asked, and the body."""

    script: Script
    texts: tuple[str, ...] = ("You are often out at night.",)
    stage: str = PAGE_STAGE
    model: dict[str, Any] = field(default_factory=dict)
    calls: int | None = None
    """How many calls it takes in all; None: any number."""


def by_text(**replies: Reply) -> Script:
    return lambda prompt, _number, _body: next((reply for text, reply in replies.items() if text in prompt), WHOLE)


def drafts(prompt: str, _number: int, _body: dict[str, Any]) -> Reply:
    if "FOUR" in prompt and "cannot be used" not in prompt:
        return f"<think>A draft: {HALF}. Let me see whether"
    forms = {
        "ONE": f"<think>A draft: {HALF}. No.</think>\n{WHOLE}",
        "TWO": f"A draft: {HALF}.\n</think>\n{WHOLE}",
        "THREE": f"First I thought of {HALF}\n\nMy reply:\n{WHOLE}",
    }
    return next((written for name, written in forms.items() if name in prompt), WHOLE)


def without_schemas(_prompt: str, _number: int, body: dict[str, Any]) -> Reply:
    if "response_format" in body and body["response_format"]["type"] == "json_schema":
        return FakeReply(400, {"error": {"message": "response_format json_schema is not supported by this model"}})
    return WHOLE


def ignoring_forms(_prompt: str, _number: int, body: dict[str, Any]) -> Reply:
    return "I would say eight of them." if "response_format" in body else WHOLE


def without_system(_prompt: str, _number: int, body: dict[str, Any]) -> Reply:
    if any(one["role"] == "system" for one in body["messages"]):
        return FakeReply(400, {"error": "System role not supported"})
    return WHOLE


def at_its_limit(_prompt: str, number: int, _body: dict[str, Any]) -> Reply:
    error = {"choices": None, "error": {"code": 429, "message": "The provider is at its limit."}}
    return FakeReply(200, error) if number <= 6 else WHOLE


def until_tomorrow(_prompt: str, number: int, _body: dict[str, Any]) -> Reply:
    enough = {"error": {"message": "Enough for today.", "code": "rate_limit_exceeded"}}
    return WHOLE if number == 1 else FakeReply(429, enough, {"retry-after": "86400"})


LOGPROBS = {"content": [{"token": "8", "logprob": -0.25}]}
NO_KEY = FakeReply(200, {"error": {"code": 401, "message": "There is no such key."}})
TOO_LONG = FakeReply(400, {"detail": "the maximum context length is 2048 tokens, and 3000 were asked for"})
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": HALF}]}, {"type": "text", "text": WHOLE}]
CASES: dict[str, Case] = {
    "parts": Case(by_text(PARTS=message(PARTS), SINGLE=message(PARTS[1:])), ("PARTS", "SINGLE"), calls=2),
    "beside": Case(by_text(night=message(None, reasoning_content=WHOLE)), calls=1),
    "full": Case(
        by_text(night=message("", finish="length", usage={"prompt_tokens": 4095, "completion_tokens": 1})), calls=1
    ),
    "drafts": Case(drafts, ("ONE", "TWO", "THREE", "FOUR"), calls=5),
    "logprobs": Case(
        by_text(night=message(WHOLE, logprobs=LOGPROBS)), model={"extra_body": {"logprobs": True}}, calls=1
    ),
    "quotes": Case(by_text(night=json.dumps(VALID | {"trams": "8"})), calls=1),
    "names": Case(
        by_text(depot=said("P1: I am for it."), stop=said("Note: the last one leaves at one.")),
        ("You run the depot.", "You live at the last stop."),
        TALK_STAGE.replace("TURNS", "select"),
    ),
    "marks": Case(
        by_text(**{"COINS-A": "**8**", "COINS-B": "Answer: 8", "COINS-C": "$5"}), ("p",) * 3, COINS_STAGE, calls=6
    ),
    "cut": Case(
        by_text(night=message(WHOLE, usage={"prompt_tokens": 2000, "completion_tokens": 9})),
        ("It was night. " * 2_500,),
    ),
    "limit": Case(at_its_limit, ("One", "Two", "Three")),
    "no_key": Case(lambda *_: NO_KEY, ("One", "Two", "Three"), calls=1),
    "long": Case(by_text(LONG=message(" " * 2 * LONGEST)), ("LONG", "Short"), calls=5),
    "no_schema": Case(without_schemas, ("One", "Two", "Three")),
    "no_system": Case(without_system, ("One", "Two", "Three")),
    "ignores": Case(lambda *_: "I would say eight of them.", ("One", "Two", "Three"), calls=18),
    "ignores_forms": Case(ignoring_forms, ("One", "Two", "Three", "Four"), calls=10),
    "silence": Case(
        by_text(
            NULL=said(None, shouldRespond=False),
            WITHOUT=json.dumps({"explanation": "x", "shouldRespond": False, "readyToEndChat": False}),
            MORE=said("", shouldRespond=False, mood="calm"),
        ),
        ("WITH NULL", "WITHOUT", "WITH MORE"),
        TALK_STAGE.replace("TURNS", "race"),
    ),
    "aloud": Case(
        lambda *_: said("<think>I only pretend.</think>I am for it."), ("a", "b"), TALK_STAGE.replace("TURNS", "select")
    ),
    "tomorrow": Case(until_tomorrow, tuple("12345678")),
    "words": Case(
        by_text(PLAIN=FakeReply(404, {"error": "there is no model small here"}), DETAIL=TOO_LONG), ("DETAIL", "PLAIN")
    ),
}
LOST = {"no_key", "tomorrow", "words"}
"""Where members wait for a key, or the endpoint has no model."""


def study(name: str, case: Case, base_url: str) -> str:
    model = {"model": f"small-{name}", "base_url": base_url, **case.model}
    personas: list[dict[str, Any]] = [
        {"id": f"p{n}", "text": text, "model": model} for n, text in enumerate(case.texts, 1)
    ]
    seats = [{"persona": one["id"]} for one in personas]
    on_pages = case.stage is PAGE_STAGE
    cohorts = [{"seats": seats}]
    head = f"parley: 1\nname: {name}\nseed: 5\nmodel_mode: real\nstages:{case.stage}"
    names = "" if on_pages else "".join(f"# {one['id']}\n" for one in personas)
    for one in [] if on_pages else personas:
        one["profile"] = {"name": one["id"].upper()}
    return f"{head}{names}personas: {json.dumps(personas)}\ncohorts: {json.dumps(cohorts)}\n"


@dataclass
class Played:
    """All studies after their end, in one lab."""

    lab: DrainLab
    endpoints: dict[str, FakeEndpoint]
    ids: dict[str, Any]

    async def rows(self, name: str, query: str) -> list[Any]:
        return await self.lab.rows(query, id=self.ids[name])

    async def values(self, name: str) -> list[Any]:
        query = """SELECT a.value FROM answers a JOIN members m ON m.id = a.member_id
            WHERE m.experiment_id = :id AND a.key = :page ORDER BY m.path"""
        return [row.value for row in await self.lab.rows(query, id=self.ids[name], page=PAGE)]

    async def calls(self, name: str) -> list[Any]:
        query = """SELECT k.* FROM model_calls k JOIN drafts d ON d.id = k.draft_id JOIN members m ON m.id = d.member_id
            WHERE m.experiment_id = :id ORDER BY k.path"""
        return await self.rows(name, query)

    async def said(self, name: str) -> list[str]:
        query = """SELECT g.text FROM messages g JOIN members m ON m.id = g.member_id
            WHERE m.experiment_id = :id ORDER BY g.seq"""
        return [row.text for row in await self.rows(name, query)]

    async def alerts(self, name: str) -> list[Any]:
        return await self.rows(name, "SELECT type, text FROM alerts WHERE experiment_id = :id")


@pytest.fixture
async def played(database: Database, tmp_path: Path) -> AsyncIterator[Played]:
    model = OpenAIModel(NO_KEYS, longest_reply_bytes=LONGEST)
    lab = DrainLab(database, models={"openai": model}, settings=WorkerSettings(first_calls_alone=True))
    played = Played(lab, {}, {})
    async with AsyncExitStack() as stack:
        for name, case in CASES.items():
            played.endpoints[name] = endpoint = await stack.enter_async_context(FakeEndpoint())
            endpoint.replies = answering(case, endpoint)
            played.ids[name] = await lab.start(study(name, case, endpoint.base_url))
        played.endpoints["dash"] = endpoint = await stack.enter_async_context(FakeEndpoint(replies=lambda _: "99"))
        played.ids["dash"] = await lab.start(with_a_dash(tmp_path, endpoint.base_url))
        await lab.drain()
        yield played
        await model.aclose()


def with_a_dash(folder: Path, base_url: str) -> str:
    """A workbook whose options are a range, as Excel and Word write it, with models at this address."""
    values = with_tasks(task_row("t1", response_options="0\u201310", var_type="integer", validate_response=1))
    experiment = compile_workbook(read_workbook(saved(folder, values)))[0]
    model = {"base_url": base_url, "provider": "openai", "model": "small-dash", "max_attempts": 2}
    personas = [one.model_copy(update={"model": one.model.model_copy(update=model)}) for one in experiment.personas]
    changed = {"model_mode": "real", "personas": tuple(personas)}
    return experiment.model_copy(update=changed).model_dump_json()


def answering(case: Case, endpoint: FakeEndpoint) -> Callable[[dict[str, Any]], Reply]:
    def answer(body: dict[str, Any]) -> Reply:
        prompt = "\n".join(str(one["content"]) for one in body["messages"])
        return case.script(prompt, len(endpoint.calls), body)

    return answer


async def test_all_replies_of_the_field_in_one_lab(played: Played) -> None:
    for name, case in CASES.items():
        statuses = await played.rows(name, "SELECT path, status FROM members WHERE experiment_id = :id")
        if name not in LOST:
            assert {row.status for row in statuses} <= {"completed"}, name
        if case.calls is not None:
            assert len(played.endpoints[name].calls) == case.calls, name

    whole = ("parts", "drafts", "logprobs", "quotes", "limit", "no_schema", "no_system", "beside", "cut")
    for name in (*whole, "ignores_forms"):
        assert await played.values(name) == [VALID] * len(CASES[name].texts), name
    assert all("secret" not in json.dumps(value) for value in await played.values("drafts"))
    assert [row.details["logprobs"] for row in await played.calls("logprobs")] == [LOGPROBS]
    assert (await played.values("full"))[0]["trams"] is None
    assert [value["trams"] for value in await played.values("long")] == [None, 8]
    cut = [row for row in await played.calls("long") if row.status == "invalid"]
    assert {row.details["cut_after_bytes"] for row in cut} == {LONGEST}
    given = await played.rows(
        "marks", "SELECT a.value FROM answers a JOIN members m ON m.id = a.member_id WHERE m.experiment_id = :id"
    )
    # No unit of the question is a dollar: its answer is asked for again, and missing.
    assert sorted(row.value["value"] for row in given if row.value.get("valid")) == [8, 8]

    names = await played.said("names")
    assert {"I am for it.", "Note: the last one leaves at one."} == set(names)
    assert set(await played.said("aloud")) == {"I am for it."}
    assert await played.said("silence") == []
    assert {row.status for row in await played.calls("silence")} == {"ok"}

    dash = await played.rows(
        "dash", "SELECT a.value FROM answers a JOIN members m ON m.id = a.member_id WHERE m.experiment_id = :id"
    )
    assert played.endpoints["dash"].calls
    assert not [row.value for row in dash if row.value.get("valid") and row.value.get("value") == 99]

    assert [row.status for row in (await played.calls("limit"))].count("rate_limited") == 6
    (told,) = [alert.text for alert in await played.alerts("no_key") if alert.type == "key_paused"]
    assert "There is no such key." in told
    (told,) = [alert.text for alert in await played.alerts("tomorrow") if alert.type == "key_paused"]
    assert "waiting until" in told
    failed = await played.rows("tomorrow", "SELECT 1 FROM members WHERE experiment_id = :id AND status = 'failed'")
    assert not failed
    assert any("there is no model small here" in str(alert.text) for alert in await played.alerts("words"))
    assert "too_long" in {row.status for row in await played.calls("words")}
    assert "prompt_cut" in {alert.type for alert in await played.alerts("cut")}
    for name in ("ignores", "ignores_forms"):
        assert [alert.type for alert in await played.alerts(name)].count("server_lacks") == 2, name


async def test_an_address_with_a_query_and_replies_that_no_run_can_use_are_told(tmp_path: Path) -> None:
    async with FakeEndpoint(replies=lambda _: message([{"type": "image", "url": "x"}])) as endpoint:
        environ = {"OPENAI_API_KEY": "sk-0123456789", "OPENAI_BASE_URL": endpoint.base_url}
        (verdict,) = await try_providers(environ, OPEN, only="openai")
        queried = {**environ, "OPENAI_BASE_URL": f"{endpoint.base_url}?api-version=1"}
        (refused,) = await try_providers(queried, OPEN, only="openai")

    assert verdict.is_well is False
    assert "could not use its reply" in verdict.line
    assert "without a user, a password or a query" in refused.line
    assert "api-version" not in refused.line


TABLE = """
parley: 1
name: Table
variables: {{ topic: trams }}
stages:
  - {{ id: page, kind: survey, questions: [{{ id: why, kind: text, title: Why }}] }}
personas_from: {{ file: {file}, {more} each: {{ text: "{text}" }} }}
cohorts: [{{ seats: [{{ each_row: true }}] }}]
"""


def texts_of(folder: Path, file: str, text: str, more: str = "") -> list[str]:
    path = folder / "study.yaml"
    path.write_text(TABLE.format(file=file, text=text, more=more), encoding="utf-8")
    return [persona.text for persona in read_file(path).experiment({}).personas]


def test_tables_are_read_as_surveys_and_spreadsheets_have_them(tmp_path: Path) -> None:
    (tmp_path / "mottos.csv").write_text("id,motto\nada,I like {{topic}}\nbo,{{nothing}}\n", encoding="utf-8")
    (tmp_path / "survey.csv").write_text("id,(12) Age at last birthday,Größe\nada,30,170\n", encoding="utf-8")
    book = openpyxl.Workbook()
    for row in (["id", "age"], ["ada", 30], ["bo", 41]):
        book["Sheet"].append(row)
    book.save(tmp_path / "people.xlsx")

    assert texts_of(tmp_path, "people.xlsx", "You are {{age}}.") == ["You are 30.", "You are 41."]
    mottos = texts_of(tmp_path, "mottos.csv", "You wrote: {{motto}}")
    assert [re.sub(r"\{\{ '(\{\{)' \}\}", r"\1", text) for text in mottos] == [
        "You wrote: I like {{topic}}",
        "You wrote: {{nothing}}",
    ]
    columns = 'columns: { age: "(12) Age at last birthday", height: "Größe" },'
    assert texts_of(tmp_path, "survey.csv", "You are {{age}}, {{height}} cm.", columns) == ["You are 30, 170 cm."]
    assert texts_of(tmp_path, "survey.csv", "{{(12) Age at last birthday}}, {{Größe}}") == ["30, 170"]


def saved(folder: Path, values: Any, edit: Callable[[openpyxl.Workbook], None] = lambda _: None) -> Path:
    path = folder / "book.xlsx"
    path.write_bytes(xlsx_of(values))
    book = openpyxl.load_workbook(path)
    edit(book)
    book.save(path)
    return path


def test_workbooks_are_read_as_excel_saves_them(tmp_path: Path) -> None:
    def dated(book: openpyxl.Workbook) -> None:
        book["agent_profiles"]["A3"] = date(2026, 2, 1)
        book["agent_profiles"]["A3"].number_format = "d-m"

    def stray(book: openpyxl.Workbook) -> None:
        book.create_sheet("Sheet7")
        book.create_sheet("notes")["A1"] = "my notes"
        book["notes"].sheet_state = "hidden"

    def bordered(book: openpyxl.Workbook) -> None:
        thin = openpyxl.styles.Border(bottom=openpyxl.styles.Side("thin"))
        for row in range(6, 3_000):
            book["interview_prompts"].cell(row, 1).border = thin

    two = with_tasks(task_row("t1", response_options="[1, 2]"), task_row("t2"))
    with pytest.raises(InvalidInput, match="A3"):
        read_workbook(saved(tmp_path, base_values(), dated))
    left_out = [str(one) for one in read_workbook(saved(tmp_path, base_values(), stray)).warnings]
    assert len(left_out) == 2
    merged = read_workbook(saved(tmp_path, two, lambda book: book["interview_prompts"].merge_cells("I3:I4")))
    assert len({str(task.questions[0].options) for task in merged.designs[0].tasks}) == 1
    assert read_workbook(saved(tmp_path, base_values(), bordered)).designs
