"""A fake endpoint with the APIs of OpenAI and Anthropic: deterministic, fills any schema, misbehaves on demand.

In a test it runs on a free port of the same loop; `parley fake-endpoint` serves it for rehearsals
without cost. It implements a minimum of HTTP/1.1 itself, so that benchmarks measure their client, not this server.
"""

import argparse
import asyncio
import hashlib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from random import Random
from types import TracebackType
from typing import Any, Final, Self

import orjson

from parley_lab.base.schema_filler import UnfillableSchemaError, fill
from parley_lab.testing.fake_http import Connection, answer, failure
from parley_lab.testing.fake_messages import MessagesRequest, as_came, as_message

CALL_KEY_HEADER: Final = "x-call-key"
_CHARACTERS_PER_TOKEN: Final = 4
_CREATED_AT: Final = 1_700_000_000
_GARBAGE: Final = 'Sure! Here is my answer: {"response": "I was about to say'
_REFUSAL: Final = "I'm sorry, but I can't help with that."

# A provider's reply to a key that does not work or has to wait: the status, the message and the code.
_FAULTS: Final = {
    "key": (401, "Incorrect API key provided.", "invalid_api_key"),
    "forbidden": (403, "You are not allowed to use this model.", "model_not_allowed"),
    "quota": (429, "You exceeded your current quota.", "insufficient_quota"),
    "rate": (429, "Rate limit reached.", "rate_limit_exceeded"),
    "away": (503, "The server is overloaded.", "overloaded"),
}

_ONE_OF: Final = re.compile(r"(?:Answer with one of these|expected one of): (.+?)\.(?:\s|$)")
_FROM_TO: Final = re.compile(
    r"(?:Answer with|expected) a number from (-?[0-9]+(?:\.[0-9]+)?) to (-?[0-9]+(?:\.[0-9]+)?)"
)


@dataclass(frozen=True)
class FakeReply:
    """A whole HTTP answer, for tests; `drop` closes the connection without one."""

    status: int = 200
    body: bytes | str | Mapping[str, Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


# From the request's body: the text of the reply, an object as its text, a whole answer, or None for the usual one.
Scripted = str | dict[str, Any] | FakeReply | None
Replies = Callable[[dict[str, Any]], Scripted | Awaitable[Scripted]]


@dataclass(frozen=True)
class Behaviour:
    """How the endpoint answers; rates are probabilities, drawn from the seed and the request, not from the clock."""

    seed: int = 0
    latency_seconds: float = 0.0
    latency_spread: float = 0.0
    """The share of the latency that is drawn: 0.25 means between 0.75 and 1.25 of it."""
    error_rate: float = 0.0
    rate_limit_rate: float = 0.0
    retry_after_seconds: float = 1.0
    max_in_flight: int | None = None
    """More parallel calls than this are answered with 429."""
    garbage_rate: float = 0.0
    refusal_rate: float = 0.0
    silence_rate: float = 0.0
    """The share of replies with a `shouldRespond` that say no."""
    ready_rate: float = 0.1
    """The share of replies with a `readyToEndChat` that say yes."""
    fault: str | None = None
    """The fault of calls: `key`, `forbidden`, `quota`, `rate` or `away`."""
    fault_after: int = 0
    """How many calls succeed before the fault."""
    fault_calls: int | None = None
    """How many calls have the fault; None: all further ones."""
    api_key: str | None = None
    """The only accepted key; None accepts every call, with a key or without."""


class FakeEndpoint:
    """`async with FakeEndpoint() as endpoint:` serves `endpoint.base_url` until the block ends.

    With `keep_calls`, `calls` holds the body of every call in the order of arrival, and `headers` those of every
    request. `replies` scripts the answers and may be replaced at any time; async scripts can hold a call.
    """

    def __init__(
        self,
        behaviour: Behaviour | None = None,
        *,
        replies: Replies | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        keep_calls: bool = True,
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.replies = replies
        self.calls: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.base_url = ""
        self._host = host
        self._port = port
        self._keep_calls = keep_calls
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._in_flight = 0
        self._clear_statistics()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), self._host, self._port, backlog=2048)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://{self._host}:{port}/v1"

    async def stop(self) -> None:
        """Stop serving; calls in flight are dropped."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.abort()
        await self._server.wait_closed()
        self._server = None

    @property
    def statistics(self) -> dict[str, Any]:
        """The answer to GET /stats."""
        return {
            "calls": self._calls,
            "in_flight": self._in_flight,
            "peak_in_flight": self._peak_in_flight,
            "outcomes": dict(self._outcomes),
            "tokens_in": self._tokens_in,
            "tokens_out": self._tokens_out,
            "calls_by_key": dict(self._calls_by_key),
        }

    def reset(self) -> None:
        """Forget all calls and statistics; calls in flight still count as such."""
        self.calls.clear()
        self.headers.clear()
        self._clear_statistics()

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes | Awaitable[bytes]:
        """The bytes of the answer, at once when no wait is needed."""
        if self._keep_calls:
            self.headers.append(headers)
        match method, path.partition("?")[0].rstrip("/"):
            case "POST", "/v1/chat/completions" | "/chat/completions":
                return self._complete(headers, body)
            case "POST", "/v1/messages":
                return self._complete(headers, body, MessagesRequest)
            case "GET", "/v1/models" | "/models":
                return answer(200, {"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": "fake"}]})
            case "GET", "/stats":
                return answer(200, self.statistics)
            case "POST", "/reset":
                self.reset()
                return answer(200, {"reset": True})
        return failure(404, f"nothing is served at {method} {path}", "not_found")

    def _clear_statistics(self) -> None:
        self._calls = 0
        self._peak_in_flight = self._in_flight
        self._tokens_in = 0
        self._tokens_out = 0
        self._outcomes: Counter[str] = Counter()
        self._calls_by_key: Counter[str] = Counter()

    def _complete(
        self, headers: Mapping[str, str], body: bytes, form: type[dict[str, Any]] = dict
    ) -> bytes | Awaitable[bytes]:
        problem = self._refuse_caller(headers)
        if problem is not None:
            return problem
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError:
            request = None
        if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
            return self._failed("bad_request", 400, "the body must be a JSON object with messages", "invalid_request")
        if request.get("stream"):
            return self._failed("bad_request", 400, "this endpoint does not stream", "invalid_request")
        return self._accept(headers, body, form(request))

    def _refuse_caller(self, headers: Mapping[str, str]) -> bytes | None:
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()
        if self.behaviour.api_key in (None, key):
            return None
        return self._failed("auth_error", 401, "Incorrect API key provided.", "invalid_api_key")

    def _accept(self, headers: Mapping[str, str], body: bytes, request: dict[str, Any]) -> bytes | Awaitable[bytes]:
        digest = hashlib.sha256(body).hexdigest()[:16]
        key = headers.get(CALL_KEY_HEADER) or _digest_of_messages(request)
        if self._keep_calls:
            self.calls.append(as_came(request))
        self._calls += 1
        self._calls_by_key[key] += 1
        if self._is_faulty():
            return self._at_fault()
        rng = Random(f"{self.behaviour.seed}/{digest}/{self._calls_by_key[key]}")
        latency = self._draw_latency(rng)
        if self.replies is None and latency <= 0:
            self._peak_in_flight = max(self._peak_in_flight, self._in_flight + 1)
            return self._usual_answer(request, rng)
        self._in_flight += 1
        self._peak_in_flight = max(self._peak_in_flight, self._in_flight)
        return self._answer_later(request, rng, latency)

    def _is_faulty(self) -> bool:
        behaviour = self.behaviour
        number = self._calls - behaviour.fault_after
        return behaviour.fault is not None and 0 < number <= (behaviour.fault_calls or number)

    def _draw_latency(self, rng: Random) -> float:
        spread = self.behaviour.latency_spread
        return self.behaviour.latency_seconds * rng.uniform(1 - spread, 1 + spread)

    async def _answer_later(self, request: dict[str, Any], rng: Random, latency: float) -> bytes:
        try:
            too_many = self.behaviour.max_in_flight is not None and self._in_flight > self.behaviour.max_in_flight
            if too_many:
                return self._rate_limited()
            if latency > 0:
                await asyncio.sleep(latency)
            return await self._scripted_answer(request, rng)
        finally:
            self._in_flight -= 1

    async def _scripted_answer(self, request: dict[str, Any], rng: Random) -> bytes:
        scripted = self.replies(as_came(request)) if self.replies is not None else None
        if inspect.isawaitable(scripted):
            scripted = await scripted
        match scripted:
            case None:
                return self._usual_answer(request, rng)
            case str():
                return self._completion(request, scripted)
            case FakeReply():
                self._outcomes["scripted"] += 1
                return b"" if scripted.drop else answer(scripted.status, scripted.body, scripted.headers)
        return self._completion(request, orjson.dumps(scripted).decode())

    def _usual_answer(self, request: dict[str, Any], rng: Random) -> bytes:
        behaviour = self.behaviour
        if rng.random() < behaviour.error_rate:
            return self._failed("error", 500, "the server had an error", "server_error")
        if rng.random() < behaviour.rate_limit_rate:
            return self._rate_limited()
        if rng.random() < behaviour.refusal_rate:
            self._outcomes["refused"] += 1
            return answer(200, self._body(request, None, refusal=_REFUSAL))
        if rng.random() < behaviour.garbage_rate:
            self._outcomes["garbage"] += 1
            return answer(200, self._body(request, _GARBAGE))
        try:
            content = self._write(request, rng)
        except UnfillableSchemaError as error:
            return self._failed("bad_request", 400, f"Invalid schema: {error}", "invalid_json_schema")
        return self._completion(request, content)

    def _write(self, request: dict[str, Any], rng: Random) -> str:
        wanted = request.get("response_format") or {}
        if wanted.get("type") == "json_schema":
            schema = wanted.get("json_schema", {}).get("schema", {})
            return orjson.dumps(fill(schema, rng, suggest=self._suggest)).decode()
        text = pick_option(request, rng) or fill({"type": "string"}, rng)
        return orjson.dumps({"response": text}).decode() if wanted.get("type") == "json_object" else str(text)

    def _suggest(self, name: str, rng: Random) -> str | bool | None:
        match name:
            case "shouldRespond":
                return rng.random() >= self.behaviour.silence_rate
            case "readyToEndChat":
                return rng.random() < self.behaviour.ready_rate
        return None

    def _completion(self, request: dict[str, Any], content: str) -> bytes:
        limit = request.get("max_completion_tokens") or request.get("max_tokens")
        cut = content[: limit * _CHARACTERS_PER_TOKEN] if limit else content
        self._outcomes["ok"] += 1
        return answer(200, self._body(request, cut, finish_reason="stop" if cut == content else "length"))

    def _body(
        self, request: dict[str, Any], content: str | None, *, refusal: str | None = None, finish_reason: str = "stop"
    ) -> dict[str, Any]:
        prompt = sum(len(str(message.get("content", ""))) for message in request["messages"])
        tokens_in = prompt // _CHARACTERS_PER_TOKEN
        tokens_out = len(content or refusal or "") // _CHARACTERS_PER_TOKEN + 1
        self._tokens_in += tokens_in
        self._tokens_out += tokens_out
        completion = {
            "id": f"chatcmpl-{self._calls}",
            "object": "chat.completion",
            "created": _CREATED_AT,
            "model": request.get("model", "fake"),
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content, "refusal": refusal},
                    "logprobs": None,
                    "finish_reason": finish_reason,
                }
            ],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            },
        }
        return as_message(completion, request) if isinstance(request, MessagesRequest) else completion

    def _rate_limited(self) -> bytes:
        self._outcomes["rate_limited"] += 1
        seconds = f"{self.behaviour.retry_after_seconds:g}"
        return failure(429, "Rate limit reached.", "rate_limit_exceeded", {"retry-after": seconds})

    def _at_fault(self) -> bytes:
        fault = self.behaviour.fault or ""
        self._outcomes[fault] += 1
        status, message, code = _FAULTS[fault]
        return failure(status, message, code)

    def _failed(self, outcome: str, status: int, message: str, code: str) -> bytes:
        self._outcomes[outcome] += 1
        return failure(status, message, code)

    def connected(self, connection: Connection) -> None:
        self._connections.add(connection)

    def disconnected(self, connection: Connection) -> None:
        self._connections.discard(connection)


def _digest_of_messages(request: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(request["messages"])).hexdigest()[:16]


def parser() -> argparse.ArgumentParser:
    """The options of `parley fake-endpoint`."""
    parser = argparse.ArgumentParser(
        prog="parley fake-endpoint",
        description="Serve a fake OpenAI-compatible endpoint: valid replies of any schema, and failures on demand.",
        epilog=(
            "To rehearse an experiment in model mode real without paying, start this, then in another terminal: "
            "OPENAI_BASE_URL=http://127.0.0.1:8900/v1 OPENAI_API_KEY=any-text parley run FILE --models real. "
            "GET /stats tells what was called (outside /v1), POST /reset forgets it."
        ),
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add("--port", type=int, default=8900, help="port to listen on, 0 for a free one (default: %(default)s)")
    add("--seed", type=int, default=0, help="another seed gives other replies (default: %(default)s)")
    add("--latency", dest="latency_seconds", type=float, default=0.0, help="seconds until a reply (default: 0)")
    add("--latency-spread", type=float, default=0.0, help="share of the latency that varies, 0 to 1 (default: 0)")
    add("--error-rate", type=float, default=0.0, help="share of calls answered 500 (default: 0)")
    add("--rate-limit-rate", type=float, default=0.0, help="share of calls answered 429 (default: 0)")
    add("--retry-after", dest="retry_after_seconds", type=float, default=1.0, help="Retry-After of a 429 (default: 1)")
    add("--max-in-flight", type=int, default=None, help="answer 429 when more calls than this wait (default: no limit)")
    add("--garbage-rate", type=float, default=0.0, help="share of replies that are no valid JSON (default: 0)")
    add("--refusal-rate", type=float, default=0.0, help="share of replies that refuse (default: 0)")
    add("--silence-rate", type=float, default=0.0, help="share of chat replies that stay silent (default: 0)")
    add("--ready-rate", type=float, default=0.1, help="share of chat replies ready to end (default: 0.1)")
    add("--fault", choices=sorted(_FAULTS), default=None, help="what is wrong with calls (default: nothing)")
    add("--fault-after", type=int, default=0, help="how many calls go well before (default: 0)")
    add("--fault-calls", type=int, default=None, help="how many calls it is wrong with (default: all that follow)")
    add("--api-key", default=None, help="the only key to accept (default: any)")
    return parser


async def _serve(endpoint: FakeEndpoint) -> None:
    async with endpoint:
        sys.stdout.write(f"Fake model endpoint: OPENAI_BASE_URL={endpoint.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    options = vars(parser().parse_args(arguments))
    behaviour = Behaviour(**{field.name: options[field.name] for field in fields(Behaviour)})
    endpoint = FakeEndpoint(behaviour, host=options["host"], port=options["port"], keep_calls=False)
    try:
        asyncio.run(_serve(endpoint))
    except KeyboardInterrupt:
        return


def pick_option(request: Mapping[str, Any], rng: Random) -> str | None:
    """One of the options that the last message names last, as a model would write it; None without options."""
    messages = request["messages"]
    question = str(messages[-1].get("content", "")) if messages else ""
    found = [one for pattern in (_ONE_OF, _FROM_TO) for one in pattern.finditer(question)]
    if not found:
        return None
    last = max(found, key=lambda one: one.start())
    if last.re is _ONE_OF:
        return rng.choice(str(last[1]).split(", "))
    if "." in last[0]:
        return f"{rng.uniform(float(last[1]), float(last[2])):.2f}"
    return str(rng.randint(int(last[1]), int(last[2])))


if __name__ == "__main__":
    main()
