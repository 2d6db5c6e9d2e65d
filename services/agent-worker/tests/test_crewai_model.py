"""The crewai model against a fake endpoint: what is sent, what is read, and that one attempt is one call."""

import asyncio
import json
import socket
import warnings
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from parley_lab.agent_worker.models import build_models, crewai_model
from parley_lab.agent_worker.models.crewai_model import (
    CrewAIModel,
    agent_arguments,
    failure_of,
    is_installed,
    llm_arguments,
    task_text,
)
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.model_keys import NO_KEYS, read_model_keys
from parley_lab.contracts.models import ChatMessage, ModelRequest, ModelSettings
from parley_lab.contracts.providers import CREWAI_KEY_VARIABLES
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply

KEY = "sk-very-secret-0123456789"
REPLY = '{"explanation": "Final Answer: is nothing special here", "response": "Hi {name}", "shouldRespond": true}'
with_crewai = pytest.mark.crewai


def a_request(**fields: Any) -> ModelRequest:
    settings = fields.pop("settings", {})
    return ModelRequest(
        path="c1/m1/talk/call:1",
        seed=1,
        settings=ModelSettings(provider="crewai", **{"model": "openai/gpt-4.1-mini", **settings}),
        messages=(ChatMessage(role="system", content="You are Ann."), ChatMessage(role="user", content="Say {this}.")),
        reply_schema={"type": "object", "properties": {}, "required": ["response"]},
        hints={"speaker_name": "Ann"},
        **fields,
    )


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with FakeEndpoint(replies=lambda body: REPLY) as endpoint:
        yield endpoint


@pytest.fixture
async def model() -> AsyncIterator[CrewAIModel]:
    model = CrewAIModel(read_model_keys({"OPENAI_API_KEY": KEY}))
    # Deprecations of CrewAI and of what it brings, which its users cannot mend.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield model
    await model.aclose()


def at(endpoint: FakeEndpoint, **settings: Any) -> ModelRequest:
    return a_request(settings={"base_url": endpoint.base_url, **settings})


def test_a_persona_is_an_agent_and_its_prompt_a_task() -> None:
    request = a_request(role="Farmer", goal="Sell the barn", backstory="Born in it.")

    agent = agent_arguments(request)

    assert (agent["role"], agent["goal"], agent["backstory"]) == ("Farmer", "Sell the barn", "Born in it.")
    assert task_text(request) == "You are Ann.\n\nSay {this}."


def test_without_a_backstory_the_system_prompt_is_it() -> None:
    agent = agent_arguments(a_request())

    assert (agent["role"], agent["backstory"]) == ("Ann", "You are Ann.")
    assert task_text(a_request()) == "Say {this}."


def test_only_what_is_set_is_passed_on() -> None:
    bare = llm_arguments(a_request(settings={"model": "some"}), KEY)
    full = llm_arguments(a_request(settings={"temperature": 0.0, "top_p": 0.5, "max_tokens": 9, "stop": ["END"]}), KEY)

    assert bare == {"model": "openai/some", "api_key": KEY, "timeout": 120.0, "max_retries": 0}
    assert {name: full[name] for name in ("temperature", "top_p", "max_tokens", "stop")} == {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 9,
        "stop": ["END"],
    }


async def test_a_vendor_without_a_key_is_not_called() -> None:
    reply = await CrewAIModel(NO_KEYS).reply(a_request())

    assert (reply.status, reply.error) == ("auth_error", "there is no key for the models of 'openai'")


async def test_a_host_that_no_one_knows_may_be_known_later() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise socket.gaierror("Name or service not known")

    base_url = "http://models.example.org/v1"
    endpoints = read_endpoints({"PARLEY_ALLOWED_BASE_URLS": base_url}, is_open=False)
    model = CrewAIModel(NO_KEYS, endpoints=endpoints, resolver=resolve)

    reply = await model.reply(a_request(settings={"base_url": base_url}))

    assert (reply.status, reply.can_retry) == ("unreachable", True), reply.error


def test_a_server_that_takes_no_connection_is_unreachable() -> None:
    class ConnectTimeout(Exception):
        pass

    class APITimeoutError(Exception):
        pass

    wrapped, alone = APITimeoutError("Request timed out."), APITimeoutError("Request timed out.")
    wrapped.__cause__ = ConnectTimeout()

    assert failure_of(wrapped, NO_KEYS).status == "unreachable"
    assert failure_of(alone, NO_KEYS).status == "timeout"


def test_crewai_is_served_where_it_is_installed() -> None:
    assert ("crewai" in build_models({})) is is_installed()


async def test_a_draft_in_a_thought_is_not_the_reply_of_a_crew(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(successful_requests=0)
    client = SimpleNamespace(base_url="", get_token_usage_summary=lambda: usage)
    written = f'{REPLY}<think>A draft: {{"response": "Never."}} No.</think>'
    library = SimpleNamespace(
        silence=lambda _is_on: None,
        LLM=lambda **_: client,
        OneCall=lambda inner: SimpleNamespace(inner=inner, outcome=written),
        Agent=lambda **_: None,
        Task=lambda **_: SimpleNamespace(execute_sync=lambda _agent: None),
    )
    monkeypatch.setattr(crewai_model, "_library", lambda: library)

    reply = await CrewAIModel(read_model_keys({"OPENAI_API_KEY": KEY})).reply(a_request())

    assert (reply.status, reply.raw) == ("ok", written)
    assert reply.parsed == json.loads(REPLY)


@with_crewai
async def test_the_reply_is_what_the_model_wrote(
    endpoint: FakeEndpoint, model: CrewAIModel, capfd: pytest.CaptureFixture[str]
) -> None:
    reply = await model.reply(at(endpoint, temperature=0.3, max_tokens=900))

    assert reply.status == "ok"
    assert reply.raw == REPLY
    assert reply.parsed is not None
    assert not reply.has_list_price
    assert reply.parsed["response"] == "Hi {name}"
    assert reply.tokens_in
    assert reply.tokens_out
    (sent,) = endpoint.calls
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("gpt-4.1-mini", 0.3, 900)
    system, user = (message["content"] for message in sent["messages"])
    assert system.startswith("You are Ann. You are Ann.")
    assert "Say {this}." in user
    assert "".join(capfd.readouterr()) == ""


@with_crewai
@pytest.mark.parametrize(
    "name",
    ["openai/gpt-4.1-mini", "anthropic/claude-sonnet-4-5", "openrouter/a/b", "deepseek/deepseek-chat", "ollama/llama"],
)
async def test_an_address_that_only_a_file_names_gets_the_key_that_is_kept_for_it_or_none(
    endpoint: FakeEndpoint, name: str
) -> None:
    kept = {"PARLEY_ENDPOINT_KEYS": f'{{"{endpoint.base_url}": "TEAM_KEY"}}', "TEAM_KEY": "key-of-the-team-0123"}
    own = {variable: KEY for variable in CREWAI_KEY_VARIABLES.values() if variable}
    for environ, sent in (({}, "not-needed"), (kept, "key-of-the-team-0123")):
        endpoint.reset()
        model = CrewAIModel(read_model_keys({**own, **environ}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await model.reply(at(endpoint, model=name))
        await model.aclose()

        assert endpoint.headers
        assert all(KEY not in str(headers) for headers in endpoint.headers)
        assert all(sent in str(headers) for headers in endpoint.headers)


async def test_a_vendor_that_is_called_at_home_only_is_not_called_elsewhere(
    endpoint: FakeEndpoint, model: CrewAIModel
) -> None:
    reply = await model.reply(at(endpoint, model="gemini/gemini-2.5-flash"))

    assert reply.status == "bad_request"
    assert "at its vendor's address" in (reply.error or "")


@with_crewai
async def test_nothing_goes_there_while_a_library_would_add_what_the_environment_has(
    endpoint: FakeEndpoint, model: CrewAIModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token")

    reply = await model.reply(at(endpoint))

    assert (reply.status, endpoint.headers) == ("bad_request", [])
    assert "ANTHROPIC_AUTH_TOKEN" in (reply.error or "")


@with_crewai
@pytest.mark.parametrize(
    ("http_status", "status", "wait"),
    [(401, "auth_error", None), (429, "rate_limited", 7.0), (503, "unavailable", 7.0), (400, "bad_request", None)],
)
async def test_a_failure_is_a_status_after_one_call(
    endpoint: FakeEndpoint,
    model: CrewAIModel,
    capfd: pytest.CaptureFixture[str],
    http_status: int,
    status: str,
    wait: float | None,
) -> None:
    body = {"error": {"message": f"refused, key {KEY}", "code": "x"}}
    endpoint.replies = lambda sent: FakeReply(http_status, body, {"retry-after": "7"})

    reply = await model.reply(at(endpoint))

    assert (reply.status, reply.retry_after_seconds) == (status, wait)
    assert len(endpoint.calls) == 1
    assert KEY not in (reply.error or "")
    assert "".join(capfd.readouterr()) == ""


@with_crewai
async def test_no_endpoint_and_no_reply_are_statuses(endpoint: FakeEndpoint, model: CrewAIModel) -> None:
    never = asyncio.Event()

    async def wait_for_ever(body: dict[str, Any]) -> None:
        await never.wait()

    await endpoint.stop()
    away = await model.reply(at(endpoint))
    async with FakeEndpoint(replies=wait_for_ever) as silent:
        late = await model.reply(at(silent, timeout_seconds=0.5))

    assert away.status == "unreachable"
    assert late.status == "timeout"


@with_crewai
async def test_prose_is_no_reply(endpoint: FakeEndpoint, model: CrewAIModel) -> None:
    endpoint.replies = lambda body: "Hello everybody."

    reply = await model.reply(at(endpoint))

    assert (reply.status, reply.raw) == ("invalid", "Hello everybody.")


@with_crewai
async def test_calls_are_made_at_the_same_time(endpoint: FakeEndpoint, model: CrewAIModel) -> None:
    everybody_is_here = asyncio.Barrier(20)

    async def together(body: dict[str, Any]) -> str:
        await everybody_is_here.wait()
        return REPLY

    endpoint.replies = together
    replies = await asyncio.gather(*(model.reply(at(endpoint)) for _ in range(20)))

    assert {reply.status for reply in replies} == {"ok"}
