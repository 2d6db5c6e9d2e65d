"""Anthropic's Messages API of the fake endpoint: what comes in as a chat completion, what goes out as a message."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

_STOPS: Final = {"stop": "end_turn", "length": "max_tokens"}


class MessagesRequest(dict[str, Any]):
    """The body of a call as chat completions have it; `body` is as it came."""

    def __init__(self, body: dict[str, Any]) -> None:
        system = [{"role": "system", "content": body["system"]}] if "system" in body else []
        schema = _schema(body)
        form = {} if schema is None else {"type": "json_schema", "json_schema": {"schema": schema}}
        super().__init__(body, messages=[*system, *body["messages"]], response_format=form)
        self.body = body


def as_came(request: dict[str, Any]) -> dict[str, Any]:
    """The body of the call as it came, by either API."""
    return request.body if isinstance(request, MessagesRequest) else request


def as_message(completion: Mapping[str, Any], request: MessagesRequest) -> dict[str, Any]:
    """The completion as a message: a tool that was forced gets it, and a refusal is a reason to stop."""
    choice, usage = completion["choices"][0], completion["usage"]
    said, tools = choice["message"], request.body.get("tools")
    content = [{"type": "text", "text": said["content"] or ""}] if said["content"] is not None else []
    if tools and content and (given := _object_in(said["content"])) is not None:
        content = [{"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": given}]
    stop = "tool_use" if tools and content else _STOPS.get(choice["finish_reason"], "end_turn")
    return {
        "id": completion["id"],
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": content,
        "stop_reason": "refusal" if said["refusal"] else stop,
        "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def _schema(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of the reply: of the form, or of the tool that takes it."""
    form = (body.get("output_config") or {}).get("format")
    if isinstance(form, dict):
        return form.get("schema")
    return body["tools"][0]["input_schema"] if body.get("tools") else None


def _object_in(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
