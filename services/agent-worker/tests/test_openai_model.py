"""The openai model against a fake endpoint: every way a call can go is a status, never an exception."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from parley_lab.agent_worker.models.endpoint_errors import redact, retry_after_seconds
from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.agent_worker.models.request_body import request_body
from parley_lab.contracts.model_keys import NO_KEYS, ModelKeys, read_model_keys
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply

KEY = "sk-very-secret-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"response": {"type": "string"}, "shouldRespond": {"type": "boolean"}},
    "required": ["response", "shouldRespond"],
    "additionalProperties": False,
}


def a_request(text: str = "Hello", **settings: Any) -> ModelRequest:
    return ModelRequest(
        path="c1/m1/talk/call:1",
        seed=1,
        settings=ModelSettings(**settings),
        messages=(ChatMessage(role="system", content="You are Ann."), ChatMessage(role="user", content=text)),
        reply_schema=SCHEMA,
        reply_name="chat_reply",
        hints={"speaker_name": "never sent"},
    )


def keys_for(base_url: str) -> ModelKeys:
    return read_model_keys({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": base_url})


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with FakeEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def model(endpoint: FakeEndpoint) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel(keys_for(endpoint.base_url), base_url=endpoint.base_url)
    yield model
    await model.aclose()


def failure(status: int, code: str | None = None, **headers: str) -> FakeReply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return FakeReply(status, {"error": {"message": f"refused, key {KEY}", "code": code}}, named)


async def test_a_reply_is_parsed_with_its_usage(model: OpenAIModel) -> None:
    reply = await model.reply(a_request(model="some-model"))

    assert reply.status == "ok"
    assert reply.parsed is not None
    assert set(reply.parsed) == {"response", "shouldRespond"}
    assert reply.model_returned == "some-model"
    assert reply.finish_reason == "stop"
    assert reply.tokens_in == 4
    assert reply.tokens_out
    assert reply.error is None


@pytest.mark.parametrize(
    ("scripted", "status", "can_retry"),
    [
        (failure(400), "bad_request", False),
        (failure(404, "model_not_found"), "bad_request", False),
        (failure(422), "bad_request", False),
        (failure(400, "context_length_exceeded"), "too_long", False),
        (failure(413), "too_long", False),
        (failure(400, "content_filter"), "refused", False),
        (failure(401, "invalid_api_key"), "auth_error", False),
        (failure(403), "auth_error", False),
        (failure(429), "rate_limited", True),
        (failure(429, "insufficient_quota"), "no_quota", False),
        (failure(402), "no_quota", False),
        (failure(408), "unavailable", True),
        (failure(500), "unavailable", True),
        (failure(503), "unavailable", True),
        (FakeReply(502, b"<html>bad gateway</html>", {"content-type": "text/html"}), "unavailable", True),
        (FakeReply(drop=True), "unavailable", True),
        (FakeReply(200, b"<html>a proxy's page</html>", {"content-type": "text/html"}), "error", True),
        (FakeReply(200, b'{"choices": []}'), "unavailable", True),
        (FakeReply(200, b'{"choices": [{"message": "text"}]}'), "error", True),
        (
            FakeReply(200, b'{"choices": [{"message": {"content": [1]}}], "usage": {"prompt_tokens": "x"}}'),
            "invalid",
            True,
        ),
        ("", "invalid", True),
        ("Just prose.", "invalid", True),
        ('["a list"]', "invalid", True),
        ({"response": "Hi", "shouldRespond": True}, "ok", False),
        ('Sure!\n```json\n{"response": "Hi"}\n```', "ok", False),
    ],
)
async def test_every_outcome_has_its_status(
    endpoint: FakeEndpoint,
    model: OpenAIModel,
    scripted: str | dict[str, Any] | FakeReply,
    status: str,
    can_retry: bool,
) -> None:
    endpoint.replies = lambda _request: scripted

    reply = await model.reply(a_request())

    assert (reply.status, reply.can_retry) == (status, can_retry)
    assert (reply.error is None) == (status == "ok")
    assert KEY not in reply.model_dump_json()
    assert len(endpoint.calls) == 1


async def test_a_refusal_is_no_reply(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    endpoint.behaviour = Behaviour(refusal_rate=1)

    reply = await model.reply(a_request())

    assert (reply.status, reply.parsed) == ("refused", None)
    assert "sorry" in reply.raw


async def test_a_reply_that_was_cut_off_is_asked_again_for_a_shorter_one(model: OpenAIModel) -> None:
    reply = await model.reply(a_request(max_tokens=1))

    assert (reply.status, reply.parsed, reply.finish_reason) == ("invalid", None, "length")
    assert reply.can_retry
    assert "fewer words" in (reply.error or "")


async def test_a_reply_that_was_cut_off_before_it_had_all_its_tokens_had_too_long_a_prompt(
    endpoint: FakeEndpoint, model: OpenAIModel
) -> None:
    choice = {"message": {"content": "{"}, "finish_reason": "length"}
    endpoint.replies = lambda _request: FakeReply(body={"choices": [choice], "usage": {"completion_tokens": 7}})

    reply = await model.reply(a_request(max_tokens=100))

    assert (reply.status, reply.error) == ("too_long", "the prompt left room for 7 tokens of the reply only")


@pytest.mark.parametrize(
    ("usage", "tokens_out"),
    [
        ({"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 157}, 107),
        ({"prompt_tokens": 50, "completion_tokens": 107, "total_tokens": 157}, 107),
        ({"prompt_tokens": 50, "completion_tokens": 107, "total_tokens": 40}, 107),
        ({"prompt_tokens": 50, "completion_tokens": 107}, 107),
        ({"prompt_tokens": 50, "total_tokens": 157}, 107),
    ],
)
async def test_thoughts_that_are_counted_in_the_total_alone_are_tokens_of_the_reply(
    endpoint: FakeEndpoint, model: OpenAIModel, usage: dict[str, int], tokens_out: int
) -> None:
    choice = {"message": {"content": "{"}, "finish_reason": "length"}
    endpoint.replies = lambda _request: FakeReply(body={"choices": [choice], "usage": usage})

    reply = await model.reply(a_request(max_tokens=100))

    assert (reply.tokens_in, reply.tokens_out, reply.status) == (50, tokens_out, "invalid")
    assert "fewer words" in (reply.error or "")


@pytest.mark.parametrize(
    "error",
    [
        {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size"},
        {"message": "This model's maximum context length is 4096 tokens."},
        {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
        {"message": "Please reduce the length of the messages or completion."},
    ],
)
async def test_servers_say_in_their_own_words_that_a_prompt_is_too_long(
    endpoint: FakeEndpoint, model: OpenAIModel, error: dict[str, Any]
) -> None:
    endpoint.replies = lambda _request: FakeReply(400, {"error": error})

    assert (await model.reply(a_request())).status == "too_long"


async def test_no_one_listening_is_unreachable() -> None:
    async with FakeEndpoint() as gone:
        base_url = gone.base_url
    model = OpenAIModel(keys_for(base_url), base_url=base_url)

    reply = await model.reply(a_request())
    await model.aclose()

    assert (reply.status, reply.can_retry) == ("unreachable", True)


async def test_the_whole_call_has_one_time_out(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    never = asyncio.Event()

    async def hold(_request: dict[str, Any]) -> None:
        await never.wait()

    endpoint.replies = hold

    reply = await model.reply(a_request(timeout_seconds=0.05))

    assert (reply.status, reply.can_retry) == ("timeout", True)


async def test_what_a_provider_asks_us_to_wait_is_handed_on(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    endpoint.replies = lambda _request: failure(429, retry_after="7")

    assert (await model.reply(a_request())).retry_after_seconds == 7


def test_waits_come_as_seconds_milliseconds_or_date() -> None:
    now = datetime(2030, 1, 1, 12, tzinfo=UTC)

    assert retry_after_seconds({"retry-after": "1.5"}, now) == 1.5
    assert retry_after_seconds({"retry-after-ms": "250", "retry-after": "9"}, now) == 0.25
    assert retry_after_seconds({"retry-after": format_datetime(now + timedelta(seconds=30), usegmt=True)}, now) == 30
    assert retry_after_seconds({"retry-after": format_datetime(now - timedelta(seconds=30), usegmt=True)}, now) == 0
    for unreadable in ("", "soon", "-3", "nan", "inf"):
        assert retry_after_seconds({"retry-after": unreadable}, now) is None
    assert retry_after_seconds({}, now) is None


async def test_only_what_is_set_is_sent(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    await model.reply(a_request())

    assert endpoint.calls == [
        {
            "model": "gpt-4.1-mini",
            "messages": [{"role": "system", "content": "You are Ann."}, {"role": "user", "content": "Hello"}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "chat_reply", "strict": True, "schema": SCHEMA},
            },
        }
    ]


@pytest.mark.parametrize(("mode", "sent"), [("json", {"response_format": {"type": "json_object"}}), ("text", {})])
async def test_an_endpoint_that_knows_no_schemas_is_sent_none_and_its_text_is_read(
    endpoint: FakeEndpoint, model: OpenAIModel, mode: str, sent: dict[str, Any]
) -> None:
    endpoint.replies = lambda body: 'My reply:\n```json\n{"response": "Hi", "shouldRespond": true,}\n```'

    reply = await model.reply(a_request(structured_output=mode))

    assert {name: value for name, value in endpoint.calls[0].items() if name not in ("model", "messages")} == sent
    assert reply.parsed == {"response": "Hi", "shouldRespond": True}


async def test_where_a_plain_text_is_asked_for_no_form_is_sent(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    endpoint.replies = lambda body: "Hi."

    reply = await model.reply(a_request().model_copy(update={"is_text": True}))

    assert "response_format" not in endpoint.calls[0]
    assert (reply.raw, reply.parsed) == ("Hi.", None)


async def test_every_setting_is_sent(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    settings: dict[str, Any] = {"temperature": 0.0, "top_p": 0.5, "stop": ("END",), "reasoning_effort": "low"}

    await model.reply(a_request(**settings, max_tokens=900, extra_body={"seed": 3, "service_tier": "flex"}))

    sent = endpoint.calls[0]
    assert {name: sent[name] for name in settings} == {**settings, "stop": ["END"]}
    assert (sent["seed"], sent["service_tier"], sent["max_completion_tokens"]) == (3, "flex", 900)


def test_the_limit_on_tokens_has_the_name_that_the_endpoint_knows() -> None:
    request = a_request(max_tokens=5)

    assert request_body("https://api.openai.com/v1", request)["max_completion_tokens"] == 5
    assert request_body("http://127.0.0.1:8000/v1", request)["max_tokens"] == 5


async def test_settings_may_name_another_endpoint(model: OpenAIModel) -> None:
    async with FakeEndpoint(replies=lambda _request: {"response": "from elsewhere"}) as elsewhere:
        reply = await model.reply(a_request(base_url=elsewhere.base_url))

    assert reply.parsed == {"response": "from elsewhere"}
    assert not reply.has_list_price


async def test_hundreds_of_calls_are_in_flight_at_once(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    everybody_is_here = asyncio.Barrier(500)

    async def hold(_request: dict[str, Any]) -> dict[str, Any]:
        await everybody_is_here.wait()
        return {}

    endpoint.replies = hold

    replies: list[ModelReply] = await asyncio.gather(*(model.reply(a_request(str(n))) for n in range(500)))

    assert {reply.status for reply in replies} == {"ok"}
    assert endpoint.statistics["peak_in_flight"] == 500


async def test_an_endpoint_that_shows_what_it_was_sent_does_not_bring_the_key_into_the_data(
    endpoint: FakeEndpoint, model: OpenAIModel
) -> None:
    endpoint.replies = lambda _body: FakeReply(200, f'{{"headers": {{"Authorization": "Bearer {KEY}"}}}}')

    reply = await model.reply(a_request())

    assert reply.status == "error"
    assert "Authorization" in reply.raw
    assert KEY not in reply.model_dump_json()


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_without_end_is_cut_while_it_is_read(
    endpoint: FakeEndpoint, is_packed: bool, status: int
) -> None:
    body = b'{"choices": [{"message": {"content": "' + b" " * 3_000_000 + b'"}}]}'
    packed = gzip.compress(body) if is_packed else body
    headers = {"content-encoding": "gzip"} if is_packed else {}
    endpoint.replies = lambda _request: FakeReply(status, packed, headers)
    model = OpenAIModel(keys_for(endpoint.base_url), base_url=endpoint.base_url, longest_reply_bytes=10_000)

    reply = await model.reply(a_request())
    await model.aclose()

    assert reply.status == ("invalid" if status == 200 else "unavailable")
    if status == 200:
        assert "cut while it was read, after 10,000 bytes" in (reply.error or "")
        assert (reply.finish_reason, reply.details) == ("length", {"cut_after_bytes": 10_000})
        assert body.decode().startswith(reply.raw)
        assert 0 < len(reply.raw) <= 20_000


async def test_a_packed_answer_is_read(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    body = b'{"choices": [{"message": {"content": "{\\"response\\": \\"Hi\\"}"}}]}'
    endpoint.replies = lambda _request: FakeReply(200, gzip.compress(body), {"content-encoding": "gzip"})

    assert (await model.reply(a_request())).parsed == {"response": "Hi"}


async def test_the_usual_address_is_not_called_without_its_key() -> None:
    model = OpenAIModel(NO_KEYS)

    reply = await model.reply(a_request())
    await model.aclose()

    assert (reply.status, reply.can_retry) == ("auth_error", False)
    assert "OPENAI_API_KEY is not set" in (reply.error or "")


@pytest.mark.parametrize(
    "text", [f"key {KEY}!", "provided: sk-abc***wxyz.", "Authorization: Bearer abc.def", "sk-proj-Ab_9-xyz"]
)
def test_whatever_looks_like_a_key_is_redacted(text: str) -> None:
    redacted = redact(text, keys_for("http://127.0.0.1/v1"))

    assert "[redacted]" in redacted
    assert not any(part in redacted for part in (KEY, "abc", "Ab_9"))
