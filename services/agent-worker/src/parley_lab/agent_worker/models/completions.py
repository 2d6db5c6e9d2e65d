"""Reads chat completions (OpenAI's format): the status, the text and the object in it. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import JsonValue

from parley_lab.agent_worker.models.endpoint_errors import EndpointError, error_in
from parley_lab.agent_worker.models.parsing import Unreadable, parse_object
from parley_lab.base.replies import OpenThought
from parley_lab.contracts.models import CUT_OFF, ModelReply, ModelRequest, ModelStatus

_TEXT_PARTS: Final = ("text", "output_text")
_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")
"""Fields for what a model thinks. Servers put the reply there when they take all of it for thoughts."""
_SHOWN_FIELDS: Final = frozenset({"role", "content", "refusal"})
_REFUSED_FINISHES: Final = frozenset(
    {"content_filter", "content-filter", "refusal", "safety", "prohibited_content", "blocklist", "spii", "sensitive"}
)
_NO_CHOICE: Final = "the endpoint sent no reply in its answer"
_KEPT_FOR: Final[Mapping[str, frozenset[str]]] = {
    "logprobs": frozenset({"logprobs", "top_logprobs"}),
    "system_fingerprint": frozenset({"logprobs", "top_logprobs", "seed"}),
}
"""The parts of a completion that are kept beside its text, by the fields of `extra_body` that ask for them."""


@dataclass(frozen=True, slots=True)
class _Said:
    """The content of a message: the text, or a refusal, or the reason why there is nothing to read.

    `is_plain`: its content is a plain string, which is then the text.
    """

    text: str = ""
    refusal: str = ""
    reason: str | None = None
    is_plain: bool = True


def read_completion(content: bytes, request: ModelRequest) -> ModelReply | EndpointError | None:
    """The reply or the error in this body; None when it is neither."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict) or "choices" not in body:
        return error_in(body)
    choice = next(iter(body["choices"]), None) if isinstance(body["choices"], list) else None
    if not isinstance(choice, dict):
        return error_in(body) or _without_choice(body)
    return _error_beside(body, choice) or _reply(body, choice, request)


def _without_choice(body: Mapping[str, Any]) -> EndpointError:
    """A prompt that was blocked has no reply and no error either."""
    told = orjson.dumps([body.get("prompt_filter_results"), body.get("promptFeedback"), body.get("prompt_feedback")])
    is_blocked = b'"filtered":true' in told or b"blockReason" in told or b"block_reason" in told
    return EndpointError(_NO_CHOICE, frozenset({"content_filter"} if is_blocked else ()), None if is_blocked else 503)


def _error_beside(body: Mapping[str, Any], choice: Mapping[str, Any]) -> EndpointError | None:
    """The error that came with a reply: one with a code or a finish reason `error`."""
    found = error_in(body) or error_in(choice)
    if choice.get("finish_reason") == "error":
        return found or EndpointError("the reply ended with an error", http_status=503)
    return found if found is not None and (found.http_status or found.codes) else None


def _reply(body: Mapping[str, Any], choice: Mapping[str, Any], request: ModelRequest) -> ModelReply | None:
    message = choice.get("message")
    if message is None and isinstance(choice.get("text"), str):
        message = {"content": choice["text"]}
    if not isinstance(message, dict):
        return None
    fields = request.reply_schema.get("required", ())
    said, finish_reason = _read_content(message, fields), text_of(choice.get("finish_reason")) or None
    status, parsed, error = judge(said.text, said.refusal, finish_reason, fields)
    is_lost = status == "invalid" and finish_reason != CUT_OFF and said.reason is not None
    words = said.refusal or said.text
    usage = body.get("usage")
    counted = usage if isinstance(usage, dict) else {}
    reply = ModelReply(
        status=status,
        parsed=parsed,
        raw=words if said.is_plain else orjson.dumps(message).decode(),
        text=None if said.is_plain else words,
        model_returned=text_of(body.get("model")),
        tokens_in=count_of(counted.get("prompt_tokens")),
        tokens_out=_count_out(counted),
        finish_reason=finish_reason,
        error=said.reason if is_lost else error,
        details=_details(body, choice, request),
    )
    # The next reply would come in the same field.
    return reply.model_copy(update={"can_retry": False}) if is_lost else reply


def _count_out(usage: Mapping[str, Any]) -> int | None:
    """The tokens of the reply, thoughts included: some servers count those in the total alone."""
    out, before, total = (count_of(usage.get(f"{name}_tokens")) for name in ("completion", "prompt", "total"))
    rest = count_of(total - before) if total is not None and before is not None else None
    return max((count for count in (out, rest) if count is not None), default=None)


def _read_content(message: Mapping[str, Any], fields: Collection[str]) -> _Said:
    """Read the content from whichever field has it, if only one reading is plain."""
    content, refusal = message.get("content"), text_of(message.get("refusal"))
    if isinstance(content, str) and (content.strip() or refusal):
        return _Said(content, refusal)
    found = _said_in_parts(content, fields) or _said_beside(message, fields)
    if found is not None:
        return _Said(found.text, refusal or found.refusal, found.reason, is_plain=False)
    others = [name for name, value in message.items() if value and name not in _SHOWN_FIELDS]
    if isinstance(content, str | None) and not others:
        return _Said(content or "", refusal)
    reason = f"the content of the reply is empty; the server sent {' and '.join(map(repr, others))} instead"
    return _Said(refusal=refusal, reason=reason if others else None, is_plain=False)


def _said_in_parts(content: object, fields: Collection[str]) -> _Said | None:
    """The texts among the parts of a content, without thoughts; None when it is no list of parts."""
    if isinstance(content, dict):
        if content.get("type") in _TEXT_PARTS:
            return _said_in_parts([content], fields)
        return _Said(orjson.dumps(content).decode()) if has_all(content, fields) else None
    if not isinstance(content, list):
        return None
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    told = [part for part in parts if isinstance(part, dict)]
    text = "".join(_text_of_part(part) for part in told if part.get("type") in _TEXT_PARTS)
    refusal = "".join(text_of(part.get("refusal")) for part in told if part.get("type") == "refusal")
    if text or refusal:
        return _Said(text, refusal)
    kinds = dict.fromkeys(str(part.get("type")) for part in told)
    return _Said(reason=f"the reply has no part with text, only {', '.join(map(repr, kinds))}") if kinds else None


def _text_of_part(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    # Some servers wrap the text once more.
    return text_of(text.get("value")) if isinstance(text, dict) else text_of(text)


def _said_beside(message: Mapping[str, Any], fields: Collection[str]) -> _Said | None:
    """Read the reply from other fields than the content; None when no known field has it."""
    if has_all(message.get("parsed"), fields):
        return _Said(orjson.dumps(message["parsed"]).decode())
    calls = message.get("tool_calls") or ([{"function": call}] if (call := message.get("function_call")) else [])
    if isinstance(calls, list) and calls:
        given = [_arguments(call, fields) for call in calls]
        if given[0] is not None and all(one == given[0] for one in given):
            return _Said(given[0])
        return _Said(
            reason="the reply calls a tool (`tool_calls`), and none was offered; switch tools off on the server"
        )
    for name in filter(message.get, _THOUGHTS):
        thought = text_of(message[name])
        if has_all(_loads(_strip_fence(thought)), fields):
            return _Said(_strip_fence(thought))
        reason = (
            f"the content of the reply is empty, and `{name}` has all of it: switch the server's reasoning parser, or "
            "the thinking of the model, off"
        )
        return _Said(reason=reason)
    return None


def _arguments(call: object, fields: Collection[str]) -> str | None:
    """The arguments of a call of a tool that are the reply, as JSON; None when they are not."""
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    value = _loads(arguments) if isinstance(arguments, str) else arguments
    return orjson.dumps(value).decode() if has_all(value, fields) else None


def _strip_fence(text: str) -> str:
    lines = text.strip().splitlines()
    is_fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1] == "```"
    return "\n".join(lines[1:-1]) if is_fenced else text.strip()


def has_all(value: object, fields: Collection[str]) -> bool:
    return isinstance(value, dict) and bool(fields) and all(name in value for name in fields)


def _loads(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _details(body: Mapping[str, Any], choice: Mapping[str, Any], request: ModelRequest) -> dict[str, JsonValue]:
    """The details that the file asks for beside the text, unchanged."""
    asked = {name for name, value in request.settings.extra_body.items() if value not in (None, False)}
    came = {"logprobs": choice.get("logprobs"), "system_fingerprint": body.get("system_fingerprint")}
    return {name: value for name, value in came.items() if value is not None and asked & _KEPT_FOR[name]}


def with_full_context(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """Mark a reply that was cut off before its limit of tokens: the context of the model was full."""
    most = request.settings.max_tokens or request.most_reply_tokens
    if reply.finish_reason != CUT_OFF or most is None or reply.tokens_out is None or reply.tokens_out >= most:
        return reply
    error = f"the prompt left room for {reply.tokens_out} tokens of the reply only"
    return reply.model_copy(update={"status": "too_long", "error": error, "can_retry": False})


def judge(
    text: str, refusal: str, finish_reason: str | None, fields: Collection[str]
) -> tuple[ModelStatus, dict[str, Any] | None, str | None]:
    """The status of a text, the object in it, and what is wrong with it."""
    if refusal or (finish_reason or "").casefold() in _REFUSED_FINISHES:
        return "refused", None, "the model refused to answer"
    if finish_reason == CUT_OFF:
        return "invalid", None, "the reply was cut off at the most tokens allowed: say it in fewer words"
    if not text.strip():
        return "invalid", None, "the reply is empty"
    try:
        parsed = parse_object(text, fields)
    except (OpenThought, Unreadable) as error:
        return "invalid", None, str(error)
    if parsed is None:
        return "invalid", None, "the reply is not a JSON object"
    return "ok", parsed, None


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
