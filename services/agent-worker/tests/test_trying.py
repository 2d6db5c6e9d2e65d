"""`parley providers test`: each configured provider is called once, and what is wrong is said with what to do."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from parley_lab.agent_worker.trying import Verdict, told, try_providers
from parley_lab.base.errors import InvalidInput, SettingsInvalid
from parley_lab.contracts.endpoints import OPEN, read_endpoints
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply

KEY = "sk-very-secret-0123456789"


def named(base_url: str, **more: Any) -> dict[str, str]:
    fields = {"base_url": base_url, "key": "MINE_KEY", "model": "small", **more}
    return {"PARLEY_PROVIDERS": json.dumps({"mine": fields}), "MINE_KEY": KEY}


async def verdict_on(name: str, environ: Mapping[str, str]) -> Verdict:
    (verdict,) = await try_providers(environ, OPEN, only=name)
    return verdict


@pytest.mark.parametrize(
    ("name", "variable", "path"),
    [
        ("openai", "OPENAI_BASE_URL", ""),
        ("anthropic", "ANTHROPIC_BASE_URL", "/v1"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL", "/v1beta/openai"),
        ("ollama", "OLLAMA_HOST", "/v1"),
        ("openrouter", "OPENROUTER_BASE_URL", ""),
        ("deepseek", "DEEPSEEK_BASE_URL", ""),
    ],
)
async def test_each_vendor_is_called_with_its_key_where_its_variable_says(name: str, variable: str, path: str) -> None:
    async with FakeEndpoint() as endpoint:
        root = endpoint.base_url.removesuffix("/v1")
        environ = {variable: f"{root}{'' if path else '/v1'}", f"{name.upper()}_API_KEY": KEY}

        verdict = await verdict_on(name, environ)

        if path in ("", "/v1"):
            assert verdict.is_well, verdict.line
            assert len(endpoint.calls) == 2
        else:
            assert f"{root}{path}" in verdict.line


async def test_a_provider_of_the_environment_is_called_by_its_name_with_its_own_key() -> None:
    async with FakeEndpoint() as endpoint:
        verdict = await verdict_on("mine", named(endpoint.base_url))

    assert verdict.line.startswith(f"mine: well ({endpoint.base_url}, small")


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "Put a key that is accepted there into MINE_KEY."), (404, "--model"), (402, "money and quota")],
)
async def test_what_is_wrong_is_said_with_what_to_do_and_without_the_key(status: int, says: str) -> None:
    failure = FakeReply(status, {"error": {"message": f"no, {KEY}"}}, {})
    async with FakeEndpoint() as endpoint:
        endpoint.replies = lambda _: failure
        verdict = await verdict_on("mine", named(endpoint.base_url))

    assert verdict.is_well is False
    assert says in verdict.line
    assert KEY not in verdict.line


async def test_an_endpoint_that_is_away_is_unreachable() -> None:
    verdict = await verdict_on("mine", named("http://127.0.0.1:9/v1"))

    assert "mine: unreachable" in verdict.line
    assert "See that a model is served there" in verdict.line


async def test_what_is_not_configured_is_not_called(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = await try_providers({}, read_endpoints({}, is_open=False))

    assert told(verdicts) == 2
    assert "openai: not configured; set OPENAI_API_KEY" in capsys.readouterr().out.splitlines()
    assert [verdict.line for verdict in verdicts if verdict.is_well is not None] == []


async def test_no_provider_is_left_out_without_a_word() -> None:
    verdicts = await try_providers({"HF_API_KEY": KEY}, OPEN)

    said = {verdict.line.partition(":")[0]: verdict for verdict in verdicts}
    assert "--base-url" in said["hf-inference"].line
    assert "not installed" in said["crewai"].line
    assert {verdict.is_well for verdict in verdicts} == {None}


async def test_an_address_with_a_key_of_its_own_is_named_and_can_be_called() -> None:
    async with FakeEndpoint() as endpoint:
        environ = {"PARLEY_ENDPOINT_KEYS": json.dumps({endpoint.base_url: "TEAM_KEY"}), "TEAM_KEY": KEY}
        lines = [verdict.line for verdict in await try_providers(environ, OPEN)]
        (called,) = await try_providers(environ, OPEN, only="openai", model="small", base_url=endpoint.base_url)

    how = f"parley providers test openai --base-url {endpoint.base_url} --model MODEL"
    assert f"{endpoint.base_url}: not called; {how} does" in lines
    assert called.line.startswith(f"openai: well ({endpoint.base_url}, small")
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_an_endpoint_of_hugging_face_is_called_at_the_address_that_is_given() -> None:
    async with FakeEndpoint() as endpoint:
        (verdict,) = await try_providers(
            {"PARLEY_ENDPOINT_KEYS": json.dumps({endpoint.base_url: "HF_API_KEY"}), "HF_API_KEY": KEY},
            OPEN,
            only="hf-inference",
            model="small",
            base_url=endpoint.base_url,
        )

    assert verdict.is_well, verdict.line


@pytest.mark.parametrize(("only", "base_url"), [("opanai", None), (None, "http://127.0.0.1:9/v1")])
async def test_what_cannot_be_called_is_refused(only: str | None, base_url: str | None) -> None:
    with pytest.raises(InvalidInput, match="deepseek"):
        await try_providers({}, OPEN, only=only, base_url=base_url)


async def test_the_exit_code_says_whether_all_are_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert told([Verdict("a", True), Verdict("b", None)]) == 0
    assert told([Verdict("a", True), Verdict("b", False)]) == 1
    assert capsys.readouterr().out == "a\nb\na\nb\n"


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9/v1?api-version=1", "http://ann:secret@127.0.0.1:9/v1", "http://a:87814/v1"]
)
async def test_an_address_of_a_variable_is_held_to_what_one_of_a_file_is(address: str) -> None:
    environ = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": KEY}

    verdict = await verdict_on("openai", environ)

    assert not verdict.is_well
    assert verdict.line == (
        "openai: not called; OPENAI_BASE_URL holds an address that cannot be used; expected http:// or https://, a "
        "host and a path, without a user, a password or a query"
    )
    with pytest.raises(InvalidInput, match="--base-url: expected"):
        await try_providers({}, OPEN, only="openai", base_url=address)


async def test_an_entry_may_say_the_header_of_the_key_and_a_query() -> None:
    paths: list[str] = []

    class Endpoint(FakeEndpoint):
        def respond(self, method: str, path: str, *rest: Any) -> Any:
            paths.append(path)
            return super().respond(method, path, *rest)

    async with Endpoint() as endpoint:
        fields = {"key_header": "api-key", "query": {"api-version": "2024-10-21"}}
        verdict = await verdict_on("mine", named(endpoint.base_url, **fields))

        assert verdict.is_well, verdict.line
        assert set(paths) == {"/v1/chat/completions?api-version=2024-10-21"}
        assert endpoint.headers[0]["api-key"] == KEY
        assert "authorization" not in endpoint.headers[0]


@pytest.mark.parametrize("field", [{"key_header": "api key"}, {"query": {"v": 1}}, {"query": "v=1"}])
async def test_a_header_or_query_that_is_none_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid, match="of entry 1 is"):
        await verdict_on("mine", named("http://127.0.0.1:9/v1", **field))


ANSWER = {"number": 7, "reason": "It is an old custom."}


def completed(message: dict[str, Any], tokens_in: int = 0) -> FakeReply:
    return FakeReply(
        body={"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": tokens_in}}
    )


async def test_a_provider_is_asked_what_a_run_asks_and_what_it_can_do_is_said() -> None:
    async with FakeEndpoint(replies=lambda _body: ANSWER) as endpoint:
        verdict = await verdict_on("mine", named(endpoint.base_url))

    short, long = endpoint.calls
    assert [message["role"] for message in short["messages"]] == ["system", "user"]
    assert short["response_format"]["type"] == "json_schema"
    assert len(str(long["messages"])) > 20_000
    assert verdict.line.splitlines()[1:3] == ["  takes schemas", "  takes system messages"]


async def test_what_a_server_lacks_and_how_little_it_reads_is_said() -> None:
    def reply(body: dict[str, Any]) -> FakeReply:
        if body.get("response_format", {}).get("type") == "json_schema":
            return FakeReply(400, {"error": "response_format json_schema is not supported here"})
        if body["messages"][0]["role"] == "system":
            return FakeReply(500, {"error": "System role not supported"})
        return completed({"content": None, "reasoning_content": json.dumps(ANSWER)}, tokens_in=2_048)

    async with FakeEndpoint(replies=reply) as endpoint:
        verdict = await verdict_on("mine", named(endpoint.base_url))

    assert verdict.is_well
    said = verdict.line.splitlines()[1:]
    assert [line.strip().partition(" ")[0] for line in said] == ["takes", "takes", "writes", "read"]
    assert "lacks: [json_schema]" in said[0]
    assert "lacks: [system_role]" in said[1]
    assert "read 2,048 of about" in said[3]


async def test_a_server_that_ignores_schemas_is_asked_as_a_run_asks_it() -> None:
    def reply(body: dict[str, Any]) -> FakeReply | dict[str, Any]:
        ignores = body["response_format"]["type"] == "json_schema"
        return completed({"content": "Seven, by an old custom."}) if ignores else ANSWER

    async with FakeEndpoint(replies=reply) as endpoint:
        verdict = await verdict_on("mine", named(endpoint.base_url))

    assert verdict.is_well, verdict.line
    assert "ignores the schema of a reply; replies are asked for as JSON (`lacks: [json_schema]`)" in verdict.line


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"content": "Seven, as everybody knows."}, "ignores the schema of a reply"),
        ({"content": None, "reasoning_content": "Seven, I think."}, "`reasoning_content` has all of it"),
    ],
)
async def test_a_reply_that_a_run_could_not_use_is_not_well(message: dict[str, Any], says: str) -> None:
    async with FakeEndpoint(replies=lambda _body: completed(message)) as endpoint:
        verdict = await verdict_on("mine", named(endpoint.base_url))

    assert verdict.is_well is False
    assert verdict.line.startswith("mine: a run could not use its reply")
    assert says in verdict.line
