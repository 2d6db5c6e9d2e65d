"""Reads chat completions (OpenAI's format): the status, the text and the object in it. Pure."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import orjson

from agent_worker.models.parsing import parse_object
from shared.contracts.model_keys import ModelKeys
from shared.contracts.models import ModelReply, ModelRequest, ModelStatus

_LONGEST_ERROR: Final = 500
_KEY_LIKE: Final = re.compile(r"\b(sk|pk|key|rk)-[\w*.\-]{4,}|\bhf_\w{4,}|Bearer\s+\S+", re.IGNORECASE)
_REDACTED: Final = "[redacted]"
_NO_QUOTA_CODES: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG_CODES: Final = frozenset({"context_length_exceeded", "string_above_max_length"})
# Phrases by which servers without telling error codes are recognised: vLLM, llama.cpp, Anthropic, Gemini and others.
_TOO_LONG: Final = re.compile(
    r"context[ _](length|size|window)|maximum number of tokens|(prompt|input) is too long|reduce the length of",
    re.IGNORECASE,
)
_REFUSAL_CODES: Final = frozenset({"content_filter", "content_policy_violation"})


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """How long the provider asks us to wait, from seconds, milliseconds or an HTTP date; None when it does not say."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def redact(text: str, keys: ModelKeys) -> str:
    """`text` without the lab's keys and anything that looks like a key, on one line of bounded length."""
    return _KEY_LIKE.sub(_REDACTED, keys.redacted(text)).strip()[:_LONGEST_ERROR]


def status_of_http(http_status: int, code: str | None, message: str) -> ModelStatus:
    """The status that an HTTP status with the provider's own code and message means."""
    says_too_long = http_status in (400, 422, 500) and _TOO_LONG.search(message) is not None
    if code in _TOO_LONG_CODES or http_status == 413 or says_too_long:
        return "too_long"
    if code in _REFUSAL_CODES:
        return "refused"
    if http_status == 402 or code in _NO_QUOTA_CODES:
        return "no_quota"
    if http_status in (401, 403):
        return "auth_error"
    if http_status == 429:
        return "rate_limited"
    if http_status >= 500 or http_status in (408, 409, 425):
        return "unavailable"
    return "bad_request" if http_status >= 400 else "error"


def read_completion(content: bytes, fields: Collection[str]) -> ModelReply | None:
    """The reply in this body; None when it is no completion."""
    try:
        body = orjson.loads(content)
        choice = body["choices"][0]
        message = choice["message"]
        text, refusal = _text(message.get("content")), _text(message.get("refusal"))
        finish_reason = _text(choice.get("finish_reason")) or None
        usage = body.get("usage") or {}
        tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return None
    status, parsed, error = judge(text, refusal, finish_reason, fields)
    return ModelReply(
        status=status,
        parsed=parsed,
        raw=refusal or text,
        model_returned=_text(body.get("model")),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        finish_reason=finish_reason,
        error=error,
    )


def with_full_context(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """Mark a reply that was cut off before its limit of tokens: the context of the model was full."""
    most = request.settings.max_tokens or request.most_reply_tokens
    if reply.finish_reason != "length" or most is None or reply.tokens_out is None or reply.tokens_out >= most:
        return reply
    error = f"the prompt left room for {reply.tokens_out} tokens of the reply only"
    return reply.model_copy(update={"status": "too_long", "error": error})


def judge(
    text: str, refusal: str, finish_reason: str | None, fields: Collection[str]
) -> tuple[ModelStatus, dict[str, Any] | None, str | None]:
    """The status of a text, the object in it, and what is wrong with it."""
    if refusal or finish_reason == "content_filter":
        return "refused", None, "the model refused to answer"
    if finish_reason == "length":
        return "invalid", None, "the reply was cut off at the most tokens allowed: say it in fewer words"
    if not text.strip():
        return "invalid", None, "the reply is empty"
    parsed = parse_object(text, fields)
    if parsed is None:
        return "invalid", None, "the reply is not a JSON object"
    return "ok", parsed, None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
