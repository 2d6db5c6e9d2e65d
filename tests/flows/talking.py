"""A live conversation with agents whose models a test plays."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from parley_lab.testing.fake_endpoint import FakeReply
from tests.flows.rooms import eventually

Data = dict[str, Any]

SILENT_AGENT: Final = "max_responses: 0"


def a_talk(*agents: str, people: int = 1, mediators: int = 0, model: str = "max_attempts: 1", **talk: Any) -> str:
    """A live conversation, then a page; each of `agents` is the chat settings of one, as in a file.

    `model` is the first agent's: the others have time enough, however busy the machine is.
    """
    named = [(f"Agent {number}", chat) for number, chat in enumerate(agents)]
    named += [(f"Mediator {number}", "") for number in range(mediators)]
    personas = [
        f"{{id: p{place}, text: I am {name}., profile: {{name: {name}}}, chat: {{{chat}}}, "
        f"model: {{{model if place == 0 else 'max_attempts: 1'}}}}}"
        for place, (name, chat) in enumerate(named)
    ]
    seats = [f"{{open: true, count: {people}}}"] * bool(people)
    seats += [f"{{persona: p{place}}}" for place in range(len(agents))]
    mediating = ", ".join(f"p{len(agents) + place}" for place in range(mediators))
    stage = json.dumps({"id": "talk", "kind": "group_chat", **talk})
    return f"""
parley: 1
name: A talk
seed: 5
pace: live
model_mode: real
personas: [{", ".join(personas)}]
stages: [{stage}, {{id: after, kind: info, lines: [Bye.]}}]
cohorts: [{{seats: [{", ".join(seats)}], mediators: [{mediating}]}}]
"""


def who(request: Data) -> str:
    """The name of the agent that is asked."""
    shown = "\n".join(message["content"] for message in request["messages"])
    return shown.partition("I am ")[2].partition(".")[0]


def answer(request: Data, words: str | None = "Yes.", *, ready: bool = False) -> Data:
    """A reply of the shape that is asked for; no words are silence where that is allowed."""
    values = {
        "explanation": "So.",
        "shouldRespond": words is not None,
        "response": words or "",
        "readyToEndChat": ready,
    }
    # A server that ignored the schema once is not sent it again.
    form = request.get("response_format", {}).get("json_schema")
    return values if form is None else {name: values[name] for name in form["schema"]["properties"]}


def talkative(request: Data) -> Data:
    return answer(request, f"{who(request)} speaks.")


def silent(request: Data) -> Data:
    return answer(request, None)


async def wait_for(condition: Callable[[], Awaitable[Any]]) -> None:
    async def holds() -> bool:
        return bool(await condition())

    await eventually(holds)


def refused_key(request: Data) -> FakeReply:
    return FakeReply(status=401, body={"error": {"message": "No.", "type": "auth", "code": "invalid_api_key"}})


def rate_limited(request: Data) -> FakeReply:
    body = {"error": {"message": "Slow.", "type": "rate_limit_exceeded", "code": "rate_limit_exceeded"}}
    return FakeReply(status=429, body=body, headers={"retry-after": "0.05"})


def refusing(request: Data) -> FakeReply:
    message = {"role": "assistant", "content": None, "refusal": "I'd rather not."}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice], "usage": usage}
    return FakeReply(body=body)


async def never_answering(request: Data) -> FakeReply:
    await asyncio.Event().wait()
    return FakeReply(drop=True)


FAILURES = {
    "rate limit": (rate_limited, "max_attempts: 2"),
    "auth error": (refused_key, "max_attempts: 3"),
    "refusal": (refusing, "max_attempts: 1"),
    "timeout": (never_answering, "max_attempts: 1, timeout_seconds: 0.2"),
    "garbage": (lambda request: "no JSON", "max_attempts: 2"),
}
