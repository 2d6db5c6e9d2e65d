"""Replies that are not in the plain field of a message: read where one reading is plain, otherwise named."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.agent_worker.attempts import storable
from parley_lab.agent_worker.models.completions import read_completion
from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.contracts.model_keys import read_model_keys
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply

ANSWER = {"response": "I am for it.", "shouldRespond": True}
WRITTEN = json.dumps(ANSWER)
SCHEMA = {"type": "object", "properties": {name: {} for name in ANSWER}, "required": list(ANSWER)}


def a_request(*, is_text: bool = False, **settings: Any) -> ModelRequest:
    return ModelRequest(
        path="c1/m1/talk/call:1",
        seed=1,
        settings=ModelSettings(**settings),
        messages=(ChatMessage(role="user", content="Hello"),),
        reply_schema=SCHEMA,
        is_text=is_text,
    )


def completed(message: object, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop", **choice}], "usage": {"prompt_tokens": 3}}


def read(message: object, *, is_text: bool = False) -> ModelReply:
    reply = read_completion(json.dumps(completed(message)).encode(), a_request(is_text=is_text))
    assert isinstance(reply, ModelReply)
    return reply


THINKING = {
    "type": "thinking",
    "thinking": [{"type": "text", "text": '{"response": "a draft", "shouldRespond": true}'}],
}

PLAIN_READINGS = [
    {"content": [{"type": "text", "text": WRITTEN}]},
    {"content": [THINKING, {"type": "text", "text": WRITTEN}]},
    {"content": [{"type": "reasoning", "text": "a draft"}, {"type": "output_text", "text": WRITTEN}]},
    {"content": [{"type": "text", "text": WRITTEN[:9]}, {"type": "text", "text": WRITTEN[9:]}]},
    {"content": [WRITTEN]},
    {"content": {"type": "text", "text": WRITTEN}},
    {"content": {"type": "text", "text": {"value": WRITTEN}}},
    {"content": ANSWER},
    {"content": None, "parsed": ANSWER},
    {"content": None, "reasoning_content": WRITTEN},
    {"content": "", "reasoning": f"\n{WRITTEN}\n"},
    {"content": " \n", "reasoning_content": f"```json\n{WRITTEN}\n```"},
    {"content": None, "tool_calls": [{"type": "function", "function": {"name": "reply", "arguments": WRITTEN}}]},
    {"content": None, "tool_calls": [{"function": {"name": "reply", "arguments": ANSWER}}]},
    {"content": None, "tool_calls": [{"function": {"arguments": WRITTEN}}, {"function": {"arguments": ANSWER}}]},
    {"content": None, "function_call": {"name": "reply", "arguments": WRITTEN}},
]


@pytest.mark.parametrize("message", PLAIN_READINGS)
def test_a_reply_is_read_from_where_it_plainly_is(message: dict[str, Any]) -> None:
    reply = read(message)

    assert (reply.status, reply.parsed, reply.error) == ("ok", ANSWER, None)
    assert json.loads(reply.words) == ANSWER
    assert json.loads(reply.raw) == message


OTHER = {**ANSWER, "response": "I am against it."}

LOST = [
    ({"content": None, "reasoning_content": f"I could say {WRITTEN}. But no."}, "reasoning_content"),
    ({"content": "", "reasoning": "I am for it, since trams are quiet."}, "reasoning"),
    ({"content": None, "thinking": '{"response": "half"}'}, "thinking"),
    ({"content": None, "tool_calls": [{"function": {"name": "search", "arguments": '{"q": "trams"}'}}]}, "tool_calls"),
    (
        {"content": None, "tool_calls": [{"function": {"arguments": WRITTEN}}, {"function": {"arguments": OTHER}}]},
        "tool_calls",
    ),
    ({"content": [THINKING]}, "thinking"),
    ({"content": [{"type": "image_url", "image_url": {"url": "x"}}]}, "image_url"),
    ({"content": None, "audio": {"transcript": "I am for it."}}, "audio"),
]


@pytest.mark.parametrize(("message", "named"), LOST)
def test_a_reply_without_a_plain_reading_names_its_field_and_is_not_asked_for_again(
    message: dict[str, Any], named: str
) -> None:
    reply = read(message)

    assert (reply.status, reply.parsed, reply.can_retry) == ("invalid", None, False)
    assert named in (reply.error or "")
    assert reply.words == ""
    assert json.loads(reply.raw) == message


@pytest.mark.parametrize("message", [{"content": None}, {"content": ""}, {"content": None, "reasoning": ""}, {}])
def test_a_reply_with_nothing_in_it_is_asked_for_again(message: dict[str, Any]) -> None:
    reply = read(message)

    assert (reply.status, reply.error, reply.can_retry) == ("invalid", "the reply is empty", True)


def test_a_reply_that_was_cut_off_while_the_model_thought_was_cut_off() -> None:
    body = completed({"content": None, "reasoning_content": "So many trams"}, finish_reason="length")

    reply = read_completion(json.dumps(body).encode(), a_request())

    assert isinstance(reply, ModelReply)
    assert "cut off" in (reply.error or "")
    assert reply.can_retry


def test_a_plain_text_is_its_own_raw_whatever_else_the_message_has() -> None:
    reply = read({"content": WRITTEN, "reasoning_content": "Let me think.", "tool_calls": []})

    assert (reply.parsed, reply.raw, reply.text) == (ANSWER, WRITTEN, None)


def test_a_refusal_among_the_parts_is_a_refusal() -> None:
    reply = read({"content": [{"type": "refusal", "refusal": "I will not."}]})

    assert (reply.status, reply.words) == ("refused", "I will not.")


def test_parts_of_a_plain_text_are_its_words() -> None:
    reply = read({"content": [THINKING, {"type": "text", "text": "Eight."}]}, is_text=True)

    assert (reply.words, reply.parsed) == ("Eight.", None)


def test_the_text_of_a_legacy_completion_is_read() -> None:
    body = {"choices": [{"text": WRITTEN, "finish_reason": "stop"}]}

    reply = read_completion(json.dumps(body).encode(), a_request())

    assert isinstance(reply, ModelReply)
    assert reply.parsed == ANSWER


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["text", "thinking", "error", WRITTEN, ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "function", "arguments", "code", "message"]), inner)
    ),
    max_leaves=12,
)
messages = st.dictionaries(
    st.sampled_from(["content", "refusal", "tool_calls", "function_call", "parsed", "reasoning", "error", "thinking"]),
    json_values,
)


@given(messages | json_values, st.dictionaries(st.sampled_from(["error", "finish_reason", "usage"]), json_values))
def test_no_message_is_an_exception_and_no_answer_is_made_up(message: object, more: dict[str, Any]) -> None:
    body = {**completed(message, **more), "error": more.get("error")}

    reply = read_completion(json.dumps(body).encode(), a_request())

    if isinstance(reply, ModelReply) and reply.status == "ok":
        assert reply.parsed is not None
        assert reply.words.strip()
        assert json.dumps(reply.parsed).replace('"', "") in json.dumps(message).replace("\\", "").replace('"', "")


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with FakeEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def model(endpoint: FakeEndpoint) -> AsyncIterator[OpenAIModel]:
    keys = read_model_keys({"OPENAI_API_KEY": "sk-very-secret-0123456789", "OPENAI_BASE_URL": endpoint.base_url})
    model = OpenAIModel(keys, base_url=endpoint.base_url)
    yield model
    await model.aclose()


LOGPROBS = {"content": [{"token": "8", "logprob": -0.25, "bytes": [56], "top_logprobs": []}]}


@pytest.mark.parametrize(
    ("extra_body", "kept"),
    [
        ({"logprobs": True}, {"logprobs": LOGPROBS, "system_fingerprint": "fp_1"}),
        ({"seed": 3}, {"system_fingerprint": "fp_1"}),
        ({"logprobs": False}, {}),
        ({}, {}),
    ],
)
async def test_what_the_file_asks_for_beside_the_text_is_kept(
    endpoint: FakeEndpoint, model: OpenAIModel, extra_body: dict[str, Any], kept: dict[str, Any]
) -> None:
    body = {**completed({"content": WRITTEN}, logprobs=LOGPROBS), "system_fingerprint": "fp_1"}
    endpoint.replies = lambda _request: FakeReply(body=body)

    reply = await model.reply(a_request(extra_body=extra_body))

    assert reply.details == kept


def test_log_probabilities_of_half_a_character_can_be_stored() -> None:
    reply = ModelReply(status="ok", details={"logprobs": {"content": [{"token": "\ud83d\x00", "logprob": -0.5}]}})

    assert storable(reply).details == {"logprobs": {"content": [{"token": "\ufffd\ufffd", "logprob": -0.5}]}}
