"""The limit of tokens of a reply whose model settings have none."""

import re
from collections.abc import Mapping
from typing import Any, Final

from parley_lab.contracts.models import ModelSettings
from parley_lab.kinds.view import MEDIATE, READY, SPEAK, TALK, WAKE

_IN_CONVERSATION: Final = {**dict.fromkeys((TALK, MEDIATE, SPEAK, WAKE), 800), READY: 200}
_AROUND: Final = 200
"""Tokens that models write around the object, such as a code fence or a sentence before it."""
_FIELD: Final = 50
"""The name of a field, and a number, yes or no, or an option."""
_TEXT: Final = 300
_OWN_WORDS: Final = 1_000
"""The least for an answer that is a text."""
_REASONS: Final = "reasoning"
"""The field for the reasons of an answer: one or two sentences."""
_CHARACTERS_PER_TOKEN: Final = 3
"""Fewer than in English, for languages with shorter tokens."""
_LONGEST_TEXT: Final = 10_000
"""A longest length of so many characters or more was not chosen by the author of the file, and sets no limit."""

# Thinking counts as reply, and its length cannot be known.
_THINKING: Final = re.compile(
    r"(^|[/:.-])(o[1-9]|gpt-5|gpt-oss|qwq|qwen-?3|magistral|smollm3|grok-[4-9]|grok-3-mini|minimax-m[1-9]"
    r"|claude-(?:[a-z]+-)?[5-9]|glm-(?:4\.[5-9]|[5-9])|kimi-k(?:2\.[5-9]|[3-9]))([^0-9]|$)"
    r"|deepseek-?(r1|reasoner)|gemini-(2\.5|[3-9]|(pro|flash|flash-lite)-latest)|thinking|reason",
    re.IGNORECASE,
)
_OWN_LIMITS: Final = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "thinking", "reasoning"})


def most_reply_tokens(settings: ModelSettings, purpose: str, reply_schema: Mapping[str, Any]) -> int | None:
    """Enough for the longest usual answers to this question; None: no limit is sent."""
    if settings.max_tokens is not None or thinks_first(settings) or _OWN_LIMITS & settings.extra_body.keys():
        return None
    if purpose in _IN_CONVERSATION:
        return _IN_CONVERSATION[purpose]
    properties: Mapping[str, Mapping[str, Any]] = reply_schema.get("properties", {})
    asked = _AROUND + sum(map(_tokens, properties.values()))
    is_in_own_words = any(name != _REASONS and _is_in_own_words(field) for name, field in properties.items())
    return max(_OWN_WORDS, asked) if is_in_own_words else asked


def thinks_first(settings: ModelSettings) -> bool:
    """Whether the model thinks before it answers, by its settings or its name."""
    return settings.reasoning_effort is not None or _THINKING.search(settings.model) is not None


def _tokens(field: Mapping[str, Any]) -> int:
    if _is_in_own_words(field):
        longest = field.get("maxLength", _LONGEST_TEXT)
        return max(_TEXT, longest // _CHARACTERS_PER_TOKEN) if longest < _LONGEST_TEXT else _TEXT
    several = field.get("items", {}).get("enum", ())
    characters = [sum(len(str(option)) for option in several), *(len(str(option)) for option in field.get("enum", ()))]
    return max(_FIELD, max(characters) // _CHARACTERS_PER_TOKEN)


def _is_in_own_words(field: Mapping[str, Any]) -> bool:
    """Whether it is a text: no number, no yes or no, no choice among options."""
    has_options = bool({"enum", "const"} & {*field, *field.get("items", ())})
    return not has_options and field.get("type") not in ("integer", "number", "boolean")
