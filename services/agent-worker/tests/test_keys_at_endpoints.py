"""Two endpoints that look at what they are sent: which key goes where, whichever provider calls."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from parley_lab.agent_worker.models import build_models
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings
from parley_lab.contracts.providers import PROVIDERS
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply

OPENAI_KEY = "sk-of-openai-0123456789"
HF_KEY = "hf_of_hugging_face_0123"
TEAM_KEY = "the-key-of-the-team-0123"
SECRETS = (OPENAI_KEY, HF_KEY, TEAM_KEY, "org-0123", "proj-0123", "a-header-0123")


@pytest.fixture
async def own() -> AsyncIterator[FakeEndpoint]:
    async with FakeEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
async def other() -> AsyncIterator[FakeEndpoint]:
    async with FakeEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def environ(own: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with an endpoint of its own for openai; the library reads the last three by itself."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-0123")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-0123")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: a-header-0123")
    return {"OPENAI_API_KEY": OPENAI_KEY, "HF_API_KEY": HF_KEY, "OPENAI_BASE_URL": own.base_url}


async def call(environ: Mapping[str, str], *, is_open: bool = True, **settings: Any) -> ModelReply:
    wanted = ModelSettings(**settings)
    models = build_models(environ, endpoints=read_endpoints(environ, is_open=is_open))
    try:
        return await models[wanted.provider].reply(
            ModelRequest(
                path="c1/m1/talk/call:1",
                seed=1,
                settings=wanted,
                messages=(ChatMessage(role="user", content="Hello"),),
                reply_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            )
        )
    finally:
        for model in models.values():
            await model.aclose()


def key_of(endpoint: FakeEndpoint) -> str | None:
    (headers,) = endpoint.headers
    return headers.get("authorization")


async def test_the_endpoint_of_the_environment_gets_its_vendors_key(environ: dict[str, str], own: FakeEndpoint) -> None:
    reply = await call(environ, provider="openai")

    assert reply.status == "ok"
    assert key_of(own) == f"Bearer {OPENAI_KEY}"
    assert own.headers[0]["openai-organization"] == "org-0123"


@pytest.mark.parametrize("provider", ["openai", "hf-inference"])
@pytest.mark.parametrize("is_open", [True, False])
async def test_an_address_that_only_a_file_names_gets_nothing_of_the_environment(
    environ: dict[str, str], own: FakeEndpoint, other: FakeEndpoint, provider: str, is_open: bool
) -> None:
    """In a lab of one process, which calls whatever a file names, and in one whose operator allows the address."""
    environ |= {} if is_open else {"PARLEY_ALLOWED_BASE_URLS": other.base_url}

    reply = await call(environ, is_open=is_open, provider=provider, base_url=other.base_url)

    assert reply.status == "ok"
    assert key_of(other) is None
    assert not any(secret in json.dumps(other.headers) for secret in SECRETS)
    assert own.headers == []


@pytest.mark.parametrize("provider", ["openai", "hf-inference"])
@pytest.mark.parametrize("is_open", [True, False])
async def test_an_address_gets_the_key_that_the_environment_keeps_for_it(
    environ: dict[str, str], own: FakeEndpoint, other: FakeEndpoint, provider: str, is_open: bool
) -> None:
    environ |= {"PARLEY_ENDPOINT_KEYS": json.dumps({other.base_url: "TEAM_KEY"}), "TEAM_KEY": TEAM_KEY}

    reply = await call(environ, is_open=is_open, provider=provider, base_url=other.base_url)

    assert reply.status == "ok"
    assert key_of(other) == f"Bearer {TEAM_KEY}"
    assert not any(secret in json.dumps(other.headers) for secret in SECRETS if secret != TEAM_KEY)


async def test_a_key_that_is_not_there_is_not_replaced_by_another(environ: dict[str, str], other: FakeEndpoint) -> None:
    environ |= {"PARLEY_ENDPOINT_KEYS": json.dumps({other.base_url: "TEAM_KEY"})}

    reply = await call(environ, provider="openai", base_url=other.base_url)

    assert reply.status == "auth_error"
    assert "TEAM_KEY is not set" in (reply.error or "")
    assert other.calls == []


async def test_one_address_for_both_is_still_the_address_of_one(environ: dict[str, str], own: FakeEndpoint) -> None:
    """The endpoint that the environment gives openai does not see the key of another vendor."""
    reply = await call(environ, provider="hf-inference", base_url=own.base_url)

    assert reply.status == "ok"
    assert key_of(own) is None


async def test_a_refusal_for_want_of_a_key_says_where_to_put_it(environ: dict[str, str], other: FakeEndpoint) -> None:
    other.replies = lambda _body: FakeReply(401, {"error": {"message": "who are you?"}})

    reply = await call(environ, provider="openai", base_url=other.base_url)

    assert reply.status == "auth_error"
    assert "who are you?" in (reply.error or "")
    assert f'PARLEY_ENDPOINT_KEYS=\'{{"{other.base_url}": ' in (reply.error or "")


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"text": f"I was sent {OPENAI_KEY}, and {TEAM_KEY} too", OPENAI_KEY: [{"deep": OPENAI_KEY}]}),
        json.dumps({"text": OPENAI_KEY}).replace("sk-", "\\u0073k-"),
        f"No object, but a key: {OPENAI_KEY}",
    ],
)
async def test_what_an_endpoint_returns_holds_no_key_of_the_lab(
    environ: dict[str, str], own: FakeEndpoint, content: str
) -> None:
    environ |= {"PARLEY_ENDPOINT_KEYS": '{"https://models.example.org": "TEAM_KEY"}', "TEAM_KEY": TEAM_KEY}
    own.replies = lambda _body: FakeReply(
        200,
        {
            "choices": [{"message": {"content": content}, "finish_reason": f"stop {OPENAI_KEY}"}],
            "model": f"fake {OPENAI_KEY}",
        },
    )

    reply = await call(environ, provider="openai")

    assert "[redacted]" in reply.model_dump_json()
    assert not any(secret in reply.model_dump_json() for secret in SECRETS)
    assert "\\\\u0073" not in reply.model_dump_json()


async def test_a_key_is_not_shown_where_an_error_is_cut_off(environ: dict[str, str], own: FakeEndpoint) -> None:
    own.replies = lambda _body: FakeReply(400, {"error": {"message": "x" * 480 + OPENAI_KEY}})

    reply = await call(environ, provider="openai")

    assert "openai-0" not in (reply.error or "")


async def test_a_worker_without_a_key_and_without_another_address_serves_nothing() -> None:
    assert set(build_models({}, endpoints=read_endpoints({}, is_open=False))) - {"crewai"} == {"mock"}
    allowed = {"PARLEY_ALLOWED_BASE_URLS": "https://models.example.org"}
    found = build_models(allowed, endpoints=read_endpoints(allowed, is_open=False))
    assert set(found) - {"crewai"} == {name for name in PROVIDERS if "/" not in name}
