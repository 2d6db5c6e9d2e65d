"""The fake model endpoint: what tests, benchmarks and rehearsals rely on."""

import ast
import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from parley_lab.testing import fake_endpoint
from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply
from parley_lab.testing.network import WITHOUT_TLS

SCHEMA = {
    "type": "object",
    "properties": {"shouldRespond": {"type": "boolean"}, "response": {"type": "string"}},
    "required": ["shouldRespond", "response"],
    "additionalProperties": False,
}


def a_call(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    return {
        "model": "some-model",
        "messages": [{"role": "user", "content": text}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}},
        **fields,
    }


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(headers={"authorization": "Bearer any"}, verify=WITHOUT_TLS) as client:
        yield client


async def post(client: httpx2.AsyncClient, endpoint: FakeEndpoint, call: dict[str, Any]) -> httpx2.Response:
    return await client.post(f"{endpoint.base_url}/chat/completions", json=call)


def content_of(response: httpx2.Response) -> Any:
    return response.json()["choices"][0]["message"]["content"]


async def test_a_reply_fills_the_schema_of_its_request(client: httpx2.AsyncClient) -> None:
    async with FakeEndpoint() as endpoint:
        response = await post(client, endpoint, a_call())

    reply = orjson.loads(content_of(response))
    assert set(reply) == {"shouldRespond", "response"}
    assert response.json()["model"] == "some-model"
    assert response.json()["usage"]["prompt_tokens"] == 1


async def test_the_same_calls_get_the_same_replies_in_any_order(client: httpx2.AsyncClient) -> None:
    behaviour = Behaviour(seed=3, error_rate=0.3, rate_limit_rate=0.2, garbage_rate=0.2, refusal_rate=0.2)
    texts = [f"text {number % 10}" for number in range(40)]

    async def run(order: list[str]) -> list[tuple[str, str]]:
        async with FakeEndpoint(behaviour) as endpoint:
            replies = [(text, await post(client, endpoint, a_call(text))) for text in order]
            return sorted((text, f"{reply.status_code} {reply.json().get('choices')}") for text, reply in replies)

    assert await run(texts) == await run(texts[::-1])


async def test_rates_decide_what_goes_wrong(client: httpx2.AsyncClient) -> None:
    async with FakeEndpoint() as endpoint:
        endpoint.behaviour = Behaviour(error_rate=1)
        assert (await post(client, endpoint, a_call())).status_code == 500
        endpoint.behaviour = Behaviour(rate_limit_rate=1, retry_after_seconds=2)
        limited = await post(client, endpoint, a_call())
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "2")
        endpoint.behaviour = Behaviour(refusal_rate=1)
        assert (await post(client, endpoint, a_call())).json()["choices"][0]["message"]["refusal"]
        endpoint.behaviour = Behaviour(garbage_rate=1)
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(content_of(await post(client, endpoint, a_call())))

    assert endpoint.statistics["outcomes"] == {"error": 1, "rate_limited": 1, "refused": 1, "garbage": 1}


async def test_a_fault_comes_and_goes_with_the_number_of_calls(client: httpx2.AsyncClient) -> None:
    async with FakeEndpoint(Behaviour(fault="quota", fault_after=1, fault_calls=2)) as endpoint:
        replies = [await post(client, endpoint, a_call(str(number))) for number in range(4)]

    assert [reply.status_code for reply in replies] == [200, 429, 429, 200]
    assert replies[1].json()["error"]["code"] == "insufficient_quota"


async def test_a_script_decides_the_reply(client: httpx2.AsyncClient) -> None:
    def script(request: dict[str, Any]) -> str | dict[str, Any] | FakeReply | None:
        scripted: dict[str, str | dict[str, Any] | FakeReply] = {
            "text": "as it is",
            "object": {"response": "as JSON"},
            "status": FakeReply(status=503, body={"error": {"message": "away"}}),
        }
        return scripted.get(request["messages"][0]["content"])

    async with FakeEndpoint(replies=script) as endpoint:
        assert content_of(await post(client, endpoint, a_call("text"))) == "as it is"
        assert content_of(await post(client, endpoint, a_call("object"))) == '{"response":"as JSON"}'
        assert (await post(client, endpoint, a_call("status"))).status_code == 503
        assert "shouldRespond" in content_of(await post(client, endpoint, a_call("something else")))

    assert [call["messages"][0]["content"] for call in endpoint.calls] == ["text", "object", "status", "something else"]


async def test_a_script_can_hold_calls_and_the_peak_is_counted(client: httpx2.AsyncClient) -> None:
    everybody_is_here = asyncio.Barrier(5)

    async def hold(_request: dict[str, Any]) -> str:
        await everybody_is_here.wait()
        return "{}"

    async with FakeEndpoint(replies=hold) as endpoint:
        await asyncio.gather(*(post(client, endpoint, a_call("one text")) for _ in range(5)))

        statistics = (await client.get(endpoint.base_url.removesuffix("/v1") + "/stats")).json()
    assert (statistics["calls"], statistics["peak_in_flight"], statistics["in_flight"]) == (5, 5, 0)
    assert list(statistics["calls_by_key"].values()) == [5]


async def test_more_calls_than_allowed_at_a_time_are_limited(client: httpx2.AsyncClient) -> None:
    behaviour = Behaviour(latency_seconds=0.05, max_in_flight=2)
    async with FakeEndpoint(behaviour) as endpoint:
        replies = await asyncio.gather(*(post(client, endpoint, a_call()) for _ in range(4)))

    assert Counter(reply.status_code for reply in replies) == {200: 2, 429: 2}


async def test_a_dropped_connection_is_seen_by_the_caller(client: httpx2.AsyncClient) -> None:
    async with FakeEndpoint(replies=lambda _request: FakeReply(drop=True)) as endpoint:
        with pytest.raises(httpx2.RemoteProtocolError):
            await post(client, endpoint, a_call())


async def test_calls_are_counted_by_header_or_by_messages_until_reset(client: httpx2.AsyncClient) -> None:
    async with FakeEndpoint() as endpoint:
        await client.post(f"{endpoint.base_url}/chat/completions", json=a_call(), headers={"x-call-key": "mine"})
        await post(client, endpoint, a_call("one"))
        await post(client, endpoint, a_call("one", temperature=1))
        by_key = endpoint.statistics["calls_by_key"]
        await client.post(endpoint.base_url.removesuffix("/v1") + "/reset")

    assert by_key["mine"] == 1
    assert sorted(by_key.values()) == [1, 2]
    assert (endpoint.statistics["calls"], endpoint.calls) == (0, [])


async def test_no_key_or_another_key_is_refused() -> None:
    async with FakeEndpoint(Behaviour(api_key="right")) as endpoint, httpx2.AsyncClient(verify=WITHOUT_TLS) as client:
        url = f"{endpoint.base_url}/chat/completions"
        statuses = [
            (await client.post(url, json=a_call(), headers=headers)).status_code
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer right"})
        ]

    assert statuses == [401, 401, 200]


async def test_a_reply_longer_than_allowed_is_cut(client: httpx2.AsyncClient) -> None:
    async with FakeEndpoint() as endpoint:
        response = await post(client, endpoint, a_call(max_tokens=2))

    assert response.json()["choices"][0]["finish_reason"] == "length"
    assert len(content_of(response)) == 8


@pytest.mark.parametrize("body", [b"no JSON", b"[]", b"{}", b'{"messages": [], "stream": true}'])
async def test_what_is_no_call_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    async with FakeEndpoint() as endpoint:
        response = await client.post(f"{endpoint.base_url}/chat/completions", content=body)

    assert response.status_code == 400


async def test_a_request_in_pieces_and_two_at_once_are_answered_in_order() -> None:
    request = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"
    unknown = b"GET /spam HTTP/1.1\r\nhost: x\r\n\r\n"

    async with FakeEndpoint() as endpoint:
        port = int(endpoint.base_url.rpartition(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request[:10])
        await writer.drain()
        writer.write(request[10:] + unknown)
        first = await reader.readuntil(b"}]}")
        second = await reader.readuntil(b"}}")
        writer.close()
        await writer.wait_closed()

    assert first.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 404 " in second


def test_the_command_serves_until_it_is_ended() -> None:
    command = [sys.executable, "-m", "parley_lab.testing.fake_endpoint", "--port", "0", "--ready-rate", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy()) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip().partition("OPENAI_BASE_URL=")[2]
        response = httpx2.post(
            f"{base_url}/chat/completions", json=a_call(), headers={"authorization": "Bearer any"}, verify=WITHOUT_TLS
        )
        process.terminate()

    assert response.status_code == 200


@pytest.mark.parametrize(
    ("question", "allowed"),
    [
        ("Give.\nAnswer with one of these: 1, 2.\n\nSay it in plain text. A number from 0 to 100 ends it.", {"1", "2"}),
        ("Give. Answer with a number from 3 to 4 (both included).", {"3", "4"}),
        ("Old: Answer with one of these: a, b.\nNew: Answer with one of these: c, d.", {"c", "d"}),
        ("response: found 'x'; expected one of: up, down. Reply again.", {"up", "down"}),
    ],
)
async def test_plain_text_picks_what_a_question_offers(
    client: httpx2.AsyncClient, question: str, allowed: set[str]
) -> None:
    async with FakeEndpoint() as endpoint:
        answers = [await post(client, endpoint, a_call(question, response_format=None, seed=seed)) for seed in range(6)]

    assert {answer.json()["choices"][0]["message"]["content"] for answer in answers} <= allowed


def test_everything_is_defined_when_it_serves_as_a_module() -> None:
    """`python -m` runs the module from its top: code below the call of `main` does not exist yet."""
    last = ast.parse(Path(fake_endpoint.__file__).read_text(encoding="utf-8")).body[-1]

    assert isinstance(last, ast.If)
    assert ast.unparse(last.test) == "__name__ == '__main__'"
