"""The body of a call by Anthropic's Messages API, and the reader of its messages. Pure.

The system message is a field of its own, and roles alternate. A schema is kept by the server (`output_config.format`);
a server without schemas is given a tool whose input is the reply. Thoughts are not read and not kept.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import orjson
from pydantic import JsonValue

from parley_lab.agent_worker.models.completions import count_of, has_all, judge, text_of
from parley_lab.agent_worker.models.endpoint_errors import EndpointError, error_in
from parley_lab.agent_worker.models.openai_schema import to_unbounded
from parley_lab.agent_worker.models.reply_length import thinks_first
from parley_lab.contracts.models import CUT_OFF, ModelReply, ModelRequest

API_VERSION: Final = "2023-06-01"
"""The newer one (2026-10-21) takes no temperature, whatever the model."""
_MOST_TOKENS: Final = 8_000
_MOST_WITH_THOUGHTS: Final = 32_000
"""A limit has to be sent, and thoughts count towards it. All models since Claude 4.5 may write more."""
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
_CONTEXT_FULL: Final = "model_context_window_exceeded"
_CACHE_COUNTS: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")


def messages_body(request: ModelRequest) -> dict[str, Any]:
    """The body of the request, without unset settings and what the server lacks; `extra_body` overrides the rest."""
    settings = request.settings
    system, turns = _system_and_turns(request)
    optional = {
        "system": system or None,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "stop_sequences": list(settings.stop) or None,
    }
    lacks = {"stop_sequences" if name == "stop" else name for name in settings.lacks}
    body = {
        "model": settings.model,
        "max_tokens": settings.max_tokens or request.most_reply_tokens or _most_tokens(request),
        "messages": turns,
        **{name: value for name, value in optional.items() if value is not None and name not in lacks},
        **_form(request),
    }
    if settings.reasoning_effort is not None and "reasoning_effort" not in lacks:
        body["thinking"] = {"type": "adaptive"}
        body["output_config"] = {**body.get("output_config", {}), "effort": settings.reasoning_effort}
    more = settings.extra_body.get("output_config")
    if isinstance(more, dict):
        # The file may say an effort, and the reply keeps its form.
        return {**body, **settings.extra_body, "output_config": {**body.get("output_config", {}), **more}}
    return {**body, **settings.extra_body}


def _system_and_turns(request: ModelRequest) -> tuple[str, list[dict[str, str]]]:
    """The system message, and the others; those of one role in a row as one. A server takes no empty one."""
    said = [one for one in request.messages if one.content.strip()]
    system = "\n\n".join(one.content for one in said if one.role == "system")
    turns = [
        {"role": role, "content": "\n\n".join(one.content for one in same)}
        for role, same in groupby((one for one in said if one.role != "system"), key=lambda one: one.role)
    ]
    return (system, turns) if turns else ("", [{"role": "user", "content": system}])


def _form(request: ModelRequest) -> dict[str, Any]:
    lacks = request.settings.lacks
    mode = "text" if request.is_text else request.settings.structured_output
    if mode == "schema" and "json_schema" not in lacks:
        schema = to_unbounded(request.reply_schema)
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    if mode == "text" or "json_object" in lacks:
        return {}
    tool = {"name": request.reply_name, "description": "Gives your reply.", "input_schema": request.reply_schema}
    choice = {"type": "tool", "name": request.reply_name, "disable_parallel_tool_use": True}
    return {"tools": [tool], "tool_choice": choice}


def _most_tokens(request: ModelRequest) -> int:
    return _MOST_WITH_THOUGHTS if thinks_first(request.settings) else _MOST_TOKENS


def read_message(content: bytes, request: ModelRequest) -> ModelReply | EndpointError | None:
    """The reply or the error in this body; None when it is neither."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        return error_in(body)
    return error_in(body) or _reply(body, request)


def _reply(body: Mapping[str, Any], request: ModelRequest) -> ModelReply:
    blocks = [one for one in body["content"] if isinstance(one, dict) and one.get("type") not in _THOUGHTS]
    text, fields = _text(blocks, request), request.reply_schema.get("required", ())
    stop, counted = text_of(body.get("stop_reason")), body.get("usage")
    usage: Mapping[str, Any] = counted if isinstance(counted, dict) else {}
    finish_reason = CUT_OFF if stop in ("max_tokens", _CONTEXT_FULL) else stop or None
    status, parsed, error = judge(text, "", finish_reason, fields)
    is_plain = [one.get("type") for one in blocks] in ([], ["text"])
    tokens_out = count_of(usage.get("output_tokens"))
    reply = ModelReply(
        status=status,
        parsed=parsed,
        raw=text if is_plain else orjson.dumps({"content": blocks}).decode(),
        text=None if is_plain else text,
        model_returned=text_of(body.get("model")),
        tokens_in=_tokens_in(usage),
        tokens_out=tokens_out,
        finish_reason=finish_reason,
        error=_refusal_in(body) if status == "refused" else error,
        details=_details(usage),
    )
    if stop != _CONTEXT_FULL:
        return reply
    full = f"the prompt left room for {tokens_out} tokens of the reply only"
    return reply.model_copy(update={"status": "too_long", "error": full, "can_retry": False})


def _text(blocks: Sequence[Mapping[str, Any]], request: ModelRequest) -> str:
    """The content of the message: the input of the tool that takes the reply, else its text."""
    fields = request.reply_schema.get("required", ())
    given = [one.get("input") for one in blocks if one.get("type") == "tool_use"]
    replies = [one for one in given if has_all(one, fields)] or [one for one in given if isinstance(one, dict)]
    if replies and all(one == replies[0] for one in replies):
        return orjson.dumps(replies[0]).decode()
    return "".join(text_of(one.get("text")) for one in blocks if one.get("type") == "text")


def _refusal_in(body: Mapping[str, Any]) -> str:
    details = body.get("stop_details")
    why = text_of(details.get("explanation")) or text_of(details.get("category")) if isinstance(details, dict) else ""
    return f"the model refused to answer: {why}" if why else "the model refused to answer"


def _tokens_in(usage: Mapping[str, Any]) -> int | None:
    """All tokens of the prompt; those that were in the cache, or went there, are counted apart."""
    plain = count_of(usage.get("input_tokens"))
    return None if plain is None else plain + sum(count_of(usage.get(name)) or 0 for name in _CACHE_COUNTS)


def _details(usage: Mapping[str, Any]) -> dict[str, JsonValue]:
    return {name: count for name in _CACHE_COUNTS if (count := count_of(usage.get(name)))}
