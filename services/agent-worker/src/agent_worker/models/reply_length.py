"""The most tokens that a reply may have where the settings of the model say nothing."""

import re
from collections.abc import Mapping
from typing import Any, Final

from shared.contracts.models import ModelSettings
from shared.stage import MEDIATE, READY, SPEAK, TALK, WAKE

_BY_PURPOSE: Final = {
    **dict.fromkeys((TALK, MEDIATE, SPEAK, WAKE), 800),
    READY: 200,
    "question": 1_000,
}
_OTHERWISE: Final = 1_500
_PER_QUESTION: Final = 300
_AROUND_A_PAGE: Final = 400
_CHARACTERS_PER_TOKEN: Final = 3
"""Less than English has, for languages whose tokens are shorter."""
_LONGEST_TEXT: Final = 10_000
"""Texts that may be as long as this, or longer, have no limit that anybody chose."""

# What a model thinks counts as reply, and nobody can say how much that will be.
_THINKING: Final = re.compile(
    r"(^|[/:.-])(o[1-9]|gpt-5|gpt-oss|qwq|qwen-?3|magistral|smollm3|grok-[4-9]|grok-3-mini|minimax-m1|glm-4\.[5-9])([^0-9]|$)"
    r"|deepseek-?(r1|reasoner)|gemini-(2\.5|[3-9])|thinking|reason",
    re.IGNORECASE,
)
_OWN_LIMITS: Final = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "thinking", "reasoning"})


def most_reply_tokens(settings: ModelSettings, purpose: str, reply_schema: Mapping[str, Any]) -> int | None:
    """By what is asked for, and as much as the longest answers that the questions allow; None: no limit is sent."""
    if settings.max_tokens is not None or thinks_first(settings) or _OWN_LIMITS & settings.extra_body.keys():
        return None
    properties: Mapping[str, Mapping[str, Any]] = reply_schema.get("properties", {})
    usual = _BY_PURPOSE.get(purpose, _OTHERWISE)
    if purpose == "page":
        usual = _AROUND_A_PAGE + _PER_QUESTION * len(properties)
    longest = sum(map(_longest_tokens, properties.values()))
    return max(usual, _AROUND_A_PAGE + longest) if longest else usual


def thinks_first(settings: ModelSettings) -> bool:
    """Whether the model thinks before it answers, by what is set or by its name."""
    return settings.reasoning_effort is not None or _THINKING.search(settings.model) is not None


def _longest_tokens(field: Mapping[str, Any]) -> int:
    longest = field.get("maxLength")
    return longest // _CHARACTERS_PER_TOKEN if isinstance(longest, int) and longest < _LONGEST_TEXT else 0
