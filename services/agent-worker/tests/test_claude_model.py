"""Claude by its own API: what is sent, how messages are read, and what errors mean, over HTTP where it decides."""

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.agent_worker.models.claude_model import ClaudeModel
from parley_lab.agent_worker.models.lacking import lack_in
from parley_lab.agent_worker.models.messages import messages_body, read_message
from parley_lab.agent_worker.models.openai_schema import to_unbounded
from parley_lab.contracts.model_keys import ModelKeys, read_model_keys
from parley_lab.contracts.models import ChatMessage, Lack, ModelReply, ModelRequest, ModelSettings
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply

KEY = "sk-ant-very-secret-0123456789"
ANSWER = {"response": "I am for it.", "shouldRespond": True}
WRITTEN = json.dumps(ANSWER)
SCHEMA = {
    "type": "object",
    "properties": {"response": {"type": "string", "maxLength": 900}, "shouldRespond": {"type": "boolean"}},
    "required": ["response", "shouldRespond"],
    "additionalProperties": False,
}
TEXT = {"type": "text", "text": WRITTEN}
THINKING = {"type": "thinking", "thinking": "Ben bluffs, surely.", "signature": "x"}
TOOL = {"type": "tool_use", "id": "t1", "name": "chat_reply", "input": ANSWER}


def a_request(*messages: tuple[str, str], is_text: bool = False, **settings: Any) -> ModelRequest:
    said = messages or (("system", "You are Ann."), ("user", "Hello"))
    return ModelRequest(
        path="c1/m1/talk/call:1",
        seed=1,
        settings=ModelSettings(**{"provider": "anthropic", "model": "claude-haiku-4-5", **settings}),
        messages=tuple(ChatMessage(role=cast(Any, role), content=content) for role, content in said),
        reply_schema=SCHEMA,
        reply_name="chat_reply",
        is_text=is_text,
    )


def body_of(*messages: tuple[str, str], **settings: Any) -> dict[str, Any]:
    return messages_body(a_request(*messages, **settings))


def read(content: list[Any], stop_reason: str = "end_turn", **more: Any) -> ModelReply:
    body = {"type": "message", "content": content, "stop_reason": stop_reason, "model": "claude-haiku-4-5", **more}
    reply = read_message(json.dumps(body).encode(), a_request())
    assert isinstance(reply, ModelReply)
    return reply


def keys_for(endpoint: FakeEndpoint) -> ModelKeys:
    return read_model_keys({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": endpoint.base_url})


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with FakeEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def model(endpoint: FakeEndpoint) -> AsyncIterator[ClaudeModel]:
    model = ClaudeModel(keys_for(endpoint), base_url=endpoint.base_url)
    yield model
    await model.aclose()


def test_the_system_message_is_a_field_and_the_schema_has_no_bounds() -> None:
    assert body_of() == {
        "model": "claude-haiku-4-5",
        "max_tokens": 8_000,
        "system": "You are Ann.",
        "messages": [{"role": "user", "content": "Hello"}],
        "output_config": {
            "format": {
                "type": "json_schema",
                "schema": {
                    **SCHEMA,
                    "properties": {"response": {"type": "string"}, "shouldRespond": {"type": "boolean"}},
                },
            }
        },
    }


@given(
    st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant"]), st.sampled_from(["", " ", "Hi", "Ben: no"])),
        min_size=1,
    ).map(lambda said: [("user", "Hello"), *said])
)
def test_roles_alternate_and_nothing_that_was_said_is_lost(said: list[tuple[str, str]]) -> None:
    body = body_of(*said)

    turns = body["messages"]
    assert turns[0]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in pairwise(turns))
    assert all(turn["content"].strip() for turn in turns)
    told = body.get("system", "") + "".join(turn["content"] for turn in turns)
    assert sum(told.count(word) for word in ("Hi", "Hello", "Ben: no")) == sum(bool(text.strip()) for _, text in said)


def test_a_short_range_is_listed_and_a_long_one_is_left_to_the_check_of_the_reply() -> None:
    view = {"type": "integer", "minimum": 1, "maximum": 3}
    fields = {
        "view": view,
        "money": {**view, "maximum": 500},
        "several": {"type": "array", "items": view, "minItems": 2},
    }
    schema = to_unbounded({"type": "object", "properties": fields, "required": ["view"]})

    listed = {"type": "integer", "enum": [1, 2, 3]}
    assert schema["properties"] == {
        "view": listed,
        "money": {"type": "integer"},
        "several": {"type": "array", "items": listed},
    }


def test_a_prompt_of_a_system_message_alone_is_said_by_the_user() -> None:
    assert body_of(("system", "Say hello."))["messages"] == [{"role": "user", "content": "Say hello."}]


def test_settings_have_the_names_of_the_api() -> None:
    body = body_of(temperature=0.3, stop=["END"], reasoning_effort="low", max_tokens=70)

    assert (body["temperature"], body["stop_sequences"], body["max_tokens"]) == (0.3, ["END"], 70)
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["type"] == "json_schema"


def test_models_that_think_by_themselves_have_room_for_thoughts() -> None:
    assert body_of(model="claude-sonnet-5-5")["max_tokens"] == body_of(reasoning_effort="low")["max_tokens"] == 32_000


def test_the_file_may_say_an_effort_and_the_reply_keeps_its_form() -> None:
    body = body_of(extra_body={"output_config": {"effort": "max"}, "top_k": 4})

    assert body["output_config"].keys() == {"effort", "format"}
    assert body["top_k"] == 4


@pytest.mark.parametrize(
    ("settings", "has_schema", "has_tool"),
    [
        ({}, True, False),
        ({"lacks": ["json_schema"]}, False, True),
        ({"structured_output": "json"}, False, True),
        ({"lacks": ["json_schema", "json_object"]}, False, False),
        ({"structured_output": "text"}, False, False),
    ],
)
def test_a_server_without_schemas_gets_a_tool_that_takes_the_reply(
    settings: dict[str, Any], has_schema: bool, has_tool: bool
) -> None:
    body = body_of(**settings)

    assert ("output_config" in body, "tools" in body) == (has_schema, has_tool)
    if has_tool:
        assert body["tools"][0]["input_schema"] == SCHEMA
        assert body["tool_choice"]["name"] == "chat_reply"


@pytest.mark.parametrize(
    ("lack", "settings", "words"),
    [
        ("temperature", {"temperature": 0.2}, "`temperature` is deprecated for this model."),
        ("temperature", {"temperature": 0.2}, "temperature: Extra inputs are not permitted"),
        ("json_schema", {}, "'claude-3-5-haiku' does not support output format."),
        ("json_schema", {}, "output_config.format: Extra inputs are not permitted"),
        ("json_object", {"lacks": ["json_schema"]}, "Thinking may not be enabled when tool_choice forces tool use."),
        ("reasoning_effort", {"reasoning_effort": "low"}, "This model does not support the effort parameter."),
        ("reasoning_effort", {"reasoning_effort": "low"}, "adaptive thinking is not supported on this model"),
        ("stop", {"stop": ["END"]}, "stop_sequences: Extra inputs are not permitted"),
        (None, {}, "messages.0: all messages must have non-empty content"),
        (None, {}, "`temperature` is deprecated for this model."),
    ],
)
def test_what_the_server_lacks_is_read_from_its_words(lack: Lack | None, settings: dict[str, Any], words: str) -> None:
    body = body_of(**settings)

    assert lack_in(body, ModelReply(status="bad_request", error=words)) == lack
    if lack is not None:
        less = body_of(**{**settings, "lacks": [*settings.get("lacks", ()), lack]})
        assert less != body
        assert lack_in(less, ModelReply(status="bad_request", error=words)) != lack


@pytest.mark.parametrize(
    ("content", "stop_reason", "status", "parsed"),
    [
        ([TEXT], "end_turn", "ok", ANSWER),
        ([THINKING, {"type": "redacted_thinking", "data": "x"}, TEXT], "end_turn", "ok", ANSWER),
        ([{"type": "text", "text": WRITTEN[:9]}, {"type": "text", "text": WRITTEN[9:]}], "end_turn", "ok", ANSWER),
        ([TEXT], "stop_sequence", "ok", ANSWER),
        ([TOOL], "tool_use", "ok", ANSWER),
        ([THINKING, {"type": "text", "text": "Here it is."}, TOOL], "tool_use", "ok", ANSWER),
        ([TOOL, {**TOOL, "input": {**ANSWER, "response": "No."}}], "tool_use", "invalid", None),
        ([TEXT], "refusal", "refused", None),
        ([], "refusal", "refused", None),
        ([{"type": "text", "text": WRITTEN[:9]}], "max_tokens", "invalid", None),
        ([THINKING], "max_tokens", "invalid", None),
        ([TEXT], "model_context_window_exceeded", "too_long", ANSWER),
        ([THINKING], "end_turn", "invalid", None),
        ([], "end_turn", "invalid", None),
        ([{"type": "text", "text": "I would rather talk."}], "end_turn", "invalid", None),
        (["text", None, {"type": "text", "text": 4}], "end_turn", "invalid", None),
    ],
)
def test_every_message_has_its_status(
    content: list[Any], stop_reason: str, status: str, parsed: dict[str, Any] | None
) -> None:
    reply = read(content, stop_reason)

    if status != "too_long":
        assert reply.parsed == parsed
    assert reply.status == status
    assert "bluffs" not in reply.model_dump_json()


def test_a_refusal_says_why_and_is_not_asked_again() -> None:
    reply = read([], "refusal", stop_details={"type": "refusal", "category": "bio", "explanation": "It may harm."})

    assert (reply.error, reply.can_retry) == ("the model refused to answer: It may harm.", False)


def test_tokens_of_the_cache_count_as_read_and_are_told_apart() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0, "output_tokens": 5}

    reply = read([TEXT], usage=usage)

    assert (reply.tokens_in, reply.tokens_out) == (910, 5)
    assert reply.details == {"cache_read_input_tokens": 900}


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'{"content": "text"}', b"<html>", b'{"choices": []}'])
def test_what_is_no_message_is_no_reply(content: bytes) -> None:
    assert read_message(content, a_request()) is None


async def test_a_call_brings_its_key_and_the_version_of_the_api(endpoint: FakeEndpoint, model: ClaudeModel) -> None:
    reply = await model.reply(a_request())

    assert reply.status == "ok", reply.error
    assert set(reply.parsed or {}) == set(ANSWER)
    assert (reply.model_returned, reply.finish_reason) == ("claude-haiku-4-5", "end_turn")
    assert reply.tokens_in
    assert KEY in {endpoint.headers[0].get("x-api-key"), endpoint.headers[0].get("authorization", "")[7:]}
    assert endpoint.headers[0]["anthropic-version"] == "2023-06-01"
    assert endpoint.calls[0]["system"] == "You are Ann."


async def test_an_address_that_a_file_names_gets_no_key_and_no_header_of_the_environment(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-team: blue")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token-of-somebody")
    model = ClaudeModel(read_model_keys({"ANTHROPIC_API_KEY": KEY}))
    # The root of the address is known to the library.
    reply = await model.reply(a_request(base_url=endpoint.base_url.removesuffix("/v1")))
    await model.aclose()

    assert reply.status == "ok", reply.error
    assert endpoint.headers[0].keys() & {"authorization", "x-api-key", "x-team"} == set()
    assert endpoint.headers[0]["anthropic-version"] == "2023-06-01"


def error(kind: str, message: str, **details: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, "details": details}, "request_id": "r1"}


@pytest.mark.parametrize(
    ("scripted", "status", "wait"),
    [
        (FakeReply(529, error("overloaded_error", "Overloaded"), {"retry-after": "7"}), "unavailable", 7),
        (FakeReply(200, error("overloaded_error", "Overloaded")), "unavailable", None),
        (FakeReply(429, error("rate_limit_error", "Slow down"), {"retry-after": "30"}), "rate_limited", 30),
        (FakeReply(429, error("rate_limit_error", "x", error_code="enforced_spend_limit_reached")), "no_quota", None),
        (
            FakeReply(400, error("invalid_request_error", "You have reached your specified API usage limits.")),
            "no_quota",
            None,
        ),
        (FakeReply(400, error("invalid_request_error", "Your credit balance is too low")), "no_quota", None),
        (FakeReply(402, error("billing_error", "Check your payment")), "no_quota", None),
        (FakeReply(401, error("authentication_error", "invalid x-api-key")), "auth_error", None),
        (FakeReply(403, error("permission_error", "not for this key")), "auth_error", None),
        (FakeReply(404, error("not_found_error", "model: claude-9")), "bad_request", None),
        (FakeReply(413, error("request_too_large", "Too large")), "too_long", None),
        (
            FakeReply(400, error("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")),
            "too_long",
            None,
        ),
        (FakeReply(500, error("api_error", "Internal server error")), "unavailable", None),
        (FakeReply(drop=True), "unavailable", None),
        (FakeReply(200, b"<html>a proxy's page</html>"), "error", None),
    ],
)
async def test_every_error_has_its_status_and_its_wait(
    endpoint: FakeEndpoint, model: ClaudeModel, scripted: FakeReply, status: str, wait: float | None
) -> None:
    endpoint.replies = lambda _: scripted

    reply = await model.reply(a_request())

    assert (reply.status, reply.retry_after_seconds) == (status, wait), reply.error
    assert KEY not in reply.model_dump_json()


async def test_a_forced_tool_brings_the_reply(endpoint: FakeEndpoint, model: ClaudeModel) -> None:
    reply = await model.reply(a_request(lacks=["json_schema"]))

    assert (reply.status, reply.finish_reason) == ("ok", "tool_use"), reply.error
    assert json.loads(reply.raw)["content"][0]["input"] == reply.parsed


async def test_an_answer_without_end_is_cut_while_it_is_read(endpoint: FakeEndpoint) -> None:
    endpoint.replies = lambda _: FakeReply(200, json.dumps({"type": "message", "content": [TEXT] * 5_000}))
    model = ClaudeModel(keys_for(endpoint), base_url=endpoint.base_url, longest_reply_bytes=10_000)

    reply = await model.reply(a_request())
    await model.aclose()

    assert (reply.status, reply.details) == ("invalid", {"cut_after_bytes": 10_000})
