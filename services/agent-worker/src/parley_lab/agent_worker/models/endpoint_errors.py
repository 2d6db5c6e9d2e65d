"""Reads what an endpoint says of a call that it did not answer: the status that it means, its words, its wait. Pure.

Endpoints write errors in many forms: with an HTTP status or inside a 200, as an object, a text, a list or a page.
"""

import html
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import orjson

from parley_lab.contracts.model_keys import ModelKeys
from parley_lab.contracts.models import ModelStatus

_LONGEST_ERROR: Final = 500
_LONGEST_PAGE: Final = 20_000
_DEEPEST: Final = 6
_KEY_LIKE: Final = re.compile(
    r"\b(sk|pk|key|rk|xai)-[\w*.\-]{4,}|\b(hf|gsk)_\w{4,}|\bAIza[\w\-]{20,}|Bearer\s+\S+", re.IGNORECASE
)
_REDACTED: Final = "[redacted]"
_SECRET_OF_ADDRESS: Final = re.compile(
    r"(\bhttps?://)(?:[^\s/?#@]+@)?([^\s?#\"'<>]*)(?:[?#][^\s\"'<>]*)?", re.IGNORECASE
)

# The fields in which errors keep their words, the most telling first.
_WORDS: Final = ("message", "msg", "error_description", "detail", "description", "error", "errors", "title", "reason")
_STATUSES: Final = ("code", "status", "status_code", "statusCode", "http_status")
_CODES: Final = ("code", "type", "status", "reason", "error", "error_code")
_MEANT: Final[Mapping[str, int]] = {
    **dict.fromkeys(("invalid_api_key", "authentication_error", "unauthenticated", "unauthorized"), 401),
    **dict.fromkeys(("permission_error", "permission_denied", "forbidden"), 403),
    **dict.fromkeys(("not_found", "not_found_error", "model_not_found"), 404),
    **dict.fromkeys(("invalid_request", "invalid_request_error", "invalid_argument", "bad_request"), 400),
    **dict.fromkeys(("timeout", "timeout_error", "request_timeout"), 408),
    **dict.fromkeys(
        ("rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted"), 429
    ),
    **dict.fromkeys(("server_error", "api_error", "internal_server_error", "internal_error", "internal"), 500),
    **dict.fromkeys(("overloaded", "overloaded_error", "unavailable", "service_unavailable"), 503),
    "deadline_exceeded": 504,
}
"""Codes of errors that come without an HTTP status."""

_NO_QUOTA_CODES: Final = frozenset(
    {
        "insufficient_quota",
        "insufficient_balance",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "enforced_spend_limit_reached",
    }
)
_NO_QUOTA: Final = re.compile(
    r"credit balance is too low|insufficient (balance|credits?|funds|quota)|(not|more) (enough )?credits"
    r"|reached your specified api usage limits",
    re.IGNORECASE,
)
_TOO_LONG_CODES: Final = frozenset(
    {"context_length_exceeded", "string_above_max_length", "exceed_context_size_error", "request_too_large"}
)
# Phrases by which servers without telling error codes are recognised: vLLM, llama.cpp, TGI, Anthropic, Gemini, xAI,
# Cohere, DashScope and others.
_TOO_LONG: Final = re.compile(
    r"context[ _](length|size|window|limit)|maximum (number of tokens|prompt length)|(prompt|input) is too long"
    r"|reduce the length of|(input )?token count .{0,40}exceeds|too many tokens|range of input length"
    r"|`?inputs`? must have less than|`?inputs`? tokens .{0,40}must be <=|request too large",
    re.IGNORECASE,
)
_NEVER_FITS: Final = re.compile(r"request too large", re.IGNORECASE)
"""A 429 with these words means that the request is larger than the limit of a whole minute."""
_REFUSAL_CODES: Final = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "data_inspection_failed",
        "datainspectionfailed",
        "moderation_blocked",
        "flagged_input",
        "refusal",
    }
)
_REFUSAL: Final = re.compile(
    r"\b(input|prompt|content|message|request|text|output)s?\b[^.]{0,60}\bflagged"
    r"|\bflagged\b[^.]{0,30}\b(input|prompt|content|moderation)"
    r"|\b(input|prompt|content|output)s?\b[^.]{0,60}\b(blocked|filtered)\b"
    r"|content[ _-](policy|filter|management|moderation)|responsible ai|safety (system|filter|polic|guideline)"
    r"|content exists risk|(inappropriate|sensitive|harmful) content"
    r"|violat\w+ [^.]{0,40}(polic|guideline)",
    re.IGNORECASE,
)
_OF_THE_ACCOUNT: Final = re.compile(
    r"\b(account|organi[sz]ation|project|user|key)\b[^.]{0,40}\b(flagged|suspended|disabled|deactivated|blocked|banned)",
    re.IGNORECASE,
)
_BAD_KEY_CODES: Final = frozenset({"api_key_invalid", "invalid_api_key", "authentication_error", "unauthenticated"})
_BAD_KEY: Final = re.compile(
    r"\b(api|access|auth\w*|secret|bearer)[ _-]?(key|token)s?\b[^.]{0,40}"
    r"\b(not valid|invalid|incorrect|missing|expired|revoked|not found|required|unknown|wrong|disabled)"
    r"|\b(invalid|incorrect|wrong|missing|expired|unknown|no|malformed) (x-)?"
    r"(api[ _-]?keys?|authentication|authorization|credentials|(bearer|access|auth\w*) tokens?)\b"
    r"|unauthenticated|unauthori[sz]ed|not authenticated|authentication (failed|required|error)",
    re.IGNORECASE,
)
# Access to one model: the key is good for others. A scope of the key, such as `model.request`, is no model.
_OF_THE_MODEL_CODE: Final = re.compile(r"(\w+_)?model([_.]\w+)+")
_OF_THE_MODEL: Final = re.compile(
    r"\b(access|permi\w+|allowed|authori[sz]ed|entitled)\b.{0,80}\bmodel\b(?!\.\w)"
    r"|\bmodel\b(?!\.\w).{0,80}\b(access|permi\w+|blocked|restricted|gated|disabled|denied|not exist"
    r"|not (available|enabled|found|supported))",
    re.IGNORECASE,
)
_AT_LIMIT: Final = re.compile(r"rate[ _-]?limit|too many requests|resource[ _]exhausted|quota exceeded", re.IGNORECASE)
_AT_CAPACITY: Final = re.compile(r"overloaded|(at|no|over) (full )?capacity|temporarily|try again (later|in)", re.I)
_DELAY: Final = re.compile(rb'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"|"retry_after(?:_seconds)?"\s*:\s*(\d+(?:\.\d+)?)\b')
_UNSHOWN: Final = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EndpointError:
    """The words of an error, its codes in small letters, and the HTTP status that it names itself."""

    words: str
    codes: frozenset[str] = frozenset()
    http_status: int | None = None


def error_in(body: object) -> EndpointError | None:
    """The error in a body of JSON; None without one."""
    match body:
        case list():
            return next((found for one in body if isinstance(one, dict) and (found := error_in(one))), None)
        case {"error": error} if error:
            return _error_of(error)
        case {"errors": list(errors)} if errors:
            return _error_of(errors)
        case {"object": "error"} | {"type": "error"}:
            return _error_of(body)
    return None


def error_of_failure(content: bytes) -> EndpointError:
    """The error in the body of a failed call: JSON of any form, a page, or a text."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return EndpointError(_text_of_page(content[:_LONGEST_PAGE].decode(errors="replace")))
    return error_in(body) or _error_of(body)


def _error_of(error: object) -> EndpointError:
    parts = list(_objects(error))
    codes = {str(part[name]).casefold() for part in parts for name in _CODES if isinstance(part.get(name), str | int)}
    codes |= {"flagged_input"} if any("flagged_input" in part for part in parts) else set()
    named = (_http_status(part.get(name)) for part in parts for name in _STATUSES)
    meant = (_MEANT[code] for code in sorted(codes & _MEANT.keys()))
    status = next(filter(None, named), None) or next(meant, None)
    return EndpointError(_words_of(error) or orjson.dumps(error).decode(), frozenset(codes), status)


def _objects(error: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The object of an error and those inside it, the outer first."""
    if isinstance(error, dict):
        yield error
    inside = error.values() if isinstance(error, dict) else error if isinstance(error, list) else ()
    for part in inside if depth < _DEEPEST else ():
        yield from _objects(part, depth + 1)


def _words_of(error: object, depth: int = 0) -> str:
    if isinstance(error, str) or depth > _DEEPEST:
        return error.strip() if isinstance(error, str) else ""
    if isinstance(error, list):
        return "; ".join(dict.fromkeys(filter(None, (_words_of(part, depth + 1) for part in error))))
    if not isinstance(error, dict):
        return ""
    words = next(filter(None, (_words_of(error.get(name), depth + 1) for name in _WORDS)), "")
    place, metadata = error.get("loc"), error.get("metadata")
    told = f"{'.'.join(map(str, place))}: {words}" if isinstance(place, list) and words else words
    # A gateway keeps the words of the provider behind it here.
    behind = _words_of(metadata.get("raw"), depth + 1) if isinstance(metadata, dict) else ""
    return f"{told}: {behind}" if behind and behind not in told else told


def _http_status(value: object) -> int | None:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return number if isinstance(number, int) and 400 <= number <= 599 else None


def _text_of_page(text: str) -> str:
    shown = " ".join(html.unescape(_UNSHOWN.sub(" ", text)).split())
    title = _TITLE.search(text)
    return shown or (" ".join(html.unescape(title[1]).split()) if title is not None else "")


def status_of_error(error: EndpointError, http_status: int | None = None) -> ModelStatus:
    """The status that the error means; `http_status`: that of the answer, where it was not 200."""
    return status_of_http(http_status or error.http_status, error.codes, error.words)


def status_of_http(http_status: int | None, codes: Collection[str], words: str) -> ModelStatus:
    """The status that an HTTP status with the endpoint's own codes and words means; None: it gave no HTTP status."""
    is_vague = http_status in (None, 400, 403, 404, 422)
    says_too_long = http_status in (None, 400, 422, 500) and _TOO_LONG.search(words) is not None
    never_fits = http_status == 429 and _NEVER_FITS.search(words) is not None
    if _TOO_LONG_CODES & set(codes) or http_status == 413 or says_too_long or never_fits:
        return "too_long"
    is_of_account = _OF_THE_ACCOUNT.search(words) is not None
    if _REFUSAL_CODES & set(codes) or (is_vague and not is_of_account and _REFUSAL.search(words)):
        return "refused"
    if http_status == 402 or _NO_QUOTA_CODES & set(codes) or (is_vague and _NO_QUOTA.search(words)):
        return "no_quota"
    if http_status in (401, 403) and _is_about_the_model(codes, words):
        return "bad_request"
    if http_status in (401, 403) or (is_vague and (_BAD_KEY_CODES & set(codes) or _BAD_KEY.search(words))):
        return "auth_error"
    if http_status is None:
        return "rate_limited" if _AT_LIMIT.search(words) else "unavailable" if _AT_CAPACITY.search(words) else "error"
    if http_status == 429:
        return "rate_limited"
    if http_status >= 500 or http_status in (408, 409, 425):
        return "unavailable"
    return "bad_request" if http_status >= 400 else "error"


def _is_about_the_model(codes: Collection[str], words: str) -> bool:
    """Whether a refusal of access concerns one model, not the key."""
    if _BAD_KEY_CODES & set(codes) or _BAD_KEY.search(words):
        return False
    return any(map(_OF_THE_MODEL_CODE.fullmatch, codes)) or _OF_THE_MODEL.search(words) is not None


def retry_after_seconds(headers: Mapping[str, str], now: datetime, content: bytes = b"") -> float | None:
    """How long the provider asks us to wait, from seconds, milliseconds or an HTTP date, else from the body; None when
    it does not say."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        told = _DELAY.search(content)
        return float(told[1] or told[2]) if told is not None else None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def redact(text: str, keys: ModelKeys) -> str:
    """`text` on one line of bounded length, without the lab's keys, anything that looks like a key, and what addresses
    may keep secret: a user, a password, a query."""
    plain = _SECRET_OF_ADDRESS.sub(r"\1\2", keys.redacted(text))
    return " ".join(_KEY_LIKE.sub(_REDACTED, plain).split())[:_LONGEST_ERROR]
