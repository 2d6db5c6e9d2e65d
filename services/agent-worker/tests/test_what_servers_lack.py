"""What a server lacks is learned from its refusal, costs no attempt, and is known to all workers."""

from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.agent_worker.models.lacking import IGNORED, IN_WORDS, ignored_in, lack_in
from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.agent_worker.models.request_body import request_body
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.contracts.models import ChatMessage, Lack, ModelReply, ModelRequest, ModelSettings
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply
from tests.flows.drain import DrainLab

URL = "http://127.0.0.1:8000/v1"
TALK = ("system", "user", "assistant", "user")


def a_body(roles: tuple[str, ...] = TALK, **settings: Any) -> dict[str, Any]:
    messages = tuple(ChatMessage(role=role, content=f"{role} {n}") for n, role in enumerate(roles))  # type: ignore[arg-type]
    request = ModelRequest(
        path="c1/m1/q/call:1",
        seed=1,
        settings=ModelSettings(**settings),
        messages=messages,
        reply_schema={"type": "object", "properties": {"view": {"type": "integer"}}, "required": ["view"]},
    )
    return request_body(URL, request)


@pytest.mark.parametrize(
    ("lack", "settings", "words"),
    [
        ("json_schema", {}, "response_format json_schema is not supported here"),
        ("json_schema", {}, "This response_format type is unavailable now"),
        ("json_schema", {}, "body.response_format.type: Input should be 'text' or 'json_object'"),
        ("json_object", {"structured_output": "json"}, "'response_format.type' must be 'json_schema' or 'text'"),
        ("json_object", {"lacks": ["json_schema"]}, "json_object is not supported"),
        ("system_role", {}, "System role not supported"),
        ("system_role", {}, "The template has no place for a system message."),
        ("system_role", {}, "Developer instruction is not enabled for models/gemma-3"),
        ("system_role", {}, "Conversation roles must alternate user/assistant/user/assistant/..."),
        ("temperature", {"temperature": 0.5}, "Unsupported value: 'temperature' does not support 0.5 with this model."),
        ("temperature", {"temperature": 0.5}, "Only the default (1) temperature value is supported: unsupported value"),
        ("max_tokens", {"max_tokens": 9}, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        (
            "max_completion_tokens",
            {"max_tokens": 9, "lacks": ["max_tokens"]},
            "body.max_completion_tokens: Extra inputs are not permitted",
        ),
        ("stop", {"stop": ("END",)}, "Argument not supported on this model: stop"),
        (None, {}, "temperature is not supported"),
        (None, {"temperature": 1.5}, "temperature: range is 0 to 1"),
        (None, {"structured_output": "text"}, "response_format json_schema is not supported here"),
        (None, {}, "The model is out of cheese."),
    ],
)
def test_a_refusal_teaches_what_the_call_had_and_the_server_lacks(
    lack: Lack | None, settings: dict[str, Any], words: str
) -> None:
    reply = ModelReply(status="bad_request", error=f"HTTP 400: {words}")

    assert lack_in(a_body(**settings), reply) == lack


def test_roles_that_repeat_are_told_from_a_system_message_without_a_place() -> None:
    reply = ModelReply(status="bad_request", error="HTTP 400: roles must alternate")

    assert lack_in(a_body(("system", "user", "user")), reply) == "repeated_roles"
    assert lack_in(a_body(("system", "user")), reply) == "system_role"
    assert lack_in(a_body(("user",)), reply) is None


@given(st.sets(st.sampled_from(sorted(IN_WORDS))), st.sampled_from([TALK, ("system", "user", "user"), ("user",)]))
def test_what_a_server_lacks_is_not_sent_and_no_word_of_the_prompt_is_lost(
    lacks: set[str], roles: tuple[str, ...]
) -> None:
    settings: Mapping[str, Any] = {"temperature": 0.5, "top_p": 0.5, "stop": ("END",), "max_tokens": 9}

    body = a_body(roles, lacks=sorted(lacks), **settings)

    assert not lacks & body.keys()
    sent = [message["role"] for message in body["messages"]]
    assert "system" not in sent or "system_role" not in lacks
    if lacks & {"system_role", "repeated_roles"}:
        assert all(one != other for one, other in pairwise(sent))
    form = body.get("response_format", {}).get("type")
    assert form == ("json_schema" if "json_schema" not in lacks else None if "json_object" in lacks else "json_object")
    words = "\n\n".join(message["content"] for message in body["messages"])
    assert words == "\n\n".join(f"{role} {n}" for n, role in enumerate(roles))


SURVEY = """
parley: 1
name: A question
seed: 0
model_mode: real
personas: [{{id: ada, {text} model: {{provider: openai, model: small, max_attempts: 2}}}}]
stages:
  - {{id: q, kind: survey, questions: [{{id: view, kind: scale, title: Your view, lower: 1, upper: 7}}]}}
cohorts: [{{seats: [{{persona: ada, count: 3}}]}}]
"""


class Server:
    """A server without schemas, without a place for system messages, and without max_tokens."""

    def __init__(self) -> None:
        self.refusals = 0

    def __call__(self, body: dict[str, Any]) -> FakeReply | dict[str, Any]:
        form = body.get("response_format", {}).get("type")
        if form == "json_schema":
            return self.refuse("response_format: this type is not supported")
        if body["messages"][0]["role"] == "system":
            return self.refuse("System role not supported")
        if "max_tokens" in body:
            return self.refuse("Unsupported parameter: 'max_tokens' is not supported with this model.")
        return {"view": 4}

    def refuse(self, words: str) -> FakeReply:
        self.refusals += 1
        return FakeReply(400, {"error": {"message": words}})


class Rehearsed:
    def __init__(self, database: Database, endpoint: FakeEndpoint) -> None:
        self.lab = DrainLab(database)
        self.endpoint = endpoint
        self.model = OpenAIModel(NO_KEYS, base_url=endpoint.base_url)

    async def run(self, replies: Any, *, text: str = "", first_calls_alone: bool = True) -> None:
        self.endpoint.replies = replies
        self.lab.thinker = Thinker(
            database=self.lab.database,
            models={"openai": self.model},
            prompts=self.lab.prompts,
            clock=self.lab.clock,
            settings=WorkerSettings(first_calls_alone=first_calls_alone),
            later=lambda delay, work: self.lab.later.append((delay, work)),
        )
        await self.lab.start(SURVEY.format(text=text))
        await self.lab.drain()

    async def column(self, query: str) -> list[Any]:
        return [row[0] for row in await self.lab.rows(query)]


@pytest.fixture
async def rehearsed(database: Database) -> AsyncIterator[Rehearsed]:
    async with FakeEndpoint() as endpoint:
        rehearsed = Rehearsed(database, endpoint)
        yield rehearsed
        await rehearsed.model.aclose()


@pytest.mark.postgres
async def test_learning_uses_no_attempt_and_is_told_once_and_shared(rehearsed: Rehearsed) -> None:
    server = Server()
    await rehearsed.run(server)

    assert await rehearsed.column("SELECT status FROM members") == ["completed"] * 3
    assert server.refusals == 3
    assert await rehearsed.column("SELECT lack FROM lacks ORDER BY 1") == ["json_schema", "max_tokens", "system_role"]
    assert await rehearsed.column("SELECT free_calls FROM drafts ORDER BY 1") == [0, 0, 3]
    alerts = await rehearsed.column("SELECT text FROM alerts ORDER BY path")
    assert [alert.partition(" (")[0] for alert in alerts] == [
        f"openai/small {IN_WORDS[lack]}" for lack in ("json_schema", "max_tokens", "system_role")
    ]
    settings = await rehearsed.column("SELECT settings -> 'lacks' FROM model_calls WHERE status = 'ok'")
    assert settings == [["json_schema", "max_tokens", "system_role"]] * 3

    await rehearsed.run(server)
    assert server.refusals == 3


@pytest.mark.postgres
async def test_an_unknown_400_of_the_first_call_waits_with_all_others(rehearsed: Rehearsed) -> None:
    refusal = FakeReply(400, {"error": {"message": "The model is out of cheese."}})
    await rehearsed.run(lambda _body: refusal)

    assert len(rehearsed.endpoint.calls) == 1
    assert await rehearsed.column("SELECT status FROM members") == ["in_progress"] * 3
    (alert,) = await rehearsed.column("SELECT text FROM alerts")
    assert alert.startswith("The first call to openai was not understood at")
    assert "out of cheese" in alert


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("heeds", "learned"), [("json_object", ["json_schema"]), (None, ["json_object", "json_schema"])]
)
async def test_a_form_that_is_ignored_is_learned_by_a_reply_that_uses_no_attempt(
    rehearsed: Rehearsed, heeds: str | None, learned: list[Lack]
) -> None:
    def reply(body: dict[str, Any]) -> str | dict[str, Any]:
        form = body.get("response_format", {}).get("type")
        return {"view": 4} if form == heeds else "Five, I would say, because nurses go home late."

    await rehearsed.run(reply)

    assert await rehearsed.column("SELECT status FROM members") == ["completed"] * 3
    assert await rehearsed.column("SELECT lack FROM lacks ORDER BY 1") == learned
    assert await rehearsed.column("SELECT free_calls FROM drafts ORDER BY 1") == [len(learned)] * 3
    told = await rehearsed.column("SELECT text FROM alerts WHERE type = 'server_lacks' ORDER BY path")
    assert [text.partition(" (")[0] for text in told] == [f"openai/small {IGNORED[lack]}" for lack in learned]

    await rehearsed.run(reply)
    assert await rehearsed.column("SELECT free_calls FROM drafts ORDER BY 1") == [0] * 3 + [len(learned)] * 3


@pytest.mark.postgres
async def test_plain_words_once_in_a_while_leave_the_form_to_all_others(rehearsed: Rehearsed) -> None:
    forms: list[str | None] = []

    def reply(body: dict[str, Any]) -> str | dict[str, Any]:
        forms.append(body.get("response_format", {}).get("type"))
        return {"view": 4} if forms[-1] == "json_object" or len(forms) % 3 else "Five, I would say."

    for _ in range(3):
        await rehearsed.run(reply)

    assert await rehearsed.column("SELECT DISTINCT status FROM members") == ["completed"]
    assert forms.count("json_object") >= 3
    assert forms.count("json_schema") == 9
    assert await rehearsed.column("SELECT lack FROM lacks") == []


@pytest.mark.parametrize(
    ("words", "finish_reason", "lack"),
    [
        ("Five.", "stop", "json_schema"),
        ("<think>Five?</think>Five.", "stop", "json_schema"),
        ("<think>Five? Or six", "stop", None),
        ("<think>Five.</think>", "stop", None),
        ("", "stop", None),
        ("Five, because", "length", None),
        ('{"view": 5', "stop", None),
    ],
)
def test_only_whole_words_show_that_a_form_is_ignored(words: str, finish_reason: str, lack: Lack | None) -> None:
    reply = ModelReply(status="invalid", raw=words, finish_reason=finish_reason)

    assert ignored_in(a_body(), reply) == lack
    assert ignored_in(a_body(structured_output="text"), reply) is None


@pytest.mark.postgres
@pytest.mark.parametrize(("read", "is_told"), [(2_051, True), (7_000, False), (0, False)])
async def test_a_server_that_read_half_of_a_prompt_is_told_of_once(
    rehearsed: Rehearsed, read: int, is_told: bool
) -> None:
    choice = {"message": {"content": '{"view": 4}'}, "finish_reason": "stop"}
    body = {"choices": [choice], "usage": {"prompt_tokens": read, "completion_tokens": 5}}
    await rehearsed.run(lambda _body: FakeReply(body=body), text=f"text: {'It rained one night. ' * 1_500},")

    told = await rehearsed.column("SELECT text FROM alerts")
    assert [text.partition(" tokens")[0].partition("about")[0] for text in told] == (
        ["openai/small read 2,051 of "] if is_told else []
    )
