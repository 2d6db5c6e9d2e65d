"""Finds the lacks of a server in its refusal of a call, or in a reply that ignores the form asked for. Pure.

A refusal counts only for what the call had: the same call without it is then another one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from parley_lab.base.replies import OpenThought, after_thoughts
from parley_lab.contracts.models import CUT_OFF, Lack, ModelReply

REFUSALS: Final = frozenset({"bad_request", "unavailable"})
"""Some servers answer a prompt that their template cannot hold with 500."""
_PARAMETERS: Final[tuple[Lack, ...]] = (
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "top_p",
    "stop",
    "reasoning_effort",
)
_IS_LACKING: Final = (
    r"not (be )?(support|allow|permit|recogni|accept|available|implement|known|enabled)|n't (support|allow|accept|take)"
    r"|unsupported|unavailable|unknown|unrecogni|unexpected|extra (input|field|param)|no such|only the default"
    r"|deprecated|cannot be used|has no|does not know"
)
_FORM: Final = re.compile(
    r"json[_ -]?(schema|object|mode)|(response|output)[_ -]?(format|config)|structured[_ -]?output|guided"
    r"|grammar|schema|tool[_ ]?(choice|use)",
    re.IGNORECASE,
)
_SYSTEM: Final = re.compile(
    r"system[_ -]?(message|role|prompt|instruction)|role\W{0,4}system|\bsystem\b.{0,30}\brole|developer instruction"
    r"|only (support\w* )?.{0,20}user.{0,20}assistant.{0,10} roles",
    re.IGNORECASE,
)
_ALTERNATE: Final = re.compile(r"\balternat|consecutive .{0,30}(message|role)|same role", re.IGNORECASE)

_LEAST_COMPARED: Final = 1_000
"""Estimates of shorter prompts, in tokens, are too rough to compare."""
_LEAST_READ: Final = 0.5
"""No language has so few tokens for its characters that less than this share of the estimate is a whole prompt."""

IN_WORDS: Final[Mapping[Lack, str]] = {
    "json_schema": "takes no schema of a reply; replies are asked for as JSON",
    "json_object": "has no JSON mode; the prompt alone says the form of replies",
    "system_role": "takes no system message; the first message of the user begins with it",
    "repeated_roles": "wants roles that alternate; messages of one role in a row are sent as one",
    "temperature": "takes no temperature; its own is used",
    "top_p": "takes no top_p; its own is used",
    "stop": "takes no stop texts",
    "reasoning_effort": "takes no reasoning_effort",
    "max_tokens": "takes no max_tokens; max_completion_tokens is sent",
    "max_completion_tokens": "takes no max_completion_tokens; max_tokens is sent",
}

IGNORED: Final[Mapping[Lack, str]] = {
    "json_schema": "ignores the schema of a reply; replies are asked for as JSON",
    "json_object": "ignores the JSON mode; the prompt alone says the form of replies",
}


def lack_in(body: Mapping[str, Any], reply: ModelReply) -> Lack | None:
    """The lack for which the server refused a call with this body; None if its words name nothing in the body."""
    words = reply.error or ""
    if reply.status not in REFUSALS:
        return None
    named = next((lack for lack, spelling in _settings_in(body) if _is_lacking(spelling, words)), None)
    return named or _lack_of_form(body, words) or _lack_of_roles(body["messages"], words)


def _settings_in(body: Mapping[str, Any]) -> Iterator[tuple[Lack, str]]:
    """The settings in the body that a server may lack, each with the names that its words may have for it."""
    yield from ((name, name) for name in _PARAMETERS if name in body)
    if "stop_sequences" in body:
        yield "stop", "stop_sequences"
    if "effort" in _part(body, "output_config"):
        yield "reasoning_effort", "(?:effort|thinking)"


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def form_in(body: Mapping[str, Any]) -> Lack | None:
    """How the body asks for the form of the reply, by OpenAI's names; a tool that takes it is `json_object`.

    Servers may lack each of them. None: only the prompt asks for a form.
    """
    form = _part(body, "response_format") or _part(_part(body, "output_config"), "format")
    kind = form.get("type") or ("json_object" if "tool_choice" in body else None)
    if kind == "json_schema":
        return "json_schema"
    return "json_object" if kind == "json_object" else None


def _is_lacking(name: str, words: str) -> bool:
    """Whether the words say that the server does not take this at all; a wrong value of it is another matter."""
    near = rf"\b{name}\b.{{0,80}}({_IS_LACKING})|({_IS_LACKING}).{{0,80}}\b{name}\b"
    return re.search(near, words, re.IGNORECASE) is not None


def _lack_of_form(body: Mapping[str, Any], words: str) -> Lack | None:
    return None if _FORM.search(words) is None else form_in(body)


def _lack_of_roles(messages: Sequence[Mapping[str, str]], words: str) -> Lack | None:
    roles = [message["role"] for message in messages]
    has_system = "system" in roles
    if has_system and _SYSTEM.search(words):
        return "system_role"
    if _ALTERNATE.search(words) is None:
        return None
    # Templates without a place for it say that the first message must be the user's.
    repeats = any(one == other for one, other in pairwise(role for role in roles if role != "system"))
    return "repeated_roles" if repeats else "system_role" if has_system else None


def ignored_in(body: Mapping[str, Any], reply: ModelReply) -> Lack | None:
    """The form that the call asked for and the reply ignores: words without any object, though it leaves nothing else.

    A server that keeps to a form writes nothing beside it.
    """
    is_whole = reply.status == "invalid" and reply.finish_reason not in (CUT_OFF, None)
    if not is_whole or reply.parsed is not None:
        return None
    try:
        said = after_thoughts(reply.words)
    except OpenThought:
        # No form holds for thoughts.
        return None
    return form_in(body) if said.strip() and "{" not in said else None


def reads_too_little(reply: ModelReply, sent_tokens: int) -> bool:
    """Whether the server counts far fewer tokens than it was sent, by the estimate of `tokens_of`."""
    is_told = bool(reply.tokens_in) and sent_tokens >= _LEAST_COMPARED
    return is_told and (reply.tokens_in or 0) < _LEAST_READ * sent_tokens
