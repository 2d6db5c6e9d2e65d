"""The guard of outgoing calls: the address that was looked at is the one that is connected to."""

import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from parley_lab.agent_worker.models.claude_model import ClaudeModel
from parley_lab.agent_worker.models.endpoint_model import EndpointModel
from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.contracts.models import ChatMessage, ModelReply, ModelRequest, ModelSettings
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with FakeEndpoint() as endpoint:
        yield endpoint


class Names:
    """Answers for one question after another; the last one for all that follow."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def call(
    base_url: str, allowed: str, names: Names, of_vendor: type[EndpointModel] = OpenAIModel, **settings: Any
) -> ModelReply:
    endpoints = read_endpoints({"PARLEY_ALLOWED_BASE_URLS": allowed}, is_open=False)
    model = of_vendor(NO_KEYS, endpoints=endpoints, resolver=names)
    try:
        return await model.reply(
            ModelRequest(
                path="c1/m1/talk/call:1",
                seed=1,
                settings=ModelSettings(base_url=base_url, **settings),
                messages=(ChatMessage(role="user", content="Hello"),),
                reply_schema={"type": "object", "properties": {}},
            )
        )
    finally:
        await model.aclose()


def port_of(endpoint: FakeEndpoint) -> int:
    return int(endpoint.base_url.rsplit(":", 1)[1].removesuffix("/v1"))


async def test_a_name_is_resolved_once_and_called_where_it_led(endpoint: FakeEndpoint) -> None:
    base_url = f"http://models.example.org:{port_of(endpoint)}/v1"
    names = Names(["127.0.0.1"])

    reply = await call(base_url, f"{base_url} 127.0.0.0/8", names)

    assert reply.status == "ok"
    assert names.asked == ["models.example.org"]
    assert len(endpoint.calls) == 1


async def test_a_name_that_leads_inside_is_refused_and_nothing_connects(endpoint: FakeEndpoint) -> None:
    base_url = f"http://models.example.org:{port_of(endpoint)}/v1"

    reply = await call(base_url, base_url, Names(["127.0.0.1"]))

    assert (reply.status, reply.can_retry) == ("bad_request", False)
    assert "internal address" in (reply.error or "")
    assert endpoint.calls == []
    assert endpoint.statistics["calls"] == 0


async def test_a_name_with_one_internal_address_is_refused(endpoint: FakeEndpoint) -> None:
    base_url = f"http://models.example.org:{port_of(endpoint)}/v1"

    reply = await call(base_url, base_url, Names(["93.184.215.14", "127.0.0.1"]))

    assert reply.status == "bad_request"
    assert endpoint.calls == []


async def test_a_name_that_changes_its_mind_is_looked_at_again_for_every_call(endpoint: FakeEndpoint) -> None:
    """DNS rebinding: allowed for the first look, internal for the second. There is no second look within a call."""
    base_url = f"http://models.example.org:{port_of(endpoint)}/v1"
    names = Names(["127.0.0.2"], ["169.254.169.254"])

    first = await call(base_url, f"{base_url} 127.0.0.0/8", names)
    second = await call(base_url, f"{base_url} 127.0.0.0/8", names)

    assert names.asked == ["models.example.org"] * 2
    assert first.status != "bad_request"
    assert second.status == "bad_request"


async def test_the_next_address_is_tried_when_one_does_not_answer(endpoint: FakeEndpoint) -> None:
    base_url = f"http://models.example.org:{port_of(endpoint)}/v1"

    reply = await call(base_url, f"{base_url} 127.0.0.0/8", Names(["127.0.0.9", "127.0.0.1"]))

    assert reply.status == "ok"


async def test_a_redirect_is_not_followed(endpoint: FakeEndpoint) -> None:
    async with FakeEndpoint() as elsewhere:
        endpoint.replies = lambda _body: FakeReply(307, "", {"location": f"{elsewhere.base_url}/chat/completions"})
        open_lab = await call(endpoint.base_url, "*", Names(["127.0.0.1"]))
        guarded = await call(endpoint.base_url, endpoint.base_url, Names(["127.0.0.1"]))

    for reply in (open_lab, guarded):
        assert (reply.status, reply.can_retry) == ("bad_request", False)
        assert "base_url" in (reply.error or "")
    assert elsewhere.calls == []
    assert len(endpoint.calls) == 2


async def test_an_address_that_is_not_allowed_is_refused_before_anything_is_resolved(endpoint: FakeEndpoint) -> None:
    names = Names(["127.0.0.1"])

    reply = await call(endpoint.base_url, "https://models.example.org", names)

    assert reply.status == "bad_request"
    assert "PARLEY_ALLOWED_BASE_URLS" in (reply.error or "")
    assert (names.asked, endpoint.calls) == ([], [])


@pytest.mark.parametrize("of_vendor", [OpenAIModel, ClaudeModel])
@pytest.mark.parametrize("problem", [socket.gaierror("Name or service not known"), TimeoutError("no name server")])
async def test_a_name_that_no_one_knows_may_be_known_later(of_vendor: type[EndpointModel], problem: OSError) -> None:
    class Unknown(Names):
        async def __call__(self, host: str, port: int) -> Sequence[str]:
            raise problem

    reply = await call("http://models.example.org/v1", "http://models.example.org", Unknown([]), of_vendor)

    assert (reply.status, reply.can_retry) == ("unreachable", True)
    assert str(problem) in (reply.error or "")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes no connection and refuses none."""
    with socket.socket() as server, ExitStack() as stack:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = int(server.getsockname()[1])
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        yield port


@pytest.mark.parametrize("of_vendor", [OpenAIModel, ClaudeModel])
@pytest.mark.parametrize("allowed", ["*", "http://models.example.org 127.0.0.0/8"])
async def test_a_server_that_takes_no_connection_is_unreachable(
    silent_port: int, of_vendor: type[EndpointModel], allowed: str
) -> None:
    host = "127.0.0.1" if allowed == "*" else "models.example.org"
    allowed = allowed.replace(".org", f".org:{silent_port}")

    reply = await call(f"http://{host}:{silent_port}", allowed, Names(["127.0.0.1"]), of_vendor, timeout_seconds=1.0)

    assert (reply.status, reply.can_retry) == ("unreachable", True), reply.error
