"""How long a prompt may be: what models can read, and what is left of a budget when one could not."""

import re
from collections.abc import Iterable
from math import ceil
from typing import Final

from shared.contracts.models import ChatMessage

CHARACTERS_PER_TOKEN: Final = 4
"""What English texts have on average with the tokenizers in use."""

_SHARE: Final = 0.75
"""Of what a model can read: the rest is for its reply, and for languages with shorter tokens."""
_UNKNOWN: Final = 32_768
_LARGE: Final = 128_000
"""Larger ones count as this: nobody pays for a million tokens a message without having said so."""
# The first that is found in the model's name decides.
_WINDOWS: Final = (
    (re.compile(r"gpt-3\.5"), 16_384),
    (re.compile(r"(^|/)gpt-4(-0\d+.*)?$"), 8_192),
    (re.compile(r"(^|/)(gpt-[4-9]|chatgpt|o[1-9]|claude|gemini|grok|deepseek)"), _LARGE),
    (re.compile(r"llama-?(3\.[1-9]|4)|mistral-(large|medium|small)|command-[ar]"), _LARGE),
)
_ALLOWED: Final = re.compile(
    r"(?:length is|size \(|n_ctx['\"]?:|>|allowed \(|window of|limit is|limit of|at most)\s*\(?(\d[\d,]*)"
)
_SIZE: Final = re.compile(r"(?<![\w.-])\d[\d,]{3,}")
_MARGIN: Final = 0.9
_LEAST_CUT, _MOST_CUT, _HALF = 0.8, 0.1, 0.5


def default_budget(model: str) -> int:
    """The most tokens (as estimated here) of a prompt for a model of which the persona says nothing."""
    window = next((size for name, size in _WINDOWS if name.search(model.lower())), _UNKNOWN)
    return int(_SHARE * window)


def tokens_of(messages: Iterable[ChatMessage]) -> int:
    """An estimate that is the same for every provider: a token for every four characters begun."""
    return ceil(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN)


def shortened(tokens: int, error: str) -> int:
    """The budget for the next try after a prompt of so many tokens (as estimated here) was too long.

    `error` is what the endpoint said; most tell how many tokens it reads and how many came. Else it is the half.
    """
    allowed = _ALLOWED.search(error)
    came = max(map(_number, _SIZE.findall(error)), default=0)
    is_told = allowed is not None and 0 < _number(allowed[1]) < came
    share = _MARGIN * _number(allowed[1]) / came if allowed is not None and is_told else _HALF
    return max(1, int(tokens * min(max(share, _MOST_CUT), _LEAST_CUT)))


def _number(written: str) -> int:
    return int(written.replace(",", ""))
