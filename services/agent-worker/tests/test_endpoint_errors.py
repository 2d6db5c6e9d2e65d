"""Errors of endpoints, in every form: the status that they mean, their words and their wait."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from parley_lab.agent_worker.models.endpoint_errors import error_of_failure, redact, status_of_http
from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.contracts.model_keys import NO_KEYS, read_model_keys
from parley_lab.contracts.models import ChatMessage, ModelRequest, ModelSettings
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply

CHOICE = {"message": {"content": '{"response": "Hi"}'}, "finish_reason": "stop"}
REQUEST = ModelRequest(
    path="c1/m1/talk/call:1",
    seed=1,
    settings=ModelSettings(),
    messages=(ChatMessage(role="user", content="Hello"),),
    reply_schema={"type": "object", "properties": {"response": {}}, "required": ["response"]},
)


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


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"choices": None, "error": {"code": 429, "message": "The provider is at its limit."}}, "rate_limited"),
        ({"choices": [], "error": {"code": "429", "message": "Later."}}, "rate_limited"),
        ({"error": {"code": 401, "message": "There is no such key."}}, "auth_error"),
        ({"error": {"type": "authentication_error", "message": "no"}}, "auth_error"),
        ({"error": {"message": "Incorrect API key provided"}}, "auth_error"),
        ({"error": "rate limit reached"}, "rate_limited"),
        ({"error": {"status": "RESOURCE_EXHAUSTED", "message": "Quota."}}, "rate_limited"),
        ([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}}], "unavailable"),
        ({"error": {"type": "overloaded_error", "message": "Overloaded"}}, "unavailable"),
        ({"error": {"code": 402, "message": "Add credits."}}, "no_quota"),
        ({"error": {"code": "insufficient_quota", "message": "Nothing is left."}}, "no_quota"),
        ({"error": {"code": 400, "message": "the maximum context length is 2048 tokens"}}, "too_long"),
        ({"object": "error", "message": "bad field", "code": 400}, "bad_request"),
        ({"message": "Too many requests", "success": False}, "rate_limited"),
        ({"choices": [CHOICE], "error": {"code": 502, "message": "The provider broke off."}}, "unavailable"),
        ({"choices": [{**CHOICE, "finish_reason": "error", "error": {"code": 429}}]}, "rate_limited"),
        ({"choices": [{**CHOICE, "finish_reason": "error"}]}, "unavailable"),
        ({"choices": None}, "unavailable"),
        (
            {"choices": [], "prompt_filter_results": [{"content_filter_results": {"hate": {"filtered": True}}}]},
            "refused",
        ),
        ({"choices": [{**CHOICE, "finish_reason": "content_filter"}]}, "refused"),
        ({"choices": [{**CHOICE, "finish_reason": "SAFETY"}]}, "refused"),
        ({"choices": [CHOICE], "error": None}, "ok"),
        ({"choices": [CHOICE], "error": {}}, "ok"),
        ({"choices": [CHOICE], "error": {"message": "a note"}}, "ok"),
        ({"unexpected": True}, "error"),
    ],
)
async def test_an_error_inside_a_200_is_read_as_the_status_that_it_means(
    endpoint: FakeEndpoint, model: OpenAIModel, body: Any, status: str
) -> None:
    endpoint.replies = lambda _request: FakeReply(200, json.dumps(body))

    reply = await model.reply(REQUEST)

    assert reply.status == status
    assert (reply.parsed is not None) == (status == "ok")


async def test_an_error_inside_a_200_has_its_words_and_its_wait(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    error = {"code": 429, "message": "At its limit."}
    endpoint.replies = lambda _request: FakeReply(200, {"choices": None, "error": error}, {"retry-after": "7"})

    reply = await model.reply(REQUEST)

    assert (reply.retry_after_seconds, reply.error) == (7, "error 429: At its limit.")
    assert "At its limit." in reply.raw


async def test_a_wait_in_the_body_is_read(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    endpoint.replies = lambda _request: FakeReply(429, json.dumps([{"error": {"code": 429, "details": details}}]))

    assert (await model.reply(REQUEST)).retry_after_seconds == 34.5


@pytest.mark.parametrize(
    ("http_status", "words", "status"),
    [
        (403, "Your chosen model requires moderation and your input was flagged for violence", "refused"),
        (403, "Content violates usage guidelines.", "refused"),
        (400, "The response was filtered due to the content management policy.", "refused"),
        (400, "Content Exists Risk", "refused"),
        (403, "Your account was flagged for violating our policies", "auth_error"),
        (403, "You are not allowed to use this model.", "bad_request"),
        (403, "Project `proj_abc` does not have access to model `gpt-5`", "bad_request"),
        (403, "The model `gpt-oss-120b` is blocked at the project level.", "bad_request"),
        (403, "You don't have access to the model with the specified model ID.", "bad_request"),
        (403, "Model access denied.", "bad_request"),
        (401, "key not allowed to access model. This key can only access models=['small']", "bad_request"),
        (401, "Invalid API key: no access to model gpt-5", "auth_error"),
        (403, "You have insufficient permissions for this operation. Missing scopes: model.request.", "auth_error"),
        (403, "Your plan does not include access to these models.", "auth_error"),
        (403, "Sorry, you have been blocked", "auth_error"),
        (400, "API key not valid. Please pass a valid API key.", "auth_error"),
        (400, "Invalid API key", "auth_error"),
        (400, "The API key has expired", "auth_error"),
        (400, "Your credit balance is too low to access the API.", "no_quota"),
        (400, "Unsupported value: temperature", "bad_request"),
        (400, "Invalid schema for response_format: content is required", "bad_request"),
        (400, "max_tokens is too large", "bad_request"),
        (404, "there is no model small here; pull it first", "bad_request"),
        (429, "You exceeded your current quota, please check your plan", "rate_limited"),
        (429, "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", "rate_limited"),
        (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 37313.", "too_long"),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000", "too_long"),
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 4997", "too_long"),
        (400, "This model's maximum prompt length is 131072 but the request contains 136973 tokens.", "too_long"),
        (400, "input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000", "too_long"),
        (400, "too many tokens: total number of tokens in the prompt exceeds the limit of 4081", "too_long"),
        (400, "Range of input length should be [1, 30720]", "too_long"),
        (422, "`inputs` must be a text", "bad_request"),
        (400, "Range of max_tokens should be [1, 8192]", "bad_request"),
        (500, "content policy of the proxy failed to load", "unavailable"),
    ],
)
def test_a_status_is_read_with_its_words(http_status: int, words: str, status: str) -> None:
    assert status_of_http(http_status, (), words) == status


@pytest.mark.parametrize("code", ["model_not_found", "model_permission_blocked_org", "key_model_access_denied"])
def test_a_code_about_the_model_alone_is_no_fault_of_the_key(code: str) -> None:
    assert status_of_http(403, {code}, "No.") == "bad_request"
    assert status_of_http(403, {code, "invalid_api_key"}, "No.") == "auth_error"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": "there is no model small here"}, "there is no model small here"),
        ({"error": {"message": "no model small"}}, "no model small"),
        ({"detail": "the maximum context length is 2048"}, "the maximum context length is 2048"),
        (
            {"detail": [{"loc": ["body", "seed"], "msg": "not an integer"}, {"loc": ["body", "n"], "msg": "too many"}]},
            "body.seed: not an integer; body.n: too many",
        ),
        ([{"error": {"message": "API key not valid", "code": 400}}], "API key not valid"),
        ({"errors": [{"message": "one"}, {"message": "two"}]}, "one; two"),
        ({"object": "error", "message": "no template", "code": 400}, "no template"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "model is cold"}}}, "model is cold"),
        ({"title": "Forbidden", "status": 403}, "Forbidden"),
        ({"fault": {"faultstring": "x"}}, "faultstring"),
        ("just words", "just words"),
        (
            "<html><head><title>502</title><style>b{}</style></head><body><h1>Bad gateway</h1><p>of&nbsp;ours</p>",
            "Bad gateway of ours",
        ),
        ("<html><head><title>Log in</title></head><body></body></html>", "Log in"),
        ("", ""),
    ],
)
def test_the_words_of_an_error_are_found_in_every_form(body: Any, words: str) -> None:
    content = body if isinstance(body, str) else json.dumps(body)

    assert words in error_of_failure(content.encode()).words


async def test_the_words_reach_the_reply_with_the_status(endpoint: FakeEndpoint, model: OpenAIModel) -> None:
    endpoint.replies = lambda _request: FakeReply(404, {"error": "there is no model small here; pull it first"})

    assert (await model.reply(REQUEST)).error == "HTTP 404: there is no model small here; pull it first"


@pytest.mark.parametrize("deep", [{"a": {}}, {"error": []}, {"message": []}])
def test_an_error_of_any_depth_is_read(deep: dict[str, Any]) -> None:
    for _ in range(200):
        deep = {"error": deep, "message": [deep]} if len(json.dumps(deep)) < 1000 else {"error": deep}

    assert error_of_failure(json.dumps(deep).encode()).words


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (
            "no route to https://ann:secret@models.example.org/v1?sig=abc&x=1",
            "no route to https://models.example.org/v1",
        ),
        ("see https://example.org/docs#a=b, please", "see https://example.org/docs please"),
        ("key AIzaSyA-0123456789012345678901234567890", "key [redacted]"),
        ("write to ann@example.org?", "write to ann@example.org?"),
    ],
)
def test_what_an_address_may_keep_secret_is_not_told(told: str, shown: str) -> None:
    assert redact(told, NO_KEYS) == shown
